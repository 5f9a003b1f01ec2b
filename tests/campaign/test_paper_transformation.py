"""The paper's local transformation: its equations, its alumni, its epsilon, its bits on the wire, as we derive them.

Slips of the paper in this section, none of which reaches the code:

- The domain [25, 60] of Age is given as 35 candidates; it has 36 integers.
- The strings of Age have nine bits for one candidate and eight for another; filters of one attribute are equally long.
- For the second user's age the worked record prints the noisy string of the first user, with that user's underlines;
  the table has the right one. The concatenated report then carries four more bits that belong to no attribute.
- Line 4 of Algorithm 1 counts the ones of the report where it should count its differences from the candidate's filter.
- Epsilon is given as 2 d h ln((2 - f) / f). That is a bound: filters that share a position differ in fewer bits.
"""

import math
from decimal import Decimal
from fractions import Fraction

import pytest

import laws
from every import every
from lopub import Categorical, IntegerRange
from lopub.campaign.budget import UNIT
from lopub.campaign.campaign import Campaign
from lopub.campaign.mechanisms import bloom
from lopub.campaign.mechanisms.bloom import BloomChannel
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import pack
from lopub.campaign.views import AllAttributes
from lopub.planning.makers import bits_for, hashes_for

# ---- how long a filter, how many hashes


@every(
    [
        (0.5, 2, 3),  # 2 / ln 2 = 2.885
        (1 / 16, 16, 93),  # 4 * 16 / ln 2 = 92.33
        (1 / 16, 36, 208),  # 4 * 36 / ln 2 = 207.75
        (0.1, 3, 15),  # 4.7925 * 3 = 14.38
        (0.01, 4, 39),  # 9.5851 * 4 = 38.34
        (0.01, 10, 96),  # 9.5851 * 10 = 95.85
        (0.001, 100, 1438),  # 14.3776 * 100 = 1437.76
    ]
)
def test_the_filters_length_is_the_papers_rounded_up(
    false_positive_rate: float, n_candidates: int, n_bits: int
) -> None:
    assert bits_for(false_positive_rate, n_candidates) == n_bits


@every(
    [
        (0.5, 1),
        (1 / 16, 4),
        (2**-10, 10),
        (0.1, 3),  # 3.32
        (0.022, 6),  # 5.51
        (0.01, 7),  # 6.64
        (0.9, 1),  # 0.15, but a filter without a one says nothing
    ]
)
def test_the_number_of_hashes_is_the_papers_rounded_to_the_nearest(
    false_positive_rate: float, n_hashes: int
) -> None:
    assert hashes_for(false_positive_rate) == n_hashes


# ---- bits on the wire

ALUMNI_SIZES = (36, 2, 3, 4)


def wire_bits(campaign: Campaign) -> int:
    return sum(channel.width for channel in campaign.channels(tuple(range(len(campaign.domain)))))


def test_a_separately_randomized_report_has_the_sum_of_the_filters_lengths() -> None:
    """ln(1 / 0.01) / (ln 2)^2 = 9.5851 bits a candidate: 345.06, 19.17, 28.76 and 38.34, each rounded up."""
    campaign = laws.small_campaign(*ALUMNI_SIZES, flip_probability=0.5, false_positive_rate=0.01)
    assert wire_bits(campaign) == 346 + 20 + 29 + 39 == 434
    assert campaign.payload_bytes((0, 1, 2, 3)) == 55


def test_a_filter_on_the_product_domain_has_the_product_of_the_sizes_instead() -> None:
    """RAPPOR on all attributes at once: 9.5851 * 36 * 2 * 3 * 4 = 8281.5."""
    campaign = laws.small_campaign(
        *ALUMNI_SIZES, flip_probability=0.5, false_positive_rate=0.01, jointly=True
    )
    assert wire_bits(campaign) == 8282


