"""Byte strings of different lengths, one behind the other in one array."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.compiling import compiled


@dataclass(frozen=True, eq=False)
class Packed:
    """data: all bytes; offsets: shape (n + 1,): string i is data[offsets[i]:offsets[i + 1]]."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def from_lengths(cls, data: NDArray[np.uint8], lengths: NDArray[Any]) -> Self:
        """Strings that lie one behind the other. lengths: shape (n,)."""
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(data, offsets)

    @classmethod
    def from_matrix(cls, rows: NDArray[np.uint8]) -> Self:
        """Strings of one length. rows: shape (n, length)."""
        return cls(
            np.ascontiguousarray(rows).reshape(-1),
            np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1],
        )

    @classmethod
    def copied(
        cls, data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> "Packed":
        """The strings that lie anywhere in an array, one behind the other."""
        offsets = cls.from_lengths(data, lengths).offsets
        together = np.empty(int(offsets[-1]), dtype=np.uint8)
        _copy(data, starts, offsets, together)
        return cls(together, offsets)

    @classmethod
    def joined(cls, parts: list["Packed"]) -> "Packed":
        """The strings of all parts, in order."""
        if len(parts) == 1:
            return parts[0]
        lengths = np.concatenate([part.lengths for part in parts])
        return cls.from_lengths(np.concatenate([part.bytes_used for part in parts]), lengths)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @property
    def bytes_used(self) -> NDArray[np.uint8]:
        return self.data[self.offsets[0] : self.offsets[-1]]

    @cached_property
    def _one_length(self) -> int | None:
        """The length of all strings, where they have one in common."""
        lengths = self.lengths
        return int(lengths[0]) if len(lengths) and (lengths == lengths[0]).all() else None

    def string(self, i: int) -> bytes:
        """The i-th string."""
        return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes()

    def __getitem__(self, rows: slice | NDArray[Any]) -> "Packed":
        """Some of the strings; a run of them without copying."""
        if not isinstance(rows, slice):
            return self.take(np.flatnonzero(rows) if rows.dtype == np.bool_ else rows)
        start, stop, step = rows.indices(len(self))
        if step != 1:
            return self.take(np.arange(start, stop, step))
        return Packed(self.data, self.offsets[start : max(start, stop) + 1])

    def take(self, rows: NDArray[Any]) -> "Packed":
        """Some of the strings, in the order given."""
        if self._one_length is not None:
            return Packed.from_matrix(self.bytes_used.reshape(len(self), self._one_length)[rows])
        starts = self.offsets[:-1][rows]
        return Packed.copied(self.data, starts, self.offsets[1:][rows] - starts)

    def matrix(self, rows: NDArray[Any] | None = None) -> NDArray[np.uint8]:
        """Strings that all have one length, as shape (n, length)."""
        part = self if rows is None else self.take(rows)
        return part.bytes_used.reshape(
            len(part), int(part.offsets[1] - part.offsets[0]) if len(part) else 0
        )

    def last_bytes(self) -> NDArray[np.uint8]:
        """The last byte of each string; none is empty."""
        return self.data[self.offsets[1:] - 1]

    def n_ones(self) -> NDArray[np.int64]:
        """How many bits are set in each string; none is empty."""
        ones = np.bitwise_count(self.bytes_used)
        sums: NDArray[np.int64] = np.add.reduceat(
            ones, self.offsets[:-1] - self.offsets[0], dtype=np.int64
        )
        return sums

    def numbers(self) -> NDArray[np.uint64]:
        """The strings, of at most 8 bytes, as big-endian numbers."""
        numbers = np.empty(len(self), dtype=np.uint64)
        _read_numbers(self.data, self.offsets, numbers)
        return numbers


@compiled
def _copy(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    offsets: NDArray[np.int64],
    together: NDArray[np.uint8],
) -> None:
    for i in range(len(starts)):
        shift = starts[i] - offsets[i]
        for at in range(offsets[i], offsets[i + 1]):
            together[at] = data[at + shift]


@compiled
def _read_numbers(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], numbers: NDArray[np.uint64]
) -> None:
    for i in range(len(numbers)):
        number = np.uint64(0)
        for at in range(offsets[i], offsets[i + 1]):
            number = number << np.uint64(8) | np.uint64(data[at])
        numbers[i] = number
