"""The blocks of many reports of one view: candidates in, packed noisy payloads out."""

import numpy as np
from numpy.typing import NDArray

from lopub.exact import UNIT
from lopub.mechanism import Channel
from lopub.mechanism.bloom import BloomChannel
from lopub.mechanism.direct import DirectChannel
from lopub.mechanism.subset import SubsetChannel
from lopub.mechanism.unary import OptimizedChannel, SymmetricChannel
from lopub.randomness import Randomness
from lopub.report import pack
from lopub.simulation.draws import WORD, RandomWords, bernoulli_words, chosen, random_subsets, uniform_below, units_of, words
from lopub.simulation.kernels import lay_codes

Inputs = list[NDArray[np.int64]]
"""One array a block: the candidate of every report."""


def payload_matrix(channels: tuple[Channel, ...], inputs: Inputs, source: RandomWords) -> NDArray[np.uint8]:
    """The payloads of reports that all have these blocks. shape (n, payload bytes)."""
    if all(isinstance(channel, BloomChannel | SymmetricChannel) for channel in channels):
        return _flipped(channels, inputs, source)
    if all(isinstance(channel, DirectChannel) for channel in channels):
        return np.concatenate([_numbers(c, x, source) for c, x in zip(channels, inputs, strict=True)], axis=1)  # type: ignore[arg-type]
    if all(isinstance(channel, SubsetChannel | OptimizedChannel) for channel in channels):
        bits = [_bits(channel, x, source) for channel, x in zip(channels, inputs, strict=True)]
        return np.packbits(np.concatenate(bits, axis=1), axis=1, bitorder="little")
    return _one_by_one(channels, inputs, source)


def _flipped(channels: tuple[Channel, ...], inputs: Inputs, source: RandomWords) -> NDArray[np.uint8]:
    """`bloom` and symmetric `unary`: all blocks share one change probability, so the noise of the whole payload is drawn
    at once, in words, and the codes are laid over it."""
    n, n_bits = len(inputs[0]), sum(channel.width for channel in channels)
    n_words = (n_bits + 63) // 64
    units = channels[0].change_units * (WORD // UNIT)  # type: ignore[attr-defined]
    payload = bernoulli_words(source, n * n_words, units).reshape(n, n_words)
    start = 0
    for channel, x in zip(channels, inputs, strict=True):
        first, last = start // 64, (start + channel.width - 1) // 64 + 1
        lay_codes(payload, _code_words(channel, start % 64, last - first), x, first)
        start += channel.width
    as_bytes = payload.astype("<u8", copy=False).view(np.uint8).reshape(n, 8 * n_words)[:, : (n_bits + 7) // 8]
    if n_bits % 8:
        as_bytes[:, -1] &= (1 << n_bits % 8) - 1
    return as_bytes


def _code_words(channel: Channel, shift: int, n_words: int) -> NDArray[np.uint64]:
    """The code matrix in words, its first bit at `shift`. shape (n_candidates, n_words)."""
    codes = channel.filters if isinstance(channel, BloomChannel) else [1 << i for i in range(channel.n_candidates)]
    rows = b"".join((code << shift).to_bytes(8 * n_words, "little") for code in codes)
    return np.frombuffer(rows, "<u8").astype(np.uint64).reshape(len(codes), n_words)


def _numbers(channel: DirectChannel, x: NDArray[np.int64], source: RandomWords) -> NDArray[np.uint8]:
    kept = chosen(source, len(x), units_of(channel.keep))
    cells = np.where(kept, x, uniform_below(source, np.full(len(x), channel.n_candidates, dtype=np.int64)))
    return cells.astype(">i8").view(np.uint8).reshape(-1, 8)[:, 8 - channel.n_bytes :]


def _bits(channel: Channel, x: NDArray[np.int64], source: RandomWords) -> NDArray[np.uint8]:
    """`subset` and optimized `unary`: 0/1 rows. shape (n, width)."""
    law, n = channel.law(), len(x)
    rows = np.arange(n)
    if isinstance(channel, SubsetChannel):
        return _subsets(channel, x, source)
    n_words = (n * channel.width + 63) // 64
    noise = bernoulli_words(source, n_words, units_of(law.q)).astype("<u8", copy=False).view(np.uint8)
    bits = np.unpackbits(noise, bitorder="little")[: n * channel.width].reshape(n, channel.width)
    bits[rows, x] = words(source, n) >> np.uint64(63)
    return bits


def _subsets(channel: SubsetChannel, x: NDArray[np.int64], source: RandomWords) -> NDArray[np.uint8]:
    """w of the other cells where the true one is not held, w - 1 and the true one where it is."""
    held = chosen(source, len(x), units_of(channel.law().p))
    bits = np.zeros((len(x), channel.n_candidates), dtype=np.uint8)
    for rows, size in ((np.flatnonzero(held), channel.subset_size - 1), (np.flatnonzero(~held), channel.subset_size)):
        others = random_subsets(source, len(rows), size, channel.n_candidates - 1)
        is_other = np.ones((len(rows), channel.n_candidates), dtype=bool)
        is_other[np.arange(len(rows)), x[rows]] = False
        part = np.zeros((len(rows), channel.n_candidates), dtype=np.uint8)
        part[is_other] = others.reshape(-1)
        bits[rows] = part
    bits[held, x[held]] = 1
    return bits


class _Drawn(Randomness):
    """The client's own draws, fed from a stream of words: for a mechanism that has no vectorised twin here."""

    def __init__(self, source: RandomWords) -> None:
        self._source = source

    def take(self, n_bytes: int) -> bytes:
        return words(self._source, (n_bytes + 7) // 8).tobytes()[:n_bytes]


def _one_by_one(channels: tuple[Channel, ...], inputs: Inputs, source: RandomWords) -> NDArray[np.uint8]:
    randomness = _Drawn(source)
    rows = [
        pack([c.randomize(int(x), randomness) for c, x in zip(channels, candidates, strict=True)], channels)
        for candidates in zip(*inputs, strict=True)
    ]
    n_bytes = (sum(channel.width for channel in channels) + 7) // 8
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), n_bytes)
