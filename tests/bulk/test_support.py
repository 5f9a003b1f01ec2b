"""What the questionnaire rules out, against every record that it allows, one by one."""

from itertools import combinations, product

import numpy as np
import pytest

import questionnaires
from lopub import DomainError
from lopub.bulk.questionnaire import conformed, contradictions
from lopub.bulk.support import Support
from lopub.campaign.domain import Domain, TickList

DOMAIN = questionnaires.DOMAIN


def answers_to(name: str) -> list[object]:
    question = next(one for one in DOMAIN.questions if one.name == name)
    if not isinstance(question, TickList):
        return [None, *question.answers]
    return [None, *(list(chosen) for n in range(5) for chosen in combinations(question.values, n))]


@pytest.fixture(scope="module")
def possible() -> np.ndarray:
    """The codes of every record that a client takes."""
    rows = set()
    names = [question.name for question in DOMAIN.questions]
    working, reading = names[:5], names[5:]
    for part, fixed in ((working, {"reads": None}), (reading, {"age": "old", "job": False})):
        for each in product(*map(answers_to, part)):
            record = dict(zip(part, each, strict=True)) | fixed
            try:
                rows.add(DOMAIN.indices(record))  # type: ignore[arg-type]
            except DomainError:
                continue
    codes = np.array(sorted(rows), dtype=np.uint16)
    first = codes[(codes[:, 5] == 2)][:, :5]
    second = codes[(codes[:, 0] == 2) & (codes[:, 1] == 0)][:, 5:]
    pairs = np.array(list(product(range(len(first)), range(len(second)))))
    return np.column_stack([first[pairs[:, 0]], second[pairs[:, 1]]])


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_mask_allows_just_the_cells_that_some_record_is_in(n, possible):
    support = Support(DOMAIN)
    for clique in combinations(range(len(DOMAIN)), n):
        shape = tuple(DOMAIN.sizes[position] for position in clique)
        truth = np.zeros(shape, dtype=bool)
        truth[tuple(possible[:, position] for position in clique)] = True
        mask = support.mask(clique)
        assert ((np.ones(shape, dtype=bool) if mask is None else mask) == truth).all(), clique


def test_no_record_that_a_client_takes_is_called_a_contradiction(possible):
    assert contradictions(DOMAIN, possible) == {}


def test_every_other_record_is_called_a_contradiction(possible):
    rng = np.random.default_rng(5)
    codes = np.column_stack([rng.integers(0, size, 5_000) for size in DOMAIN.sizes]).astype(
        np.uint16
    )
    known = {tuple(row) for row in possible.tolist()}
    wrong = np.zeros(len(codes), dtype=bool)
    for rows in contradictions(DOMAIN, codes).values():
        wrong |= rows
    assert wrong.tolist() == [tuple(row) not in known for row in codes.tolist()]


def test_a_mask_does_not_depend_on_the_order_of_the_attributes():
    turned = Domain(tuple(sorted(DOMAIN.attributes, key=lambda attribute: attribute.name)))
    there, here = Support(turned), Support(DOMAIN)
    for pair in combinations(DOMAIN.names, 2):
        one, other = there.mask(turned.positions(pair)), here.mask(DOMAIN.positions(pair))
        assert (one is None and other is None) or (one == other).all()


def test_the_options_of_a_list_of_64_have_their_masks_at_once():
    many = TickList(name="x", values=tuple(map(str, range(64))), none="63", most=3, missing=True)
    support = Support(Domain(many.options))
    mask = support.mask((0, 1))
    assert mask is not None and mask.tolist() == [
        [True, True, False],
        [True, True, False],
        [False, False, True],
    ]
    assert len(support.edges) == 63


def test_made_up_people_are_brought_to_agree_with_the_questionnaire():
    rng = np.random.default_rng(9)
    codes = np.column_stack([rng.integers(0, size, 3_000) for size in DOMAIN.sizes]).astype(
        np.uint16
    )
    settled = conformed(DOMAIN, codes)
    assert contradictions(DOMAIN, settled) == {}
    assert all(len(set(settled[:, p].tolist())) == size for p, size in enumerate(DOMAIN.sizes))
    assert (conformed(DOMAIN, settled) == settled).all()
