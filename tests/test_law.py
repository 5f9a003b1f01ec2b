"""Noise is tested by its law: the client obeys it, and the harness catches every client that is a little wrong.

The operating system's source is replaced by a seeded one, so that each of these tests passes always or never.
"""

import inspect
import io
import math
import os
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
from lopub import client
from lopub.campaign import Campaign
from lopub.client import Client
from lopub.exact import UNIT
from lopub.keeping import MemoryStore
from lopub.mechanism.bloom import BloomChannel
from lopub.mechanism.direct import DirectChannel
from lopub.mechanism.subset import SubsetChannel
from lopub.mechanism.unary import OptimizedChannel, SymmetricChannel
from lopub.randomness import Randomness
from lopub.view import AllAttributes, Fill, Listed, Sample, View, ViewRule

SEED = 20_180_301
SETTLED = settings(derandomize=True, deadline=None)


@pytest.fixture
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", random.Random(SEED).randbytes)


def encoded(campaign: Campaign, record: laws.Record, n: int) -> list[bytes]:
    """The client's path, from candidate numbers to wire bytes."""
    return [client.randomized(campaign, record, slot=0, randomness=Randomness()).to_bytes() for _ in range(n)]


# ---- the client obeys its law

MECHANISMS: dict[str, dict[str, object]] = {
    "bloom": {"flip_probability": "0.5", "n_bits": 6, "n_hashes": 2},
    "unary symmetric": {"flip_probability": "0.5", "mechanism": "unary"},
    "unary optimized": {"epsilon": 1, "mechanism": "unary"},
    "subset": {"epsilon": 1, "mechanism": "subset"},
    "direct": {"epsilon": "1.5", "mechanism": "direct"},
}
SIZES = (3, 3, 2)
LISTED = Listed.of(laws.small_domain(*SIZES), [(("a", "b"), 3), (("b", "c"), 2), (("c",), 2)])
FILLED = Fill(8)
"""The pair of the two larger attributes passes 8 cells: it is drawn because the first two always are."""
TWO_RECORDS = [(0, 0, 0), (1, 2, 1)]
"""They differ in every answer."""


def wished(name: str, *sizes: int, **more: object) -> Campaign:
    return laws.small_campaign(*sizes, **{"view": AllAttributes(), **MECHANISMS[name], **more})


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_position_of_a_jointly_randomized_report_has_the_stated_rate(name: str) -> None:
    assert laws.violations(encoded, wished(name, 2, 3, jointly=True)) == []


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_position_of_a_separately_randomized_report_has_the_stated_rate(name: str) -> None:
    assert laws.violations(encoded, wished(name, *SIZES, jointly=False)) == []


JOINT_VIEWS = [(name, view) for name in ("bloom", "subset", "direct") for view in (Sample(2), LISTED, FILLED)][::2]
SEPARATE_VIEWS = [("unary symmetric", Sample(2)), ("unary optimized", LISTED)]


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize(("name", "view"), JOINT_VIEWS, ids=str)
def test_a_jointly_randomized_view_is_drawn_by_its_rule_whatever_the_answers(name: str, view: ViewRule) -> None:
    assert laws.violations(encoded, wished(name, *SIZES, view=view, jointly=True), records=TWO_RECORDS) == []


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize(("name", "view"), SEPARATE_VIEWS, ids=str)
def test_a_separately_randomized_view_is_drawn_by_its_rule_whatever_the_answers(name: str, view: ViewRule) -> None:
    assert laws.violations(encoded, wished(name, *SIZES, view=view, jointly=False), records=TWO_RECORDS) == []


FIVE = (2, 3, 2, 4, 3)
RULES = [*(Sample(k) for k in range(1, 6)), *(Fill(cells) for cells in (4, 6, 8, 12, 24, 48, 144))]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_view_of_five_attributes_has_exactly_the_law_of_its_rule(rule: ViewRule) -> None:
    campaign = wished("direct", *FIVE, view=rule, jointly=True)
    assert laws.distribution(lambda randomness: rule.draw(FIVE, randomness)) == laws.view_law(campaign)


