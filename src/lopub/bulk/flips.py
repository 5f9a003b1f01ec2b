"""Bits that are all changed with one probability: what `bloom` and symmetric `unary` share."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.base import Channels, Payloads
from lopub.bulk.bit_kernels import lay_codes
from lopub.bulk.draws import RandomWords, bernoulli_words, units_of
from lopub.bulk.records import Inputs

Codes = Sequence[int]
"""One bit string a candidate."""


def flipped(
    codes: Sequence[Codes],
    widths: Sequence[int],
    change: Fraction,
    inputs: Inputs,
    source: RandomWords,
) -> Payloads:
    """The noise of the whole payload is drawn at once, in words, and each block's codes are laid over it."""
    n, n_bits = len(inputs[0]), sum(widths)
    n_words = (n_bits + 63) // 64
    payload = bernoulli_words(source, n * n_words, units_of(change)).reshape(n, n_words)
    start = 0
    for own, width, x in zip(codes, widths, inputs, strict=True):
        first, last = start // 64, (start + width - 1) // 64 + 1
        lay_codes(payload, _code_words(own, start % 64, last - first), x, first)
        start += width
    as_bytes = (
        payload.astype("<u8", copy=False)
        .view(np.uint8)
        .reshape(n, 8 * n_words)[:, : (n_bits + 7) // 8]
    )
    if n_bits % 8:
        as_bytes[:, -1] &= (1 << n_bits % 8) - 1
    return as_bytes


def refreshed(
    channels: Channels, payloads: Payloads, change: Fraction, source: RandomWords
) -> Payloads:
    """Permanent bits, each changed once more with this probability."""
    nothing = [np.zeros(len(payloads), dtype=np.int64)] * len(channels)
    noise = flipped(
        [[0]] * len(channels), [channel.width for channel in channels], change, nothing, source
    )
    return payloads ^ noise


def fresh_share(change: Fraction, composed: Fraction) -> float:
    """Of the variance of a bit that is changed by two layers, the upper one's part."""
    return float(change * (1 - change) / (composed * (1 - composed)))


def _code_words(codes: Codes, shift: int, n_words: int) -> NDArray[np.uint64]:
    """The codes in words, the first bit at `shift`. shape (n_candidates, n_words)."""
    rows = b"".join((code << shift).to_bytes(8 * n_words, "little") for code in codes)
    return np.frombuffer(rows, "<u8").astype(np.uint64).reshape(len(codes), n_words)
