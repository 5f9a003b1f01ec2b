"""The law of a campaign's reports: whether an encoder obeys it, by counting; and what it is, by trying every draw.

An *encoder* makes n reports (wire bytes) of one record: the client, a mutant of it, a vectorised simulator. `violations`
says what is wrong with one: at every position, in both directions, the stated rate must fit and rates a little off
must be refused; every two bits must agree as often as the law says; views must be drawn by their rule, whatever the
record; and ids must be fair coins that never come back. No violations: the encoder obeys the campaign's laws.

`distribution` needs no counting: it replays a randomizer until every outcome of every draw has been tried.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, permutations, product
from operator import mul
from typing import TypeVar

import numpy as np
from scipy.special import bdtr, bdtrc

from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Categorical, Clique, Domain
from lopub.campaign.mechanisms import Channel
from lopub.campaign.mechanisms.direct import DirectChannel
from lopub.campaign.mechanisms.hashed import HashedChannel
from lopub.campaign.mechanisms.subset import SubsetChannel
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import ID_BYTES, Report
from lopub.campaign.terms import Terms
from lopub.campaign.views import AllAttributes, Fill, Listed, Sample
from lopub.errors import ReportRejected
from lopub.planning.request import CampaignRequest, make_campaign

ALPHA = 1e-9
"""Of every single test. Seeds are fixed, so that a test that passes once passes always."""
LITTLE = Fraction(5, 100)
FACTOR = Fraction(3, 2)
"""A rate is a little off where it is this far away, or off by this factor, whichever is nearer."""
APART = 12.5
"""Standard deviations between a rate and its neighbours. ALPHA takes 6.1 on either side of a count, so that neither
the true rate is refused nor a neighbour accepted."""
ALSO_FITS = "would also fit"
"""In a violation: a rate a little off was not refused, be the stated one right or wrong."""

Record = tuple[int, ...]
Encoder = Callable[[Campaign, Record, int], list[bytes]]
Outcome = TypeVar("Outcome")


# ---- small campaigns


def small_domain(*sizes: int) -> Domain:
    """Attributes a, b, c … with so many candidates each."""
    return Domain(
        tuple(
            Categorical(name=chr(97 + i), values=tuple(map(str, range(n))))
            for i, n in enumerate(sizes)
        )
    )


def small_campaign(*sizes: int, **wish: object) -> Campaign:
    """A campaign on a small domain; its noise is as wished."""
    return make_campaign(small_domain(*sizes), Terms(name="small"), CampaignRequest(**wish))  # type: ignore[arg-type]


def records_of(campaign: Campaign) -> list[Record]:
    """Every record that there can be."""
    return list(product(*(range(size) for size in campaign.domain.sizes)))


def covering_records(campaign: Campaign) -> list[Record]:
    """Records that show every block each of its candidates, so that each position is met in both directions."""
    if campaign.jointly:
        return records_of(campaign)
    sizes = campaign.domain.sizes
    return [tuple(i % size for size in sizes) for i in range(max(sizes))]


# ---- one rate


def fits(count: int, n: int, rate: Fraction | float) -> bool:
    """Whether count of n may come from this rate: exact binomial test, twice the smaller tail against ALPHA."""
    p = float(rate)
    return bool(2 * min(bdtr(count, n, p), bdtrc(count - 1, n, p)) >= ALPHA)


def neighbours(rate: Fraction) -> tuple[Fraction, ...]:
    """The rates a little below and a little above; none for what always or never happens."""
    if rate in (0, 1):
        return ()
    below = max(rate - LITTLE, rate / FACTOR, 1 - (1 - rate) * FACTOR)
    above = min(rate + LITTLE, rate * FACTOR, 1 - (1 - rate) / FACTOR)
    return below, above


def rate_violations(what: str, count: int, n: int, rate: Fraction) -> list[str]:
    """What is wrong with a count of n that should come from this rate, and from no rate a little off."""
    found = (
        [] if fits(count, n, rate) else [f"{what}: {count} of {n}, the law says {float(rate):.4f}"]
    )
    for wrong in neighbours(rate):
        if fits(count, n, wrong):
            found.append(f"{what}: {count} of {n} {ALSO_FITS} {float(wrong):.4f}")
    return found


def reports_to_refuse_neighbours(rate: Fraction) -> int:
    """How many reports put a rate's neighbours APART standard deviations away."""
    return max(
        (
            math.ceil(APART**2 * rate * (1 - rate) / (wrong - rate) ** 2)
            for wrong in neighbours(rate)
        ),
        default=1,
    )


