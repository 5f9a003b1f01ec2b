"""Local hashing from end to end: a town of 300 and two small attributes, from reports to what they say."""

from functools import cache

import numpy as np
import pytest

from lopub import (
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    IntegerRange,
    Sample,
    Terms,
    make_campaign,
    simulate,
)
from lopub.bulk.designs import LARGEST_SPELT_OUT
from lopub.campaign.mechanisms.hashed import HashedChannel
from lopub.campaign.report import Report, unframed
from lopub.planning.design import usual_designs
from lopub.queries import Study
from lopub.reports.batch import ReportBatch, digests_of, folds_of
from lopub.reports.batch.report_files import framed_bytes
from lopub.reports.counts import count

N = 12_000
SEED = 20_180_301
DOMAIN = Domain(
    (
        IntegerRange(name="town", minimum=1, maximum=300),
        Categorical(name="sex", values=("f", "m")),
        Categorical(name="work", values=("none", "part", "full")),
    )
)
CASES = [(epsilon, jointly) for epsilon in (2, 4) for jointly in (True, False)]
each_case = pytest.mark.parametrize(("epsilon", "jointly"), CASES, ids=lambda part: str(part))
METHODS = ("shrunk", "em", "moments")
OFTEN = {(2, True, "shrunk"), (2, False, "em"), (4, True, "moments"), (4, False, "moments")}
"""Every epsilon, both ways to randomize, and every method."""
each_way = pytest.mark.parametrize(
    ("epsilon", "jointly", "method"),
    [
        pytest.param(*way, marks=() if way in OFTEN else pytest.mark.full)
        for way in ((*case, method) for case in CASES for method in METHODS)
    ],
)


@cache
def people() -> Dataset:
    """Five towns, of which two are far from the first, hold nine in ten; women work part-time or not at all more often."""
    rng = np.random.default_rng(SEED)
    town = np.where(
        rng.random(N) < 0.9,
        rng.choice([0, 1, 7, 150, 299], N, p=[0.3, 0.2, 0.2, 0.15, 0.15]),
        rng.integers(0, 300, N),
    )
    sex = (rng.random(N) < np.where(town == 0, 0.9, 0.3)).astype(np.int64)
    work = np.where(rng.random(N) < 0.7, 2 * sex, rng.integers(0, 3, N))
    return Dataset(DOMAIN, np.stack([town, sex, work], axis=1).astype(np.uint16))


@cache
def reports(epsilon: int, jointly: bool) -> ReportBatch:
    wish = CampaignRequest(epsilon=epsilon, mechanism="hashed", view=Sample(2), jointly=jointly)
    return simulate(people(), make_campaign(DOMAIN, Terms(name="towns"), wish), seed=SEED)


@cache
def study(epsilon: int, jointly: bool) -> Study:
    return Study(reports(epsilon, jointly))


@cache
def estimated(epsilon: int, jointly: bool, method: str, *names: str) -> np.ndarray:
    return study(epsilon, jointly).estimate(names, method=method).probabilities


def true_joint(names: tuple[str, ...]) -> np.ndarray:
    columns = [DOMAIN.names.index(name) for name in names]
    sizes = [DOMAIN.sizes[column] for column in columns]
    cells = np.ravel_multi_index(
        [people().codes[:, column].astype(np.int64) for column in columns], sizes
    )
    return np.bincount(cells, minlength=int(np.prod(sizes))).reshape(sizes) / N


def avd(epsilon: int, jointly: bool, method: str, *names: str) -> float:
    return float(np.abs(estimated(epsilon, jointly, method, *names) - true_joint(names)).sum() / 2)


@each_way
def test_the_marginals_come_near_the_truth(epsilon: int, jointly: bool, method: str) -> None:
    assert avd(epsilon, jointly, method, "town") < (0.3 if epsilon == 2 else 0.18)
    assert avd(epsilon, jointly, method, "sex") < 0.03
    assert avd(epsilon, jointly, method, "work") < 0.05


@each_way
def test_every_large_town_is_found_in_its_place(epsilon: int, jointly: bool, method: str) -> None:
    """Also the first and the last cell, and those whose digits are many."""
    towns = estimated(epsilon, jointly, method, "town")
    assert set(np.argsort(towns)[-5:].tolist()) == {0, 1, 7, 150, 299}


@each_way
def test_a_pair_comes_nearer_to_the_truth_than_independence(
    epsilon: int, jointly: bool, method: str
) -> None:
    pair = true_joint(("sex", "work"))
    independent = np.outer(pair.sum(axis=1), pair.sum(axis=0))
    off = float(np.abs(pair - independent).sum() / 2)
    assert avd(epsilon, jointly, method, "sex", "work") < off / 2
    assert avd(epsilon, jointly, method, "town", "sex") < (0.45 if epsilon == 2 else 0.25)


