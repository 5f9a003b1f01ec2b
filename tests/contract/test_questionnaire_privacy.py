"""Privacy of records with conditions and lists, exactly: every draw of the real client is tried, in rationals.

A report must not tell two records apart better than the campaign states, nor two that differ in one question and in what follows
from it better than that question's epsilon. Clients that go wrong in each of the ways that a questionnaire tempts to are refused.
"""

from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

import laws
from lopub import Boolean, Campaign, DomainError, Sample, Terms
from lopub.contract import budget
from lopub.contract.condition import Comparison
from lopub.contract.domain import TickList
from lopub.contract.fields import domain_of
from lopub.contract.mechanism import Direct, Mechanism, direct
from lopub.contract.randomness import Randomness
from lopub.contract.report import mask_of, pack
from lopub.contract.view import Listed, ViewRule
from lopub.device.randomizing import cell, randomized

PRECISE = Context(prec=220)
Wire = tuple[bytes, bytes]
Law = dict[Wire, Fraction]
Client = Callable[[Campaign, Sequence[int], Randomness], Wire]

DOMAIN = domain_of(
    (
        Boolean(name="job"),
        Boolean(name="hours", only_if=Comparison("job", "equals", (True,))),
        TickList(name="reads", values=("a", "b"), only_if=Comparison("hours", "equals", (True,))),
    )
)
THREE = Listed.of(DOMAIN, [(("job", "hours", "reads/a"), 1)])
CASES: dict[str, tuple[type[Mechanism], ViewRule, bool]] = {
    "direct, two of them jointly": (Direct, Sample(2), True),
    "direct, two of them separately": (Direct, Sample(2), False),
    "direct, a listed three separately": (Direct, THREE, False),
}


