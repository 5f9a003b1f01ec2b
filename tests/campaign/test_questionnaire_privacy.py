"""Privacy of records with conditions and lists, exactly: every draw of the real client is tried, in rationals.

A report must not tell two records apart better than the campaign states, nor two that differ in one question and in what follows
from it better than that question's epsilon. Clients that go wrong in each of the ways that a questionnaire tempts to are refused.

So that every mechanism can be tried, a block is drawn at once, by a law that was found by trying all of the block's own draws.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from itertools import count, permutations, product
from math import prod

import pytest

import laws
from every import every
from lopub import Boolean, Campaign, DomainError, Sample, Terms
from lopub.campaign import budget
from lopub.campaign.budget import UNIT
from lopub.campaign.condition import Comparison
from lopub.campaign.domain import Clique, Domain, TickList
from lopub.campaign.fields import domain_of
from lopub.campaign.mechanisms import (
    Bloom,
    Channel,
    Direct,
    Hashed,
    Mechanism,
    Subset,
    Unary,
    direct,
    hashed,
    subset,
    unary,
)
from lopub.campaign.mechanisms.bloom import BloomChannel
from lopub.campaign.mechanisms.direct import DirectChannel
from lopub.campaign.mechanisms.hashed import HashedChannel, n_values_for
from lopub.campaign.mechanisms.subset import SubsetChannel
from lopub.campaign.mechanisms.unary import OptimizedChannel, SymmetricChannel
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import mask_of, pack
from lopub.campaign.views import AllAttributes, Fill, Listed, ViewRule
from lopub.client.noise import cell, randomized
from lopub.errors import CodesCollide
from tiers import FULL

PRECISE = Context(prec=220)
Wire = tuple[bytes, bytes]
Law = dict[Wire, Fraction]
Record = tuple[int, ...]
Client = Callable[[Campaign, Sequence[int], Randomness], Wire]

NESTED = domain_of(
    (
        Boolean(name="job"),
        Boolean(name="hours", only_if=Comparison("job", "equals", (True,))),
        TickList(
            name="reads", values=("a", "b"), most=1, only_if=Comparison("hours", "equals", (True,))
        ),
    )
)
"""A list that follows from a question that follows from another."""
TICKED = domain_of(
    (
        TickList(name="reads", values=("a", "b"), most=1),
        Boolean(name="hours", only_if=Comparison("reads", "includes", ("a",))),
    )
)
"""A question that follows from one option of a list."""
MECHANISMS = ("direct", "hashed", "subset", "bloom", "unary symmetric", "unary optimized")
ODDS = {1: 9, 2: 4, 3: 4, 4: 3}
UNITS = {1: UNIT // 8, 2: UNIT // 4, 3: UNIT // 16 * 5, 4: UNIT // 8 * 3}
"""More blocks, more noise; small numerators and denominators."""


# ---- cases


@dataclass(frozen=True)
class Case:
    """A small campaign."""

    mechanism: str
    view: str
    jointly: bool
    nested: bool

    def __str__(self) -> str:
        how = "jointly" if self.jointly else "separately"
        return f"{self.mechanism}, {self.view}, {how}, {'nested' if self.nested else 'ticked'}"

    @property
    def domain(self) -> Domain:
        return NESTED if self.nested else TICKED

    @property
    def feasible(self) -> bool:
        """Whether there is such a campaign, of blocks with few enough outputs."""
        if self.view == "fill" and not self.jointly:
            return False
        whole = self.nested and self.jointly and self.view in ("all", "fill")
        return not whole or self.mechanism in ("direct", "hashed")

    @property
    def quick(self) -> bool:
        """Whether it is tried always; the others take half a minute together."""
        few_outputs = self.mechanism in ("direct", "subset")
        if self.nested:
            return few_outputs or (self.view == "listed" and not self.jointly)
        return few_outputs or self.view != "all" or not self.jointly


VIEWS, EITHER = ("all", "sample", "fill", "listed"), (True, False)
EVERY_CASE = [Case(*each) for each in product(MECHANISMS, VIEWS, EITHER, EITHER)]
CASES = [case for case in EVERY_CASE if case.feasible and (case.quick or FULL)]


def enumerating(test: Callable[[], None]) -> Callable[[], None]:
    """Tests that run in one process, so that the laws of a case are found once."""
    return pytest.mark.slow(pytest.mark.xdist_group("enumerated questionnaires")(test))


def rule_of(case: Case) -> ViewRule:
    sets = [(("reads/a", "reads/b"), 2), (("hours", "reads/a"), 1)]
    if not case.jointly:
        sets.append(
            (("job", "hours", "reads/a") if case.nested else ("reads/a", "reads/b", "hours"), 1)
        )
    listed = Listed.of(case.domain, sets)
    return {
        "all": AllAttributes(),
        "sample": Sample(2),
        "fill": Fill(9 if case.nested else 6),
        "listed": listed,
    }[case.view]


def mechanisms_of(case: Case, counts: Sequence[int]) -> Iterator[Mechanism]:
    """The mechanism; of `bloom`, one after the other with every salt."""
    odds, units = {n: ODDS[n] for n in counts}, {n: UNITS[n] for n in counts}
    match case.mechanism:
        case "bloom":
            bits = 8 if case.jointly else dict.fromkeys(case.domain.names, 3)
            yield from (Bloom(units, bits, 3 if case.jointly else 2, str(salt)) for salt in count())
        case "unary symmetric":
            yield Unary(units, symmetric=True)
        case "unary optimized":
            yield Unary(odds)
        case name:
            yield {"direct": Direct, "hashed": Hashed, "subset": Subset}[name](odds)


def campaign_of(case: Case) -> Campaign:
    rule = rule_of(case)
    counts = (1,) if case.jointly else rule.view_sizes(len(case.domain))
    for mechanism in mechanisms_of(case, counts):
        try:
            return Campaign(
                domain=case.domain,
                mechanism=mechanism,
                view=rule,
                jointly=case.jointly,
                terms=Terms(name="small"),
            )
        except CodesCollide:
            continue
    raise AssertionError("unreachable: some salt will do")


def records_of(domain: Domain) -> list[Record]:
    """Every record that the questionnaire allows."""
    found = []
    for answers in product(
        (None, True, False), (None, True, False), (None, [], ["a"], ["b"], ["a", "b"])
    ):
        record = {
            name: answer
            for name, answer in zip(("job", "hours", "reads"), answers, strict=True)
            if answer is not None
        }
        try:
            found.append(domain.indices(record))  # type: ignore[arg-type]
        except DomainError:
            continue
    return found


@contextmanager
def small_unit(case: Case) -> Iterator[None]:
    """Odds over 2, so that all draws can be tried; bits that change are tried as they are."""
    with pytest.MonkeyPatch.context() as patch:
        for home in (
            (budget, direct, hashed, subset, unary)
            if case.mechanism not in ("bloom", "unary symmetric")
            else ()
        ):
            patch.setattr(home, "UNIT", 2)
        patch.setattr(
            hashed, "n_values_for", n_values_for.__wrapped__
        )  # remembers nothing of another unit
        yield


# ---- blocks


@cache
def block_law(channel: Channel, candidate: int) -> dict[int, Fraction]:
    """The law of a block's output: all of its draws, or where they are too many, its bits one by one."""
    if isinstance(channel, OptimizedChannel) and channel.n_candidates > 3:
        return law_of_bits(channel, candidate)
    return laws.distribution(
        lambda randomness: RANDOMIZE[type(channel)](channel, candidate, randomness)
    )


