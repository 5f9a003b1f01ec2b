"""Random bytes from the operating system, and the exact draws made of them.

Nothing here can be seeded. docs/format.md fixes how many bytes each draw takes and in which order,
so that every client turns the same bytes into the same report.
"""

import os
from io import BytesIO


class Randomness:
    """One report's stream of operating-system random bytes; used for one report, then dropped."""

    _CHUNK = 256
    """Bytes that are requested at once: about what a report takes. More would take time without being used."""

    def __init__(self) -> None:
        self._ahead = BytesIO()

    def take(self, n_bytes: int) -> bytes:
        """The next bytes of the stream."""
        taken = self._ahead.read(n_bytes)
        if missing := n_bytes - len(taken):
            self._ahead = BytesIO(os.urandom(max(self._CHUNK, missing)))
            taken += self._ahead.read(missing)
        return taken

    def below(self, n: int) -> int:
        """A uniform integer in 0..n-1: as many bytes as n - 1 needs, big-endian, surplus high bits
        cleared; a result that is not below n is discarded and drawn again."""
        n_bits = (n - 1).bit_length()
        n_bytes = (n_bits + 7) // 8
        surplus = (1 << n_bits) - 1
        while True:
            drawn = int.from_bytes(self.take(n_bytes)) & surplus
            if drawn < n:
                return drawn

    def changes(self, n_bits: int, change_units: int, unit: int) -> int:
        """A bit string in which each bit is one with probability change_units / unit, independently.

        unit is a power of two, 2^k. Each bit position owns a k-bit number, and is one where that number
        is below change_units. The numbers lie across: plane j holds bit j of all of them, so that one
        operation on a long integer compares every position at once. Planes below the lowest set bit of
        change_units cannot matter and are not drawn.
        """
        n_bytes = (n_bits + 7) // 8
        lowest = (change_units & -change_units).bit_length() - 1
        units = change_units >> lowest
        planes = self.take(n_bytes * (unit.bit_length() - 1 - lowest))
        # A zero in the plane is drawn as a one: it says "smaller here" where change_units has a one, as in the lowest plane.
        below = int.from_bytes(planes[:n_bytes], "little")
        for start in range(n_bytes, len(planes), n_bytes):
            units >>= 1
            smaller = int.from_bytes(planes[start : start + n_bytes], "little")
            below = below | smaller if units & 1 else below & smaller
        return below & ((1 << n_bits) - 1)

    def prefix(self, n: int, size: int) -> list[int]:
        """The first `size` elements of a uniformly random order of 0..n-1 (Fisher and Yates, cut short)."""
        order = list(range(n))
        for i in range(size):
            j = i + self.below(n - i)
            order[i], order[j] = order[j], order[i]
        return order[:size]
