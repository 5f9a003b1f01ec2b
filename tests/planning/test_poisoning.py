"""What fake reports can move: the bound against brute force, against simulated attacks, and what it must say."""

import math
from collections.abc import Iterator
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from lopub import (
    AllAttributes,
    Campaign,
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    DomainError,
    Fill,
    Listed,
    Report,
    ReportBatch,
    ReportRejected,
    Sample,
    Terms,
    count,
    make_campaign,
    poisoning_bound,
    simulate,
)
from lopub.bulk.codes import code_matrix
from lopub.campaign.domain import Clique
from lopub.campaign.report import mask_of, pack
from lopub.campaign.views import ViewRule
from lopub.cli.campaign import exposure
from lopub.estimation.moments import MomentEquations
from lopub.planning.honest_views import drawn_views
from lopub.planning.poisoning import most_exposed

MECHANISMS = ("direct", "subset", "unary", "bloom")


def domain_of(*sizes: int) -> Domain:
    return Domain(
        tuple(
            Categorical(name=f"a{i}", values=tuple(map(str, range(size))))
            for i, size in enumerate(sizes)
        )
    )


def campaign_of(
    domain: Domain, mechanism: str, view: ViewRule, jointly: bool, epsilon: float = 1.5
) -> Campaign:
    own = {"n_bits": 4, "n_hashes": 1} if mechanism == "bloom" else {}
    wish = CampaignRequest(epsilon=epsilon, mechanism=mechanism, view=view, jointly=jointly, **own)
    return make_campaign(domain, Terms(name="t"), wish)


# ---- brute force: every honest report, every fake one


def outputs_of(campaign: Campaign, view: Clique) -> Iterator[tuple[int, ...]]:
    """Every output that a collector takes."""
    for outputs in product(*(range(2**channel.width) for channel in campaign.channels(view))):
        try:
            for channel, output in zip(campaign.channels(view), outputs, strict=True):
                channel.check(output)
        except ReportRejected:
            continue
        yield outputs


def said(
    campaign: Campaign, clique: Clique, cell: int, view: Clique, outputs: tuple[int, ...]
) -> tuple[float, float]:
    """(weight, x) of one report, written down anew: from bits, cell by cell."""
    sizes = campaign.domain.sizes
    own_sizes = [sizes[position] for position in clique]
    wanted = np.unravel_index(cell, own_sizes)
    blocks = [view] if campaign.jointly else [(position,) for position in view]
    x, weight = 1.0, 1.0
    for block, channel, output in zip(blocks, campaign.channels(view), outputs, strict=True):
        inside = [position for position in block if position in clique]
        if not inside:
            continue
        law, direct = channel.law(), campaign.mechanism.name == "direct"
        bits = np.zeros(law.n_bits)
        bits[
            [channel.cell(output)] if direct else [i for i in range(law.n_bits) if output >> i & 1]
        ] = 1
        debiased = (bits - float(law.q)) / float(law.p - law.q)
        cells = np.linalg.lstsq(code_matrix(law).T, debiased, rcond=None)[0].reshape(
            [sizes[position] for position in block]
        )
        index = tuple(
            wanted[clique.index(position)] if position in clique else slice(None)
            for position in block
        )
        x *= float(np.sum(cells[index]))
        n_summed = law.n_candidates / math.prod(sizes[position] for position in inside)
        precision = float((law.p - law.q) ** 2 / (1 if direct else law.q * (1 - law.q)))
        weight *= precision if direct else precision / n_summed
    return weight, x


def brute_force(
    campaign: Campaign, clique: Clique, honest_views: list[Clique], n_fake: int
) -> float:
    """The largest shift of any cell over everything that honest people and fakes could have sent."""
    largest = 0.0
    covering = [view for view in drawn_views(campaign) if set(clique) <= set(view)]
    for cell in range(math.prod(campaign.domain.sizes[position] for position in clique)):
        choices = {
            view: {said(campaign, clique, cell, view, o) for o in outputs_of(campaign, view)}
            for view in covering
        }
        fakes = list(combinations_with_replacement(sorted(set().union(*choices.values())), n_fake))
        for honest in product(*(sorted(choices[view]) for view in honest_views if view in choices)):
            before = sum(w * x for w, x in honest) / sum(w for w, _ in honest)
            for fake in fakes:
                after = sum(w * x for w, x in (*honest, *fake)) / sum(
                    w for w, _ in (*honest, *fake)
                )
                largest = max(largest, abs(after - before))
    return largest