def test_a_listed_view_has_exactly_the_law_of_its_weights() -> None:
    sevenths = {(0, 1): Fraction(3, 7), (1, 2): Fraction(2, 7), (2,): Fraction(2, 7)}
    assert laws.distribution(lambda randomness: LISTED.draw(SIZES, randomness)) == sevenths


def test_the_operating_systems_own_randomness_obeys_the_law() -> None:
    """Not seeded: some hundred tests at 1e-9 with twice the reports needed, so chance fails it once in millions of runs."""
    campaign, records = wished("bloom", 2, 2, jointly=False), [(0, 1)]
    assert laws.violations(encoded, campaign, records=records, n=2 * laws.enough_reports(campaign, records)) == []


# ---- the harness catches what is a little wrong

Patch = tuple[object, str, Callable[..., object]]


def one_position_left_bare(channel: BloomChannel, candidate: int, randomness: Randomness) -> int:
    return channel.filters[candidate] ^ randomness.changes(channel.n_bits, channel.change_units, UNIT) & ~(1 << 3)


def ones_never_turned_to_zero(channel: BloomChannel, candidate: int, randomness: Randomness) -> int:
    return channel.filters[candidate] | randomness.changes(channel.n_bits, channel.change_units, UNIT)


def f_used_for_half_of_f(channel: BloomChannel, candidate: int, randomness: Randomness) -> int:
    return channel.filters[candidate] ^ randomness.changes(channel.n_bits, 2 * channel.change_units, UNIT)


def all_bits_changed_together(channel: BloomChannel, candidate: int, randomness: Randomness) -> int:
    """Each bit alone has the stated rate."""
    everything = (1 << channel.n_bits) - 1
    return channel.filters[candidate] ^ everything * randomness.changes(1, channel.change_units, UNIT)


def the_same_noise_in_every_block(channel: SymmetricChannel, candidate: int, randomness: Randomness) -> int:
    """Each block alone has the stated law."""
    if "shared" not in vars(randomness):
        vars(randomness)["shared"] = randomness.changes(max(SIZES), channel.change_units, UNIT)
    return 1 << candidate ^ vars(randomness)["shared"] & ((1 << channel.n_candidates) - 1)


def the_last_candidate_told_more_plainly(channel: SymmetricChannel, candidate: int, randomness: Randomness) -> int:
    units = channel.change_units // (2 if candidate == channel.n_candidates - 1 else 1)
    return 1 << candidate ^ randomness.changes(channel.n_candidates, units, UNIT)


def rates_swapped(channel: OptimizedChannel, candidate: int, randomness: Randomness) -> int:
    """The true bit is a one with q, the others are fair coins."""
    noise = sum(randomness.below(2) << i for i in range(channel.n_candidates))
    kept = randomness.below(channel.odds + UNIT) < UNIT
    return noise & ~(1 << candidate) | kept << candidate


def coin_missing(channel: OptimizedChannel, candidate: int, randomness: Randomness) -> int:
    """The true bit is always a one."""
    total = channel.odds + UNIT
    noise = sum((randomness.below(total) < UNIT) << i for i in range(channel.n_candidates))
    return noise | 1 << candidate


def coin_ignored(channel: OptimizedChannel, candidate: int, randomness: Randomness) -> int:
    """The true bit is noise as any other."""
    return sum((randomness.below(channel.odds + UNIT) < UNIT) << i for i in range(channel.n_candidates))


def true_cell_never_dropped(channel: SubsetChannel, candidate: int, randomness: Randomness) -> int:
    drawn = randomness.prefix(channel.n_candidates - 1, channel.subset_size)
    cells = [candidate, *(cell + (cell >= candidate) for cell in drawn[1:])]
    return sum(1 << cell for cell in cells)


def neighbours_drawn_together(channel: SubsetChannel, candidate: int, randomness: Randomness) -> int:
    """Each cell alone has the stated rate, but the others are a run of neighbours, not a random subset."""
    held = randomness.below(channel.all_units) < channel.holding_units
    others = channel.n_candidates - 1
    start = randomness.below(others)
    drawn = [(start + k) % others for k in range(channel.subset_size)]
    cells = [cell + (cell >= candidate) for cell in drawn]
    cells[-1] = candidate if held else cells[-1]
    return sum(1 << cell for cell in cells)


