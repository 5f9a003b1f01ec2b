"""Many clients at once: views, then blocks, then packed payloads."""

import hashlib
import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lopub.bulk import bulk_of
from lopub.bulk.draws import OperatingSystem, RandomWords
from lopub.bulk.questionnaire import contradictions
from lopub.bulk.records import Records
from lopub.bulk.views import draw_masks
from lopub.campaign.campaign import Campaign
from lopub.campaign.report import ID_BYTES
from lopub.errors import CampaignError, checks_options
from lopub.reports.batch import ReportBatch
from lopub.reports.dataset import Dataset
from lopub.reports.origin import Origin

BLOCK_REPORTS = 2**16
"""Reports that share one stream. Part of what a seed means: another number would give other bytes."""


@checks_options
def simulate(
    dataset: Dataset, campaign: Campaign, *, seed: int | None = None, slot: int | None = None
) -> ReportBatch:
    """One report for each record. For experiments: the records of real people are randomized on their own devices.

    seed: same dataset, campaign and seed, same bytes, on any machine and in any blocks; but whoever knows the seed, or guesses
    it, can take the noise off again. None: all randomness comes from the operating system.
    slot: the day on the reports; by default the first day of the campaign's schedule, or 0.
    """
    return ReportBatch.joined(simulate_blocks(dataset, campaign, seed=seed, slot=slot))


def simulate_blocks(
    dataset: Dataset, campaign: Campaign, *, seed: int | None = None, slot: int | None = None
) -> Iterator[ReportBatch]:
    """The same, a block of reports at a time; each block has a stream of its own, keyed by seed and number."""
    if dataset.domain != campaign.domain:
        raise CampaignError("the dataset's attributes are not those of the campaign")
    if campaign.domain.has_rules and (wrong := contradictions(campaign.domain, dataset.codes)):
        raise CampaignError(
            f"a record contradicts the questionnaire about {next(iter(wrong))!r}, as no client's record can"
        )
    if seed is not None and seed < 0:
        raise CampaignError(f"seed must be at least 0, got {seed}")
    if slot is None:
        slot = campaign.terms.schedule.slots[0] if campaign.terms.schedule else 0
    days = campaign.terms.schedule.slots if campaign.terms.schedule else range(2**32)
    if slot not in days:
        raise CampaignError(f"slot must lie in {days[0]}..{days[-1]}, got {slot}")
    for number, start in enumerate(range(0, max(len(dataset), 1), BLOCK_REPORTS)):
        codes = dataset.codes[start : start + BLOCK_REPORTS]
        yield _block(
            codes, campaign, slot, report_ids(len(codes), seed, number), noise_source(seed, number)
        )


def noise_source(seed: int | None, number: int) -> RandomWords:
    """The stream that a block's views and noise are drawn from."""
    if seed is None:
        return OperatingSystem()
    return np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(number,)))


def report_ids(n: int, seed: int | None, number: int) -> NDArray[np.uint8]:
    """The ids of a block's reports, which everybody sees. shape (n, 16).

    Never from the stream of the noise, whose state eight words give away: seeded ids are a one-way hash of seed and number.
    """
    if seed is None:
        drawn = os.urandom(ID_BYTES * n)
    else:
        drawn = hashlib.shake_256(
            b"lopub simulated report ids, seed %d, block %d" % (seed, number)
        ).digest(ID_BYTES * n)
    return np.frombuffer(drawn, np.uint8).reshape(n, ID_BYTES)


def _block(
    codes: NDArray[np.uint16],
    campaign: Campaign,
    slot: int,
    ids: NDArray[np.uint8],
    source: RandomWords,
) -> ReportBatch:
    records = Records.of(
        campaign, codes, draw_masks(campaign.view, campaign.domain.sizes, len(codes), source)
    )
    payloads = bulk_of(campaign.mechanism).simulated(records, source)
    return ReportBatch(
        campaign=campaign,
        ids=ids,
        slots=np.full(len(codes), slot, dtype=np.uint32),
        views=records.views,
        view_index=records.view_index,
        payloads=payloads,
        origin=Origin(is_simulated=True),
    )