@cache
def outcomes(channel: Channel, candidate: int) -> tuple[tuple[int, Fraction], ...]:
    return tuple(block_law(channel, candidate).items())


def law_of_bits(channel: Channel, candidate: int) -> dict[int, Fraction]:
    """Independent bits: the true one is a fair coin, each other one with probability 1 / (e^eps + 1)."""
    chances = [
        Fraction(1, 2) if bit == candidate else Fraction(2, channel.odds + 2)
        for bit in range(channel.n_candidates)
    ]  # type: ignore[attr-defined]
    return {
        sum(bit << i for i, bit in enumerate(bits)): prod(
            p if bit else 1 - p for p, bit in zip(chances, bits, strict=True)
        )
        for bits in product((0, 1), repeat=channel.n_candidates)
    }


RANDOMIZE = {
    kind: kind.randomize
    for kind in (
        DirectChannel,
        HashedChannel,
        SubsetChannel,
        BloomChannel,
        SymmetricChannel,
        OptimizedChannel,
    )
}


@contextmanager
def blocks_drawn_at_once() -> Iterator[None]:
    def drawn(channel: Channel, candidate: int, randomness: laws.Branching) -> int:
        return randomness.drawn(outcomes(channel, candidate))

    with pytest.MonkeyPatch.context() as patch:
        for kind in RANDOMIZE:
            patch.setattr(kind, "randomize", drawn)
        yield


