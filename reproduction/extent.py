"""The paper's settings, and how much of its evaluation is run."""

from dataclasses import dataclass, replace
from typing import Literal

from lopub.errors import DomainError
from lopub.estimation import Em, Estimator, Hybrid, Lasso, Moments, Product, Shrunk


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """How the paper looks at one of its tables (section "Evaluation"); Adult and TPC-E alike."""

    name: str
    sample: float = 0.1
    """The share of the records that estimation and publication see."""
    n_bits: int = 128
    phi: float = 0.4
    identified_sample: float = 0.1
    """The share of the records that dependences are identified on."""
    dimensions: tuple[int, ...] = (2, 3)
    """k of the joints that are estimated."""
    pruning_phis: tuple[str, ...] = ("0.1", "0.2", "0.3", "0.4", "0.5")
    paper_phis: tuple[str, ...] = ("0.1", "0.2", "0.3", "0.4", "0.5")
    """At which phi the columns of the paper's table were made, whatever their heads say."""
    optional: bool = False
    """Whether a run goes on without it: it may not be passed on, so not everybody has it."""
    pruning_finds: Literal["dependence", "independence"] = "dependence"


N_HASHES = 4
RETAIL = TableSettings(
    name="retail",
    sample=0.5,
    n_bits=32,
    phi=0.25,
    identified_sample=1.0,
    dimensions=(3, 5),
    pruning_phis=("0.1", "0.15", "0.2", "0.25", "0.3"),
    paper_phis=("0.1", "0.15", "0.2", "0.25", "0.3"),
    pruning_finds="independence",
)
TABLES = {
    "retail": RETAIL,
    "nltcs": replace(RETAIL, name="nltcs", optional=True),
    "adult": TableSettings(name="adult"),
    "tpce": TableSettings(
        name="tpce",
        pruning_phis=("0.1", "0.2", "0.3", "0.4", "0.5", "0.6"),
        paper_phis=("0.1", "0.2", "0.3", "0.5", "0.6"),
    ),
}
"""The market baskets have the paper's numbers of rows and columns; what it measured on its "Retail" fits nltcs, a file of its
authors' own code. Both are run with the settings of its Retail."""

PAPER_METHODS = ("EM_JD", "Lasso_JD", "Lasso+EM_JD")
OUR_METHODS = ("em", "moments", "shrunk", "product")
ESTIMATORS: dict[str, Estimator] = {
    "EM_JD": Em(stop="paper"),
    "Lasso_JD": Lasso(),
    "Lasso+EM_JD": Hybrid(stop="paper"),
    "em": Em(),
    "moments": Moments(),
    "shrunk": Shrunk(),
    "product": Product(),
}
"""By their names in figures. The paper's EM starts from uniform and stops on the largest probability."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How much is run. Seeds are one a sample of the records and its reports."""

    name: str
    flips: tuple[str, ...]
    """The paper's f, for estimation."""
    epsilons: tuple[str, ...]
    sets_a_seed: int
    """Random k-sets of attributes in each of `estimation_seeds`; the paper takes a hundred."""
    pairs_a_seed: int
    """Random pairs, and as many of the most dependent ones at most, on the axis of epsilon."""
    estimation_seeds: int
    identification_seeds: int
    pruning_seeds: int
    classification_seeds: int
    privacy_seeds: int
    setups: tuple[str, ...]
    """On the axis of epsilon."""
    privacy_tables: tuple[str, ...] = ("adult", "tpce", "retail", "nltcs")
    slow_tables: tuple[str, ...] = ("retail", "nltcs", "adult", "tpce")
    slow_flips: tuple[str, ...] = ("0.1", "0.3", "0.5", "0.7", "0.9")
    """Of identification and classification."""
    most_rows: int = 10**9
    """Records that the axis of epsilon sees at most."""


FULL = Scale(
    name="full",
    flips=("0.1", "0.3", "0.5", "0.7", "0.9"),
    epsilons=("1", "2", "4", "8", "16", "24"),
    sets_a_seed=25,
    pairs_a_seed=30,
    estimation_seeds=4,
    identification_seeds=2,
    pruning_seeds=20,
    classification_seeds=2,
    privacy_seeds=2,
    setups=(
        "bloom, all, em",
        "unary, all, shrunk",
        "subset, sample:2 separately, shrunk",
        "subset, sample:2 jointly, shrunk",
        "direct, fill jointly, shrunk",
        "planned, shrunk",
        "planned, product",
        "planned, table",
    ),
)
QUICK = Scale(
    name="quick",
    flips=("0.5", "0.9"),
    epsilons=("4", "8"),
    sets_a_seed=3,
    pairs_a_seed=6,
    estimation_seeds=2,
    identification_seeds=1,
    pruning_seeds=20,
    classification_seeds=1,
    privacy_seeds=1,
    setups=("bloom, all, em", "planned, shrunk", "planned, product", "planned, table"),
    privacy_tables=("adult", "retail"),
    slow_tables=("adult",),
    slow_flips=("0.5",),
    most_rows=10_000,
)
SCALES = {scale.name: scale for scale in (FULL, QUICK)}


def scale_of(name: str) -> Scale:
    """The scale of this name; refuses one that there is not."""
    if name not in SCALES:
        raise DomainError(f"scale must be one of {', '.join(sorted(SCALES))}, got {name!r}")
    return SCALES[name]
