"""The demo population: its truth is stated exactly, and its people follow it."""

import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import combinations, product

import numpy as np
import pytest

import laws
from lopub.campaign.domain import Boolean, IntegerRange
from lopub.errors import DomainError, LopubError
from lopub.reports.catalogue import ALUMNI, KnownPopulation, Node

SEED = 20_180_301
NAMES = ALUMNI.domain.names
N = 100_000
Counts = Callable[[Sequence[str]], np.ndarray]


def plain_joint(population: KnownPopulation, names: tuple[str, ...]) -> np.ndarray:
    """The same by adding up the probability of everything that can be said about the attributes that matter."""
    matter = set(names)
    for node in reversed(population.nodes):
        if node.attribute.name in matter:
            matter |= set(node.parents)
    nodes = [node for node in population.nodes if node.attribute.name in matter]
    joint = np.zeros([population.domain[name].size for name in names])
    for cell in product(*(range(node.attribute.size) for node in nodes)):
        answer = dict(zip((node.attribute.name for node in nodes), cell, strict=True))
        factors = (
            node.table[(*(answer[name] for name in node.parents), answer[node.attribute.name])]
            for node in nodes
        )
        joint[tuple(answer[name] for name in names)] += math.prod(factors)
    return joint


# ---- the model


@pytest.mark.parametrize("node", ALUMNI.nodes, ids=lambda node: node.attribute.name)
def test_every_table_has_one_row_of_probabilities_for_each_answer_of_the_parents(
    node: Node,
) -> None:
    sizes = [ALUMNI.domain[name].size for name in node.parents]
    assert node.table.shape == (*sizes, node.attribute.size)
    assert (node.table > 0).all()
    assert np.allclose(node.table.sum(axis=-1), 1, rtol=0, atol=1e-12)


def test_parents_come_before_their_children() -> None:
    seen: set[str] = set()
    for node in ALUMNI.nodes:
        assert set(node.parents) <= seen
        seen.add(node.attribute.name)


def test_the_alumni_have_ten_to_fourteen_attributes() -> None:
    assert 10 <= len(ALUMNI.domain) <= 14


def test_the_papers_attributes_come_first() -> None:
    assert NAMES[:4] == ("age", "gender", "education", "income")
    assert ALUMNI.order == NAMES


def test_attributes_are_of_several_kinds_and_one_may_be_missing() -> None:
    assert {attribute.type for attribute in ALUMNI.domain.attributes} >= {
        "string",
        "boolean",
        "integer",
    }
    assert any(attribute.missing for attribute in ALUMNI.domain.attributes)


# ---- the truth

SOME = [
    ("age",),
    ("income",),
    ("gender", "income"),
    ("income", "gender"),
    ("age", "education"),
    ("married", "children"),
    ("sector", "gender"),
]


@pytest.mark.parametrize("names", SOME, ids="-".join)
def test_a_joint_is_the_sum_over_everything_else(names: tuple[str, ...]) -> None:
    assert np.allclose(ALUMNI.joint(names), plain_joint(ALUMNI, names), rtol=0, atol=1e-12)


def test_a_joint_of_a_small_population_is_the_sum_over_everything_else() -> None:
    rng = np.random.default_rng(SEED)
    rows = [
        rng.dirichlet(np.ones(size), parents)
        for parents, size in [((), 2), ((2,), 3), ((3, 2), 2), ((2,), 4)]
    ]
    attributes = [
        Boolean(name="a"),
        IntegerRange(name="b", minimum=0, maximum=2),
        Boolean(name="c"),
        IntegerRange(name="d", minimum=0, maximum=3),
    ]
    parents: list[tuple[str, ...]] = [(), ("a",), ("b", "a"), ("c",)]
    nodes = tuple(Node(*node) for node in zip(attributes, parents, rows, strict=True))
    population = KnownPopulation(nodes, ("d", "c", "b", "a"))
    for size in range(1, 5):
        for names in combinations("dacb", size):
            assert np.allclose(
                population.joint(names), plain_joint(population, names), rtol=0, atol=1e-12
            )


@pytest.mark.parametrize("names", list(combinations(NAMES, 2)), ids="-".join)
def test_the_joint_of_a_pair_agrees_with_the_joints_of_its_attributes(
    names: tuple[str, str],
) -> None:
    pair = ALUMNI.joint(names)
    assert pair.shape == tuple(ALUMNI.domain[name].size for name in names)
    assert math.isclose(pair.sum(), 1, abs_tol=1e-12)
    assert np.allclose(pair.sum(axis=1), ALUMNI.joint(names[:1]), rtol=0, atol=1e-12)
    assert np.allclose(pair.sum(axis=0), ALUMNI.joint(names[1:]), rtol=0, atol=1e-12)