def largest_ratio(channel: Channel, one: int, other: int) -> Fraction:
    """How much better than another candidate one explains an output of the block, at most."""
    law, against = block_law(channel, one), block_law(channel, other)
    return max(chance / against[output] for output, chance in law.items())


def view_law(campaign: Campaign) -> dict[Clique, Fraction]:
    """Every view with its probability, from the words of the format: each step draws a question, and of a list an option."""
    rule, domain = campaign.view, campaign.domain
    if isinstance(rule, AllAttributes | Listed):
        return laws.view_law(campaign)
    found: dict[Clique, Fraction] = {}
    for order in permutations(range(len(domain))):
        view = (
            order[: rule.n_sampled]
            if isinstance(rule, Sample)
            else laws.filled(order, domain.sizes, rule.cells)
        )  # type: ignore[attr-defined]
        chance = chance_of_order(order, [set(one) for one in (*domain.lists, *alone(domain))])
        found[tuple(sorted(view))] = found.get(tuple(sorted(view)), Fraction(0)) + chance
    return found


def alone(domain: Domain) -> list[Clique]:
    """Attributes of no list."""
    return [
        (place,) for place in range(len(domain)) if not any(place in one for one in domain.lists)
    ]


def chance_of_order(order: Sequence[int], left: list[set[int]]) -> Fraction:
    chance = Fraction(1)
    for position in order:
        own = next(question for question in left if position in question)
        chance /= len(left) * len(own)
        own.remove(position)
        left = [question for question in left if question]
    return chance


# ---- clients: ours, and some that go wrong


def ours(campaign: Campaign, record: Sequence[int], randomness: Randomness) -> Wire:
    report = randomized(campaign, record, report_id=bytes(16), slot=0, randomness=randomness)
    return report.mask, report.payload


def not_applicable(campaign: Campaign, record: Sequence[int]) -> list[int]:
    return [
        p for p, a in enumerate(campaign.domain.attributes) if record[p] == a.not_applicable_index
    ]


def shorter_where_nothing_applies(
    campaign: Campaign, record: Sequence[int], randomness: Randomness
) -> Wire:
    mask, payload = ours(campaign, record, randomness)
    return mask, payload[:-1] if not_applicable(campaign, record) else payload


def view_drawn_among_what_applies(
    campaign: Campaign, record: Sequence[int], randomness: Randomness
) -> Wire:
    view = campaign.view.draw(campaign.domain.sizes, randomness)
    if set(view) & set(not_applicable(campaign, record)):
        view = campaign.view.draw(campaign.domain.sizes, randomness)
    return sent(campaign, view, record, randomness)


def absent_where_it_does_not_apply(
    campaign: Campaign, record: Sequence[int], randomness: Randomness
) -> Wire:
    view = campaign.view.draw(campaign.domain.sizes, randomness)
    _, payload = sent(campaign, view, record, randomness)
    return mask_of(tuple(p for p in view if p not in not_applicable(campaign, record)), 1), payload


def sent(
    campaign: Campaign, view: Sequence[int], record: Sequence[int], randomness: Randomness
) -> Wire:
    channels = campaign.channels(tuple(view))
    inputs = (
        [cell(view, record, campaign.domain.sizes)]
        if campaign.jointly
        else [record[p] for p in view]
    )
    outputs = [
        channel.randomize(x, randomness) for channel, x in zip(channels, inputs, strict=True)
    ]
    return mask_of(tuple(view), 1), pack(outputs, channels)


def condition_on_the_noisy_answer(
    campaign: Campaign, record: Sequence[int], randomness: Randomness
) -> Wire:
    """Separately: what follows from a noisy answer is set to agree with it, and not randomized by itself."""
    view = campaign.view.draw(campaign.domain.sizes, randomness)
    channels = campaign.channels(view)
    outputs = [
        channel.randomize(record[p], randomness) for channel, p in zip(channels, view, strict=True)
    ]
    if view[:2] == (0, 1) and outputs[0] == min(block_law(channels[0], 0)):
        outputs[1] = min(block_law(channels[1], 2))
    return mask_of(view, 1), pack(outputs, channels)


