"""Questions: unbiased, with intervals that cover, the same from reports and from counts, and labelled for what they are."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from test_intervals import DOMAIN, SIZES, VIEWS, WAYS, campaign_of, collections, truth

from lopub import (
    AllAttributes,
    Binned,
    Boolean,
    CampaignRequest,
    Categorical,
    Comparison,
    Dataset,
    Domain,
    DomainError,
    IntegerRange,
    ReportBatch,
    Sample,
    Study,
    Terms,
    count,
    make_campaign,
    simulate,
)
from lopub.campaign.views import ViewRule
from lopub.queries.answers import Answer
from tiers import FULL

N_COLLECTIONS = 100 if FULL else 12
HASHED = CampaignRequest(epsilon=3, mechanism="hashed")
QUESTIONS = [
    ("a0 == '1'", None),
    ("a1 != '0' or a0 == '0'", None),
    ("a3 == '2'", "a1 == '0'"),
    ("a0 == '1' and a2 == '0'", "a1 in ('1', '2')"),
]


def holds(text: str) -> np.ndarray:
    """The same questions, answered by Python itself on all cells."""
    cells = np.indices(SIZES).reshape(len(SIZES), -1)
    found = [eval(text, {f"a{i}": str(value) for i, value in enumerate(cell)}) for cell in cells.T]
    return np.array(found).reshape(SIZES)


def true_share(text: str, given: str | None) -> float:
    among = truth() if given is None else truth() * holds(given)
    return float((among * holds(text)).sum() / among.sum())


def campaign(mechanism: str, view: str, jointly: bool):
    if mechanism != "hashed":
        return campaign_of(mechanism, view, jointly)
    return make_campaign(
        DOMAIN, Terms(name="t"), replace(HASHED, view=VIEWS[view], jointly=jointly)
    )


ALL_WAYS = [
    *WAYS,
    *(
        ("hashed", view, jointly)
        for view in VIEWS
        for jointly in (True, False)
        if jointly or view != "fill"
    ),
]
SHORT = {
    *(("bloom", "listed", False), ("direct", "fill", True), ("optimized", "sample", True)),
    *(("subset", "sample", False), ("hashed", "all", True), ("hashed", "sample", False)),
}
each_way = pytest.mark.parametrize(
    ("mechanism", "view", "jointly"),
    [pytest.param(*way, marks=() if way in SHORT else pytest.mark.full) for way in ALL_WAYS],
)


@each_way
def test_errors_are_as_large_as_standard_errors_say(mechanism: str, view: str, jointly: bool):
    """It also forbids a variance without the covariance of a condition with what is asked of those who have it, and one of hashed
    reports that takes cells on one line as independent."""
    found, covered = [], []
    for batch in collections(campaign(mechanism, view, jointly), N_COLLECTIONS):
        study = Study(batch)
        for text, given in QUESTIONS:
            answer = study.probability(text, given=given)
            if answer.how == "direct" and answer.estimate is not None and answer.standard_error:
                found.append((answer.estimate - true_share(text, given)) / answer.standard_error)
                covered.append(answer.low <= true_share(text, given) <= answer.high)  # type: ignore[operator]
    assert found
    assert 0.7 <= np.sqrt(np.mean(np.square(found))) <= 1.3
    if FULL:
        assert 0.91 <= np.mean(covered) <= 0.99


@each_way
def test_counts_give_the_same_answer_wherever_they_can(mechanism: str, view: str, jointly: bool):
    batch = next(collections(campaign(mechanism, view, jointly), 1))
    reports, counts = Study(batch), Study(count(batch))
    n_same = 0
    for text, given in QUESTIONS:
        one, other = reports.probability(text, given=given), counts.probability(text, given=given)
        assert other.how == "direct" or other.reason
        if one.how == other.how == "direct" and not other.reason:
            n_same += 1
            assert np.allclose(figures(one), figures(other), atol=1e-6)
    assert n_same


@pytest.mark.parametrize("mechanism", ["unary", "subset", "bloom"])
def test_pairs_of_bits_are_known_from_counts_though_other_reports_cover_one_of_them_too(
    mechanism: str,
):
    """It forbids taking what is known of each attribute for known of the reports about both."""
    wish = CampaignRequest(epsilon=12, mechanism=mechanism, view=Sample(3), jointly=False)
    found = []
    for batch in collections(make_campaign(DOMAIN, Terms(name="t"), wish), N_COLLECTIONS):
        for text, given in QUESTIONS[1:3]:
            answer = Study(count(batch)).probability(text, given=given)
            assert answer.how == "direct" and "from counts" in answer.reason
            assert answer.estimate is not None and answer.standard_error is not None
            found.append((answer.estimate - true_share(text, given)) / answer.standard_error)
    assert 0.6 <= np.sqrt(np.mean(np.square(found))) <= 1.4


def figures(answer: Answer) -> list[float]:
    assert answer.estimate is not None and answer.low is not None and answer.high is not None
    return [answer.estimate, answer.low, answer.high]


def test_a_condition_is_known_from_all_reports_that_cover_it():
    """It forbids dividing by what the few reports about the whole question say, and refusing where only those do not know."""
    chosen = make_campaign(
        DOMAIN, Terms(name="t"), CampaignRequest(epsilon=1, mechanism="subset", view=Sample(2))
    )
    found = []
    for batch in collections(chosen, N_COLLECTIONS):
        answer = Study(batch).probability("a0 == '1'", given="a1 == '2'")
        assert (
            answer.how == "direct"
            and answer.estimate is not None
            and answer.standard_error is not None
        )
        assert answer.n_informative < len(batch) / 5  # those that cover both
        found.append(
            (answer.estimate - true_share("a0 == '1'", "a1 == '2'")) / answer.standard_error
        )
    assert 0.5 <= np.sqrt(np.mean(np.square(found))) <= 1.5


def test_a_mean_lies_among_the_numbers_that_can_be_reported():
    """At so much noise most collections put it beyond them."""
    ages = Domain((IntegerRange(name="age", minimum=25, maximum=60),))
    people = Dataset(ages, np.zeros((200, 1), dtype=np.int64))
    noisy = make_campaign(ages, Terms(name="t"), CampaignRequest(epsilon=1))
    found = [Study(simulate(people, noisy, seed=seed)).mean("age") for seed in range(12)]
    assert all(25 <= value <= 60 for answer in found for value in figures(answer))
    assert any(answer.estimate == 25 for answer in found) and any(
        answer.estimate > 25 for answer in found if answer.estimate
    )


@pytest.mark.parametrize(("jointly", "bits"), [(True, 60), (False, 10)])
def test_codes_that_do_not_tell_answers_apart_are_refused(jointly: bool, bits: int):
    wide = Domain(tuple(IntegerRange(name=name, minimum=0, maximum=11) for name in ("a", "b")))
    wish = CampaignRequest(
        epsilon=4, mechanism="bloom", n_bits=bits, n_hashes=3, view=AllAttributes(), jointly=jointly
    )
    people = Dataset(wide, np.random.default_rng(1).integers(0, 12, (500, 2)))
    answer = Study(
        simulate(people, make_campaign(wide, Terms(name="t"), wish), seed=1)
    ).probability("a == 3 and b > 5")
    assert answer.how == "refused" and "apart" in answer.reason


# ---- models


def without_three_way_interaction(rng: np.random.Generator) -> np.ndarray:
    scores = np.zeros(SIZES)
    for i, j in combinations(range(len(SIZES)), 2):
        shape = [size if axis in (i, j) else 1 for axis, size in enumerate(SIZES)]
        scores = scores + rng.normal(0, 0.6, shape)
    return np.exp(scores) / np.exp(scores).sum()


@pytest.mark.parametrize("epsilon", [pytest.param(3, marks=pytest.mark.full), 6])
def test_a_model_of_pairs_covers_where_there_is_no_interaction_of_three(epsilon: float):
    rng, found, covered = np.random.default_rng(3), [], []
    wish = CampaignRequest(epsilon=epsilon, mechanism="subset", view=Sample(2))
    chosen = make_campaign(DOMAIN, Terms(name="t"), wish)
    chances = without_three_way_interaction(rng)
    text, given = QUESTIONS[3]
    among = chances * holds(given or "")
    true = float((among * holds(text)).sum() / among.sum())
    for seed in range(2 * N_COLLECTIONS):
        codes = np.unravel_index(rng.choice(chances.size, 8_000, p=chances.reshape(-1)), SIZES)
        answer = Study(
            count(simulate(Dataset(DOMAIN, np.stack(codes, axis=1)), chosen, seed=seed))
        ).probability(text, given=given)
        assert (
            answer.how == "model"
            and "valid if no interaction of three attributes is left out" in answer.reason
        )
        assert answer.estimate is not None and answer.standard_error is not None
        found.append((answer.estimate - true) / answer.standard_error)
        covered.append(answer.low <= true <= answer.high)  # type: ignore[operator]
    assert 0.6 <= np.sqrt(np.mean(np.square(found))) <= 1.4
    if FULL:
        assert 0.91 <= np.mean(covered) <= 0.99


def coins(n_coins: int, people: int, view: ViewRule, heads: float = 0.5) -> ReportBatch:
    domain = Domain(tuple(Boolean(name=f"c{i}") for i in range(n_coins)))
    wish = CampaignRequest(epsilon=8, mechanism="direct", view=view, jointly=True)
    codes = (np.random.default_rng(2).random((people, n_coins)) < heads).astype(np.uint16)
    return simulate(Dataset(domain, codes), make_campaign(domain, Terms(name="t"), wish), seed=2)


def test_a_model_from_counts_knows_that_a_report_is_in_several_pairs():
    """It forbids taking the pairs of one report for pairs of several: a share would seem better known than by all reports."""
    batch = coins(3, 5_000, AllAttributes())
    alone = Study(batch).probability("c0")
    together = Study(count(batch)).probability("c0 and c1 in (true, false) and c2 in (true, false)")
    assert alone.how == "direct" and together.how == "model"
    assert together.standard_error == pytest.approx(alone.standard_error, rel=0.05)


def test_a_model_does_not_take_what_few_reports_leave_out_for_empty():
    """It forbids the covariance of a part with few reports from what these say themselves."""
    answer = Study(coins(10, 3_000, Sample(5), heads=0.3)).probability(
        " and ".join(f"c{i}" for i in range(7))
    )
    assert answer.how == "model" and answer.low is not None and answer.high is not None
    assert answer.low < 0.3**7 < answer.high < 10 * 0.3**7


# ---- numbers and tables


PEOPLE = Domain(
    (
        Boolean(name="works"),
        IntegerRange(name="age", minimum=20, maximum=29),
        Binned(name="hours", edges=("0", "10", "30", "50"), missing=True),
        Categorical(name="marital-status", values=("single", "married")),
        Binned(name="rent", edges=("0", "500", "inf")),
        IntegerRange(
            name="days",
            minimum=1,
            maximum=5,
            only_if=Comparison(field="works", operator="equals", values=(True,)),
        ),
    )
)


@pytest.fixture(scope="module")
def crowd() -> Dataset:
    rng = np.random.default_rng(5)
    works = rng.random(30_000) < 0.6
    age = np.clip(rng.normal(4 + 2 * works, 2, len(works)), 0, 9).astype(int)
    hours = np.where(
        works,
        rng.choice(4, len(works), p=[0.1, 0.3, 0.5, 0.1]),
        rng.choice(4, len(works), p=[0.7, 0.1, 0, 0.2]),
    )
    days = np.where(works, age // 2, 5)
    return Dataset(
        PEOPLE,
        np.stack([works, age, hours, age > 4, rng.random(len(works)) < 0.4, days], axis=1).astype(
            np.uint16
        ),
    )


@pytest.fixture(scope="module")
def reports(crowd: Dataset) -> ReportBatch:
    wish = CampaignRequest(epsilon=10, mechanism="direct", view=AllAttributes(), jointly=True)
    return simulate(crowd, make_campaign(PEOPLE, Terms(name="t"), wish), seed=1)


def test_a_mean_is_near_the_truth_and_its_interval_holds_it(crowd: Dataset, reports: ReportBatch):
    answer, working = Study(reports).mean("age", given="works"), crowd.codes[:, 0] == 1
    true = 20 + crowd.codes[working, 1].mean()
    assert answer.how == "direct" and answer.low is not None and answer.high is not None
    assert answer.low <= true <= answer.high and answer.high - answer.low < 0.2


def test_a_mean_of_bins_reaches_as_far_as_numbers_may_lie_in_them(reports: ReportBatch):
    answer = Study(reports).mean("hours", given="works")
    assert answer.estimate is not None and answer.low is not None and answer.high is not None
    assert answer.low < answer.estimate - 5 and answer.high > answer.estimate + 5
    assert answer.assumptions == (
        "hours is in the middle of its bin, on which the interval does not rely",
    )


def test_a_quantile_is_the_number_that_so_many_do_not_exceed(crowd: Dataset, reports: ReportBatch):
    answer = Study(reports).quantile("age", 0.9, given="works")
    true = 20 + np.quantile(crowd.codes[crowd.codes[:, 0] == 1, 1], 0.9, method="inverted_cdf")
    assert answer.low is not None and answer.high is not None
    assert answer.low <= true <= answer.high and answer.high - answer.low <= 1


def test_numbers_are_asked_of_those_to_whom_the_question_applies(
    crowd: Dataset, reports: ReportBatch
):
    mean, middle = Study(reports).mean("days"), Study(reports).quantile("days", 0.5)
    true = 1 + crowd.codes[crowd.codes[:, 0] == 1, 5]
    assert mean.low is not None and mean.high is not None and mean.low <= true.mean() <= mean.high
    assert (
        middle.low is not None
        and middle.high is not None
        and middle.low <= np.median(true) <= middle.high
    )


def test_a_quantile_in_a_bin_without_an_end_is_refused(reports: ReportBatch):
    study = Study(reports)
    assert (
        study.quantile("rent", 0.9).reason
        == "it lies in a bin without an end, of which nothing more is known"
    )
    assert study.quantile("rent", 0.3).how == "direct"
    assert study.quantile("rent", 0.599).to_dict()["high"] is None


def test_a_condition_that_contradicts_itself_is_called_so(reports: ReportBatch):
    answer = Study(reports).probability("works", given="age < 22 and age > 25")
    assert (
        answer.how == "refused"
        and answer.reason == "the condition contradicts itself, so that nobody has it"
    )


@pytest.mark.parametrize(
    ("text", "share"), [("works or not works", 1.0), ("works and not works", 0.0)]
)
def test_what_holds_of_everybody_or_nobody_needs_no_reports(
    reports: ReportBatch, text: str, share: float
):
    answer = Study(reports).probability(text)
    assert (answer.low, answer.estimate, answer.high) == (share, share, share)


def test_a_table_has_an_interval_for_every_cell(crowd: Dataset, reports: ReportBatch):
    table = Study(reports).table("works", "marital-status", given="age > 22")
    true = crowd.codes[crowd.codes[:, 1] > 2]
    assert len(table) == 4
    for (works, status), answer in table.cells.items():
        share = ((true[:, 0] == (works == "true")) & (true[:, 3] == (status == "married"))).mean()
        assert (
            answer.standard_error is not None
            and abs(float(answer) - share) < 6 * answer.standard_error
        )
    assert sum(float(answer) for answer in table.cells.values()) == pytest.approx(1, abs=0.02)
    assert (
        table["true", "married"].question
        == "P(works == 'true' and marital-status == 'married' given age > 22)"
    )


def test_a_condition_near_zero_is_refused_with_the_reason(reports: ReportBatch):
    answer = Study(reports[:200]).probability("works", given="age == 29 and hours == null")
    assert answer.how == "refused" and answer.estimate is None and np.isnan(float(answer))
    assert "within three standard errors of zero" in answer.reason


def test_what_nobody_reports_is_refused(reports: ReportBatch):
    chosen = make_campaign(
        PEOPLE, Terms(name="t"), CampaignRequest(epsilon=8, mechanism="direct", view=Sample(1))
    )
    batch = simulate(
        Dataset(PEOPLE, np.tile(np.array([0, 0, 0, 0, 0, 5], dtype=np.uint16), (50, 1))),
        chosen,
        seed=1,
    )
    only = batch[np.flatnonzero([batch.views[i] == (0,) for i in batch.view_index])]
    answer = Study(only).probability("age > 24")
    assert answer.how == "refused" and answer.reason == "no report covers attribute 'age'"


def test_an_interval_stays_between_zero_and_one(reports: ReportBatch):
    answer = Study(reports[:60]).probability("age == 29 and hours == null and works")
    assert answer.low is not None and answer.high is not None
    assert 0 <= answer.low <= float(answer) <= answer.high <= 1


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda study: study.mean("works"), "attribute 'works' is not a number"),
        (lambda study: study.quantile("age", 1.0), "level must be above 0 and below 1, got 1"),
        (
            lambda study: study.table(),
            "a table needs at least one attribute, and each of them once",
        ),
        (
            lambda study: study.table("age", "age"),
            "a table needs at least one attribute, and each of them once",
        ),
        (lambda study: study.table("agee"), "there is no attribute 'agee'; did you mean age?"),
        (
            lambda study: study.mean("rent"),
            "attribute 'rent' has a bin without an end, so its mean cannot be known; ask for a quantile",
        ),
    ],
)
def test_a_question_that_cannot_be_is_refused(reports: ReportBatch, call, sentence: str):
    with pytest.raises(DomainError) as caught:
        call(Study(reports))
    assert sentence in str(caught.value)


def test_an_answer_reads_well_and_goes_into_any_frame(reports: ReportBatch):
    answer = Study(reports).probability("works and hours > 20")
    assert "direct: from the reports that cover all of its attributes" in str(answer)
    assert "assumes that hours is spread evenly within (10, 30]" in str(answer)
    assert answer.to_arrow().num_rows == 1 and "<pre>" in answer._repr_html_()
    table = Study(reports).table("works")
    assert table.to_pandas()["estimate"].tolist() == [
        float(answer) for answer in table.cells.values()
    ]
    assert table.plot().get_xlabel() == "estimate and 95 % interval"