def test_axes_stand_in_the_order_in_which_attributes_are_named() -> None:
    assert np.array_equal(
        ALUMNI.joint(("income", "age", "home")),
        ALUMNI.joint(("home", "income", "age")).transpose(1, 2, 0),
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name != "region"])
def test_region_depends_on_nothing(name: str) -> None:
    product_of_both = np.outer(ALUMNI.joint(("region",)), ALUMNI.joint((name,)))
    assert np.allclose(ALUMNI.joint(("region", name)), product_of_both, rtol=0, atol=1e-15)


def test_every_attribute_but_region_depends_on_another() -> None:
    """A demo without dependence would have no structure to find."""
    for name in set(NAMES) - {"region"}:
        others = [other for other in NAMES if other != name]
        gaps = [
            abs(
                ALUMNI.joint((name, other))
                - np.outer(ALUMNI.joint((name,)), ALUMNI.joint((other,)))
            ).sum()
            / 2
            for other in others
        ]
        assert max(gaps) > 0.05


# ---- the people


@pytest.fixture(scope="module")
def counts_of() -> Counts:
    """How often the people of one large sample give each combination of answers."""
    return ALUMNI.people(N, seed=SEED).counts


@pytest.mark.parametrize("names", list(combinations(NAMES, 2)), ids="-".join)
def test_every_pair_of_answers_is_as_frequent_as_the_truth_says(
    counts_of: Counts, names: tuple[str, str]
) -> None:
    counts, truth = counts_of(names), ALUMNI.joint(names)
    assert all(
        laws.fits(int(count), N, float(rate))
        for count, rate in zip(counts.flat, truth.flat, strict=True)
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_truth_with_two_answers_swapped_would_be_noticed(counts_of: Counts, name: str) -> None:
    truth = ALUMNI.joint((name,))
    order = np.argsort(truth)
    swapped = truth.copy()
    swapped[order[[0, -1]]] = truth[order[[-1, 0]]]
    fits = [
        laws.fits(int(count), N, float(rate))
        for count, rate in zip(counts_of((name,)), swapped, strict=True)
    ]
    assert not all(fits)


def test_three_answers_together_are_as_frequent_as_the_truth_says(counts_of: Counts) -> None:
    names = ("education", "income", "field")
    pairs = zip(counts_of(names).flat, ALUMNI.joint(names).flat, strict=True)
    assert all(laws.fits(int(count), N, float(rate)) for count, rate in pairs)


def test_the_same_seed_gives_the_same_people() -> None:
    assert np.array_equal(ALUMNI.people(500, seed=7).codes, ALUMNI.people(500, seed=7).codes)


def test_another_seed_gives_other_people() -> None:
    assert not np.array_equal(ALUMNI.people(500, seed=7).codes, ALUMNI.people(500, seed=8).codes)


def test_the_same_seed_gives_the_same_people_in_another_process() -> None:
    code = "from lopub.reports.catalogue import ALUMNI; print(ALUMNI.people(500, seed=7).codes.tolist())"
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == str(ALUMNI.people(500, seed=7).codes.tolist())


def test_people_answer_the_attributes_of_the_domain() -> None:
    people = ALUMNI.people(3, seed=1)
    assert people.domain == ALUMNI.domain and people.codes.shape == (3, len(NAMES))


# ---- what cannot be


@pytest.mark.parametrize("n", [0, -5])
def test_a_population_needs_a_person(n: int) -> None:
    with pytest.raises(DomainError, match=f"^a population needs at least 1 person, got {n}$"):
        ALUMNI.people(n, seed=1)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(LopubError, match="seed must be at least 0, got -1"):
        ALUMNI.people(3, seed=-1)


def test_the_joint_of_an_unknown_attribute_is_refused() -> None:
    with pytest.raises(
        DomainError,
        match="there is no attribute 'wage'; the 12 attributes are age, gender, education",
    ):
        ALUMNI.joint(("age", "wage"))


@pytest.mark.parametrize("names", [("age", "age"), ()])
def test_the_joint_of_no_attributes_or_of_one_twice_is_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(LopubError):
        ALUMNI.joint(names)
