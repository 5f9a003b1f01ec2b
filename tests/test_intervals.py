"""95 % intervals cover the truth in 90 to 98 of 100 collections, for every mechanism, view and way to randomize."""

import os
from collections.abc import Iterator

import numpy as np
import pytest

from lopub import AllAttributes, Campaign, Categorical, Dataset, Domain, Fill, Listed, Sample, Terms, Wish, count, make_campaign, simulate
from lopub.estimation import Study
from lopub.joint import INTERVAL
from lopub.view import View

FULL = os.environ.get("LOPUB_FULL") == "1"
N_COLLECTIONS = 200 if FULL else 30
N_PEOPLE = 3000
SIZES = (2, 3, 2, 3)
DOMAIN = Domain(tuple(Categorical(name=f"a{i}", values=tuple(map(str, range(size)))) for i, size in enumerate(SIZES)))
VIEWS = {
    "all": AllAttributes(),
    "sample": Sample(3),
    "fill": Fill(12),
    "listed": Listed.of(DOMAIN, [(("a0", "a1"), 2), (("a0", "a1", "a2"), 2), (("a1", "a3"), 1), (("a2",), 1), (("a0", "a2", "a3"), 1)]),
}
MECHANISMS = {
    "bloom": Wish(epsilon=3, mechanism="bloom", n_bits=48, n_hashes=2),
    "unary-symmetric": Wish(flip_probability=0.35, mechanism="unary"),
    "unary-optimized": Wish(epsilon=3, mechanism="unary"),
    "subset": Wish(epsilon=3, mechanism="subset"),
    "direct": Wish(epsilon=3, mechanism="direct"),
}
SHORT = {
    *("bloom-sample-jointly", "bloom-listed-jointly", "bloom-listed-separately", "unary-symmetric-fill-jointly"),
    *("unary-optimized-sample-jointly", "unary-optimized-all-separately", "subset-all-jointly", "subset-listed-jointly"),
    *("subset-sample-separately", "direct-fill-jointly", "direct-listed-separately"),
}
"""Ways that every run looks at; all of them with LOPUB_FULL=1."""
