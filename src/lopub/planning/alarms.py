"""Alarms against fake reports: what the campaign's own laws make all but impossible if every report is honest.

Each alarm holds whatever honest people answer, because it asks only for what does not depend on their answers: which views are
drawn, how many ones noise leaves, how often two noisy reports are alike. All bounds are Chernoff's, so that all alarms together
come in at most one of a hundred honest campaigns. None says which reports are fakes. Fakes that imitate the law, lies that were
randomized by a proper client, are beyond any alarm.

Drift between days is a notice and not an alarm: real populations drift.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopub.bulk.base import bulk_of
from lopub.bulk.outputs import Chances, log_ways
from lopub.campaign.mechanisms import Channel, Mechanism
from lopub.planning.coverage import keeps_views, odd_coverage, relative_entropy, spans_rounds
from lopub.reports.batch import ReportBatch
from lopub.reports.counts import Counts

FALSE_ALARMS = 0.01
"""The chance that any alarm comes though all reports are honest."""
COVERAGE, ONES, REPEATS, DRIFT = "coverage", "ones", "repeats", "drift"
SHARES = {COVERAGE: 0.4, ONES: 0.3, REPEATS: 0.3}
"""How the chance is shared among the alarms."""
MADE, NO_REPORTS, ROUNDS = (
    "made",
    "not made: counts alone were read",
    "not made: devices may have sent several of the reports",
)
"""What became of a check."""
POOLED_TAILS = 20
"""Tails of all views together, each half as likely as the one before."""
FEWEST_FOR_DRIFT = 100
"""Reports of a view in each half of the days, below which it is not looked at."""
FEWEST_ONES = 10
"""Ones, and zeros, of a bit that are expected in each half, below which it is not looked at."""
BLOCK = 4096
"""Reports whose bits are unpacked at once."""


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """Something that honest reports hardly ever do. observed, expected: how many reports do it, and how many would."""

    kind: str
    observed: int
    expected: float
    attributes: tuple[str, ...] = ()
    """What it is about, where it is not about all reports."""
    is_notice: bool = False
    """Whether there are honest reasons, too."""

    @property
    def sentence(self) -> str:
        """In words."""
        n, usual, names = (
            f"{self.observed:,}",
            f"{self.expected:,.0f}",
            " and ".join(self.attributes),
        )
        if self.kind == COVERAGE:
            return f"{n} reports cover {names}, where the campaign's draw gives about {usual}"
        if self.kind == ONES:
            return f"{n} reports have a number of ones that the noise gives to about {usual}"
        if self.kind == REPEATS and names:
            return f"{n} reports about {names} are the same to the last bit, where at most {usual} are expected by chance"
        if self.kind == REPEATS:
            return f"{n} reports repeat the noisy answers of another one, where at most {usual} are expected by chance"
        return f"reports about {names} differ between the first and the second half of the days by more than chance"

    def to_json(self) -> dict[str, object]:
        """For a manifest."""
        members = {
            "kind": self.kind,
            "observed": self.observed,
            "expected": round(self.expected, 3),
        }
        return members | {"attributes": list(self.attributes), "notice": self.is_notice}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> "Alarm":
        """As a manifest has it."""
        kind, observed, expected = (
            str(members["kind"]),
            int(members["observed"]),
            float(members["expected"]),
        )
        names, is_notice = tuple(map(str, members["attributes"])), bool(members["notice"])
        return cls(
            kind=kind, observed=observed, expected=expected, attributes=names, is_notice=is_notice
        )


def checks_of(data: ReportBatch | Counts, *, sample: ReportBatch | None = None) -> dict[str, str]:
    """Of every kind of alarm, whether `alarms_of` looks for it, and why not. Counts alone tell coverage and nothing else."""
    return {COVERAGE: ROUNDS if keeps_views(data) else MADE} | dict.fromkeys(
        (ONES, REPEATS, DRIFT), _check_of_reports(data, sample)
    )


def _check_of_reports(data: ReportBatch | Counts, sample: ReportBatch | None) -> str:
    looked_at = data if isinstance(data, ReportBatch) else sample
    if looked_at is None:
        return NO_REPORTS
    if spans_rounds(looked_at):
        return ROUNDS
    return (
        MADE
        if len(looked_at) >= len(data)
        else f"made among {len(looked_at):,} reports that were drawn"
    )


def alarms_of(
    data: ReportBatch | Counts,
    false_alarms: float = FALSE_ALARMS,
    *,
    sample: ReportBatch | None = None,
) -> tuple[Alarm, ...]:
    """The alarms, at most one of each kind, and then the notices; `checks_of` says what was looked for.

    false_alarms: the chance that any alarm comes though all reports are honest. sample: where the data are counts, those of
    their reports that are looked at, all or some that were drawn.
    """
    alpha = {kind: false_alarms * share for kind, share in SHARES.items()}
    looked_at = data if isinstance(data, ReportBatch) else sample
    found = [*_coverage(data, alpha[COVERAGE])]
    if looked_at is not None and not spans_rounds(looked_at):
        found += [
            *_ones(looked_at, alpha[ONES]),
            *_repeats(looked_at, alpha[REPEATS]),
            *_drift(looked_at),
        ]
    return tuple(found)


def _coverage(data: ReportBatch | Counts, alpha: float) -> Iterator[Alarm]:
    for odd in odd_coverage(data, alpha)[:1]:
        yield Alarm(
            kind=COVERAGE, observed=odd.observed, expected=odd.expected, attributes=odd.attributes
        )


# ---- how many ones


@dataclass(frozen=True)
class _Counts:
    """Counts that should be binomial: of n reports, with these chances. at_most: too few of them are not odd."""

    observed: NDArray[np.int64]
    n: int
    chances: Chances
    at_most: bool = False

    @property
    def oddness(self) -> NDArray[np.float64]:
        """Minus the logarithm of a bound on how likely each is."""
        share = self.observed / self.n
        oddness = self.n * relative_entropy(share, np.minimum(self.chances, 1.0))
        return np.where(
            (self.at_most & (share <= self.chances)) | (self.chances > 1 - 1e-9), 0.0, oddness
        )


def _ones(batch: ReportBatch, alpha: float) -> Iterator[Alarm]:
    """Where bits are drawn one by one: cells and tails of the numbers of ones, of views with one law, and of all."""
    tests, tails = list[_Counts](), list[tuple[Chances, Chances]]()
    for chances, ones in _groups(batch):
        counts = np.bincount(ones, minlength=len(chances)).astype(np.int64)
        below, above = np.cumsum(chances), np.cumsum(chances[::-1])[::-1]
        tests += [
            _Counts(counts, len(ones), chances),
            _Counts(np.cumsum(counts), len(ones), below),
            _Counts(np.cumsum(counts[::-1])[::-1], len(ones), above),
        ]
        tails.append((below[ones], above[ones]))
    if not tails:
        return
    halves: Chances = np.exp2(-np.arange(1.0, POOLED_TAILS + 1))
    for side in (0, 1):
        least = np.concatenate([each[side] for each in tails])
        tests.append(
            _Counts((least <= halves[:, None]).sum(axis=1), len(least), halves, at_most=True)
        )
    oddest = max(tests, key=lambda test: float(test.oddness.max()))
    if oddest.oddness.max() > math.log(2 * sum(len(test.chances) for test in tests) / alpha):
        place = int(oddest.oddness.argmax())
        yield Alarm(
            kind=ONES,
            observed=int(oddest.observed[place]),
            expected=oddest.n * float(oddest.chances[place]),
        )


def _groups(batch: ReportBatch) -> Iterator[tuple[Chances, NDArray[np.int64]]]:
    """The law of the number of ones, and the numbers that came, of all views that share one law."""
    law_of, groups = cache(_ones_law), dict[bytes, tuple[Chances, list[NDArray[np.int64]]]]()
    for number in range(len(batch.views)):
        rows, channels = (
            batch.rows_of(number),
            tuple(sorted(batch.channels(number), key=hash)),
        )  # their order does not matter
        if len(rows) and (law := law_of(batch.campaign.mechanism, channels)) is not None:
            ones = np.bitwise_count(batch.payloads.matrix(rows)).sum(axis=1, dtype=np.int64)
            groups.setdefault(law[0], (law[1], []))[1].append(ones)
    for chances, parts in groups.values():
        yield chances, np.concatenate(parts)


def _ones_law(mechanism: Mechanism, channels: tuple[Channel, ...]) -> tuple[bytes, Chances] | None:
    """The law of the ones of all blocks together, after bytes that are the same for the same law; None where one has none."""
    chances: Chances = np.ones(1)
    for channel in channels:
        if (block := bulk_of(mechanism).ones_chances(channel)) is None:
            return None
        chances = np.convolve(chances, block)
    return np.round(chances, 12).tobytes(), chances


# ---- how many alike


@dataclass(frozen=True)
class _Alike:
    """The reports of one view: how many are like an earlier one, how often the commonest output comes, and what chance allows."""

    view: tuple[int, ...]
    n: int
    n_alike: int
    n_commonest: int
    log_likeliest: float
    n_cells: int

    @property
    def expected(self) -> float:
        """Given all that came before, a report is like one of i earlier ones with a chance of at most i times the likeliest."""
        log_chances = self.log_likeliest + np.log(np.arange(1, self.n))
        return float(np.exp(np.minimum(log_chances, 0.0)).sum())

    @property
    def oddness(self) -> float:
        """Minus the logarithm of C(n, c) m^(c - 1) K, above which no output comes c times: m is the chance of the likeliest, and
        K, the number of cells, is at least the sum of all outputs' chances, each for the answer that favours it most."""
        ways = log_ways(self.n, self.n_commonest)
        return -(ways + (self.n_commonest - 1) * self.log_likeliest + math.log(self.n_cells))


