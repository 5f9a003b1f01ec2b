"""Reports as wire bytes, each behind its length in two bytes: many found, looked into and written at once."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.compiling import compiled
from lopub.bulk.packed import Packed
from lopub.campaign.campaign import HEADER_BYTES, Campaign
from lopub.campaign.report import VERSION
from lopub.errors import NeedsReports, Reason, StoreError
from lopub.reports.batch.batch import ReportBatch
from lopub.reports.batch.check import checked_batch

BYTES_AT_ONCE = 2**22
"""What is read of a file at once; more than one report has."""
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Frames:
    """Reports that were not yet looked into. starts, lengths: where in the data each begins, behind its length, and how long it
    is."""

    data: NDArray[np.uint8]
    starts: Numbers
    lengths: Numbers
    end: int = 0
    """Where in their file the last one ends."""


def walk_frames(
    path: Path, block: int, start: int = 0, stop: int | None = None
) -> Iterator[Frames]:
    """The reports of a file, or of some of its bytes, in blocks of so many; an error where the last one is cut off."""
    at, end = start, path.stat().st_size if stop is None else stop
    with open(path, "rb") as file:
        while at < end:
            file.seek(at)
            data = np.frombuffer(file.read(min(BYTES_AT_ONCE, end - at)), np.uint8)
            frames, n_used = _found(data, block)
            if not n_used:
                raise StoreError(
                    f"{path} is a damaged or cut-off file of framed reports: the last one is not whole"
                )
            at += n_used
            yield replace(frames, end=at)


def frame_cuts(path: Path, every: int) -> list[tuple[int, int]]:
    """Where runs of about so many reports begin in a file, and how many each has; last, where the file ends, and 0."""
    cuts, begin, n = [], 0, 0
    for frames in walk_frames(path, every):
        n += len(frames.starts)
        if n >= every:
            cuts.append((begin, n))
            begin, n = frames.end, 0
    return [*cuts, *([(begin, n)] if n else []), (path.stat().st_size, 0)]


def _found(data: NDArray[np.uint8], most: int) -> tuple[Frames, int]:
    """The whole reports at the beginning of some bytes, and how many bytes they take."""
    room = min(most, len(data) // 2 + 1)
    starts, lengths = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    n, at = _follow(data, starts, lengths)
    return Frames(data, starts[:n], lengths[:n]), at


@compiled
def _follow(data: NDArray[np.uint8], starts: Numbers, lengths: Numbers) -> tuple[int, int]:
    """From length to length, as long as whole reports come and there is room; how many, and how many bytes they take."""
    n = at = 0
    while n < len(starts) and at + 2 <= len(data):
        length = 256 * int(data[at]) + int(data[at + 1])
        if at + 2 + length > len(data):
            break
        starts[n] = at + 2
        lengths[n] = length
        at += 2 + length
        n += 1
    return n, at


def from_frames(frames: Sequence[bytes], campaign: Campaign) -> ReportBatch:
    """The well-formed ones among these wire bytes, with the others counted by reason."""
    strings = Packed.from_lengths(
        np.frombuffer(b"".join(frames), np.uint8),
        np.array([len(frame) for frame in frames], np.int64),
    )
    return batch_of_frames(Frames(strings.data, strings.offsets[:-1], strings.lengths), campaign)


def batch_of_frames(frames: Frames, campaign: Campaign) -> ReportBatch:
    """The same of reports that lie in one array. A signature is left out: whoever takes reports from people checks it."""
    n_head, starts = HEADER_BYTES + campaign.mask_bytes, frames.starts
    lengths = frames.lengths - campaign.signature_bytes
    long_enough = lengths >= n_head
    starts, lengths = starts[long_enough], lengths[long_enough]
    head = Packed.copied(
        frames.data, starts, np.full(len(starts), n_head, dtype=np.int64)
    ).data.reshape(-1, n_head)
    of_version = head[:, 0] == VERSION
    own = of_version & (head[:, 1:9] == np.frombuffer(campaign.prefix, np.uint8)).all(axis=1)
    if not own.all():
        head, starts, lengths = head[own], starts[own], lengths[own]
    payloads = Packed.copied(frames.data, starts + n_head, lengths - n_head)
    slots = head[:, 25:29].copy().view(">u4").reshape(-1).astype(np.uint32)
    batch = checked_batch(
        campaign, np.ascontiguousarray(head[:, 9:25]), slots, head[:, HEADER_BYTES:], payloads
    )
    refused = {
        Reason.LENGTH: int((~long_enough).sum()),
        Reason.VERSION: int((~of_version).sum()),
        Reason.CAMPAIGN: int((of_version & ~own).sum()),
    }
    return replace(batch, refused=dict(Counter(batch.refused) + Counter(refused)))


def framed_bytes(batch: ReportBatch) -> bytes:
    """Every report of a batch behind its length, as in a request."""
    if batch.campaign.signature_bytes:
        raise NeedsReports(
            "reports of invited people carry signatures, which a batch does not keep; write it as Parquet"
        )
    n, n_mask = len(batch), batch.campaign.mask_bytes
    head = np.empty((n, 2 + HEADER_BYTES + n_mask), dtype=np.uint8)
    lengths = HEADER_BYTES + n_mask + batch.payloads.lengths
    head[:, :2] = lengths.astype(">u2").view(np.uint8).reshape(n, 2)
    head[:, 2] = VERSION
    head[:, 3:11] = np.frombuffer(batch.campaign.prefix, np.uint8)
    head[:, 11:27] = batch.whole_ids
    head[:, 27:31] = batch.slots.astype(">u4").view(np.uint8).reshape(n, 4)
    head[:, 31:] = batch.masks
    whole = np.empty(int(lengths.sum()) + 2 * n, dtype=np.uint8)
    is_head = np.zeros(len(whole), dtype=bool)
    starts = np.cumsum(lengths + 2) - (lengths + 2)
    is_head[(starts[:, None] + np.arange(head.shape[1])).reshape(-1)] = True
    whole[is_head] = head.reshape(-1)
    whole[~is_head] = batch.payloads.bytes_used
    return whole.tobytes()