@pytest.fixture(autouse=True)
def small_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that all draws can be tried."""
    for home in (budget, direct):
        monkeypatch.setattr(home, "UNIT", 2)


def campaign_of(case: str) -> Campaign:
    mechanism, view, jointly = CASES[case]
    counts = (1,) if jointly else view.view_sizes(len(DOMAIN))
    noise = dict.fromkeys(counts, 3)
    return Campaign(domain=DOMAIN, mechanism=mechanism(noise), view=view, jointly=jointly, terms=Terms(name="small"))


def candidate_records() -> Iterator[tuple[dict[str, object], tuple[int, ...]]]:
    """Every record that the questionnaire allows."""
    for answers in product((True, False), (None, True, False), (None, [], ["a"], ["a", "b"])):
        record = dict(zip(("job", "hours", "reads"), answers, strict=True))
        try:
            yield record, DOMAIN.indices(record)  # type: ignore[arg-type]
        except DomainError:
            continue


# ---- clients: ours, and some that go wrong


def ours(campaign: Campaign, record: Sequence[int], randomness: Randomness) -> Wire:
    report = randomized(campaign, record, slot=0, randomness=randomness)
    return report.mask, report.payload


def not_applicable(record: Sequence[int]) -> list[int]:
    return [p for p, a in enumerate(DOMAIN.attributes) if record[p] == a.not_applicable_index]


def shorter_where_nothing_applies(campaign: Campaign, record: Sequence[int], randomness: Randomness) -> Wire:
    mask, payload = ours(campaign, record, randomness)
    return mask, payload[:-1] if not_applicable(record) else payload


def view_drawn_among_what_applies(campaign: Campaign, record: Sequence[int], randomness: Randomness) -> Wire:
    view = campaign.view.draw(campaign.domain.sizes, randomness)
    if set(view) & set(not_applicable(record)):
        view = campaign.view.draw(campaign.domain.sizes, randomness)
    return sent(campaign, view, record, randomness)


def absent_where_it_does_not_apply(campaign: Campaign, record: Sequence[int], randomness: Randomness) -> Wire:
    view = campaign.view.draw(campaign.domain.sizes, randomness)
    _, payload = sent(campaign, view, record, randomness)
    return mask_of(tuple(p for p in view if p not in not_applicable(record)), 1), payload


def sent(campaign: Campaign, view: Sequence[int], record: Sequence[int], randomness: Randomness) -> Wire:
    channels = campaign.channels(tuple(view))
    inputs = [cell(view, record, campaign.domain.sizes)] if campaign.jointly else [record[p] for p in view]
    outputs = [channel.randomize(x, randomness) for channel, x in zip(channels, inputs, strict=True)]
    return mask_of(tuple(view), 1), pack(outputs, channels)


def condition_on_the_noisy_answer(campaign: Campaign, record: Sequence[int], randomness: Randomness) -> Wire:
    """Separately: what follows from a noisy answer is set to agree with it, and not randomized by itself."""
    view = campaign.view.draw(campaign.domain.sizes, randomness)
    channels = campaign.channels(view)
    outputs = [channel.randomize(record[p], randomness) for channel, p in zip(channels, view, strict=True)]
    if view[:2] == (0, 1) and outputs[0] == 0:
        outputs[1] = 2
    return mask_of(view, 1), pack(outputs, channels)


def options_drawn_apart(campaign: Campaign, record: Sequence[int], randomness: Randomness) -> Wire:
    """Each option with the noise of a report of its own, whatever share of the budget is left for it."""
    view = campaign.view.draw(campaign.domain.sizes, randomness)
    generous = campaign.mechanism.channel((DOMAIN.attributes[2],), min(campaign.mechanism.noise))
    strong = type(generous)(generous.n_candidates, 2 * max(campaign.mechanism.noise.values()))  # type: ignore[call-arg]
    channels = [strong if p >= 2 else own for p, own in zip(view, campaign.channels(view), strict=True)]
    outputs = [channel.randomize(record[p], randomness) for channel, p in zip(channels, view, strict=True)]
    return mask_of(view, 1), pack(outputs, channels)


SEPARATELY = [case for case in CASES if case.endswith("separately")]
MUTANTS: dict[Client, list[str]] = {
    shorter_where_nothing_applies: list(CASES),
    view_drawn_among_what_applies: ["direct, two of them jointly", "direct, two of them separately"],
    absent_where_it_does_not_apply: list(CASES)[:2],
    condition_on_the_noisy_answer: SEPARATELY,
    options_drawn_apart: SEPARATELY,
}


# ---- what may be revealed


@cache
def laws_of(case: str, client: Client) -> dict[tuple[int, ...], Law]:
    campaign = campaign_of(case)
    return {
        record: laws.distribution(lambda source, record=record: client(campaign, record, source))  # type: ignore[misc]
        for _, record in candidate_records()
    }


def revealed(each: Sequence[Law]) -> Decimal:
    """The largest log-ratio of any report between two of these laws; infinite where a report rules a record out."""
    likelihoods = [[law.get(report, Fraction(0)) for law in each] for report in set().union(*each)]
    if any(min(likelihood) == 0 for likelihood in likelihoods):
        return Decimal("inf")
    worst = max(max(likelihood) / min(likelihood) for likelihood in likelihoods)
    return PRECISE.ln(PRECISE.divide(Decimal(worst.numerator), Decimal(worst.denominator)))


def differing_in(law_of: dict[tuple[int, ...], Law], name: str) -> Iterator[list[Law]]:
    """The laws of records that differ in an attribute and what follows from it, and in nothing else."""
    following = DOMAIN.following(DOMAIN.position(name))
    groups: dict[tuple[int, ...], list[Law]] = {}
    for record, law in law_of.items():
        groups.setdefault(tuple(code for p, code in enumerate(record) if p not in following), []).append(law)
    yield from groups.values()


def violations(case: str, client: Client) -> list[str]:
    """All that a client gives away beyond what the campaign states, or draws by another law than the blocks'."""
    campaign, law_of = campaign_of(case), laws_of(case, client)
    found = []
    if revealed(list(law_of.values())) > campaign.loss:
        found.append("a report tells two records apart better than epsilon")
    for name in DOMAIN.names:
        if max(map(revealed, differing_in(law_of, name))) > campaign.loss_of(name):
            found.append(f"a report reveals more of {name} than is stated")
    if law_of != laws_of(case, by_the_book):
        found.append("reports are not drawn by the law of their blocks")
    return found


def by_the_book(campaign: Campaign, record: Sequence[int], randomness: Randomness) -> Wire:
    mask, payload = sent(campaign, campaign.view.draw(campaign.domain.sizes, randomness), record, randomness)
    return (mask if campaign.view.masked else b""), payload


@pytest.mark.parametrize("case", CASES)
def test_no_report_of_a_record_with_conditions_and_lists_reveals_more_than_is_stated(case):
    assert violations(case, ours) == []


@pytest.mark.parametrize(("client", "case"), [(c, case) for c, cases in MUTANTS.items() for case in cases])
def test_a_client_that_lets_the_questionnaire_leak_is_found_out(client, case):
    assert violations(case, client)


def test_the_epsilon_of_a_question_that_others_follow_from_is_reached_by_some_report():
    case = "direct, a listed three separately"
    campaign, law_of = campaign_of(case), laws_of(case, ours)
    assert campaign.loss_of("job") > campaign.loss_of("hours") > campaign.loss_of("reads/a") > 0
    for name in ("hours", "reads/a"):
        assert campaign.loss_of(name) - max(map(revealed, differing_in(law_of, name))) < Decimal("1e-12")