def keep_of_one_cell_too_many(channel: DirectChannel, candidate: int, randomness: Randomness) -> int:
    """keep = (A - U) / (A + K U), where K - 1 should stand; what is not kept is uniform as it should be."""
    kept = randomness.below(channel.odds + channel.n_candidates * UNIT) < channel.kept_units
    return channel.output(candidate if kept else randomness.below(channel.n_candidates))


def a_number_that_no_cell_has(channel: DirectChannel) -> int:
    """The same slip in `all_units`, where the law follows it: the draw reaches cell K."""
    return channel.odds + channel.n_candidates * UNIT


def biased_to_the_first_attribute(rule: Sample, sizes: View, randomness: Randomness) -> View:
    """Where attribute 0 is not drawn, one chance in eight to have it instead of the last."""
    view = randomness.prefix(len(sizes), rule.n_sampled)
    if 0 not in view and randomness.below(8) == 0:
        view[-1] = 0
    return tuple(sorted(view))


def without_the_first_two_rule(rule: Fill, sizes: View, randomness: Randomness) -> View:
    taken: list[int] = []
    for position in randomness.prefix(len(sizes), len(sizes)):
        if math.prod(sizes[i] for i in [*taken, position]) <= rule.cells:
            taken.append(position)
    return tuple(sorted(taken))


def shuffled_with_all_places(randomness: Randomness, n: int, size: int) -> list[int]:
    """The usual slip in Fisher and Yates: every place swaps with any place."""
    order = list(range(n))
    for i in range(size):
        j = randomness.below(n)
        order[i], order[j] = order[j], order[i]
    return order[:size]


def weights_forgotten(rule: Listed, sizes: View, randomness: Randomness) -> View:
    return rule.sets[randomness.below(len(rule.sets))]


def chosen_by_an_answer(campaign: Campaign, candidates: laws.Record, *, slot: int, randomness: Randomness) -> object:
    """Who answers 1 first, and got a view without that attribute, draws once more."""
    report = RANDOMIZED(campaign, candidates, slot=slot, randomness=randomness)
    if candidates[0] and 0 not in report.view(campaign):
        return RANDOMIZED(campaign, candidates, slot=slot, randomness=randomness)
    return report


def id_made_of_the_record(campaign: Campaign, candidates: laws.Record, *, slot: int, randomness: Randomness) -> object:
    """One bit of the id is the first answer."""
    report = RANDOMIZED(campaign, candidates, slot=slot, randomness=randomness)
    first = report.id[0] & ~1 | candidates[0] & 1
    return client.Report(**{**vars(report), "id": bytes([first]) + report.id[1:]})


def the_same_bytes_for_every_report(randomness: Randomness, n_bytes: int) -> bytes:
    start = randomness._at
    randomness._at += n_bytes
    return ONE_STREAM[start : start + n_bytes]


RANDOMIZED = client.randomized
ONE_STREAM = random.Random(SEED).randbytes(4096)

MUTANTS: list[tuple[str, Patch, dict[str, object]]] = [
    ("bloom", (BloomChannel, "randomize", one_position_left_bare), {}),
    ("bloom", (BloomChannel, "randomize", ones_never_turned_to_zero), {}),
    ("bloom", (BloomChannel, "randomize", f_used_for_half_of_f), {}),
    ("bloom", (BloomChannel, "randomize", all_bits_changed_together), {}),
    ("unary symmetric", (SymmetricChannel, "randomize", the_same_noise_in_every_block), {}),
    ("unary symmetric", (SymmetricChannel, "randomize", the_last_candidate_told_more_plainly), {}),
    ("unary optimized", (OptimizedChannel, "randomize", rates_swapped), {}),
    ("unary optimized", (OptimizedChannel, "randomize", coin_missing), {}),
    ("unary optimized", (OptimizedChannel, "randomize", coin_ignored), {}),
    ("subset", (SubsetChannel, "randomize", true_cell_never_dropped), {}),
    ("subset", (SubsetChannel, "randomize", neighbours_drawn_together), {"jointly": True}),
    ("direct", (DirectChannel, "randomize", keep_of_one_cell_too_many), {"epsilon": 4}),
    ("direct", (DirectChannel, "all_units", property(a_number_that_no_cell_has)), {}),
    ("direct", (Sample, "draw", biased_to_the_first_attribute), {"view": Sample(2)}),
    ("direct", (Fill, "draw", without_the_first_two_rule), {"view": FILLED, "jointly": True}),
    ("direct", (Listed, "draw", weights_forgotten), {"view": LISTED}),
    ("direct", (Randomness, "prefix", shuffled_with_all_places), {"view": Sample(2)}),
    ("direct", (client, "randomized", chosen_by_an_answer), {"view": Sample(2)}),
    ("direct", (client, "randomized", id_made_of_the_record), {}),
    ("bloom", (Randomness, "take", the_same_bytes_for_every_report), {}),
]