# ---- the stated law


def view_law(campaign: Campaign) -> dict[Clique, Fraction]:
    """Every view and its probability, derived from the rule's words alone."""
    rule, sizes = campaign.view, campaign.domain.sizes
    positions = range(len(sizes))
    match rule:
        case AllAttributes():
            return {tuple(positions): Fraction(1)}
        case Sample():
            return in_proportion(Counter(combinations(positions, rule.n_sampled)))
        case Fill():
            return in_proportion(
                Counter(filled(order, sizes, rule.cells) for order in permutations(positions))
            )
        case Listed():
            return in_proportion(dict(zip(rule.sets, rule.weights, strict=True)))
    raise AssertionError(f"no law is written down for {rule}")


def in_proportion(weights: dict[Clique, int]) -> dict[Clique, Fraction]:
    total = sum(weights.values())
    return {view: Fraction(weight, total) for view, weight in weights.items()}


def filled(order: Sequence[int], sizes: Sequence[int], cells: int) -> Clique:
    """The first two of the order, and then each one that keeps the product within so many cells."""
    view = list(order[:2])
    for position in order[2:]:
        if math.prod(sizes[i] for i in [*view, position]) <= cells:
            view.append(position)
    return tuple(sorted(view))


def inputs_of(campaign: Campaign, view: Clique, record: Record) -> list[int]:
    """What each block of the view is given: a candidate, or the number of the joint cell, last attribute fastest."""
    candidates = [record[position] for position in view]
    if not campaign.jointly:
        return candidates
    cells = list(product(*(range(campaign.domain.sizes[position]) for position in view)))
    return [cells.index(tuple(candidates))]


def n_positions(channel: Channel) -> int:
    """Bits of the block's law; a `direct` or `hashed` number counts as one bit a cell."""
    return (
        channel.n_candidates
        if isinstance(channel, (DirectChannel, HashedChannel))
        else channel.width
    )


class BlockLaw:
    """The law of one block's positions for one candidate."""

    def __init__(self, channel: Channel, candidate: int) -> None:
        self.channel, self.candidate = channel, candidate
        law = channel.law()
        ones = {candidate} if law.rows is None else set(law.rows[candidate])
        self.p, self.rates = law.p, [law.p if i in ones else law.q for i in range(law.n_bits)]

    def together(self, i: int, j: int) -> Fraction:
        """The rate at which two positions are ones together."""
        if isinstance(self.channel, DirectChannel):
            return Fraction(0)
        if isinstance(self.channel, SubsetChannel):
            return self._held_together(
                i, j, self.channel.subset_size, self.channel.n_candidates - 1
            )
        if isinstance(self.channel, HashedChannel):
            return self._fallen_together(i, j, self.channel.n_values, self.channel.n_digits)
        return self.rates[i] * self.rates[j]

    def _held_together(self, i: int, j: int, w: int, others: int) -> Fraction:
        """A subset holds the true cell and w - 1 others with p, else w others; which others is all alike."""
        if self.candidate in (i, j):
            return self.p * (w - 1) / others
        return (self.p * (w - 1) * (w - 2) + (1 - self.p) * w * (w - 1)) / (others * (others - 1))

    def _fallen_together(self, i: int, j: int, g: int, t: int) -> Fraction:
        """Two cells on one line with the true one, as vectors of digits, fall on the value sent if all three fall together, with
        1 / g, and the value is kept. Else both fall anywhere, independently."""
        own, one, other = (digits_of(cell, g, t) for cell in (self.candidate, i, j))
        away = [[(a - b) % g for a, b in zip(digits, own, strict=True)] for digits in (one, other)]
        on_one_line = any(
            [factor * a % g for a in away[0]] == away[1] for factor in range(g)
        ) or not any(away[0])
        return self.p / g if on_one_line else Fraction(1, g * g)

    def parts_of_number(self, output: int) -> Iterator[tuple[str, int]]:
        """Of a `hashed` number: the function's coefficients, and how far the value was moved."""
        if isinstance(self.channel, HashedChannel):
            g, t = self.channel.n_values, self.channel.n_digits
            function, sent = divmod(self.channel.number(output), g)
            coefficients = digits_of(function, g, t)
            yield "moved by", (sent - fallen(coefficients, digits_of(self.candidate, g, t), g)) % g
            yield from (
                (f"coefficient {place}", coefficient)
                for place, coefficient in enumerate(coefficients)
            )

    def rates_of_number(self) -> dict[tuple[str, int], Fraction]:
        if not isinstance(self.channel, HashedChannel):
            return {}
        g, places = self.channel.n_values, range(self.channel.n_digits)
        moved = {
            ("moved by", step): (1 - self.p) / (g - 1) if step else self.p for step in range(g)
        }
        return moved | {
            (f"coefficient {place}", value): Fraction(1, g)
            for place in places
            for value in range(g)
        }


