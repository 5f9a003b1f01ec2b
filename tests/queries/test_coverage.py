"""Reports that chose what they cover show; reports that drew it never do."""

import math

import numpy as np
import pytest

from lopub import (
    AllAttributes,
    Campaign,
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    Fill,
    Listed,
    ReportBatch,
    Sample,
    Terms,
    count,
    make_campaign,
    publish,
    simulate,
)
from lopub.campaign.domain import Clique
from lopub.campaign.views import ViewRule
from lopub.planning.coverage import ALPHA, chances, covering, odd_coverage
from lopub.publication.summary import warnings_of

SIZES = (3, 4, 2, 5, 3, 2, 4, 2)
DOMAIN = Domain(
    tuple(
        Categorical(name=f"a{i}", values=tuple(map(str, range(size))))
        for i, size in enumerate(SIZES)
    )
)
SETS = Listed.of(
    DOMAIN, [(("a0", "a1"), 3), (("a2", "a3", "a4"), 2), (("a5", "a6", "a7"), 2), (("a0", "a7"), 1)]
)
WAYS = [
    ("direct", Sample(2), True),
    ("direct", Fill(60), True),
    ("subset", Sample(2), True),
    ("subset", SETS, True),
    ("unary", Sample(3), False),
    ("direct", SETS, False),
    ("bloom", Sample(4), False),
]


def campaign_of(mechanism: str, view: ViewRule, jointly: bool) -> Campaign:
    own = {"n_bits": 16, "n_hashes": 2} if mechanism == "bloom" else {}
    return make_campaign(
        DOMAIN,
        Terms(name="t"),
        CampaignRequest(epsilon=4, mechanism=mechanism, view=view, jointly=jointly, **own),
    )


def reports(campaign: Campaign, n: int, seed: int) -> ReportBatch:
    rng = np.random.default_rng(seed)
    return simulate(
        Dataset(DOMAIN, np.stack([rng.integers(0, size, n) for size in SIZES], axis=1)),
        campaign,
        seed=seed,
    )


def aimed(campaign: Campaign, target: Clique, n: int) -> ReportBatch:
    """Reports that all cover the target: well-formed, each on its own beyond suspicion."""
    many = reports(campaign, 60 * n, seed=99)
    rows = np.concatenate(
        [many.rows_of(i) for i, view in enumerate(many.views) if set(target) <= set(view)]
    )
    assert len(rows) >= n
    return many[rows[:n]]


@pytest.mark.parametrize(("mechanism", "view", "jointly"), WAYS, ids=str)
def test_honest_reports_are_never_odd(mechanism, view, jointly):
    campaign = campaign_of(mechanism, view, jointly)
    for seed in range(10):
        for n in (1, 30, 3000):
            assert odd_coverage(count(reports(campaign, n, seed))) == ()


@pytest.mark.parametrize(("mechanism", "view", "jointly"), WAYS, ids=str)
def test_reports_that_chose_what_they_cover_are_told(mechanism, view, jointly):
    campaign = campaign_of(mechanism, view, jointly)
    target = (0, 1) if view is SETS else (0, 3)
    both = ReportBatch.concatenated([reports(campaign, 8000, 1), aimed(campaign, target, 1200)])
    odd = odd_coverage(count(both))
    assert odd[0].attributes == tuple(DOMAIN.names[position] for position in target) or set(
        odd[0].attributes
    ) <= {
        "a0",
        "a1",
        "a3",
    }
    assert abs(odd[0].observed - odd[0].expected) > 300


def test_where_every_report_covers_everything_nothing_can_be_odd():
    assert odd_coverage(count(reports(campaign_of("unary", AllAttributes(), False), 50, 1))) == ()


@pytest.mark.parametrize(("mechanism", "view", "jointly"), WAYS, ids=str)
def test_what_reports_cover_is_counted_from_their_masks(mechanism, view, jointly):
    batch = reports(campaign_of(mechanism, view, jointly), 500, 3)
    masks = np.unpackbits(batch.masks, axis=1, bitorder="little")[:, : len(SIZES)].astype(np.int64)
    assert (covering(count(batch)) == masks.T @ masks).all()


@pytest.mark.parametrize(("mechanism", "view", "jointly"), WAYS, ids=str)
def test_chances_are_those_of_the_clients_draw(mechanism, view, jointly):
    batch = reports(campaign_of(mechanism, view, jointly), 40_000, 4)
    chance, n_drawn = chances(batch.campaign)
    n = 40_000 if n_drawn is None else 1 / (1 / 40_000 + 1 / n_drawn)
    spread = np.sqrt(chance * (1 - chance) / n)
    assert (np.abs(covering(count(batch)) / 40_000 - chance) <= 6.5 * spread + 1e-12).all()


def test_the_limit_lies_where_the_tail_is_as_small_as_is_said():
    """The normal tail, which is a little smaller than Chernoff's bound, at the smallest surplus that is told."""
    campaign = campaign_of("direct", Sample(2), True)
    honest, n = reports(campaign, 20_000, 5), 20_000
    fakes = aimed(campaign, (0, 3), 400)
    both = {k: ReportBatch.concatenated([honest, fakes[np.arange(k)]]) for k in range(100, 400, 10)}
    told = [k for k, batch in both.items() if odd_coverage(count(batch))]
    assert told[0] > 100
    surplus = covering(count(honest))[0, 3] + told[0] - (n + told[0]) / 28
    deviations = surplus / math.sqrt((n + told[0]) / 28 * 27 / 28)
    assert 6 < deviations < 9
    assert math.erfc(deviations / math.sqrt(2)) / 2 < ALPHA


def test_a_publication_warns_of_reports_that_chose_what_they_cover():
    campaign = campaign_of("direct", Sample(2), True)
    honest, fake = reports(campaign, 4000, 1), aimed(campaign, (0, 3), 200)
    assert not any("did not draw" in warning for warning in warnings_of(publish(honest)))
    (warning,) = (
        one
        for one in warnings_of(publish(ReportBatch.concatenated([honest, fake])))
        if "did not draw" in one
    )
    assert "reports cover a0 and a3, where the campaign's draw gives about 150" in warning


def test_views_are_drawn_once_for_all_who_ask_how_likely_they_are(monkeypatch: pytest.MonkeyPatch):
    campaign = campaign_of("direct", Fill(60), jointly=True)
    found, n_drawn = chances(campaign)
    monkeypatch.setattr(
        "lopub.planning.coverage.draw_masks", lambda *_: pytest.fail("views were drawn again")
    )
    again, _ = chances(campaign)
    assert n_drawn and not again.flags.writeable
    np.testing.assert_array_equal(found, again)