def _repeats(batch: ReportBatch, alpha: float) -> Iterator[Alarm]:
    """One output too often; or too many reports that are like another, in the views where that is least likely, however many.
    Where both are, the one with more reports beyond what is expected is told."""
    views = sorted(_alike(batch), key=lambda view: view.log_likeliest)
    if not views:
        return
    limit, found = math.log(2 * len(views) / alpha), list[Alarm]()
    commonest = max(views, key=lambda view: view.oddness)
    if commonest.oddness > limit:
        names = tuple(batch.campaign.domain.names[position] for position in commonest.view)
        usual = commonest.n * math.exp(commonest.log_likeliest)
        found.append(
            Alarm(kind=REPEATS, observed=commonest.n_commonest, expected=usual, attributes=names)
        )
    alike = np.cumsum([view.n_alike for view in views])
    expected = np.cumsum([view.expected for view in views])
    found += [
        Alarm(kind=REPEATS, observed=int(n), expected=float(usual))
        for n, usual in zip(alike, expected, strict=True)
        if _poisson_oddness(int(n), float(usual)) > limit
    ]
    yield from sorted(found, key=lambda alarm: alarm.expected - alarm.observed)[:1]


def _alike(batch: ReportBatch) -> Iterator[_Alike]:
    log_likeliest_of = cache(bulk_of(batch.campaign.mechanism).log_likeliest)
    for number, view in enumerate(batch.views):
        rows, channels = batch.rows_of(number), batch.channels(number)
        if len(rows) > 1:
            counts = _multiplicities(batch.payloads.matrix(rows))
            log_likeliest = sum(log_likeliest_of(channel) for channel in channels)
            n_cells = math.prod(channel.n_candidates for channel in channels)
            yield _Alike(
                tuple(view),
                len(rows),
                len(rows) - len(counts),
                int(counts.max()),
                log_likeliest,
                n_cells,
            )


