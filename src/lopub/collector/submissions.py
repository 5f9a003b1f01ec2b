"""Submissions: what requests bring to a store, and what becomes of it, one commit at a time."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lopub.errors import Reason


class StoredReport(NamedTuple):
    """One report as it is kept."""

    campaign: int
    """The campaign's number in this store."""
    hash: bytes
    """SHA-256 of the report's id."""
    slot: int | None
    content: bytes | None
    """View mask, then payload; None where the report was withdrawn."""


Accepted = Mapping[tuple[int, int], int]
"""How many new reports, by campaign and slot."""
Inserted = Mapping[tuple[int, int | None], int]
"""How many new rows, by campaign and slot; a slot of None stands for names without content."""
Key = tuple[int, bytes]
Kept = Mapping[Key, tuple[int | None, bytes | None]]


@dataclass(frozen=True, slots=True)
class Submission:
    """What one request brings to one campaign: reports, counts of refused ones, withdrawals."""

    campaign: int
    rows: Sequence[StoredReport]
    refused: Mapping[Reason, int] = field(default_factory=dict)
    withdrawn: Sequence[bytes] = ()
    """SHA-256 of the ids of reports that are to be forgotten."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a submission. All reports that are not refused are kept, now or before."""

    refused: Mapping[int, Reason] = field(default_factory=dict)
    closed: bool = False
    """Nothing was kept: the campaign is closed."""
    postponed: bool = False
    """A withdrawal names a report that has not come, and too many of these wait; it is to be asked
    for again later."""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a group of submissions, in their order, once it is durable."""

    outcomes: Sequence[Outcome]
    n_replayed: int
    refused: Mapping[Reason, int]
    accepted: Accepted
    """How many are new, by campaign and slot."""
    n_withdrawn: int = 0
    """How many reports that had been kept were withdrawn."""

    @property
    def n_accepted(self) -> int:
        return sum(self.accepted.values())


def outcome_of(
    submission: Submission, kept: Kept, is_open: bool, postponed: Collection[Key]
) -> Outcome:
    """Return what became of one submission.

    kept: what the store has now; postponed: withdrawals that were not done.
    """
    if not is_open:
        return Outcome(closed=True)
    refused: dict[int, Reason] = {}
    for place, row in enumerate(submission.rows):
        slot_and_content = kept[row[:2]]
        if slot_and_content != row[2:]:
            refused[place] = Reason.WITHDRAWN if slot_and_content[1] is None else Reason.CONFLICT
    is_postponed = any((submission.campaign, name) in postponed for name in submission.withdrawn)
    return Outcome(refused, postponed=is_postponed)


def refused_of(
    group: Sequence[Submission], outcomes: Sequence[Outcome]
) -> Counter[tuple[int, Reason]]:
    """Return how many refusals to count, by campaign and reason; none of a closed campaign."""
    counted: Counter[tuple[int, Reason]] = Counter()
    for submission, outcome in zip(group, outcomes, strict=True):
        if not outcome.closed and (submission.refused or outcome.refused):
            counted.update(
                {(submission.campaign, reason): n for reason, n in submission.refused.items()}
            )
            counted.update((submission.campaign, reason) for reason in outcome.refused.values())
    return counted


def written_of(
    group: Sequence[Submission],
    outcomes: Sequence[Outcome],
    accepted: Accepted,
    refused: Counter[tuple[int, Reason]],
    n_withdrawn: int,
) -> Written:
    """Return what became of a whole group."""
    by_reason: Counter[Reason] = Counter()
    for (_, reason), n in refused.items():
        by_reason[reason] += n
    n_kept = sum(
        len(submission.rows) - len(outcome.refused)
        for submission, outcome in zip(group, outcomes, strict=True)
        if not outcome.closed
    )
    return Written(outcomes, n_kept - sum(accepted.values()), by_reason, accepted, n_withdrawn)