@every([0.1, 0.9])
def test_the_length_of_a_report_does_not_depend_on_its_privacy(flip_probability: float) -> None:
    campaign = laws.small_campaign(
        *ALUMNI_SIZES, flip_probability=flip_probability, false_positive_rate=0.01
    )
    assert wire_bits(campaign) == 434


# ---- epsilon

ADULT_SIZES = (16, 7, 16, 16, 16, 7, 14, 6, 5, 2, 16, 16, 16, 41, 2)


def papers_epsilon(campaign: Campaign, n_hashes: int, flip_probability: float) -> float:
    """2 d h ln((2 - f) / f)."""
    return 2 * len(campaign.domain) * n_hashes * math.log((2 - flip_probability) / flip_probability)


def test_four_hashes_at_half_cost_8_79_an_attribute() -> None:
    campaign = laws.small_campaign(16, flip_probability=0.5, n_bits=128, n_hashes=4)
    assert campaign.epsilon == pytest.approx(8 * math.log(3), abs=1e-12)
    assert round(campaign.epsilon, 2) == 8.79


def test_fifteen_attributes_with_disjoint_filters_cost_132() -> None:
    campaign = laws.small_campaign(*ADULT_SIZES, flip_probability=0.5, n_bits=128, n_hashes=4)
    assert all(
        isinstance(channel, BloomChannel) and channel.distance == 8
        for channel in campaign.coded_channels
    )
    assert campaign.epsilon == pytest.approx(papers_epsilon(campaign, 4, 0.5), abs=1e-10)
    assert round(campaign.epsilon) == 132
    assert {round(campaign.epsilon_of(name), 2) for name in campaign.domain.names} == {8.79}


@pytest.mark.parametrize(("n_bits", "n_hashes"), [(4, 2), (5, 3), (5, 4), (8, 2), (8, 6), (64, 4)])
@pytest.mark.parametrize("flip_probability", [0.25, 0.5, 0.75])
def test_the_papers_epsilon_is_a_bound(n_bits: int, n_hashes: int, flip_probability: float) -> None:
    campaign = laws.small_campaign(
        2, 3, 5, flip_probability=flip_probability, n_bits=n_bits, n_hashes=n_hashes
    )
    assert campaign.epsilon <= papers_epsilon(campaign, n_hashes, flip_probability) + 1e-12


def test_filters_that_must_share_positions_cost_less_than_the_papers_bound() -> None:
    """Any two filters of 3 ones in 4 bits share 2 of them, and differ in 2 bits instead of 6."""
    campaign = laws.small_campaign(3, flip_probability=0.5, n_bits=4, n_hashes=3)
    assert campaign.epsilon == pytest.approx(2 * math.log(3), abs=1e-12)


@every(["0.25", "0.5", "0.875"])
def test_a_redrawn_bit_is_right_half_of_the_time(flip_probability: str) -> None:
    """Kept with 1 - f, else a fair coin: a one stays one with 1 - f / 2, a zero becomes one with f / 2."""
    campaign = laws.small_campaign(3, flip_probability=flip_probability, view=AllAttributes())
    law, f = campaign.coded_channels[0].law(), Fraction(flip_probability)
    assert (law.p, law.q) == (1 - f / 2, f / 2)


# ---- the alumni

FILTERS = {
    "Gender": {"M": "01", "F": "10"},
    "Education": {"college": "0101", "master": "0110", "phd": "1100"},
    "Income": {"working": "0110", "low-middle": "0011", "up-middle": "1001", "affluent": "1100"},
}
REPORTS = {  # a bit behind _ is underlined: it was changed
    "u_1": {
        ("Gender", "M"): "_1_0",
        ("Education", "college"): "01_11",
        ("Income", "working"): "01_00",
    },
    "u_2": {
        ("Gender", "F"): "_00",
        ("Education", "master"): "_1110",
        ("Income", "low-middle"): "0_111",
    },
    "u_3": {
        ("Gender", "F"): "10",
        ("Education", "college"): "010_0",
        ("Income", "working"): "0_010",
    },
    "u_N": {
        ("Gender", "M"): "0_0",
        ("Education", "phd"): "_01_10",
        ("Income", "up-middle"): "1_1_11",
    },
}


