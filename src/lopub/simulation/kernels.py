"""Loops over packed words."""

import numpy as np
from numpy.typing import NDArray

from lopub.compiling import compiled


@compiled
def fill_bernoulli(result: NDArray[np.uint64], units: np.uint64, state: NDArray[np.uint64]) -> None:
    """Words whose bits are one with probability units / 2^64, independently. state: of an SFC64, moved on in place.

    Every bit position owns a 64-bit number that is compared with `units`, most significant bit first, all positions of a
    word at once. A one in a drawn plane says that the number differs from `units` there; the position is then decided, and
    its bit a one where `units` has a one. The average word is done after seven planes.
    """
    a, b, c, counter = state[0], state[1], state[2], state[3]
    everything = np.uint64(0xFFFFFFFFFFFFFFFF)
    for i in range(len(result)):
        ones = np.uint64(0)
        undecided = everything
        rest = units
        while undecided and rest:
            drawn = a + b + counter
            counter += np.uint64(1)
            a = b ^ (b >> np.uint64(11))
            b = c + (c << np.uint64(3))
            c = ((c << np.uint64(24)) | (c >> np.uint64(40))) + drawn
            if rest >> np.uint64(63):
                ones |= undecided & drawn
            undecided &= ~drawn
            rest <<= np.uint64(1)
        result[i] = ones
    state[0], state[1], state[2], state[3] = a, b, c, counter


@compiled
def lay_codes(payload: NDArray[np.uint64], codes: NDArray[np.uint64], inputs: NDArray[np.int64], first: int) -> None:
    """Exclusive-or each report's words, from word `first` on, with the code words of its candidate."""
    for i in range(len(inputs)):
        row = payload[i]
        code = codes[inputs[i]]
        for j in range(len(code)):
            row[first + j] ^= code[j]
