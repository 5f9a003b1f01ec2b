"""All rounds of a campaign side by side: the level of every share in each, and its changes from one to the next, with intervals.

In mode sampled the noise of two rounds is independent, and the variance of a change is the sum of the two. In mode permanent the
noise of the answers that devices keep is the same in both rounds as far as the same devices took part, and reports do not tell
how many did. So a change has two standard errors: if nobody stayed, the sum of both variances; if everybody stayed, that of the
fresh noise alone. The truth lies between them; the interval is the wider one, which is never too narrow.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from lopub.bulk import bulk_of
from lopub.campaign.campaign import Campaign
from lopub.campaign.schedule import Repeat, Schedule
from lopub.campaign.texts import one_line
from lopub.errors import CampaignError, TooFewReports
from lopub.publication.smoothing import Smoothed, smoothed
from lopub.queries import Study
from lopub.queries.answers import Answer
from lopub.queries.queries import MOST_TABLE_CELLS
from lopub.reports.batch import ReportBatch
from lopub.reports.origin import PLAIN, Origin

NORMAL_95 = 1.959963984540054
"""Standard errors on either side of an estimate that hold 95 % of a normal distribution."""


@dataclass(frozen=True)
class Level:
    """The share of people with one answer, in one round."""

    slot: int
    attribute: str
    value: str
    share: float
    standard_error: float
    low: float
    high: float
    n_reports: int


@dataclass(frozen=True)
class Change:
    """How much a share changed from one published round to the next."""

    first: int
    second: int
    attribute: str
    value: str
    change: float
    standard_error: float
    """Where the noise of the two rounds is independent: in mode permanent, if nobody stayed."""
    least_error: float
    """If everybody stayed: in mode permanent, that of the fresh noise alone; in mode sampled, the same as the other."""

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, and in mode permanent at least that."""
        return self._around(self.standard_error)

    @property
    def narrow_interval(self) -> tuple[float, float]:
        """95 % if the same people took part in both rounds."""
        return self._around(self.least_error)

    def _around(self, error: float) -> tuple[float, float]:
        return max(-1.0, self.change - NORMAL_95 * error), min(1.0, self.change + NORMAL_95 * error)


@dataclass(frozen=True, eq=False, kw_only=True)
class Rounds:
    """What all rounds say that have enough reports."""

    campaign: Campaign
    n_reports: Mapping[int, int]
    """Slot of a published round -> its reports."""
    left_out: tuple[int, ...]
    """Slots of all other rounds: they have fewer reports than the campaign's min_reports, or none, which is not told apart."""
    too_large: tuple[str, ...]
    """Attributes with more candidates than are told here."""
    levels: tuple[Level, ...]
    changes: tuple[Change, ...]
    smoothing: Mapping[str, Smoothed]
    """Attribute -> its levels, smoothed over the rounds where that pays; of mode sampled, whose rounds have their own noise."""
    origin: Origin = PLAIN
    """What readers should know of where the reports come from."""

    @cached_property
    def smooth(self) -> Mapping[Level, float]:
        """Level -> the share that smoothing makes of it; the same where it does not pay."""
        found = {level: level.share for level in self.levels}
        grids = _grids(self.levels)
        for name, own in self.smoothing.items():
            for place, row in enumerate(grids[name]):
                found |= {level: float(own.levels[place, i]) for i, level in enumerate(row)}
        return found

    def __repr__(self) -> str:
        return one_line(
            self,
            repr(self.campaign.terms.name),
            f"{len(self.n_reports)} rounds",
            f"{len(self.levels)} levels",
        )

    def save(self, path: str | Path, *, language: str = "", force: bool = False) -> None:
        """Write a directory with both tables, a page and the campaign, whole or not at all. language: of the page."""
        from lopub.publication.render.rounds import (
            save_rounds,
        )  # the files know the rounds, not the other way round

        save_rounds(self, path, language=language, force=force)


def publish_rounds(batch: ReportBatch) -> Rounds:
    """Levels and changes of every attribute's answers, over all rounds with at least min_reports reports each."""
    campaign = batch.campaign
    schedule, repeat = rounds_of(campaign)
    found = {slot: batch.of_round(slot) for slot in schedule.slots}
    counted = {
        slot: own for slot, own in found.items() if len(own) >= max(campaign.terms.min_reports, 1)
    }
    if not counted:
        raise TooFewReports(
            f"no round has the {campaign.terms.min_reports:,} reports that the campaign asks for"
        )
    names = [one.name for one in campaign.domain.attributes if one.size <= MOST_TABLE_CELLS]
    levels: dict[tuple[int, str, str], Level] = {}
    for slot, own in counted.items():
        levels |= {
            (slot, level.attribute, level.value): level
            for level in _levels(Study(own), slot, names)
        }
    return Rounds(
        campaign=campaign,
        n_reports={slot: len(own) for slot, own in counted.items()},
        left_out=tuple(slot for slot in schedule.slots if slot not in counted),
        too_large=tuple(one.name for one in campaign.domain.attributes if one.name not in names),
        levels=tuple(levels.values()),
        changes=tuple(_changes(campaign, repeat, sorted(counted), levels)),
        smoothing={}
        if repeat.is_permanent
        else dict(_smoothing(schedule, tuple(levels.values()), names)),
        origin=batch.origin,
    )


