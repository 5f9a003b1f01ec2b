"""Views of questionnaires with lists: many draws at once follow the law of the client's walk."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

import laws
from lopub import Fill, Sample
from lopub.bulk.view_laws import Repeatable, chance_of_order, view_law
from lopub.bulk.views import draw_masks
from lopub.campaign.views.walk import walk

SIZES, LISTS = (3, 2, 2, 2, 2), ((1, 2, 3),)
N = 100_000


def drawn(rule: Sample | Fill) -> Counter[tuple[int, ...]]:
    masks = draw_masks(rule, SIZES, N, np.random.SFC64(11))
    return Counter(tuple(np.flatnonzero(row).tolist()) for row in masks)


@pytest.mark.parametrize("rule", [Sample(1), Sample(2), Sample(3), Fill(6), Fill(12)], ids=str)
def test_many_draws_have_the_chances_of_the_rule(rule):
    ruled = rule.with_lists(LISTS)
    chances, found = view_law(ruled).chances(SIZES, 1_000), drawn(ruled)
    assert (
        chances is not None
        and set(found) == set(chances)
        and sum(chances.values()) == pytest.approx(1)
    )
    assert all(laws.fits(found[view], N, chance) for view, chance in chances.items())


@pytest.mark.parametrize("rule", [Sample(2), Fill(6)], ids=str)
def test_draws_that_forget_that_a_list_is_one_question_are_told_apart(rule):
    chances, found = view_law(rule.with_lists(LISTS)).chances(SIZES, 1_000), drawn(rule)
    assert chances is not None and not all(
        laws.fits(found[view], N, chance) for view, chance in chances.items()
    )


def test_the_clients_walk_has_the_chances_of_its_orders():
    """Every branch of the real walk, in exact rationals."""
    law = laws.distribution(lambda randomness: tuple(walk(4, ((1, 2),), 4, randomness)))
    assert sum(law.values()) == 1
    for order in permutations(range(4)):
        assert float(law[order]) == pytest.approx(chance_of_order(order, 4, ((1, 2),)))


def test_without_lists_a_walk_takes_the_bytes_that_it_always_took():
    assert walk(6, (), 3, Repeatable(b"x")) == Repeatable(b"x").prefix(6, 3)
