"""Many clients over many rounds: the same people, asked again and again, each in the rounds that it draws."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lopub.bulk import bulk_of
from lopub.bulk.draws import OperatingSystem
from lopub.campaign.campaign import Campaign
from lopub.campaign.schedule import Schedule
from lopub.errors import CampaignError, checks_options
from lopub.reports.batch import Packed, ReportBatch
from lopub.reports.dataset import Dataset
from lopub.reports.origin import Origin
from lopub.reports.simulation.clients import noise_source, report_ids, simulate

STREAMS = 2**20
"""Above the numbers of the streams of blocks: a round's reports, and its fresh noise, have streams of their own."""


@checks_options
def simulate_rounds(
    histories: Sequence[Dataset], campaign: Campaign, *, seed: int | None = None
) -> ReportBatch:
    """The reports of all rounds. For experiments, as `simulate` is.

    histories: one table a round, in which row i is the same person throughout. In mode permanent the record of the first round in
    which somebody takes part is the one that counts.
    """
    schedule = campaign.terms.schedule
    if schedule is None or schedule.repeat is None:
        raise CampaignError(f"campaign {campaign.terms.name!r} has no rounds")
    if len(histories) != schedule.repeat.rounds or len({len(table) for table in histories}) != 1:
        raise CampaignError(
            f"histories must be {schedule.repeat.rounds} tables of the same people, got {len(histories)}"
        )
    takes_part = drawn_rounds(
        len(histories[0]), schedule.repeat.rounds, schedule.repeat.take_part, seed
    )
    made = _refreshed if schedule.repeat.is_permanent else _sampled
    return ReportBatch.joined(iter(made(histories, campaign, schedule, takes_part, seed)))


def drawn_rounds(people: int, rounds: int, take_part: int, seed: int | None) -> NDArray[np.bool_]:
    """Who takes part in which round: every choice of so many is equally likely. shape (people, rounds)."""
    rng = np.random.default_rng(None if seed is None else [seed, STREAMS])
    order = np.argsort(rng.random((people, rounds)), axis=1)
    takes_part = np.zeros((people, rounds), dtype=bool)
    np.put_along_axis(takes_part, order[:, :take_part], True, axis=1)
    return takes_part


def _sampled(
    histories: Sequence[Dataset],
    campaign: Campaign,
    schedule: Schedule,
    takes_part: NDArray[np.bool_],
    seed: int | None,
) -> list[ReportBatch]:
    return [
        simulate(
            table[takes_part[:, number]],
            campaign,
            seed=_own(seed, number),
            slot=schedule.slots[number],
        )
        for number, table in enumerate(histories)
    ]


def _refreshed(
    histories: Sequence[Dataset],
    campaign: Campaign,
    schedule: Schedule,
    takes_part: NDArray[np.bool_],
    seed: int | None,
) -> list[ReportBatch]:
    first = takes_part.argmax(axis=1)
    codes = np.stack([table.codes for table in histories])[first, np.arange(len(first))]
    below = replace(
        campaign,
        mechanism=campaign.mechanism.permanent_layer(),
        terms=campaign.terms.once,
    )
    kept = replace(
        simulate(Dataset(campaign.domain, codes), below, seed=_own(seed, len(histories))),
        campaign=campaign,
    )
    return [
        _round(kept[takes_part[:, number]], slot, seed, number)
        for number, slot in enumerate(schedule.slots)
    ]


def _round(kept: ReportBatch, slot: int, seed: int | None, number: int) -> ReportBatch:
    """Fresh noise, and fresh ids, over permanent answers."""
    source = OperatingSystem() if seed is None else noise_source(seed, STREAMS + number)
    bulk, campaign = bulk_of(kept.campaign.mechanism), kept.campaign
    rows = [kept.rows_of(place) for place in range(len(kept.views))]
    parts = [
        Packed.from_matrix(
            bulk.refreshed(campaign.channels(view), kept.payloads.matrix(own), source)
        )
        for view, own in zip(kept.views, rows, strict=True)
    ]
    back = np.argsort(np.concatenate(rows), kind="stable")
    ids, slots = (
        report_ids(len(kept), seed, STREAMS + number),
        np.full(len(kept), slot, dtype=np.uint32),
    )
    payloads = Packed.joined(parts).take(back)
    return replace(kept, ids=ids, slots=slots, payloads=payloads, origin=Origin(is_simulated=True))


def _own(seed: int | None, number: int) -> int | None:
    """A seed for each round, far from those of others."""
    return (
        None
        if seed is None
        else int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])
    )