@each_case
def test_counts_say_what_the_channels_say_one_report_after_the_other(
    epsilon: int, jointly: bool
) -> None:
    """Bits of the law, not those of the number that is sent."""
    batch = reports(epsilon, jointly)[:200]
    campaign, tables = batch.campaign, count(batch).tables
    expected = {key: np.zeros_like(table.counts) for key, table in tables.items()}
    for wire in unframed(framed_bytes(batch)):
        report = Report.from_bytes(wire, campaign)
        view = report.view(campaign)
        fallen = [
            _fallen(c, o)
            for c, o in zip(campaign.channels(view), report.outputs(campaign), strict=True)
        ]
        if jointly:
            fold = folds_of(digests_of(np.frombuffer(report.id, np.uint8)[None]))[0]
            expected[view, 0][fold] += [1, *fallen[0]]
            continue
        for position, bits in zip(view, fallen, strict=True):
            expected[(position,), 2] += bits
        expected[view, 2] += np.outer(*fallen)
    assert all(np.array_equal(expected[key], table.counts) for key, table in tables.items())
    assert sum(int(table.sum()) for table in expected.values()) > 0


def _fallen(channel: object, output: int) -> np.ndarray:
    assert isinstance(channel, HashedChannel)
    function, sent = divmod(channel.number(output), channel.n_values)
    return np.array(
        [channel.value(function, x) == sent for x in range(channel.n_candidates)], dtype=np.int64
    )


# ---- when it is chosen


def usual(*sizes: int, epsilon: float) -> str:
    domain = Domain(
        tuple(IntegerRange(name=f"a{i}", minimum=1, maximum=size) for i, size in enumerate(sizes))
    )
    campaign = make_campaign(domain, Terms(name="usual"), CampaignRequest(epsilon=epsilon))
    return f"{campaign.mechanism.name} {campaign.view}"


@pytest.mark.parametrize("epsilon", [0.5, 2, 4])
def test_hashed_is_chosen_where_the_largest_pair_passes_what_is_spelt_out(epsilon: float) -> None:
    assert LARGEST_SPELT_OUT == 8192
    assert (
        usual(2, 2, 5000, epsilon=epsilon)
        == usual(2, 5000, 2, 2, epsilon=epsilon)
        == "hashed sample:2"
    )
    assert usual(8193, epsilon=epsilon) == "hashed all"


@pytest.mark.parametrize("sizes", [(500, 500), (91, 91, 2), (300, 3, 2)])
def test_large_questions_are_asked_one_by_one(sizes: tuple[int, ...]) -> None:
    """Unless a person answers one, their shares drown in the noise of the pairs."""
    assert usual(*sizes, epsilon=2) == "subset sample:1"


@pytest.mark.parametrize(
    ("sizes", "epsilon", "chosen"),
    [
        ((60, 50, 2), 2, "subset sample:2"),
        ((90, 91, 2), 8, "direct fill:496"),
        ((4096, 2), 4, "subset sample:2"),
        ((300, 3, 2), 8, "direct fill:496"),
        ((90, 91, 2), 12, "direct fill:27125"),
    ],
)
def test_smaller_domains_are_collected_as_before(
    sizes: tuple[int, ...], epsilon: float, chosen: str
) -> None:
    assert usual(*sizes, epsilon=epsilon) == chosen


def test_hashed_is_offered_for_large_pairs_alone() -> None:
    """Up to the 2^20 cells that it takes."""
    offered = {
        sizes: any(design.mechanism == "hashed" for design in usual_designs(sizes, 2.0))
        for sizes in ((8192,), (8193,), (64, 128), (64, 129), (1024, 1024), (1025, 1024))
    }
    assert [sizes for sizes, is_offered in offered.items() if is_offered] == [
        (8193,),
        (64, 129),
        (1024, 1024),
    ]


def test_a_hashed_report_of_a_million_cells_has_six_bytes_at_most() -> None:
    domain = Domain(tuple(IntegerRange(name=name, minimum=1, maximum=1000) for name in "ab"))
    for epsilon, n_bytes in ((0.5, 3), (2, 4), (20, 6)):
        campaign = make_campaign(
            domain, Terms(name="million"), CampaignRequest(epsilon=epsilon, mechanism="hashed")
        )
        assert campaign.payload_bytes((0, 1)) == n_bytes


def test_one_fake_speaks_for_every_cell_or_for_none() -> None:
    """Function 0 sends every cell to 0, so the reach of a fake is that of bits that are all ones, or all zeros."""
    channel = HashedChannel(300, 2 * 2**32)
    assert _fallen(channel, channel.output(0)).sum() == 300
    assert _fallen(channel, channel.output(1)).sum() == 0