def name_of(part: object) -> str:
    """A mutant's name in the list of tests: what it does."""
    if not isinstance(part, tuple):
        return "" if isinstance(part, dict) else str(part)
    replacement = part[2].fget if isinstance(part[2], property) else part[2]
    return str(replacement.__name__)


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize(("name", "patch", "more"), MUTANTS, ids=name_of)
def test_the_law_refuses(name: str, patch: Patch, more: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = wished(name, *SIZES, **{"jointly": False, **more})
    n = laws.enough_reports(campaign, TWO_RECORDS)
    monkeypatch.setattr(*patch)
    found = laws.violations(encoded, campaign, records=TWO_RECORDS, n=n)
    assert [violation for violation in found if laws.ALSO_FITS not in violation] != []


@pytest.mark.usefixtures("seeded")
def test_the_law_refuses_too_few_reports_to_tell_a_rate_from_its_neighbours() -> None:
    found = laws.violations(encoded, wished("bloom", 2, 2, jointly=False), records=[(0, 1)], n=1000)
    assert found and all(laws.ALSO_FITS in violation for violation in found)


# ---- the draws are exact


def serve(monkeypatch: pytest.MonkeyPatch, stream: bytes) -> None:
    """Let the operating system's source give these bytes, then zeros."""
    source = io.BytesIO(stream)
    monkeypatch.setattr(os, "urandom", lambda n: source.read(n).ljust(n, b"\0"))


def drawn_below(n: int, byte: int) -> int | None:
    """What `below(n)` makes of this byte; None where it takes another, which is a zero."""
    with pytest.MonkeyPatch.context() as patch:
        serve(patch, bytes([byte, 0, 255]))
        randomness = Randomness()
        drawn = randomness.below(n)
        return drawn if randomness.take(1) == b"\0" else None


@pytest.mark.parametrize("n", [2, 3, 5, 7, 10, 64, 100, 129, 200, 255, 256])
def test_below_gives_every_number_for_equally_many_bytes(n: int) -> None:
    """All 256 bytes: those thrown away are drawn again, so that the rest decides alone."""
    drawn = Counter(drawn_below(n, byte) for byte in range(256))
    del drawn[None]
    assert drawn == dict.fromkeys(range(n), 256 // 2 ** (n - 1).bit_length())


def test_below_one_takes_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, b"first")
    randomness = Randomness()
    assert (randomness.below(1), randomness.take(5)) == (0, b"first")


@SETTLED
@given(n=st.integers(2, 2**80), stream=st.binary(min_size=400, max_size=400))
def test_below_is_the_first_number_of_the_stream_that_is_small_enough(n: int, stream: bytes) -> None:
    """As many bytes as n - 1 needs, big-endian, surplus high bits cleared."""
    n_bits = (n - 1).bit_length()
    n_bytes = -(-n_bits // 8)
    numbers = [int.from_bytes(stream[at : at + n_bytes]) % 2**n_bits for at in range(0, 400, n_bytes)]
    with pytest.MonkeyPatch.context() as patch:
        serve(patch, stream)
        assert Randomness().below(n) == next((number for number in numbers if number < n), 0)


@pytest.mark.parametrize(("n", "size"), [(1, 1), (2, 1), (3, 2), (4, 4), (5, 2), (5, 5)])
def test_every_ordered_prefix_is_equally_likely(n: int, size: int) -> None:
    law = laws.distribution(lambda randomness: tuple(randomness.prefix(n, size)))
    assert law == dict.fromkeys(permutations(range(n), size), Fraction(1, math.perm(n, size)))


units = st.integers(1, 32).flatmap(lambda k: st.tuples(st.integers(1, 2**k - 1), st.just(2**k)))


def planes_of(n_bits: int, change_units: int, unit: int) -> tuple[int, int]:
    """Bytes a plane, and how many planes there are from the lowest set bit of change_units up."""
    lowest = (change_units & -change_units).bit_length() - 1
    return -(-n_bits // 8), unit.bit_length() - 1 - lowest


@SETTLED
@given(n_bits=st.integers(1, 40), noise=units, stream=st.binary(min_size=160, max_size=160))
def test_a_bit_changes_exactly_where_its_number_is_below_change_units(n_bits: int, noise: tuple[int, int], stream: bytes) -> None:
    """The number of bit i: bit i of each plane, inverted, the lowest plane first; planes that cannot matter as zeros."""
    change_units, unit = noise
    n_bytes, n_planes = planes_of(n_bits, change_units, unit)
    planes = [int.from_bytes(stream[j * n_bytes : (j + 1) * n_bytes], "little") for j in range(n_planes)]
    lowest = unit.bit_length() - 1 - n_planes
    numbers = [sum((~plane >> i & 1) << (lowest + j) for j, plane in enumerate(planes)) for i in range(n_bits)]
    with pytest.MonkeyPatch.context() as patch:
        serve(patch, stream)
        mask = Randomness().changes(n_bits, change_units, unit)
    assert mask == sum((number < change_units) << i for i, number in enumerate(numbers))


@SETTLED
@given(n_bits=st.integers(1, 40), noise=units, stream=st.binary(min_size=168, max_size=168))
def test_planes_below_the_lowest_set_bit_are_not_drawn(n_bits: int, noise: tuple[int, int], stream: bytes) -> None:
    n_bytes, n_planes = planes_of(n_bits, *noise)
    with pytest.MonkeyPatch.context() as patch:
        serve(patch, stream)
        randomness = Randomness()
        randomness.changes(n_bits, *noise)
        assert randomness.take(8) == stream[n_bytes * n_planes :][:8]


@pytest.mark.parametrize("change_units", range(1, 8))
def test_two_bits_change_independently_with_exactly_the_stated_probability(change_units: int) -> None:
    """All planes of two bits over a unit of 8."""
    masks: Counter[int] = Counter()
    for planes in product(range(4), repeat=3):
        with pytest.MonkeyPatch.context() as patch:
            serve(patch, bytes(planes))
            masks[Randomness().changes(2, change_units, 8)] += 1
    kept = 8 - change_units
    assert masks == {0: kept * kept, 1: change_units * kept, 2: kept * change_units, 3: change_units * change_units}


@SETTLED
@given(sizes=st.lists(st.integers(0, 700), max_size=12))
def test_no_byte_of_the_source_is_used_twice_or_skipped(sizes: list[int]) -> None:
    stream = random.Random(SEED).randbytes(sum(sizes) + 2048)
    with pytest.MonkeyPatch.context() as patch:
        serve(patch, stream)
        randomness = Randomness()
        assert b"".join(randomness.take(size) for size in sizes) == stream[: sum(sizes)]


def test_every_report_starts_a_stream_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes left over from one report would link it to the next."""
    source, asked = random.Random(SEED), []
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(source.randbytes(n)) or asked[-1])
    campaign = wished("direct", 2, 3, jointly=True)
    people = [Client(campaign, store=MemoryStore(), respondent=str(i)) for i in range(5)]
    reports = [person.encode({"a": "1", "b": "2"}) for person in people]
    assert [report.id for report in reports] == [chunk[:16] for chunk in asked]


# ---- nothing can be seeded


def test_the_client_takes_no_seed_or_source() -> None:
    assert list(inspect.signature(Client).parameters) == ["campaign", "epsilon_cap", "store", "respondent"]
    assert list(inspect.signature(Client.encode).parameters) == ["self", "record"]


def test_randomness_takes_no_seed_or_source() -> None:
    assert not inspect.signature(Randomness).parameters


def test_seeding_pythons_own_generator_seeds_nothing() -> None:
    streams = set()
    for _ in range(3):
        random.seed(SEED)
        streams.add(Randomness().take(32))
    assert len(streams) == 3