def digits_of(number: int, base: int, n_digits: int) -> list[int]:
    """Least significant first."""
    return [number // base**place % base for place in range(n_digits)]


class ViewedLaw:
    """The law of all positions of a report that covers one view, its blocks one behind the other."""

    def __init__(self, campaign: Campaign, view: Clique, record: Record) -> None:
        inputs = inputs_of(campaign, view, record)
        self.blocks = [
            BlockLaw(*block) for block in zip(campaign.channels(view), inputs, strict=True)
        ]
        self.rates = [rate for block in self.blocks for rate in block.rates]
        self.places = [
            (b, i) for b, block in enumerate(self.blocks) for i in range(len(block.rates))
        ]

    def agreement(self, one: int, other: int) -> Fraction:
        """The rate at which two positions are equal; with their own rates it fixes their joint law."""
        (block, i), (another, j) = self.places[one], self.places[other]
        both = (
            self.blocks[block].together(i, j)
            if block == another
            else self.rates[one] * self.rates[other]
        )
        return 1 - self.rates[one] - self.rates[other] + 2 * both

    def agreements(self) -> Iterator[tuple[int, int, Fraction]]:
        for one, other in combinations(range(len(self.rates)), 2):
            yield one, other, self.agreement(one, other)


def enough_reports(campaign: Campaign, records: Iterable[Record]) -> int:
    """So many reports that every view has enough of them to refuse every neighbour of every rate."""
    needed = 1
    for view, probability in view_law(campaign).items():
        rates = {probability}
        for record in records:
            law = ViewedLaw(campaign, view, record)
            rates |= {*law.rates, *(rate for _, _, rate in law.agreements())}
            rates |= {rate for block in law.blocks for rate in block.rates_of_number().values()}
        in_view = max(reports_to_refuse_neighbours(rate) for rate in rates)
        needed = max(needed, math.ceil(in_view / probability * Fraction(21, 20)))
    return needed


# ---- the counts


def violations(
    encode: Encoder,
    campaign: Campaign,
    *,
    records: Sequence[Record] | None = None,
    n: int | None = None,
) -> list[str]:
    """What is wrong with the encoder: nothing, or one sentence for each broken rate."""
    records = covering_records(campaign) if records is None else records
    n = enough_reports(campaign, records) if n is None else n
    return [
        f"record {record}: {violation}"
        for record in records
        for violation in record_violations(campaign, record, encode(campaign, record, n))
    ]


def refuses(encode: Encoder, campaign: Campaign, *, records: Sequence[Record], n: int) -> bool:
    """Whether an encoder is found to break the law by so many reports of a record; most that do, an eighth of them gives away."""
    found = (
        text
        for part in (n // 8, n)
        for one in records
        for text in violations(encode, campaign, records=[one], n=part)
    )
    return any(ALSO_FITS not in text for text in found)


def record_violations(campaign: Campaign, record: Record, wires: Sequence[bytes]) -> list[str]:
    """What is wrong with these reports of one record."""
    try:
        tally = tallied(campaign, wires)
    except ReportRejected as error:
        return [f"a report is refused: {error.reason}"]
    found = id_violations(wires) + view_violations(campaign, tally)
    for view, outcomes in tally.items():
        law, bits = ViewedLaw(campaign, view, record), Counter[int]()
        for outputs, count in outcomes.items():
            bits[joined(campaign.channels(view), outputs)] += count
        found += [
            f"view {view}, {violation}"
            for violation in bit_violations(law, bits) + number_violations(law, outcomes)
        ]
    return found


def tallied(campaign: Campaign, wires: Iterable[bytes]) -> dict[Clique, Counter[tuple[int, ...]]]:
    """View -> the outputs of its blocks -> how often."""
    counts: Counter[bytes] = Counter()
    for wire in wires:
        counts[wire[:9] + bytes(ID_BYTES) + wire[25:]] += 1  # alike but for the id
    tally: dict[Clique, Counter[tuple[int, ...]]] = defaultdict(Counter)
    for wire, count in counts.items():
        report = Report.from_bytes(wire, campaign)
        view = report.view(campaign)
        tally[view][report.outputs(campaign)] += count
    return tally


def number_violations(law: "ViewedLaw", outcomes: Counter[tuple[int, ...]]) -> list[str]:
    """Coefficients that are not uniform, and values that are not moved by each step alike. The bits of `hashed` do not show
    these: a value that is never sent is another one under every function."""
    found = []
    for number, block in enumerate(law.blocks):
        counts: Counter[tuple[str, int]] = Counter()
        for outputs, count in outcomes.items():
            for part in block.parts_of_number(outputs[number]):
                counts[part] += count
        for part, rate in block.rates_of_number().items():
            found += rate_violations(f"block {number} {part}", counts[part], outcomes.total(), rate)
    return found


def joined(channels: Sequence[Channel], outputs: Sequence[int]) -> int:
    bits = at = 0
    for channel, output in zip(channels, outputs, strict=True):
        bits |= positions_of(channel, output) << at
        at += n_positions(channel)
    return bits


def positions_of(channel: Channel, output: int) -> int:
    """The output as one bit a position of the law; a `direct` number is a single one, a `hashed` one has those of the cells that
    fall on the value sent."""
    if isinstance(channel, HashedChannel):
        function, sent = divmod(channel.number(output), channel.n_values)
        coefficients = digits_of(function, channel.n_values, channel.n_digits)
        return sum(
            1 << x
            for x, digits in enumerate(all_digits(channel))
            if fallen(coefficients, digits, channel.n_values) == sent
        )
    return 1 << channel.cell(output) if isinstance(channel, DirectChannel) else output


@cache
def all_digits(channel: HashedChannel) -> list[list[int]]:
    """Of every cell."""
    return [digits_of(x, channel.n_values, channel.n_digits) for x in range(channel.n_candidates)]


def fallen(coefficients: Sequence[int], digits: Sequence[int], g: int) -> int:
    """The value of a cell, by hand."""
    return sum(map(mul, coefficients, digits)) % g


def id_violations(wires: Sequence[bytes]) -> list[str]:
    """Ids that come back, or whose bits are no fair coins."""
    ids = [wire[9 : 9 + ID_BYTES] for wire in wires]
    found = [] if len(set(ids)) == len(ids) else ["an id comes back"]
    coins = np.unpackbits(
        np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(len(ids), ID_BYTES), axis=1
    ).sum(axis=0)
    wrong = [bit for bit, count in enumerate(coins.tolist()) if not fits(count, len(ids), 0.5)]
    return found + [f"bit {bit} of the id is no fair coin" for bit in wrong]


def view_violations(campaign: Campaign, tally: dict[Clique, Counter[tuple[int, ...]]]) -> list[str]:
    """Views that are not drawn as their rule says; asked of every record, this is independence of the answers."""
    law = view_law(campaign)
    n = sum(outcomes.total() for outcomes in tally.values())
    found = [f"view {view} cannot be drawn" for view in tally if view not in law]
    for view, probability in law.items():
        found += rate_violations(
            f"view {view}", tally[view].total() if view in tally else 0, n, probability
        )
    return found


def bit_violations(law: ViewedLaw, outcomes: Counter[int]) -> list[str]:
    """Positions whose rate of ones is wrong, and pairs of positions that agree too often or too seldom."""
    n, ones = outcomes.total(), ones_together(outcomes, len(law.rates))
    found = []
    for position, rate in enumerate(law.rates):
        found += rate_violations(place(law, position), int(ones[position, position]), n, rate)
    for one, other, rate in law.agreements():
        equal = int(n - ones[one, one] - ones[other, other] + 2 * ones[one, other])
        found += rate_violations(f"{place(law, one)} = {place(law, other)}", equal, n, rate)
    return found


def ones_together(outcomes: Counter[int], n_bits: int) -> np.ndarray:
    """How often two bits are ones together, shape (n_bits, n_bits); on the diagonal, how often each is one."""
    bits = np.array(
        [[outcome >> i & 1 for i in range(n_bits)] for outcome in outcomes], dtype=np.int64
    )
    return (bits.T * np.array(list(outcomes.values()))) @ bits


def place(law: ViewedLaw, position: int) -> str:
    block, i = law.places[position]
    return f"block {block} bit {i} (candidate {law.blocks[block].candidate})"


# ---- wide blocks: too many positions to look at every two of them

STRIDES = (1, 7, 8, 31, 32, 63, 64, 127, 128, 256, 512)
"""Positions so far apart are compared: noise that comes back after a byte or a word makes them agree."""
N_BINS = 16
"""Of a `direct` block: cells together, the last ones by themselves."""


def wide_violations(channel: Channel, candidate: int, n: int) -> list[str]:
    """What is wrong with n outputs of one block: the rate of each position, and how often far ones agree."""
    randomness = Randomness()
    outputs = [channel.randomize(candidate, randomness) for _ in range(n)]
    if isinstance(channel, DirectChannel):
        return cell_violations(channel, candidate, [channel.cell(output) for output in outputs])
    width = n_positions(channel)
    try:
        bits = bit_matrix([positions_of(channel, output) for output in outputs], width)
    except OverflowError:
        return ["an output has more bits than its block"]
    law = BlockLaw(channel, candidate)
    found = misfits("bit", bits.sum(axis=0), n, [float(rate) for rate in law.rates])
    for stride in STRIDES:
        pairs = [(i, i + stride) for i in range(width - stride)]
        rates = [float(1 - law.rates[i] - law.rates[j] + 2 * law.together(i, j)) for i, j in pairs]
        equal = (
            (bits[:, : width - stride] == bits[:, stride:]).sum(axis=0) if pairs else np.empty(0)
        )
        found += misfits(f"{stride} apart, bit", equal, n, rates)
    return found


def cell_violations(channel: DirectChannel, candidate: int, cells: list[int]) -> list[str]:
    """The true cell, and the others in bins of neighbours; those past 2^8, 2^16 and in the last 16th are bins by themselves."""
    k, n = channel.n_candidates, len(cells)
    if max(cells) >= k:
        return [f"cell {max(cells)} of {k}"]
    edges = sorted(
        {
            *(k * i // N_BINS for i in range(N_BINS + 1)),
            *(edge for edge in (256, 65_536) if edge < k),
        }
    )
    others = [cell for cell in cells if cell != candidate]
    counts = np.histogram(others, bins=edges)[0]
    q = float(channel.law().q)
    widths = [high - low - (low <= candidate < high) for low, high in pairwise(edges)]
    found = misfits("the true cell", np.array([n - len(others)]), n, [float(channel.law().p)])
    found += misfits("bin", counts, n, [q * width for width in widths])
    low_bits = [
        np.bincount(np.array(others) >> shift & 1, minlength=2)[1]
        for shift in range((k - 1).bit_length() - 1)
    ]
    expected = [
        q * ones_below(k, shift) - q * (candidate >> shift & 1) for shift in range(len(low_bits))
    ]
    return found + misfits("binary digit", np.array(low_bits), n, expected)


def ones_below(k: int, shift: int) -> int:
    """How many of the numbers below k have a one in this binary digit."""
    period = 2 << shift
    return k // period * (period // 2) + max(0, k % period - period // 2)


def bit_matrix(outputs: Sequence[int], width: int) -> np.ndarray:
    """Shape (outputs, bits)."""
    n_bytes = (width + 7) // 8
    packed = np.frombuffer(
        b"".join(output.to_bytes(n_bytes, "little") for output in outputs), dtype=np.uint8
    )
    return np.unpackbits(packed.reshape(len(outputs), n_bytes), axis=1, bitorder="little")[
        :, :width
    ]


def misfits(what: str, counts: np.ndarray, n: int, rates: Sequence[float]) -> list[str]:
    """The counts of n that do not come from their rates."""
    p = np.array(rates)
    tails = 2 * np.minimum(bdtr(counts, n, p), bdtrc(counts - 1, n, p))
    return [
        f"{what} {i}: {int(counts[i])} of {n}, the law says {p[i]:.4f}"
        for i in np.flatnonzero(tails < ALPHA)
    ]


# ---- every draw


class Branching(Randomness):
    """A source whose draws follow a script, and behind its end take their first outcome; it remembers its choices.

    `weight` of `ways` is the probability of all choices together. Bytes are zeros: an id is no part of the law.
    """

    def __init__(self, script: Sequence[int] = ()) -> None:
        super().__init__()
        self._script = script
        self.choices: list[tuple[int, int]] = []
        self.weight = self.ways = 1

    def take(self, n_bytes: int) -> bytes:
        return bytes(n_bytes)

    def below(self, n: int) -> int:
        self.ways *= n
        return self._choice(n)

    def changes(self, n_bits: int, change_units: int, unit: int) -> int:
        mask = self._choice(1 << n_bits)
        n_changed = mask.bit_count()
        self.weight *= change_units**n_changed * (unit - change_units) ** (n_bits - n_changed)
        self.ways *= unit**n_bits
        return mask

    def drawn(self, law: Sequence[tuple[int, Fraction]]) -> int:
        """An outcome of a law that is known already, as one draw."""
        outcome, chance = law[self._choice(len(law))]
        self.weight *= chance.numerator
        self.ways *= chance.denominator
        return outcome

    def _choice(self, n_outcomes: int) -> int:
        at = len(self.choices)
        chosen = self._script[at] if at < len(self._script) else 0
        self.choices.append((chosen, n_outcomes))
        return chosen

    def next_script(self) -> list[int] | None:
        """The script of the branch behind this one; None behind the last."""
        choices = list(self.choices)
        while choices:
            chosen, n_outcomes = choices.pop()
            if chosen + 1 < n_outcomes:
                return [earlier for earlier, _ in choices] + [chosen + 1]
        return None


def distribution(draw: Callable[[Randomness], Outcome]) -> dict[Outcome, Fraction]:
    """The exact law of what `draw` makes of its randomness: all of its branches, each with its probability."""
    weights: dict[Outcome, Counter[int]] = defaultdict(Counter)
    script: list[int] | None = []
    while script is not None:
        randomness = Branching(script)
        weights[draw(randomness)][randomness.ways] += randomness.weight
        script = randomness.next_script()
    return {
        outcome: sum((Fraction(w, ways) for ways, w in by_ways.items()), Fraction(0))
        for outcome, by_ways in weights.items()
    }