TWO = domain_of(2, 2)
THREE = domain_of(2, 2, 3)


@pytest.mark.parametrize("names", [("a0",), ("a0", "a1")])
@pytest.mark.parametrize("jointly", [True, False])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_bound_is_what_brute_force_finds_where_every_report_covers_everything(
    mechanism, jointly, names
):
    campaign = campaign_of(TWO, mechanism, AllAttributes(), jointly)
    clique = TWO.positions(names)
    for n_fake in (1, 2):
        bound = poisoning_bound(campaign, names, n_reports=2, n_fake=n_fake)
        assert bound == pytest.approx(brute_force(campaign, clique, [(0, 1)] * 2, n_fake), rel=1e-9)


@pytest.mark.parametrize("jointly", [True, False])
@pytest.mark.parametrize("mechanism", ["direct", "subset", "unary"])
def test_the_bound_is_what_brute_force_finds_where_fakes_choose_their_view(mechanism, jointly):
    """Views of other sizes have other noise: with these weights, 2 of 3 honest reports cover the first attribute."""
    view = Listed.of(THREE, [(("a0", "a1"), 1), (("a0", "a2"), 1), (("a2",), 1)])
    campaign = campaign_of(THREE, mechanism, view, jointly)
    bound = poisoning_bound(campaign, ["a0"], n_reports=3, n_fake=2)
    assert bound == pytest.approx(brute_force(campaign, (0,), [(0, 1), (0, 2), (2,)], 2), rel=1e-9)


@pytest.mark.parametrize("mechanism", ["direct", "subset"])
def test_the_bound_is_what_brute_force_finds_where_view_sizes_differ(mechanism):
    view = Listed.of(TWO, [(("a0", "a1"), 1), (("a0",), 1)])
    campaign = campaign_of(TWO, mechanism, view, False)
    bound = poisoning_bound(campaign, ["a0"], n_reports=2, n_fake=2)
    assert bound == pytest.approx(brute_force(campaign, (0,), [(0, 1), (0,)], 2), rel=1e-9)


# ---- attacks on simulated people

FOUR = domain_of(3, 4, 2, 5)
N = 3000


def crowd(seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, N)  # the third value of the first attribute is nobody's
    columns = [
        first,
        (first + rng.integers(0, 2, N)) % 4,
        rng.integers(0, 2, N),
        rng.integers(0, 5, N),
    ]
    return Dataset(FOUR, np.stack(columns, axis=1))


def linear(batch: ReportBatch, clique: Clique) -> np.ndarray:
    """The estimate before the simplex. Jointly it is the one of `moments`; separately, debiased co-occurrences of the
    reports that cover all of the clique."""
    if batch.campaign.jointly:
        return MomentEquations(count(batch))._linear(clique)
    covering = [number for number, view in enumerate(batch.views) if set(clique) <= set(view)]
    counts = count(batch[np.sort(np.concatenate([batch.rows_of(number) for number in covering]))])
    moments = MomentEquations(counts)
    (noise,) = counts.noises(clique)
    if len(clique) == 1:
        return moments._debiased(clique[0], noise)[1:]
    return moments._co_occurrences(*clique, noise)[1:, 1:]


def extreme(
    campaign: Campaign, clique: Clique, cell: int, sign: int
) -> tuple[Clique, tuple[int, ...]]:
    """The report that says the most for (or against) a cell, found by asking each candidate of each view in turn."""
    rng, best, found = np.random.default_rng(0), -math.inf, None
    for view in drawn_views(campaign):
        if set(clique) <= set(view):
            for outputs in guesses(campaign, clique, cell, view, rng):
                weight, x = said(campaign, clique, cell, view, outputs)
                if weight * sign * x > best:
                    best, found = weight * sign * x, (view, outputs)
    assert found is not None
    return found


