"""The last cell, the last attribute and the smaller view: where a slip would show in no small example."""

from itertools import product

import pytest

from every import every
from lopub import Campaign, CampaignRequest, Categorical, Domain, Listed, Repeat, Schedule, Terms
from lopub import make_campaign as made
from lopub.campaign.budget import UNIT, bit_loss, composed_change, times_up
from lopub.campaign.mechanisms.bloom import BloomChannel
from lopub.campaign.mechanisms.direct import DirectChannel
from lopub.campaign.randomness import Randomness
from lopub.campaign.schedule import EPOCH

# ---- direct


class Drawn(Randomness):
    """One draw, which somebody has chosen."""

    def __init__(self, draw: int) -> None:
        self._draw = draw

    def below(self, n: int) -> int:
        assert 0 <= self._draw < n
        return self._draw


@every([2, 255, 256, 257, 65_536, 65_537, 70_000, 70_001, 10**6, 2**40, 2**62])
def test_the_last_draw_of_direct_names_the_last_cell(n_candidates):
    channel = DirectChannel(n_candidates, 3 * UNIT)
    last = channel.all_units - 1
    cells = {draw: channel.cell(channel.randomize(0, Drawn(draw))) for draw in (last, last - UNIT)}
    assert cells == {last: n_candidates - 1, last - UNIT: n_candidates - 2}
    first = channel.kept_units
    assert channel.cell(channel.randomize(1, Drawn(first))) == 0
    assert channel.cell(channel.randomize(1, Drawn(first - 1))) == 1


# ---- bloom: which pairs of cells an attribute tells apart

SIZES = (2, 3, 4)
THREE = tuple(
    Categorical(name=name, values=tuple("abcd"[:size]))
    for name, size in zip("xyz", SIZES, strict=True)
)


def distance_by_hand(channel: BloomChannel, position: int) -> int:
    """Over all pairs of cells that differ in this attribute alone."""
    rows = dict(zip(product(*map(range, SIZES)), map(set, channel.rows), strict=True))
    return max(
        len(rows[one] ^ rows[other])
        for one, other in product(rows, repeat=2)
        if [i for i in range(3) if one[i] != other[i]] == [position]
    )


@every([0, 1, 2])
def test_an_attributes_epsilon_in_a_joint_filter_is_over_the_pairs_that_differ_in_it_alone(
    position,
):
    """Forty salts: in some of them any other choice of pairs has another largest distance."""
    for salt in range(40):
        channel = BloomChannel(THREE, 7, 3, UNIT // 4, str(salt))
        expected = times_up(bit_loss(channel.change), distance_by_hand(channel, position))
        assert channel.loss_of(position) == expected


def test_the_salts_tell_the_attributes_apart():
    found = [
        tuple(
            distance_by_hand(BloomChannel(THREE, 7, 3, UNIT // 4, str(salt)), p) for p in range(3)
        )
        for salt in range(40)
    ]
    assert {(6, 4, 6), (4, 6, 6)} <= set(found)


# ---- bloom: two layers under views of several sizes


@pytest.fixture(scope="module")
def layered() -> Campaign:
    """Views of one and of two attributes, so that each layer has noise for one block and for two."""
    domain = Domain(THREE[:2])
    repeat = Repeat(every_days=30, rounds=3, take_part=3, mode="permanent")
    view = Listed.of(domain, [(("x",), 1), (("x", "y"), 1)])
    wish = CampaignRequest(
        epsilon=1.5, lifetime_epsilon=3, n_bits=16, n_hashes=2, view=view, jointly=False
    )
    return made(domain, Terms(name="two", schedule=Schedule.in_rounds(EPOCH, repeat)), wish)


def test_each_number_of_blocks_has_a_permanent_layer_of_its_own(layered):
    mechanism = layered.mechanism
    assert len({*mechanism.noise.values(), *mechanism.permanent.values()}) == 4
    for view in ((0,), (0, 1)):
        n = len(view)
        for channel in layered.channels(view):
            assert (channel.change_units, channel.permanent) == (
                mechanism.noise[n],
                mechanism.permanent[n],
            )
            assert channel.change == composed_change(mechanism.noise[n], mechanism.permanent[n])


def test_the_epsilon_of_two_layers_counts_each_view_with_its_own_layers(layered):
    mechanism = layered.mechanism
    costs = []
    for view in ((0,), (0, 1)):
        change = composed_change(mechanism.noise[len(view)], mechanism.permanent[len(view)])
        costs.append(
            sum(times_up(bit_loss(change), channel.distance) for channel in layered.channels(view))
        )
    assert float(layered.loss) == pytest.approx(float(max(costs)), rel=1e-12)
    assert layered.lifetime_loss <= 3