def rounds_beside(batch: ReportBatch, own: ReportBatch) -> Rounds | None:
    """All rounds, to be shown beside a publication of one; None where that one has too few reports, or no other has enough."""
    if len(own) < max(batch.campaign.terms.min_reports, 1):
        return None
    rounds = publish_rounds(batch)
    return rounds if len(rounds.n_reports) > 1 else None


def _grids(levels: Sequence[Level]) -> dict[str, list[list[Level]]]:
    """Attribute -> its levels, one list a round; without those of which a round lacks an answer that others have."""
    found: dict[str, dict[int, list[Level]]] = {}
    for level in levels:
        found.setdefault(level.attribute, {}).setdefault(level.slot, []).append(level)
    return {
        name: list(rows.values())
        for name, rows in found.items()
        if len({len(row) for row in rows.values()}) == 1
    }


def _smoothing(
    schedule: Schedule, levels: Sequence[Level], names: Sequence[str]
) -> Iterator[tuple[str, Smoothed]]:
    grids = _grids(levels)
    for name in names:
        if rows := grids.get(name):
            shares, errors = (
                np.array([[getattr(one, of) for one in row] for row in rows])
                for of in ("share", "standard_error")
            )
            yield (
                name,
                smoothed(shares, errors, [schedule.slots.index(row[0].slot) for row in rows]),
            )


def rounds_of(campaign: Campaign) -> tuple[Schedule, Repeat]:
    """The schedule of a campaign that repeats; refuses any other."""
    schedule = campaign.terms.schedule
    if schedule is None or schedule.repeat is None:
        raise CampaignError(
            f"campaign {campaign.terms.name!r} has no rounds; leave out --round and --all-rounds"
        )
    return schedule, schedule.repeat


def _levels(study: Study, slot: int, names: list[str]) -> Iterator[Level]:
    for name in names:
        for (value,), answer in study.table(name).cells.items():
            figures = _figures(answer)
            if figures is not None:
                yield Level(slot, name, value, *figures, answer.n_informative)


def _figures(answer: Answer) -> tuple[float, float, float, float] | None:
    """None where nothing can be said."""
    if (
        answer.estimate is None
        or answer.standard_error is None
        or answer.low is None
        or answer.high is None
    ):
        return None
    return answer.estimate, answer.standard_error, answer.low, answer.high


def _changes(
    campaign: Campaign,
    repeat: Repeat,
    slots: list[int],
    levels: Mapping[tuple[int, str, str], Level],
) -> Iterator[Change]:
    cells: dict[int, list[tuple[str, str]]] = {slot: [] for slot in slots}
    for slot, name, value in levels:
        cells[slot].append((name, value))
    for first, second in pairwise(slots):
        for name, value in cells[first]:
            before, after = levels[first, name, value], levels.get((second, name, value))
            if after is not None:
                error = math.hypot(before.standard_error, after.standard_error)
                least = (
                    math.hypot(*(_fresh_error(campaign, one) for one in (before, after)))
                    if repeat.is_permanent
                    else error
                )
                yield Change(first, second, name, value, after.share - before.share, error, least)


def _fresh_error(campaign: Campaign, level: Level) -> float:
    """The part of a level's standard error that is drawn anew in every round: of its variance, what is not that of people, and of
    that the share of the fresh layer. Where views differ, of the view with the least."""
    share, position = min(max(level.share, 0.0), 1.0), campaign.domain.position(level.attribute)
    sigma, bulk = 1 / campaign.domain.sizes[position], bulk_of(campaign.mechanism)
    noise = max(level.standard_error**2 - share * (1 - share) / max(level.n_reports, 1), 0.0)
    views = [view for view in campaign.view.views(campaign.domain.sizes) if position in view]
    channels = [
        campaign.channels(view)[0 if campaign.jointly else view.index(position)] for view in views
    ]
    return math.sqrt(noise * min(bulk.fresh_share(channel, share, sigma) for channel in channels))