def _multiplicities(payloads: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How often each payload is there. shape (n_distinct,)."""
    whole = np.ascontiguousarray(payloads).view(np.dtype((np.void, payloads.shape[1]))).reshape(-1)
    return np.unique(whole, return_counts=True)[1]


def _poisson_oddness(observed: int, expected: float) -> float:
    if observed <= expected:
        return 0.0
    return (
        observed * math.log(observed / expected) - observed + expected if expected > 0 else math.inf
    )


# ---- drift


def _drift(batch: ReportBatch) -> Iterator[Alarm]:
    """Whether a bit of the reports of one view comes more often in the second half of the days than in the first."""
    days = np.unique(batch.slots)
    if len(days) < 2:
        return
    is_late = batch.slots >= days[len(days) // 2]
    found, n_tests = list[tuple[float, int]](), 0
    for number in range(len(batch.views)):
        rows = batch.rows_of(number)
        late = is_late[rows]
        if min(late.sum(), (~late).sum()) >= FEWEST_FOR_DRIFT:
            early, later = (_bit_sums(batch, rows[half]) for half in (~late, late))
            change, n_tested = _largest_change(early, later, int((~late).sum()), int(late.sum()))
            n_tests += n_tested
            found.append((change, number))
    if n_tests and (most := max(found))[0] > -NormalDist().inv_cdf(FALSE_ALARMS / n_tests / 2):
        names = tuple(batch.campaign.domain.names[position] for position in batch.views[most[1]])
        n = len(batch.rows_of(most[1]))
        yield Alarm(kind=DRIFT, observed=n, expected=float(n), attributes=names, is_notice=True)


def _bit_sums(batch: ReportBatch, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of these reports have each bit, from a block of them at a time. shape (n_bits,)."""
    blocks = (
        batch.payloads.matrix(rows[start : start + BLOCK]) for start in range(0, len(rows), BLOCK)
    )
    sums: NDArray[np.int64] = sum(
        np.unpackbits(block, axis=1).sum(axis=0, dtype=np.int64) for block in blocks
    )
    return sums


def _largest_change(
    early: NDArray[np.int64], late: NDArray[np.int64], n: int, m: int
) -> tuple[float, int]:
    """The largest difference of two shares, of n and m reports, in its standard deviations; and of how many. Bits that are so
    rare, or so common, that the normal law does not hold in the smaller half are left out."""
    pooled = (early + late) / (n + m)
    is_tested = min(n, m) * np.minimum(pooled, 1 - pooled) >= FEWEST_ONES
    spread = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))[is_tested]
    change = np.abs(early / n - late / m)[is_tested]
    return float((change / spread).max(initial=0.0)), int(is_tested.sum())
