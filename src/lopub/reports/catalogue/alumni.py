"""The demo population: the paper's college alumni (age, gender, education, income), and eight attributes more.

Everybody here is made up. Each attribute's probabilities are in proportion to exp(scores); the scores below are the whole
model, so every joint distribution is known exactly (`ALUMNI.joint`). Region depends on nothing.
"""

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.domain import Attribute, Boolean, Categorical, IntegerRange
from lopub.reports.catalogue.known_population import KnownPopulation, Node

Scores = NDArray[np.float64]

AGES = np.arange(25, 61)
SENIORITY = (AGES - 25) / 35  # 0 at 25, 1 at 60


def _given(attribute: Attribute, parents: tuple[str, ...], scores: Scores) -> Node:
    """A node whose probabilities are in proportion to exp(scores), over the last axis."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return Node(attribute, parents, weights / weights.sum(axis=-1, keepdims=True))


def _choice(name: str, *values: str, ordered: bool = False, missing: bool = False) -> Categorical:
    return Categorical(name=name, values=values, is_ordered=ordered, missing=missing)


def _age() -> Node:
    """Fewer with every year, and a bulge of large classes around 40."""
    scores = -1.1 * SENIORITY + 0.5 * np.exp(-(((AGES - 40) / 5) ** 2))
    return _given(IntegerRange(name="age", minimum=25, maximum=60), (), scores)


def _gender() -> Node:
    return _given(_choice("gender", "F", "M"), (), np.log([0.54, 0.46]))


def _education() -> Node:
    """The older, the more degrees."""
    scores = np.stack(
        [0.9 - 0.6 * SENIORITY, 0.4 + 0.2 * SENIORITY, -1.2 + 1.5 * SENIORITY], axis=-1
    )
    return _given(_choice("education", "college", "master", "phd", ordered=True), ("age",), scores)


def _field() -> Node:
    by_gender = np.log([[0.28, 0.22, 0.10, 0.24, 0.16], [0.14, 0.27, 0.31, 0.12, 0.16]])
    return _given(
        _choice("field", "arts", "business", "engineering", "medicine", "science"),
        ("gender",),
        by_gender,
    )


def _income() -> Node:
    """Rises with education, with age, and with some fields more than with others."""
    education = np.array([0.0, 0.7, 1.3])[:, None, None, None]
    field = np.array([-0.6, 0.3, 0.5, 0.8, 0.0])[None, :, None, None]
    age = (1.6 * SENIORITY - 0.5)[None, None, :, None]
    level = np.array([-1.5, -0.5, 0.5, 1.5])
    offset = np.array([0.6, 0.7, 0.3, -0.9])
    attribute = _choice("income", "working", "low-middle", "up-middle", "affluent", ordered=True)
    return _given(
        attribute, ("education", "field", "age"), offset + level * (education + field + age - 0.4)
    )


def _sector() -> Node:
    """By field; arts and science lean to the public side."""
    rows = [
        [0.25, 0.40, 0.20, 0.15],
        [0.62, 0.12, 0.06, 0.20],
        [0.70, 0.15, 0.03, 0.12],
        [0.30, 0.45, 0.10, 0.15],
        [0.38, 0.47, 0.10, 0.05],
    ]
    return _given(
        _choice("sector", "private", "public", "non-profit", "own"), ("field",), np.log(rows)
    )


def _region() -> Node:
    return _given(
        _choice("region", "north", "east", "south", "west", "abroad"),
        (),
        np.log([0.3, 0.15, 0.25, 0.2, 0.1]),
    )


def _married() -> Node:
    scores = np.stack(
        [np.zeros_like(SENIORITY), -1.8 + 4.0 * SENIORITY - 1.4 * SENIORITY**2], axis=-1
    )
    return _given(Boolean(name="married"), ("age",), scores)


def _children() -> Node:
    """More in marriage, and with age until the middle forties."""
    ripe = np.minimum(SENIORITY, 0.55) / 0.55
    alone = np.stack(
        [
            1.8 - 0.8 * ripe,
            -0.3 + 0.5 * ripe,
            -1.0 + 0.6 * ripe,
            -2.4 + 0.3 * ripe,
            -3.6 + 0 * ripe,
        ],
        axis=-1,
    )
    together = np.stack(
        [1.0 - 2.2 * ripe, 0.6 + 0 * ripe, 0.2 + 1.2 * ripe, -1.4 + 1.4 * ripe, -2.8 + 1.4 * ripe],
        axis=-1,
    )
    scores = np.stack([alone, together])
    return _given(IntegerRange(name="children", minimum=0, maximum=4), ("married", "age"), scores)


def _home() -> Node:
    """Those with money own, those with families more so."""
    wealth = np.array([-1.2, -0.3, 0.6, 1.6])[:, None]
    family = np.array([-0.5, 0.6])[None, :]
    zero = np.zeros((4, 2))
    scores = np.stack([zero + 0.4, wealth + family, zero - 1.2 - 0.5 * wealth], axis=-1)
    return _given(_choice("home", "rents", "owns", "with family"), ("income", "married"), scores)


def _donates() -> Node:
    wealth = np.array([-1.9, -1.2, -0.4, 0.9])
    return _given(Boolean(name="donates"), ("income",), np.stack([np.zeros(4), wealth], axis=-1))


def _contact() -> Node:
    """The young by e-mail, the old by post; some say nothing, and those are mostly young."""
    scores = np.stack(
        [
            1.5 - 0.9 * SENIORITY,
            0.2 + 0.3 * SENIORITY,
            -1.6 + 2.6 * SENIORITY,
            -0.4 - 1.2 * SENIORITY,
        ],
        axis=-1,
    )
    return _given(_choice("contact", "e-mail", "phone", "post", missing=True), ("age",), scores)


ALUMNI = KnownPopulation(
    (
        _age(),
        _gender(),
        _education(),
        _field(),
        _income(),
        _sector(),
        _region(),
        _married(),
        _children(),
        _home(),
        _donates(),
        _contact(),
    ),
    (
        "age",
        "gender",
        "education",
        "income",
        "field",
        "sector",
        "region",
        "married",
        "children",
        "home",
        "donates",
        "contact",
    ),
)
