"""Which attributes a report covers: every rule draws what it may, refuses what it must, and looks at no answer."""

import math
from decimal import Decimal
from itertools import combinations, permutations

import pytest

from every import every
from lopub import (
    AllAttributes,
    Boolean,
    Campaign,
    CampaignError,
    Categorical,
    Domain,
    DomainError,
    Fill,
    IntegerRange,
    Listed,
    Sample,
    Terms,
)
from lopub.bulk.view_laws import view_from_text
from lopub.campaign.budget import UNIT
from lopub.campaign.canonical import Members
from lopub.campaign.mechanisms import Direct
from lopub.campaign.randomness import Randomness
from lopub.campaign.views import view_from_json

DOMAIN = Domain(
    (
        Boolean(name="a"),
        Categorical(name="b", values=("x", "y", "z")),
        IntegerRange(name="c", minimum=1, maximum=4),
        Boolean(name="d", missing=True),
    )
)
SIZES = DOMAIN.sizes  # 2, 3, 4, 3
LISTED = Listed.of(DOMAIN, [(("c", "a"), 5), (("b",), 1), (("a", "b", "d"), 10)])
RULES = [
    AllAttributes(),
    Sample(1),
    Sample(2),
    Sample(4),
    Fill(4),
    Fill(12),
    Fill(24),
    Fill(72),
    LISTED,
]


class Ordered(Randomness):
    """Not random: a given order of all attributes."""

    def __init__(self, order: tuple[int, ...]) -> None:
        super().__init__()
        self._order = list(order)

    def prefix(self, n: int, size: int) -> list[int]:
        assert n == len(self._order)
        return self._order[:size]

    def below(self, n: int) -> int:
        raise AssertionError("a walk over an order draws nothing else")


