"""Byte strings of different lengths, one behind the other in one array."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


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
        return cls(np.ascontiguousarray(rows).reshape(-1), np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1])

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

    def slice(self, start: int, stop: int) -> "Packed":
        """A run of strings, without copying."""
        return Packed(self.data, self.offsets[start : stop + 1])

    def take(self, rows: NDArray[Any]) -> "Packed":
        """Some of the strings, in the order given."""
        if self._one_length is not None:
            return Packed.from_matrix(self.bytes_used.reshape(len(self), self._one_length)[rows])
        lengths = self.lengths[rows]
        taken = Packed.from_lengths(np.empty(0, np.uint8), lengths)
        within = np.arange(int(taken.offsets[-1])) - np.repeat(taken.offsets[:-1], lengths)
        return Packed(self.data[np.repeat(self.offsets[:-1][rows], lengths) + within], taken.offsets)

    def matrix(self, rows: NDArray[Any] | None = None) -> NDArray[np.uint8]:
        """Strings that all have one length, as shape (n, length)."""
        part = self if rows is None else self.take(rows)
        return part.bytes_used.reshape(len(part), int(part.offsets[1] - part.offsets[0]) if len(part) else 0)

    def last_bytes(self) -> NDArray[np.uint8]:
        """The last byte of each string; none is empty."""
        return self.data[self.offsets[1:] - 1]

    def n_ones(self) -> NDArray[np.int64]:
        """How many bits are set in each string; none is empty."""
        ones = np.bitwise_count(self.bytes_used)
        sums: NDArray[np.int64] = np.add.reduceat(ones, self.offsets[:-1] - self.offsets[0], dtype=np.int64)
        return sums

    def numbers(self) -> NDArray[np.uint64]:
        """The strings, of at most 8 bytes, as big-endian numbers."""
        lengths = self.lengths
        numbers = np.zeros(len(self), dtype=np.uint64)
        for at in range(int(lengths.max(initial=0))):
            longer = lengths > at
            numbers[longer] = numbers[longer] << np.uint64(8) | self.data[self.offsets[:-1][longer] + at]
        return numbers
