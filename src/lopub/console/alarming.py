"""Alarms against fake reports while a campaign runs: looked for as it grows, beside the pages that show them.

Whoever looks again and again is bound to see something once, so each look gets a smaller share of the chance of a false alarm: at
most one honest campaign in a hundred ever shows one here. A publication looks for itself.
"""

import math
import secrets
import threading
import time
from dataclasses import dataclass

from lopub.collector.campaigns import Entry
from lopub.collector.reading import blocks_of
from lopub.collector.store import ReportStore
from lopub.errors import LopubError
from lopub.planning.alarms import FALSE_ALARMS, Alarm, alarms_of
from lopub.reports.batch import ReportBatch

GROWTH = 1.25
"""The next look is due when there are so many times as many reports."""
MOST_LOOKED_AT = 50_000
"""Reports; of more, some are drawn."""
PREFIX_BYTES = 8
"""Of a hash, enough to cut the range of all hashes anywhere."""
_WHOLE = 2 ** (8 * PREFIX_BYTES)
REST = 50
"""After a look, so many times as long as it took pass before the next: looking takes a fiftieth of a core at most, however fast
reports come in, and leaves the rest to taking them."""


@dataclass(frozen=True)
class Look:
    """What was seen, and among how many reports."""

    number: int
    n_reports: int
    alarms: tuple[Alarm, ...]


def look_due(n_reports: int, min_reports: int) -> int:
    """The number of the last look that is due, from 0 on."""
    first = max(min_reports, 1)
    return int(math.log(max(n_reports, first) / first) / math.log(GROWTH) + 1e-9)


def share_of(number: int) -> float:
    """The chance of a false alarm that a look has; all looks that there can be add up to `FALSE_ALARMS`."""
    return FALSE_ALARMS / ((number + 1) * (number + 2))


def drawn_range(n_reports: int) -> tuple[bytes, bytes | None]:
    """A range of hashes in which so many reports lie as are looked at. Where it begins is drawn, so that nobody can choose the
    ids of fakes to lie elsewhere."""
    return range_at(secrets.randbelow(_WHOLE), n_reports)


def range_at(draw: int, n_reports: int) -> tuple[bytes, bytes | None]:
    """The range of hashes that a draw below 2^64 chooses; all of them where there are few reports."""
    if n_reports <= MOST_LOOKED_AT:
        return b"", None
    width = _WHOLE * MOST_LOOKED_AT // n_reports
    low = draw * (_WHOLE - width) // _WHOLE
    return low.to_bytes(PREFIX_BYTES), (low + width).to_bytes(PREFIX_BYTES)


def looked_at(
    store: ReportStore, entry: Entry, low: bytes = b"", high: bytes | None = None
) -> ReportBatch:
    """The reports of a range of hashes."""
    with store.reading() as connection:
        return ReportBatch.gathered(blocks_of(store, connection, entry, low, high))


class Lookout:
    """The last look at each campaign."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._looks: dict[str, Look] = {}
        self._rested = 0.0  # from when on there may be another look

    def at(self, store: ReportStore, entry: Entry, n_reports: int) -> Look | None:
        """What was seen last; None before the first look. Where another one is due, it begins, and somebody who comes later sees
        what it found."""
        found, due = (
            self._looks.get(entry.campaign.id),
            look_due(n_reports, entry.campaign.terms.min_reports),
        )
        is_due = (found is None or found.number < due) and time.monotonic() >= self._rested
        if is_due and self._turn.acquire(blocking=False):
            threading.Thread(
                target=self._look,
                args=(store, entry, n_reports, due),
                name="lopub-lookout",
                daemon=True,
            ).start()
        return found

    def _look(self, store: ReportStore, entry: Entry, n_reports: int, due: int) -> None:
        started = time.monotonic()
        try:
            batch = looked_at(store, entry, *drawn_range(n_reports))
            self._looks[entry.campaign.id] = Look(due, len(batch), alarms_of(batch, share_of(due)))
        except LopubError:
            pass  # the store is out of reach; whoever comes next tries again
        finally:
            self._rested = time.monotonic() + REST * (time.monotonic() - started)
            self._turn.release()