class Numbered(Randomness):
    """Not random: a given number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def below(self, n: int) -> int:
        assert self._number < n
        return self._number


# ---- what is drawn


@every([Sample(1), Sample(2), Sample(3), Fill(4), Fill(12), Fill(24), Fill(72)])
def test_the_views_are_exactly_those_that_some_order_gives(rule):
    drawn = {rule.draw(SIZES, Ordered(order)) for order in permutations(range(4))}
    assert drawn == set(rule.views(SIZES))


@every(RULES)
def test_a_view_can_be_drawn_exactly_where_it_is_among_the_views(rule):
    subsets = [view for n in range(1, 5) for view in combinations(range(4), n)]
    assert {view for view in subsets if rule.can_draw(view, SIZES)} == set(rule.views(SIZES))


@every(RULES)
def test_no_view_is_listed_twice(rule):
    views = list(rule.views(SIZES))
    assert len(set(views)) == len(views)


@every(RULES)
def test_a_drawn_view_is_in_domain_order(rule):
    for _ in range(50):
        view = rule.draw(SIZES, Randomness())
        assert view == tuple(sorted(set(view)))
        assert rule.can_draw(view, SIZES)


def test_all_draws_nothing():
    assert AllAttributes().draw(SIZES, Numbered(10**9)) == (0, 1, 2, 3)


def test_every_set_of_a_sample_is_equally_likely():
    drawn = [Sample(2).draw(SIZES, Ordered(order)) for order in permutations(range(4))]
    assert {drawn.count(view) for view in drawn} == {4}


def test_fill_takes_the_first_two_whatever_their_sizes():
    assert Fill(4).draw((50, 60, 2, 2), Ordered((1, 0, 2, 3))) == (0, 1)


def test_fill_skips_what_does_not_fit_and_goes_on():
    assert Fill(12).draw((2, 3, 4, 2), Ordered((0, 1, 2, 3))) == (0, 1, 3)


def test_fill_takes_what_fits_exactly():
    assert Fill(24).draw((2, 3, 4), Ordered((2, 1, 0))) == (0, 1, 2)


def test_fill_cannot_draw_a_view_that_still_has_room():
    assert not Fill(12).can_draw((0, 1), (2, 3, 4, 2))
    assert Fill(12).can_draw((0, 1), (2, 3, 4, 3))


def test_fill_cannot_draw_three_attributes_above_its_cells():
    assert not Fill(23).can_draw((0, 1, 2), (2, 3, 4))


def test_fill_cannot_draw_a_single_attribute():
    assert not Fill(4).can_draw((0,), (50, 60))


@every([(0, (0, 2)), (4, (0, 2)), (5, (1,)), (6, (0, 1, 3)), (15, (0, 1, 3))])
def test_a_listed_set_is_drawn_in_proportion_to_its_weight(number, view):
    assert LISTED.draw(SIZES, Numbered(number)) == view


@every(RULES)
def test_no_view_has_more_cells_than_the_bound(rule):
    assert max(math.prod(SIZES[i] for i in view) for view in rule.views(SIZES)) <= rule.most_cells(
        SIZES
    )


@every([rule for rule in RULES if not isinstance(rule, Fill)])
def test_the_bound_on_cells_is_reached_where_the_rule_is_not_fill(rule):
    assert max(math.prod(SIZES[i] for i in view) for view in rule.views(SIZES)) == rule.most_cells(
        SIZES
    )


@every([rule for rule in RULES if not isinstance(rule, Fill)])
def test_the_sizes_of_views_are_all_named(rule):
    assert set(rule.view_sizes(4)) == {len(view) for view in rule.views(SIZES)}


@every([rule for rule in RULES if not isinstance(rule, Fill)])
def test_the_worst_view_costs_the_most(rule):
    def losses(n_blocks):
        return [Decimal(loss) / n_blocks for loss in (3, 1, 4, 2)]

    costs = [sum(losses(len(view))[i] for i in view) for view in rule.views(SIZES)]
    assert abs(rule.worst(losses, 4) - max(costs)) < Decimal("1e-25")


@every(RULES)
def test_a_rule_covers_the_attributes_of_its_views(rule):
    views = list(rule.views(SIZES))
    assert [rule.covers(i) for i in range(4)] == [
        any(i in view for view in views) for i in range(4)
    ]


def test_a_listed_rule_does_not_cover_what_it_does_not_list():
    only = Listed.of(DOMAIN, [(("a", "b"), 1), (("a",), 1)])
    assert [only.covers(i) for i in range(4)] == [True, True, False, False]
    assert (only.covers(1, 2), only.covers(1, 1)) == (True, False)


def test_a_campaign_of_many_small_attributes_finds_a_view_of_fill_at_once(monkeypatch):
    calls = []

    def counted(self, view, sizes, can_draw=Fill.can_draw):
        calls.append(view)
        assert len(calls) < 5000, "the search for one view takes too long"
        return can_draw(self, view, sizes)

    monkeypatch.setattr(Fill, "can_draw", counted)
    domain = Domain(tuple(Boolean(name=f"b{i}") for i in range(64)))
    campaign = Campaign(
        domain=domain,
        mechanism=Direct({1: 9 * UNIT}),
        view=Fill(2**31),
        jointly=True,
        terms=Terms(name="many"),
    )
    assert 2.19 < campaign.epsilon < 2.2


WEIGHTS = (1, 255, 65_536, 2**31, 1)


class Chosen(Randomness):
    """A source whose only draw is given."""

    def __init__(self, drawn: int) -> None:
        super().__init__()
        self._drawn = drawn

    def below(self, n: int) -> int:
        assert n == sum(WEIGHTS)
        return self._drawn


def test_a_listed_view_begins_and_ends_exactly_with_its_weight():
    rule = Listed.of(
        DOMAIN, list(zip([("a",), ("b",), ("c",), ("a", "b"), ("a", "c")], WEIGHTS, strict=True))
    )
    end = 0
    for view, weight in zip(rule.sets, WEIGHTS, strict=True):
        start, end = end, end + weight
        assert rule.draw(SIZES, Chosen(start)) == rule.draw(SIZES, Chosen(end - 1)) == view


# ---- what is refused


@every([0, -1, 5])
def test_a_sample_of_no_attributes_or_of_more_than_there_are_is_refused(k):
    with pytest.raises(
        CampaignError, match=rf"view sample:k needs k in 1\.\.4, the number of attributes, got {k}"
    ):
        Sample(k).check(SIZES, jointly=False)


@every([3, 0, -4])
def test_fill_below_four_cells_is_refused(cells):
    with pytest.raises(
        CampaignError,
        match=f"view fill:cells needs at least 4 cells, the smallest pair of attributes, got {cells}",
    ):
        Fill(cells).check(SIZES, jointly=True)


def test_fill_on_a_single_attribute_is_refused():
    with pytest.raises(CampaignError, match="view fill:cells needs at least 2 attributes, got 1"):
        Fill(4).check((2,), jointly=True)


def test_fill_separately_is_refused():
    with pytest.raises(
        CampaignError,
        match="view fill:cells must be randomized jointly; use sample:k to randomize separately",
    ):
        Fill(4).check(SIZES, jointly=False)


def test_fill_has_no_view_sizes_of_its_own():
    with pytest.raises(CampaignError, match="view fill:cells must be randomized jointly"):
        Fill(4).view_sizes(4)


def test_fill_has_no_cost_of_separate_attributes():
    with pytest.raises(CampaignError, match="view fill:cells must be randomized jointly"):
        Fill(4).worst(lambda n: [], 4)


@every(
    [
        ([], "view listed needs at least one set of attributes"),
        ([((), 1)], "view listed has a set without attributes"),
        ([(("a", "b"), 1), (("b", "a"), 2)], "view listed names the same set of attributes twice"),
        ([(("a", "a"), 1)], "a listed view names the same attribute twice"),
        ([(("a",), 0)], r"view listed needs weights of at least 1 that add up to at most 2\^32"),
        ([(("a",), -3)], r"view listed needs weights of at least 1 that add up to at most 2\^32"),
        (
            [(("a",), 2**31), (("b",), 2**31 + 1)],
            r"view listed needs weights of at least 1 that add up to at most 2\^32",
        ),
    ]
)
def test_a_list_of_sets_that_cannot_be_drawn_from_is_refused(sets, message):
    with pytest.raises(CampaignError, match=message):
        Listed.of(DOMAIN, sets)


def test_weights_may_add_up_to_the_limit():
    assert sum(Listed.of(DOMAIN, [(("a",), 2**31), (("b",), 2**31)]).weights) == 2**32


def test_a_listed_set_with_an_unknown_attribute_is_refused():
    with pytest.raises(
        DomainError, match="there is no attribute 'age'; the 4 attributes are a, b, c, d"
    ):
        Listed.of(DOMAIN, [(("a", "age"), 1)])


# ---- spellings


@every(RULES)
def test_a_rule_is_read_back_from_its_json(rule):
    assert view_from_json(Members(rule.to_json(), "view"), DOMAIN) == rule


@every(
    [
        ({"kind": "some"}, "view.kind must be one of all, fill, listed, sample"),
        ({}, "view.kind is missing"),
        ({"kind": "all", "attributes": 2}, "view.attributes is not known to format 1"),
        ({"kind": "sample"}, "view.attributes is missing"),
        ({"kind": "sample", "attributes": "2"}, "view.attributes must be an integer"),
        ({"kind": "fill", "cells": True}, "view.cells must be an integer"),
        ({"kind": "listed", "sets": {}}, "view.sets must be a list"),
        ({"kind": "listed", "sets": ["a"]}, r"view.sets\[0\] must be an object"),
        (
            {"kind": "listed", "sets": [{"attributes": ["a", 1], "weight": 1}]},
            r"view.sets\[0\].attributes\[1\] must be a text",
        ),
        ({"kind": "listed", "sets": [{"attributes": ["a"]}]}, r"view.sets\[0\].weight is missing"),
        (
            {"kind": "listed", "sets": [{"attributes": ["a"], "weight": 1, "x": 1}]},
            r"view.sets\[0\].x is not known to format 1",
        ),
    ]
)
def test_json_that_is_no_rule_is_refused_with_its_place(value, message):
    with pytest.raises(CampaignError, match=f"^{message}$"):
        view_from_json(Members(value, "view"), DOMAIN)


@every(["all", "sample:2", "fill:24"])
def test_a_rule_is_read_back_from_its_text(text):
    assert str(view_from_text(text)) == text


@every(
    [
        "",
        "some",
        "all:2",
        "sample",
        "sample:",
        "sample:two",
        "sample:-1",
        "fill:1.5",
        "fill:²",
        "fill:" + "9" * 20,
    ]
)
def test_a_text_that_is_no_rule_is_refused_with_an_example(text):
    with pytest.raises(
        CampaignError,
        match="view must be all, sample:K or fill:CELLS with a whole number, such as sample:2",
    ):
        view_from_text(text)


def test_only_a_report_of_everything_needs_no_mask():
    assert [rule.masked for rule in (AllAttributes(), Sample(4), Fill(4), LISTED)] == [
        False,
        True,
        True,
        True,
    ]