def options_drawn_apart(campaign: Campaign, record: Sequence[int], randomness: Randomness) -> Wire:
    """Each option as if it were all that the report says, whatever share of the budget is left for it."""
    view = campaign.view.draw(campaign.domain.sizes, randomness)
    noisy = list(zip(view, campaign.channels(view), strict=True))
    channels = [
        strong(own) if any(p in one for one in campaign.domain.lists) else own for p, own in noisy
    ]
    outputs = [
        channel.randomize(record[p], randomness) for channel, p in zip(channels, view, strict=True)
    ]
    return mask_of(view, 1), pack(outputs, channels)


def strong(channel: Channel) -> Channel:
    """With the noise of a report of its own."""
    if isinstance(channel, BloomChannel | SymmetricChannel):
        return replace(channel, change_units=UNITS[1])
    return replace(channel, odds=ODDS[1])  # type: ignore[type-var]


def options_of_a_joint_view_drawn_apart(
    campaign: Campaign, record: Sequence[int], randomness: Randomness
) -> Wire:
    """Every attribute as a block of its own, each with the whole budget of the view."""
    view = campaign.view.draw(campaign.domain.sizes, randomness)
    channels = [campaign.mechanism.channel((campaign.domain.attributes[p],), 1) for p in view]
    outputs = [
        channel.randomize(record[p], randomness) for channel, p in zip(channels, view, strict=True)
    ]
    return mask_of(view, 1), pack(outputs, channels)


def some(
    view: str, *, jointly: bool, nested: bool, mechanisms: Sequence[str] = MECHANISMS
) -> list[Case]:
    return [Case(mechanism, view, jointly, nested) for mechanism in mechanisms]


def shown(mutant: tuple[Client, Case]) -> str:
    return f"{mutant[0].__name__}, {mutant[1]}"


MUTANTS: dict[Client, list[Case]] = {
    shorter_where_nothing_applies: some("sample", jointly=True, nested=False),
    view_drawn_among_what_applies: some(
        "sample", jointly=False, nested=False, mechanisms=["direct", "subset"]
    ),
    absent_where_it_does_not_apply: some("listed", jointly=True, nested=False),
    condition_on_the_noisy_answer: some(
        "listed", jointly=False, nested=True, mechanisms=["direct", "unary symmetric"]
    ),
    options_drawn_apart: some("listed", jointly=False, nested=False),
    options_of_a_joint_view_drawn_apart: some(
        "listed",
        jointly=True,
        nested=False,
        mechanisms=[name for name in MECHANISMS if name != "bloom"],
    ),
}


FEW = ("direct", "unary symmetric")
"""Mechanisms for which wrong clients are tried always."""


# ---- what may be revealed


@cache
def laws_of(case: Case, client: Client) -> dict[Record, Law]:
    with small_unit(case), blocks_drawn_at_once():
        campaign = campaign_of(case)
        return {
            record: laws.distribution(
                lambda source, record=record: client(campaign, record, source)
            )  # type: ignore[misc]
            for record in records_of(case.domain)
        }


@dataclass(frozen=True)
class Stated:
    """What a campaign says of itself, and its reports by the laws of views and blocks."""

    loss: Decimal
    loss_of: dict[str, Decimal]
    law_of: dict[Record, Law]
    ratio: Callable[[Record, Record], Fraction]


@cache
def stated(case: Case) -> Stated:
    with small_unit(case):
        campaign = campaign_of(case)
        blocks = {view: campaign.channels(view) for view in view_law(campaign)}
        records = records_of(case.domain)
        ratios = {
            (one, other): product_ratio(campaign, one, other)
            for one in records
            for other in records
        }
        return Stated(
            campaign.loss,
            {name: campaign.loss_of(name) for name in case.domain.names},
            {record: by_the_book(campaign, blocks, record) for record in records},
            lambda one, other: ratios[one, other],
        )


def by_the_book(
    campaign: Campaign, blocks: dict[Clique, tuple[Channel, ...]], record: Record
) -> Law:
    """A view by its law, and the blocks' outputs independently by theirs."""
    law: Law = {}
    for view, chance in view_law(campaign).items():
        inputs = laws.inputs_of(campaign, view, record)
        each = [
            block_law(channel, x).items() for channel, x in zip(blocks[view], inputs, strict=True)
        ]
        mask = mask_of(view, 1) if campaign.view.masked else b""
        for outcome in product(*each):
            wire = mask, pack([output for output, _ in outcome], blocks[view])
            law[wire] = law.get(wire, Fraction(0)) + chance * prod(p for _, p in outcome)
    return law


