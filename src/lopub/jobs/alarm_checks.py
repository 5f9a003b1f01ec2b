"""Checks for fake reports while a campaign runs: made as it grows, beside the pages that show them.

Whoever looks again and again is bound to see something once, so each check gets a smaller share of
the chance of a false alarm: at most one honest campaign in a hundred ever shows an alarm here. A
publication makes checks of its own.
"""

import math
import secrets
import threading
import time
from dataclasses import dataclass

from lopub.collector.batches import blocks_of
from lopub.collector.campaigns import Entry
from lopub.collector.store import ReportStore
from lopub.errors import LopubError
from lopub.planning.alarms import FALSE_ALARMS, Alarm, alarms_of
from lopub.publication.sources import MOST_CHECKED
from lopub.reports.batch import ReportBatch
from lopub.reports.engines import HashRange

GROWTH = 1.25
"""The next check is due when there are so many times as many reports."""
REST = 50
"""After a check, so many times as long as it took pass before the next: checks take a fiftieth of a
core at most, however fast reports come in, and leave the rest to taking them."""


@dataclass(frozen=True)
class AlarmCheck:
    """What a check found, and among how many reports."""

    number: int
    n_reports: int
    alarms: tuple[Alarm, ...]


def check_due(n_reports: int, min_reports: int) -> int:
    """The number of the last check that is due, from 0 on."""
    first = max(min_reports, 1)
    return int(math.log(max(n_reports, first) / first) / math.log(GROWTH) + 1e-9)


def share_of(number: int) -> float:
    """The chance of a false alarm that a check has; those of all checks that there can be add up to
    `FALSE_ALARMS`."""
    return FALSE_ALARMS / ((number + 1) * (number + 2))


def drawn_range(n_reports: int) -> HashRange:
    """A range of hashes with as many reports as are checked. Where it begins is drawn, so that
    nobody can choose the ids of fakes to lie elsewhere."""
    return HashRange.drawn(secrets.randbits(64), n_reports, MOST_CHECKED)


def reports_in(store: ReportStore, entry: Entry, hashes: HashRange) -> ReportBatch:
    """The reports of a campaign whose hashes lie in a range."""
    with store.reading() as connection:
        return ReportBatch.gathered(blocks_of(store, connection, entry, hashes.low, hashes.high))


class AlarmChecks:
    """The last check of each campaign."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._last: dict[str, AlarmCheck] = {}
        self._rested = 0.0  # from when on there may be another check

    def last(self, store: ReportStore, entry: Entry, n_reports: int) -> AlarmCheck | None:
        """What the last check found; None before the first one. Where another one is due, it
        begins, and whoever asks later gets what it found."""
        found = self._last.get(entry.campaign.id)
        due = check_due(n_reports, entry.campaign.terms.min_reports)
        is_due = (found is None or found.number < due) and time.monotonic() >= self._rested
        if is_due and self._turn.acquire(blocking=False):
            threading.Thread(
                target=self._check,
                args=(store, entry, n_reports, due),
                name="lopub-alarm-check",
                daemon=True,
            ).start()
        return found

    def _check(self, store: ReportStore, entry: Entry, n_reports: int, due: int) -> None:
        started = time.monotonic()
        try:
            batch = reports_in(store, entry, drawn_range(n_reports))
            alarms = alarms_of(batch, share_of(due))
            self._last[entry.campaign.id] = AlarmCheck(due, len(batch), alarms)
        except LopubError:
            pass  # the store is out of reach; whoever asks next tries again
        finally:
            self._rested = time.monotonic() + REST * (time.monotonic() - started)
            self._turn.release()
