"""QR codes (ISO/IEC 18004) of short texts: bytes, error correction level M, as many modules as they need, up to version 15.

Small enough to read, so that a poster needs no other package. Versions, blocks and masks are the standard's.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import groupby, pairwise

from lopub.errors import DomainError

Modules = list[list[bool]]
CHECK_BYTES = (10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24)
"""Of every block, by version, at level M."""
BLOCKS = (1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10)
LEVEL_M = 0
QUIET = 4
"""Modules around the code that stay white."""
_MASKS: tuple[Callable[[int, int], bool], ...] = (
    lambda x, y: (x + y) % 2 == 0,
    lambda x, y: y % 2 == 0,
    lambda x, y: x % 3 == 0,
    lambda x, y: (x + y) % 3 == 0,
    lambda x, y: (x // 3 + y // 2) % 2 == 0,
    lambda x, y: x * y % 2 + x * y % 3 == 0,
    lambda x, y: (x * y % 2 + x * y % 3) % 2 == 0,
    lambda x, y: ((x + y) % 2 + x * y % 3) % 2 == 0,
)


@lru_cache(maxsize=64)
def qr_svg(text: str, label: str) -> str:
    """A code as an SVG picture. label: what it says to those who cannot see it; plain text."""
    from markupsafe import escape

    modules = qr_modules(text)
    size = len(modules) + 2 * QUIET
    path = "".join(
        f"M{x + QUIET} {y + QUIET}h{n}v1h-{n}z"
        for y, row in enumerate(modules)
        for x, n in _runs(row)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" role="img" aria-label="{escape(label)}" class="qr"'
        f' shape-rendering="crispEdges"><rect width="{size}" height="{size}" fill="#fff"/><path d="{path}" fill="#000"/></svg>'
    )


def _runs(row: list[bool]) -> Iterator[tuple[int, int]]:
    """Where dark modules stand side by side: the first, and how many."""
    start = 0
    for dark, alike in groupby(row):
        n = len(list(alike))
        if dark:
            yield start, n
        start += n


def qr_modules(text: str) -> Modules:
    """The modules of the smallest code for a text, row by row; True is dark."""
    data = text.encode()
    version = _version(len(data))
    bits = _interleaved(_codewords(data, version), version)
    best: tuple[int, Modules] | None = None
    for mask, flips in enumerate(_MASKS):
        code = _Code(version)
        code.fill(bits, flips)
        code.format(mask)
        score = _penalty(code.modules)
        if best is None or score < best[0]:
            best = score, code.modules
    assert best is not None  # noqa: S101 (there are eight masks)
    return best[1]


# ---- bytes


def _version(n_bytes: int) -> int:
    for version in range(1, len(BLOCKS) + 1):
        if 4 + (8 if version < 10 else 16) + 8 * n_bytes <= 8 * _n_data(version):
            return version
    raise DomainError(
        f"a QR code here holds at most {_n_data(len(BLOCKS)) - 3} bytes, got {n_bytes}"
    )


def _n_raw(version: int) -> int:
    """Bytes of data and checks together."""
    modules = (16 * version + 128) * version + 64
    if version >= 2:
        n_align = version // 7 + 2
        modules -= (25 * n_align - 10) * n_align - 55
        modules -= 36 if version >= 7 else 0
    return modules // 8


def _n_data(version: int) -> int:
    return _n_raw(version) - CHECK_BYTES[version - 1] * BLOCKS[version - 1]


def _codewords(data: bytes, version: int) -> bytes:
    """Mode, length, bytes, end, and filling up to what the version holds."""
    n_length = 8 if version < 10 else 16
    bits = f"0100{len(data):0{n_length}b}" + "".join(f"{byte:08b}" for byte in data)
    capacity = 8 * _n_data(version)
    bits += "0" * min(4, capacity - len(bits))
    bits += "0" * (-len(bits) % 8)
    whole = bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))
    n_left = _n_data(version) - len(whole)
    return whole + bytes((0xEC, 0x11)[i % 2] for i in range(n_left))


def _interleaved(data: bytes, version: int) -> list[bool]:
    """Blocks with their checks, a byte of each in turn, as bits."""
    n_blocks, n_check, n_raw = BLOCKS[version - 1], CHECK_BYTES[version - 1], _n_raw(version)
    n_short = n_blocks - n_raw % n_blocks
    blocks, checks, start = [], [], 0
    for number in range(n_blocks):
        length = n_raw // n_blocks - n_check + (number >= n_short)
        blocks.append(data[start : start + length])
        checks.append(_remainder(blocks[-1], _divisor(n_check)))
        start += length
    longest = max(map(len, blocks))
    mixed = [block[i] for i in range(longest) for block in blocks if i < len(block)]
    mixed += [check[i] for i in range(n_check) for check in checks]
    return [bool(byte >> shift & 1) for byte in mixed for shift in range(7, -1, -1)]


def _times(x: int, y: int) -> int:
    """In the field of 256 elements modulo x^8 + x^4 + x^3 + x^2 + 1."""
    product = 0
    for shift in range(7, -1, -1):
        product = (product << 1) ^ ((product >> 7) * 0x11D)
        product ^= (y >> shift & 1) * x
    return product


def _divisor(degree: int) -> list[int]:
    """The generator of a Reed-Solomon code, without its leading 1."""
    result, root = [0] * (degree - 1) + [1], 1
    for _ in range(degree):
        result = [
            _times(one, root) ^ (result[i + 1] if i + 1 < degree else 0)
            for i, one in enumerate(result)
        ]
        root = _times(root, 2)
    return result


def _remainder(data: bytes, divisor: list[int]) -> list[int]:
    result = [0] * len(divisor)
    for byte in data:
        factor = byte ^ result.pop(0)
        result.append(0)
        result = [one ^ _times(part, factor) for one, part in zip(result, divisor, strict=True)]
    return result


# ---- modules


class _Code:
    """The square of modules while it is filled."""

    def __init__(self, version: int) -> None:
        self.version, self.size = version, 17 + 4 * version
        self.modules: Modules = [[False] * self.size for _ in range(self.size)]
        self._is_fixed: Modules = [[False] * self.size for _ in range(self.size)]
        self._patterns()

    def _set(self, x: int, y: int, dark: bool) -> None:
        self.modules[y][x], self._is_fixed[y][x] = dark, True

    def _patterns(self) -> None:
        for i in range(self.size):
            self._set(6, i, i % 2 == 0)
            self._set(i, 6, i % 2 == 0)
        last = self.size - 4
        for x, y in ((3, 3), (last, 3), (3, last)):
            self._finder(x, y)
        places = self._alignments()
        corners = {(0, 0), (0, len(places) - 1), (len(places) - 1, 0)}
        for i, x in enumerate(places):
            for j, y in enumerate(places):
                if (i, j) not in corners:
                    self._alignment(x, y)
        self.format(0)  # takes the place
        self._version()

    def _finder(self, cx: int, cy: int) -> None:
        for dy in range(-4, 5):
            for dx in range(-4, 5):
                x, y = cx + dx, cy + dy
                if 0 <= x < self.size and 0 <= y < self.size:
                    self._set(x, y, max(abs(dx), abs(dy)) not in (2, 4))

    def _alignment(self, cx: int, cy: int) -> None:
        for dy in range(-2, 3):
            for dx in range(-2, 3):
                self._set(cx + dx, cy + dy, max(abs(dx), abs(dy)) != 1)

    def _alignments(self) -> list[int]:
        if self.version == 1:
            return []
        n = self.version // 7 + 2
        step = (self.version * 4 + n * 2 + 1) // (n * 2 - 2) * 2
        return [6, *reversed([self.size - 7 - i * step for i in range(n - 1)])]

    def format(self, mask: int) -> None:
        """Level and mask, twice."""
        data = LEVEL_M << 3 | mask
        rest = data
        for _ in range(10):
            rest = (rest << 1) ^ ((rest >> 9) * 0x537)
        bits = (data << 10 | rest) ^ 0x5412
        bit = [bool(bits >> i & 1) for i in range(15)]
        for i in range(6):
            self._set(8, i, bit[i])
        for (x, y), i in zip(((8, 7), (8, 8), (7, 8)), (6, 7, 8), strict=True):
            self._set(x, y, bit[i])
        for i in range(9, 15):
            self._set(14 - i, 8, bit[i])
        for i in range(8):
            self._set(self.size - 1 - i, 8, bit[i])
        for i in range(8, 15):
            self._set(8, self.size - 15 + i, bit[i])
        self._set(8, self.size - 8, True)

    def _version(self) -> None:
        if self.version < 7:
            return
        rest = self.version
        for _ in range(12):
            rest = (rest << 1) ^ ((rest >> 11) * 0x1F25)
        bits = self.version << 12 | rest
        for i in range(18):
            a, b = self.size - 11 + i % 3, i // 3
            self._set(a, b, bool(bits >> i & 1))
            self._set(b, a, bool(bits >> i & 1))

    def fill(self, bits: list[bool], flips: Callable[[int, int], bool]) -> None:
        """Put the bits in, from the lower right in a zigzag, with a mask over them."""
        left = iter(bits)
        for x, y in self._zigzag():
            if not self._is_fixed[y][x]:
                self.modules[y][x] = next(left, False) ^ flips(x, y)

    def _zigzag(self) -> Iterator[tuple[int, int]]:
        right = self.size - 1
        while right >= 1:
            right = 5 if right == 6 else right
            upward = (right + 1) & 2 == 0
            for step in range(self.size):
                y = self.size - 1 - step if upward else step
                yield right, y
                yield right - 1, y
            right -= 2


def _penalty(modules: Modules) -> int:
    """How hard a code is to read, by the standard's four rules."""
    size = len(modules)
    rows = ["".join("1" if dark else "0" for dark in row) for row in modules]
    columns = ["".join(column) for column in zip(*rows, strict=True)]
    score = 0
    for line in (*rows, *columns):
        score += sum(
            n - 2
            for n in map(len, line.replace("01", "0 1").replace("10", "1 0").split())
            if n >= 5
        )
        padded = f"0000{line}0000"
        score += 40 * sum(
            padded.startswith(("00001011101", "10111010000"), i) for i in range(len(padded))
        )
    for upper, lower in pairwise(rows):
        score += 3 * sum(
            len({upper[i], upper[i + 1], lower[i], lower[i + 1]}) == 1 for i in range(size - 1)
        )
    dark = sum(row.count("1") for row in rows)
    return score + 10 * (abs(20 * dark - 10 * size * size) // (size * size))