def guesses(
    campaign: Campaign, clique: Clique, cell: int, view: Clique, rng: np.random.Generator
) -> Iterator[tuple[int, ...]]:
    """Outputs with all bits for the cell and no other, or the other way round; sets of fixed size are filled up."""
    sizes = campaign.domain.sizes
    wanted = np.unravel_index(cell, [sizes[position] for position in clique])
    blocks = [view] if campaign.jointly else [(position,) for position in view]
    sides = []
    for block, channel in zip(blocks, campaign.channels(view), strict=True):
        grid = np.zeros([sizes[position] for position in block], dtype=bool)
        grid[tuple(wanted[clique.index(p)] if p in clique else slice(None) for p in block)] = True
        mine, others = np.flatnonzero(grid), np.flatnonzero(~grid)
        if campaign.mechanism.name == "direct":
            own = [
                channel.output(int(mine[0])),
                channel.output(int((others if len(others) else mine)[0])),
            ]
        elif channel.n_ones is not None:
            orders = ([*mine, *others], [*others, *mine])
            own = [sum(1 << int(i) for i in order[: channel.n_ones]) for order in orders]
        else:
            own = [sum(1 << int(i) for i in chosen) for chosen in (mine, others)]
        sides.append(own)
    return product(*sides)


def faked(campaign: Campaign, view: Clique, outputs: tuple[int, ...], n: int) -> ReportBatch:
    mask = mask_of(view, campaign.mask_bytes) if campaign.view.masked else b""
    payload = pack(outputs, campaign.channels(view))
    reports = [
        Report(campaign=campaign.prefix, id=i.to_bytes(16), slot=0, mask=mask, payload=payload)
        for i in range(1, n + 1)
    ]
    assert Report.from_bytes(reports[0].to_bytes(), campaign) == reports[0]
    return ReportBatch.from_reports(reports, campaign)


WAYS = [
    ("direct", Sample(2), True),
    ("direct", Fill(30), True),
    ("subset", Sample(2), True),
    ("unary", Sample(2), True),
    ("direct", Sample(2), False),
    ("subset", Sample(3), False),
    ("unary", AllAttributes(), False),
]


@pytest.mark.parametrize("clique", [(0,), (0, 1)], ids=["one", "pair"])
@pytest.mark.parametrize(("mechanism", "view", "jointly"), WAYS, ids=str)
def test_an_attack_moves_the_estimate_as_far_as_is_said_and_never_further(
    mechanism, view, jointly, clique
):
    campaign = campaign_of(FOUR, mechanism, view, jointly, epsilon=2)
    honest = simulate(crowd(1), campaign, seed=1)
    names = [FOUR.names[position] for position in clique]
    n_fake = 60
    cell = 2 if clique == (0,) else 2 * 4 + 3  # nobody's
    before = linear(honest, clique).reshape(-1)[cell]
    worst = poisoning_bound(campaign, names, n_reports=N, n_fake=n_fake)
    from_here = poisoning_bound(campaign, names, n_reports=N, n_fake=n_fake, share=float(before))
    shifts = []
    for sign in (1, -1):
        fake = faked(campaign, *extreme(campaign, clique, cell, sign), n_fake)
        after = linear(ReportBatch.concatenated([honest, fake]), clique).reshape(-1)[cell]
        shifts.append(sign * (after - before))
    assert max(shifts) <= worst
    assert max(shifts) == pytest.approx(
        from_here, rel=0.1
    )  # how many honest reports cover the cell is drawn


@pytest.mark.parametrize(("mechanism", "view", "jointly"), WAYS, ids=str)
def test_no_random_report_moves_more_than_the_bound(mechanism, view, jointly):
    campaign = campaign_of(FOUR, mechanism, view, jointly, epsilon=2)
    honest = simulate(crowd(2)[np.arange(400)], campaign, seed=2)
    bound = poisoning_bound(campaign, ["a1"], n_reports=400, n_fake=20)
    before = linear(honest, (1,))
    for seed in range(10):
        fake = simulate(crowd(seed)[np.arange(20)], campaign, seed=seed)
        after = linear(ReportBatch.concatenated([honest, fake]), (1,))
        assert (
            np.abs(after - before).max() <= bound * 1.2
        )  # fewer honest reports may cover it than expected


