"""SHA-256 of many report ids at once: the same steps for sixteen ids side by side, each in a lane of the processor's registers.

An id has 16 bytes, so its padded message is one block, of which the last twelve words are known. numba's loops over small arrays
leave the lanes in memory; the rounds are therefore written down for LLVM, which knows vectors of integers.
"""

from collections.abc import Callable
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.compiling import compiled, instruction

LANES = 16
ID_BYTES, WORDS_IN, WORDS_OUT = 16, 4, 8
Lanes = NDArray[np.uint32]
"""shape (words * LANES,): word by word, the lanes side by side."""


def _primes(n: int) -> list[int]:
    found = [2]
    while len(found) < n:
        found.append(
            next(
                k for k in range(found[-1] + 1, 2 * found[-1]) if all(k % prime for prime in found)
            )
        )
    return found


def _cube_root(number: int) -> int:
    """Rounded down; Newton's steps from above."""
    root = 1 << (number.bit_length() // 3 + 1)
    while root**3 > number:
        root = (2 * root + number // (root * root)) // 3
    return root


FIRST = [isqrt(prime << 64) & 0xFFFFFFFF for prime in _primes(8)]
"""The state before the first round: the fractions of the square roots of the first primes (FIPS 180-4, 5.3.3)."""
ROUND = [_cube_root(prime << 96) & 0xFFFFFFFF for prime in _primes(64)]
"""The constant of each round: those of the cube roots (4.2.2)."""
PADDING = [0x80000000, *[0] * 10, 8 * ID_BYTES]
"""The words of the block behind an id."""


class _Rounds:
    """The rounds of one block, written into a function that is being compiled."""

    def __init__(self, builder: Any) -> None:
        from llvmlite import ir

        self.builder, self.constant = builder, ir.Constant
        self.lanes, self.index = ir.VectorType(ir.IntType(32), LANES), ir.IntType(64)

    def word(self, value: int) -> Any:
        return self.constant(self.lanes, [value] * LANES)

    def places(self, array: Any) -> list[Any]:
        """Where the words of an array lie."""
        start = self.builder.bitcast(array.data, self.lanes.as_pointer())
        return [
            self.builder.gep(start, [self.constant(self.index, number)])
            for number in range(WORDS_OUT)
        ]

    def sum(self, first: Any, *others: Any) -> Any:
        for other in others:
            first = self.builder.add(first, other)
        return first

    def rotated(self, x: Any, n: int) -> Any:
        return self.builder.or_(
            self.builder.lshr(x, self.word(n)), self.builder.shl(x, self.word(32 - n))
        )

    def mixed(self, x: Any, first: int, second: int, third: int, *, shifted: bool) -> Any:
        """The functions that FIPS 180-4 writes as sigma, large or small (4.1.2)."""
        last = self.builder.lshr(x, self.word(third)) if shifted else self.rotated(x, third)
        return self.builder.xor(
            self.builder.xor(self.rotated(x, first), self.rotated(x, second)), last
        )

    def state(self, message: list[Any]) -> list[Any]:
        """The eight words of the hash of a block of sixteen."""
        build, w = self.builder, list(message)
        first = [self.word(value) for value in FIRST]
        a, b, c, d, e, f, g, h = first
        for number, constant in enumerate(ROUND):
            if number >= len(message):
                late, early = (
                    self.mixed(w[-2], 17, 19, 10, shifted=True),
                    self.mixed(w[-15], 7, 18, 3, shifted=True),
                )
                w.append(self.sum(late, w[-7], early, w[-16]))
            choice = build.xor(g, build.and_(e, build.xor(f, g)))
            majority = build.or_(build.and_(a, b), build.and_(c, build.or_(a, b)))
            one = self.sum(
                h, self.mixed(e, 6, 11, 25, shifted=False), choice, self.word(constant), w[number]
            )
            two = self.sum(self.mixed(a, 2, 13, 22, shifted=False), majority)
            a, b, c, d, e, f, g, h = self.sum(one, two), a, b, c, self.sum(d, one), e, f, g
        return [
            self.sum(old, new) for old, new in zip(first, (a, b, c, d, e, f, g, h), strict=True)
        ]


def _hash(_context: Any, words: Any, hashes: Any) -> Any:
    """As numba wants it described."""
    from numba import types

    def body(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rounds, pairs = _Rounds(builder), zip(signature.args, arguments, strict=True)
        source, target = (
            rounds.places(context.make_array(kind)(context, builder, value))
            for kind, value in pairs
        )
        message = [builder.load(place, align=4) for place in source[:WORDS_IN]]
        for place, word in zip(
            target, rounds.state([*message, *map(rounds.word, PADDING)]), strict=True
        ):
            builder.store(word, place, align=4)
        return context.get_dummy_value()

    return types.void(words, hashes), body


hash_lanes: Callable[[Lanes, Lanes], None] = instruction(_hash)
"""From the ids' words to the hashes' words."""


@compiled
def sha256_of(ids: NDArray[np.uint8], hashes: NDArray[np.uint8]) -> None:
    """ids: shape (n, 16); hashes: shape (n, 32), to be filled."""
    words, out = np.zeros(4 * 16, dtype=np.uint32), np.zeros(8 * 16, dtype=np.uint32)
    n = len(ids)
    for start in range(0, n, 16):
        n_here = min(16, n - start)
        for lane in range(n_here):
            for k in range(4):
                word = np.uint32(0)
                for byte in range(4):
                    word = np.uint32(word << np.uint32(8)) | np.uint32(
                        ids[start + lane, 4 * k + byte]
                    )
                words[16 * k + lane] = word
        hash_lanes(words, out)
        for lane in range(n_here):
            for k in range(8):
                word = out[16 * k + lane]
                for byte in range(4):
                    hashes[start + lane, 4 * k + byte] = np.uint8(word >> np.uint32(24 - 8 * byte))
