"""Loops over packed words."""

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.compiling import compiled

MOST_PLANES = 64
"""Random words that one word of the Bernoulli kernel takes at most."""


@compiled
def fill_bernoulli(result: NDArray[np.uint64], units: np.uint64, pool: NDArray[np.uint64]) -> int:
    """Words whose bits are one with probability units / 2^64, independently; how many were filled.

    Every bit position owns a 64-bit number that is compared with `units`, most significant bit first, all positions of a
    word at once. A one in a drawn plane says that the number differs from `units` there; the position is then decided, and
    its bit a one where `units` has a one. The average word is done after seven planes.

    pool: random words, each used once at most. A word is begun only where the pool would suffice for it in any case: to stop
    in the middle of one and draw it again would favour words that need few planes.
    """
    at = 0
    for i in range(len(result)):
        if at + MOST_PLANES > len(pool):
            return i
        ones = np.uint64(0)
        undecided = np.uint64(0xFFFFFFFFFFFFFFFF)
        rest = units
        while undecided and rest:
            drawn = pool[at]
            at += 1
            if rest >> np.uint64(63):
                ones |= undecided & drawn
            undecided &= ~drawn
            rest <<= np.uint64(1)
        result[i] = ones
    return len(result)


@compiled
def fill_bernoulli_seeded(
    result: NDArray[np.uint64], units: np.uint64, state: NDArray[np.uint64], pool: int, planes: int
) -> None:
    """The words that `fill_bernoulli` makes of the words of an SFC64, drawn here and not ahead: in half the time.

    state: the generator's, moved on in place. pool: words of a pool at most; planes: words of a pool for each word to come. What
    is left of a pool is thrown away, as it is there.
    """
    a, b, c, counter = state[0], state[1], state[2], state[3]
    i = 0
    while i < len(result):
        left = min(pool, planes * (len(result) - i) + MOST_PLANES)
        while i < len(result) and left >= MOST_PLANES:
            ones = np.uint64(0)
            undecided = np.uint64(0xFFFFFFFFFFFFFFFF)
            rest = units
            while undecided and rest:
                drawn = a + b + counter
                counter += np.uint64(1)
                a = b ^ (b >> np.uint64(11))
                b = c + (c << np.uint64(3))
                c = ((c << np.uint64(24)) | (c >> np.uint64(40))) + drawn
                left -= 1
                if rest >> np.uint64(63):
                    ones |= undecided & drawn
                undecided &= ~drawn
                rest <<= np.uint64(1)
            result[i] = ones
            i += 1
        for _ in range(left):
            drawn = a + b + counter
            counter += np.uint64(1)
            a = b ^ (b >> np.uint64(11))
            b = c + (c << np.uint64(3))
            c = ((c << np.uint64(24)) | (c >> np.uint64(40))) + drawn
    state[0], state[1], state[2], state[3] = a, b, c, counter


@compiled
def lay_codes(
    payload: NDArray[np.uint64], codes: NDArray[np.uint64], inputs: NDArray[np.int64], first: int
) -> None:
    """Exclusive-or each report's words, from word `first` on, with the code words of its candidate."""
    for i in range(len(inputs)):
        row = payload[i]
        code = codes[inputs[i]]
        for j in range(len(code)):
            row[first + j] ^= code[j]