@pytest.fixture
def papers_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's strings instead of hashed positions."""

    def positions(
        salt: str, names: tuple[str, ...], texts: tuple[str, ...], **lengths: int
    ) -> tuple[int, ...]:
        return tuple(i for i, bit in enumerate(FILTERS[names[0]][texts[0]]) if bit == "1")

    monkeypatch.setattr(bloom, "positions", positions)


def alumni_channel(name: str) -> BloomChannel:
    """f = 1/2 on the paper's filters."""
    filters = FILTERS[name]
    lengths, weights = (
        {len(bits) for bits in filters.values()},
        {bits.count("1") for bits in filters.values()},
    )
    attribute = Categorical(name=name, values=tuple(filters))
    return BloomChannel((attribute,), lengths.pop(), weights.pop(), UNIT // 4, "0")


def number(bits: str) -> int:
    """A string of bits, the first one lowest."""
    return sum(1 << i for i, bit in enumerate(bits) if bit == "1")


class Underlined(Randomness):
    """Changes the underlined bits, and no others."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._changed = number("".join("1" if part else "0" for part in underlines(text)))

    def changes(self, n_bits: int, change_units: int, unit: int) -> int:
        return self._changed


def underlines(text: str) -> list[bool]:
    """For every bit, whether it is underlined."""
    return [text[max(i - 1, 0)] == "_" for i, sign in enumerate(text) if sign != "_"]


def noisy(name: str, answer: str, text: str) -> int:
    """What our client makes of the answer where just the underlined bits change."""
    return alumni_channel(name).randomize(list(FILTERS[name]).index(answer), Underlined(text))


@pytest.mark.usefixtures("papers_filters")
@every(REPORTS)
def test_the_underlined_changes_turn_the_alumnis_filters_into_their_reports(user: str) -> None:
    for (name, answer), text in REPORTS[user].items():
        assert noisy(name, answer, text) == number(text.replace("_", ""))


@pytest.mark.usefixtures("papers_filters")
def test_the_second_alumnus_sends_its_strings_one_behind_the_other() -> None:
    """Without the age, whose string the paper prints in two lengths."""
    channels = [alumni_channel(name) for name in FILTERS]
    outputs = [noisy(name, answer, text) for (name, answer), text in REPORTS["u_2"].items()]
    assert pack(outputs, channels) == number("00" + "1110" + "0111").to_bytes(2, "little")


@pytest.mark.usefixtures("papers_filters")
def test_a_report_is_compared_with_the_candidates_filter() -> None:
    """P(0111 | 0101) = 27/256: three bits agree, one differs. Counting the report's ones would give 3/256."""
    channel = alumni_channel("Education")
    law, college, report = channel.law(), number("0101"), number("0111")
    rates = [law.p if college >> i & 1 else law.q for i in range(4)]
    likelihood = math.prod(rate if report >> i & 1 else 1 - rate for i, rate in enumerate(rates))
    assert likelihood == Fraction(27, 256)
    assert laws.distribution(lambda randomness: channel.randomize(0, randomness))[
        report
    ] == Fraction(27, 256)


@pytest.mark.usefixtures("papers_filters")
@every([("Gender", 2), ("Education", 2), ("Income", 4)])
def test_an_alumni_attribute_reveals_what_its_filters_differ_in(
    name: str, differing_bits: int
) -> None:
    """Two ones in four bits may cost 4 ln 3; no two levels of education differ in more than 2 bits."""
    assert alumni_channel(name).law().loss == pytest.approx(
        differing_bits * Decimal(3).ln(), abs=Decimal("1e-20")
    )


def test_the_ages_from_25_to_60_are_36_candidates() -> None:
    assert IntegerRange(name="Age", minimum=25, maximum=60).size == 36