def test_liars_who_follow_the_protocol_move_as_much_as_their_share():
    """10 % lie about their record, in one direction; views are drawn as everybody's."""
    campaign = campaign_of(FOUR, "subset", Sample(2), True, epsilon=4)
    people = crowd(3)
    lying = people.codes.copy()
    lying[:300, 0] = 2
    estimates = [
        np.mean([linear(simulate(own, campaign, seed=seed), (0,))[2] for seed in range(8)])
        for own in (people, Dataset(FOUR, lying))
    ]
    assert estimates[1] - estimates[0] == pytest.approx(0.1, abs=0.02)
    assert poisoning_bound(campaign, ["a0"], n_reports=2700, n_fake=300) > 0.25


# ---- what it must say


def test_with_one_attribute_the_bound_is_the_share_of_fakes_over_p_less_q():
    for mechanism in ("direct", "subset", "unary"):
        campaign = campaign_of(domain_of(8), mechanism, AllAttributes(), True)
        law = campaign.channels((0,))[0].law()
        bound = poisoning_bound(campaign, ["a0"], n_reports=990, n_fake=10)
        assert bound == pytest.approx(0.01 / float(law.p - law.q))


def test_drawn_views_make_a_fake_weigh_more():
    """Where noise hardly matters, 100 fakes stand against the 100 of 400 honest reports that cover the attribute."""
    some, everybody = (
        campaign_of(FOUR, "direct", view, False, epsilon=40)
        for view in (Sample(1), AllAttributes())
    )
    assert poisoning_bound(some, ["a0"], n_reports=400, n_fake=100) == pytest.approx(0.5, rel=0.01)
    assert poisoning_bound(everybody, ["a0"], n_reports=400, n_fake=100) == pytest.approx(
        0.2, rel=0.01
    )


@pytest.mark.parametrize(("mechanism", "view", "jointly"), WAYS, ids=str)
def test_the_bound_grows_with_fakes_and_shrinks_with_people_and_epsilon(mechanism, view, jointly):
    campaign, open_one = (
        campaign_of(FOUR, mechanism, view, jointly, epsilon=epsilon) for epsilon in (1, 3)
    )
    bound = poisoning_bound(campaign, ["a0"], n_reports=1000, n_fake=10)
    assert poisoning_bound(campaign, ["a0"], n_reports=1000, n_fake=0) == 0
    assert bound < poisoning_bound(campaign, ["a0"], n_reports=1000, n_fake=20)
    assert bound > poisoning_bound(campaign, ["a0"], n_reports=2000, n_fake=10)
    assert bound > poisoning_bound(open_one, ["a0"], n_reports=1000, n_fake=10)
    assert (
        bound
        > poisoning_bound(campaign, ["a0"], n_reports=1000, n_fake=10, share=0.3)
        > 10 / 1010 * 0.7
    )


def test_views_are_drawn_with_the_probabilities_that_are_said():
    for view in (Sample(2), Fill(12), Listed.of(FOUR, [(("a0", "a1"), 3), (("a3",), 1)])):
        campaign = campaign_of(FOUR, "direct", view, True)
        batch = simulate(crowd(1)[np.zeros(40_000, dtype=int)], campaign, seed=1)
        said_chances = drawn_views(campaign)
        assert sum(said_chances.values()) == pytest.approx(1)
        for number, own in enumerate(batch.views):
            chance = said_chances[own]
            assert abs(len(batch.rows_of(number)) / 40_000 - chance) < 6.5 * math.sqrt(
                chance * (1 - chance) / 40_000
            )


