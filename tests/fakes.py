"""Fake reports of every kind that docs/threats.md names, and campaigns to send them to."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lopub import (
    AllAttributes,
    Campaign,
    CampaignRequest,
    Domain,
    IntegerRange,
    Report,
    Sample,
    Terms,
    make_campaign,
)
from lopub.reports.batch import ReportBatch
from lopub.reports.dataset import Dataset
from lopub.reports.simulation import simulate

DOMAIN = Domain(tuple(IntegerRange(name=f"q{i}", minimum=0, maximum=2 + i) for i in range(8)))
DESIGNS = {
    "direct, sample:2, jointly": CampaignRequest(
        epsilon=2, mechanism="direct", view=Sample(2), jointly=True
    ),
    "subset, sample:2, jointly": CampaignRequest(
        epsilon=2, mechanism="subset", view=Sample(2), jointly=True
    ),
    "unary, sample:2, jointly": CampaignRequest(
        epsilon=2, mechanism="unary", view=Sample(2), jointly=True
    ),
    "unary, sample:2, separately": CampaignRequest(
        epsilon=2, mechanism="unary", view=Sample(2), jointly=False
    ),
    "hashed, sample:2, jointly": CampaignRequest(
        epsilon=2, mechanism="hashed", view=Sample(2), jointly=True
    ),
    "bloom, all, separately": CampaignRequest(
        flip_probability="0.5", mechanism="bloom", view=AllAttributes(), jointly=False
    ),
}


def campaign(design: str) -> Campaign:
    return make_campaign(DOMAIN, Terms(name="fakes"), DESIGNS[design])


def honest(target: Campaign, n: int, seed: int) -> ReportBatch:
    """Reports of people whose answers depend on each other."""
    rng = np.random.default_rng(seed)
    trait = rng.random(n)
    codes = np.column_stack(
        [((trait + rng.random(n)) / 2 * size).astype(np.int64) for size in target.domain.sizes]
    )
    return simulate(Dataset(target.domain, codes), target, seed=seed)


def chosen_view(target: Campaign, n: int, seed: int) -> ReportBatch:
    """Proper noise, but all in the view of the last attributes."""
    last, n_drawn = max(honest(target, 1_000, seed).views), 60 * n
    while True:
        drawn = honest(target, n_drawn, seed)
        rows = drawn.rows_of(list(drawn.views).index(last)) if last in drawn.views else []
        if len(rows) >= n:
            return drawn[rows[:n]]
        n_drawn *= 2


def one_payload(target: Campaign, n: int, seed: int) -> ReportBatch:
    """The same output again and again, in a view that was drawn once."""
    return _with_ids_of_their_own(honest(target, 1, seed)[np.zeros(n, dtype=np.int64)], seed)


def copies(target: Campaign, n: int, seed: int) -> ReportBatch:
    """Outputs that others sent, each once more; the others are among the fakes."""
    return _with_ids_of_their_own(honest(target, (n + 1) // 2, seed)[np.arange(n) // 2], seed)


def all_ones(target: Campaign, n: int, seed: int) -> ReportBatch:
    """Every bit set, in a view that was drawn."""
    return ReportBatch.from_reports(
        [_with_ones(report, target) for report in _reports(target, n, seed)], target
    )


def liars(target: Campaign, n: int, seed: int) -> ReportBatch:
    """A lie, randomized as it should be."""
    codes = np.tile(np.array(target.domain.sizes) - 1, (n, 1))
    return simulate(Dataset(target.domain, codes), target, seed=seed)


KINDS: dict[str, Callable[[Campaign, int, int], ReportBatch]] = {
    "chosen view": chosen_view,
    "one payload": one_payload,
    "copies": copies,
    "all ones": all_ones,
    "liars": liars,
}


def is_possible(kind: str, target: Campaign) -> bool:
    """Whether a campaign has views to choose from, and outputs of nothing but ones."""
    if kind == "chosen view":
        return target.view.masked
    channel = target.channels(honest(target, 1, seed=0).report(0).view(target))[0]
    return kind != "all ones" or (channel.n_ones is None and channel.width == channel.law().n_bits)


def mixed(target: Campaign, kind: str, n: int, share: float, seed: int) -> ReportBatch:
    """n reports of which a share are fakes."""
    n_fake = round(n * share)
    return ReportBatch.concatenated(
        [honest(target, n - n_fake, seed), KINDS[kind](target, n_fake, seed + 10**6)]
    )


def _with_ids_of_their_own(batch: ReportBatch, seed: int) -> ReportBatch:
    """Or they would count once."""
    return replace(
        batch, ids=np.random.default_rng(seed).integers(0, 256, batch.ids.shape, dtype=np.uint8)
    )


def _reports(target: Campaign, n: int, seed: int) -> list[Report]:
    drawn = honest(target, n, seed)
    return [drawn.report(i) for i in range(n)]


def _with_ones(report: Report, target: Campaign) -> Report:
    width = sum(channel.width for channel in target.channels(report.view(target)))
    raw = report.to_bytes()
    payload = ((1 << width) - 1).to_bytes(len(report.payload), "little")
    return Report.from_bytes(raw[: len(raw) - len(payload)] + payload, target)


def replaced_slots(batch: ReportBatch, slots: NDArray[np.uint32]) -> ReportBatch:
    """The same reports of other days."""
    return replace(batch, slots=slots)