def product_ratio(campaign: Campaign, one: Record, other: Record) -> Fraction:
    """The largest ratio of a report between two records: of the worst view, the product of its blocks' largest ratios."""
    return max(
        prod(
            map(
                largest_ratio,
                campaign.channels(view),
                *(laws.inputs_of(campaign, view, record) for record in (one, other)),
            )
        )
        for view in view_law(campaign)
    )


def ln(ratio: Fraction) -> Decimal:
    return PRECISE.ln(PRECISE.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))


def revealed(each: Sequence[Law]) -> Decimal:
    """The largest log-ratio of any report between two of these laws; infinite where a report rules a record out."""
    likelihoods = [[law.get(report, Fraction(0)) for law in each] for report in set().union(*each)]
    if any(min(likelihood) == 0 for likelihood in likelihoods):
        return Decimal("inf")
    return ln(max(max(likelihood) / min(likelihood) for likelihood in likelihoods))


def differing_in(domain: Domain, name: str) -> list[list[Record]]:
    """Records that differ in an attribute and what follows from it, and in nothing else."""
    following = domain.following(domain.position(name))
    groups: dict[Record, list[Record]] = {}
    for record in records_of(domain):
        groups.setdefault(
            tuple(code for p, code in enumerate(record) if p not in following), []
        ).append(record)
    return list(groups.values())


def violations(case: Case, client: Client) -> list[str]:
    """All that a client gives away beyond what the campaign states, or draws by another law than the blocks'."""
    law_of, told = laws_of(case, client), stated(case)
    found = []
    if revealed(list(law_of.values())) > told.loss:
        found.append("a report tells two records apart better than epsilon")
    for name in case.domain.names:
        if (
            max(revealed([law_of[r] for r in group]) for group in differing_in(case.domain, name))
            > told.loss_of[name]
        ):
            found.append(f"a report reveals more of {name} than is stated")
    if law_of != told.law_of:
        found.append("reports are not drawn by the law of their views and blocks")
    return found


@enumerating
@every(CASES)
def test_no_report_of_a_record_with_conditions_and_lists_reveals_more_than_is_stated(case):
    assert violations(case, ours) == []


@enumerating
@every(CASES)
def test_the_most_that_a_report_reveals_is_the_product_of_what_its_blocks_do(case):
    """By the integers of the blocks alone, so that it holds for larger ones, too."""
    law_of, ratio = laws_of(case, ours), stated(case).ratio
    for one, other in product(records_of(case.domain), repeat=2):
        assert max(
            chance / law_of[other][report] for report, chance in law_of[one].items()
        ) == ratio(one, other)


@enumerating
@every(
    [(c, case) for c, cases in MUTANTS.items() for case in cases if FULL or case.mechanism in FEW],
    shown,
)
def test_a_client_that_lets_the_questionnaire_leak_is_found_out(client, case):
    assert violations(case, client)


@every(MUTANTS[options_of_a_joint_view_drawn_apart])
def test_options_that_are_drawn_apart_with_the_whole_budget_each_reveal_more_than_epsilon(case):
    assert "a report tells two records apart better than epsilon" in violations(
        case, options_of_a_joint_view_drawn_apart
    )


@every([case for case in CASES if case.mechanism == "direct" and case.view != "all"])
def test_drawing_a_block_at_once_changes_no_law(case):
    with small_unit(case):
        campaign = campaign_of(case)
        for record, law in laws_of(case, ours).items():
            assert (
                laws.distribution(lambda source, record=record: ours(campaign, record, source))
                == law
            )


@every([(2, 9), (3, 9), (4, 3), (5, 3)])
def test_bits_of_optimized_unary_are_independent(n_candidates, odds):
    with small_unit(Case("unary optimized", "all", True, True)):
        channel = OptimizedChannel(n_candidates, odds)
        for candidate in range(n_candidates):
            tried = laws.distribution(
                lambda source, candidate=candidate: channel.randomize(candidate, source)
            )
            assert tried == law_of_bits(channel, candidate)


def test_the_epsilon_of_a_question_that_others_follow_from_is_reached_by_some_report():
    case = Case("direct", "listed", False, True)
    law_of, loss_of = laws_of(case, ours), stated(case).loss_of
    assert loss_of["job"] > loss_of["hours"] >= loss_of["reads/a"] > 0
    for name in ("hours", "reads/a"):
        reached = max(revealed([law_of[r] for r in group]) for group in differing_in(NESTED, name))
        assert loss_of[name] - reached < Decimal("1e-12")