def test_rules_with_very_many_views_are_sampled():
    wide = domain_of(*[2] * 40)
    campaign = campaign_of(wide, "direct", Sample(5), True, epsilon=8)
    bound = poisoning_bound(campaign, ["a0"], n_reports=8000, n_fake=10)
    law = campaign.channels((0, 1, 2, 3, 4))[0].law()
    assert bound == pytest.approx(10 / 1010 / float(law.p - law.q), rel=0.1)


def test_numbers_that_are_none_are_refused():
    campaign = campaign_of(TWO, "direct", AllAttributes(), True)
    for n_reports, n_fake in ((-1, 5), (5, -1), (0, 0)):
        with pytest.raises(
            DomainError, match="n_reports and n_fake must be at least 0, and together at least 1"
        ):
            poisoning_bound(campaign, ["a0"], n_reports=n_reports, n_fake=n_fake)


def test_attributes_that_no_view_covers_together_are_refused():
    campaign = campaign_of(FOUR, "direct", Sample(1), True)
    with pytest.raises(DomainError, match="no view covers a0, a1 together"):
        poisoning_bound(campaign, ["a0", "a1"], n_reports=10, n_fake=1)


def test_a_code_that_is_too_large_to_be_inverted_is_refused():
    wish = CampaignRequest(
        epsilon=2, mechanism="bloom", n_bits=8192, n_hashes=2, view=AllAttributes(), jointly=True
    )
    campaign = make_campaign(domain_of(600), Terms(name="t"), wish)
    with pytest.raises(DomainError, match="a code of 4,915,200 bits is too large to be inverted"):
        poisoning_bound(campaign, ["a0"], n_reports=10, n_fake=1)


@pytest.mark.parametrize("jointly", [True, False])
def test_a_code_of_too_low_a_rank_has_no_bound(jointly):
    """A pseudo-inverse would give a figure for an estimate that does not exist."""
    wish = CampaignRequest(
        epsilon=6,
        mechanism="bloom",
        n_bits=24 if jointly else 6,
        n_hashes=3,
        view=AllAttributes(),
        jointly=jointly,
    )
    campaign = make_campaign(domain_of(8, 8) if jointly else domain_of(8), Terms(name="t"), wish)
    words = r"cannot tell the \d+ cells of a0(, a1)? apart, because their code has rank \d+; take more bits$"
    with pytest.raises(
        DomainError, match=f"^the debiased frequency, which is bounded here, {words}"
    ):
        poisoning_bound(campaign, ["a0"], n_reports=990, n_fake=10)
    assert most_exposed(campaign, n_reports=990, n_fake=10) is None
    assert exposure(campaign) is None


@pytest.mark.parametrize(
    ("mechanism", "view", "jointly"), [*WAYS, ("bloom", AllAttributes(), False)], ids=str
)
def test_the_most_exposed_attribute_is_the_one_with_the_largest_bound(mechanism, view, jointly):
    own = {"n_bits": 16, "n_hashes": 2} if mechanism == "bloom" else {}
    wish = CampaignRequest(epsilon=4, mechanism=mechanism, view=view, jointly=jointly, **own)
    campaign = make_campaign(FOUR, Terms(name="t"), wish)
    bounds = {
        name: poisoning_bound(campaign, [name], n_reports=990, n_fake=10) for name in FOUR.names
    }
    name, bound = most_exposed(campaign, n_reports=990, n_fake=10)
    assert bound == bounds[name] == max(bounds.values())


def test_no_attribute_is_looked_for_where_that_takes_too_long():
    wish = CampaignRequest(
        epsilon=2, mechanism="bloom", n_bits=1024, n_hashes=2, view=AllAttributes(), jointly=True
    )
    campaign = make_campaign(domain_of(600), Terms(name="t"), wish)
    assert most_exposed(campaign, n_reports=990, n_fake=10) is None


def test_a_campaign_is_shown_with_what_fakes_can_move():
    campaign = campaign_of(FOUR, "subset", Sample(2), True, epsilon=4)
    name, bound = most_exposed(campaign, n_reports=9900, n_fake=100)
    assert (
        exposure(campaign)
        == f"1 % fake reports can move a share of {name} by at most {bound:.3f}, and no other by more"
    )
