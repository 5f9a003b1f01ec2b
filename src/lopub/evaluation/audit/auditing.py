"""The audit: records in pairs, events found on one half of the reports and tested on the other."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.campaign import HEADER_BYTES, Campaign
from lopub.campaign.report import ID, SLOT
from lopub.errors import DomainError, checks_options
from lopub.evaluation.audit.bounds import agree_too_often, epsilon_below
from lopub.evaluation.audit.events import Column, Events, events_of, scores
from lopub.evaluation.audit.respondents import AGAIN, Client, Record, asked, made_up_records
from lopub.reports.progress import Progress, silent

CONFIDENCE = 0.99
REFUTED = 1e-6
"""The chance that an honest client is refuted, over all events together."""
N_PROCESSES = 20
N_RECORDS = 6
N_TESTED = 6
"""Events that each ordered pair of records brings to the test, beside thresholds of its score."""
N_THRESHOLDS = 24
ANOTHER_DAY = "made on another day"


@dataclass(frozen=True)
class Finding:
    """An event whose probabilities lie further apart than the claim allows. epsilon: at least, wrong with a chance of 1e-6 over
    all events; None where no epsilon would do."""

    event: str
    epsilon: float | None
    records: tuple[int, int] | None = None


@dataclass(frozen=True)
class Audit:
    """What was found."""

    claimed: float
    at_least: float
    """Epsilon is not below this, with a confidence of 99 %."""
    event: str
    """The one that says so."""
    refuted: tuple[Finding, ...]
    format_mistakes: dict[str, int]
    """Reason -> reports that a collector would refuse."""
    n_reports: int
    n_tests: int
    records: tuple[Record, ...]

    @property
    def n_refused(self) -> int:
        """Reports that a collector of this campaign would refuse, whatever the day."""
        return sum(n for reason, n in self.format_mistakes.items() if reason != ANOTHER_DAY)

    @property
    def is_conclusive(self) -> bool:
        """Whether at least half of what was looked at are reports of this campaign. Otherwise there was nothing to refute."""
        return 2 * self.n_refused <= self.n_reports


@checks_options
def audit(
    campaign: Campaign,
    client: Client,
    *,
    n_reports: int = 12_000,
    again: bool = False,
    today: int | None = None,
    progress: Progress = silent,
) -> Audit:
    """Check a client as a black box. n_reports: of each of six records. again: also ask for reports once more, which must give
    the same bytes. today: the slot that reports should have."""
    if n_reports < 200:
        raise DomainError(f"n_reports must be at least 200, got {n_reports}")
    records = made_up_records(campaign.domain, N_RECORDS)
    each = -(-n_reports // N_PROCESSES)
    lines: list[Record | str] = [record for _ in range(each) for record in records]
    processes = asked(client, lines, N_PROCESSES, progress)
    wires = [wire for reports in processes for wire in reports]
    of_record = np.tile(np.arange(len(records)), each * N_PROCESSES)
    events = events_of(campaign, wires)
    progress("events looked at", 1, 1)
    tests = list(_tests(events, of_record, len(records)))
    found = [
        *_repeats(processes, len(records)),
        *(_redrawn(client, records) if again else ()),
        *_beyond(tests, float(campaign.loss)),
    ]
    best = max(tests, key=lambda test: test.expected)
    at_least = float(
        epsilon_below(best.hits, best.n, best.other_hits, best.other_n, 1 - CONFIDENCE)[0]
    )
    return Audit(
        claimed=campaign.epsilon,
        at_least=max(0.0, at_least),
        event=best.event,
        refuted=tuple(found),
        format_mistakes=_format_mistakes(events, wires, today),
        n_reports=len(wires),
        n_tests=len(tests),
        records=tuple(records),
    )


# ---- events


@dataclass(frozen=True)
class _Test:
    event: str
    records: tuple[int, int]
    expected: float
    """The bound on the half where the event was found."""
    hits: NDArray[np.int64]
    n: int
    other_hits: NDArray[np.int64]
    other_n: int


def _tests(events: Events, of_record: NDArray[np.int64], n_records: int) -> Iterator[_Test]:
    """For each ordered pair of records, the most telling events of the first half, counted on the second."""
    half = np.arange(len(of_record)) // n_records % 2
    counts = [
        np.array(
            [events.seen[(half == h) & (of_record == r)].sum(axis=0) for r in range(n_records)]
        )
        for h in (0, 1)
    ]
    sizes = [
        [int(((half == h) & (of_record == r)).sum()) for r in range(n_records)] for h in (0, 1)
    ]
    for one, other in permutations(range(n_records), 2):
        found = epsilon_below(
            counts[0][one], sizes[0][one], counts[0][other], sizes[0][other], 0.01
        )
        for column in np.argsort(-found, kind="stable")[:N_TESTED]:
            hits = (
                counts[1][one, column : column + 1],
                sizes[1][one],
                counts[1][other, column : column + 1],
                sizes[1][other],
            )
            yield _Test(events.names[column], (one, other), float(found[column]), *hits)
        yield _score_test(events, half, of_record, (one, other), counts[0])


def _score_test(
    events: Events,
    half: NDArray[np.int64],
    of_record: NDArray[np.int64],
    pair: tuple[int, int],
    counts: NDArray[np.int64],
) -> _Test:
    """All blocks together: the sum of what each bit says for one record and against the other, above the best threshold."""
    weights = np.log(counts[pair[0]] + 0.5) - np.log(counts[pair[1]] + 0.5)
    weights[: events.n_plain] = 0.0
    parts = [
        [scores(events.seen[(half == h) & (of_record == r)], weights) for r in pair] for h in (0, 1)
    ]
    levels = np.unique(
        np.quantile(np.concatenate(parts[0]), np.linspace(0.02, 0.995, N_THRESHOLDS))
    )
    hits = [[_above(part, levels) for part in halves] for halves in parts]
    found = epsilon_below(hits[0][0], len(parts[0][0]), hits[0][1], len(parts[0][1]), 0.01)
    best = slice(int(np.argmax(found)), int(np.argmax(found)) + 1)
    tested = (hits[1][0][best], len(parts[1][0]), hits[1][1][best], len(parts[1][1]))
    return _Test("all blocks together", pair, float(found[best][0]), *tested)


def _above(values: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.array([(values >= level).sum() for level in levels], dtype=np.int64)


def _beyond(tests: Sequence[_Test], claimed: float) -> Iterator[Finding]:
    """Tests that refute the claim; each has its share of the chance of an error."""
    for test in tests:
        bound = float(
            epsilon_below(
                test.hits, test.n, test.other_hits, test.other_n, REFUTED / 2 / len(tests)
            )[0]
        )
        if bound > claimed:
            yield Finding(test.event, bound, test.records)


# ---- repeats


def _repeats(processes: Sequence[Sequence[bytes]], n_records: int) -> Iterator[Finding]:
    """Ids that come twice, and processes that draw the same noise: a seed."""
    ids = Counter(wire[ID] for reports in processes for wire in reports)
    if twice := sum(times > 1 for times in ids.values()):
        yield Finding(f"{twice} report ids came more than once, which chance does not do", None)
    noise = [[wire[HEADER_BYTES:] for wire in reports] for reports in processes]
    pairs = [
        both
        for one, other in zip(noise[::2], noise[1::2], strict=False)
        for both in zip(one, other, strict=True)
    ]
    turns = [
        [one[start : start + n_records] for start in range(0, len(one), n_records)] for one in noise
    ]
    usual = [
        both
        for each in turns
        for one, next_one in zip(each[::2], each[1::2], strict=False)
        for both in zip(one, next_one, strict=True)
    ]
    same, as_usual = (sum(a == b for a, b in both) for both in (pairs, usual))
    if agree_too_often(same, len(pairs), as_usual, len(usual), REFUTED / 2):
        yield Finding(
            "runs that were started one after the other drew the same noise: it is seeded", None
        )


def _redrawn(client: Client, records: Sequence[Record]) -> Iterator[Finding]:
    lines: list[Record | str] = [
        line for record in records for _ in range(5) for line in (record, AGAIN)
    ]
    (reports,) = asked(client, lines, 1)
    if differing := sum(
        first != second for first, second in zip(reports[::2], reports[1::2], strict=True)
    ):
        yield Finding(
            f"asked again, {differing} of {len(reports) // 2} respondents got another report: noise is redrawn",
            None,
        )


def _format_mistakes(events: Events, wires: Sequence[bytes], today: int | None) -> dict[str, int]:
    mistakes = dict(events.refused)
    if today is not None:
        days = sum(int.from_bytes(wire[SLOT]) not in range(today - 1, today + 2) for wire in wires)
        mistakes |= {ANOTHER_DAY: days} if days else {}
    return mistakes


__all__ = ["Audit", "Column", "Finding", "audit"]
