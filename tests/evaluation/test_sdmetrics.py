"""Our AVD is what SDMetrics measures: TVComplement of a column, ContingencySimilarity of a pair, each one minus it."""

import json

import numpy as np
import pytest

from environments import output_of, python_with
from lopub import Boolean, Categorical, Dataset, Domain, IntegerRange
from lopub.evaluation import evaluate

pytestmark = pytest.mark.full
TOLERANCE = 1e-9
Names = tuple[str, ...]
DOMAIN = Domain(
    (
        Categorical(name="colour", values=("red", "green", "blue", "NA", "null"), missing=True),
        Boolean(name="owns", missing=True),
        IntegerRange(name="rooms", minimum=-1, maximum=12),
        Categorical(name="rare", values=tuple(f"v{i}" for i in range(60))),
    )
)
SCRIPT = """
import json, sys
from itertools import combinations
import pandas
from sdmetrics.column_pairs import ContingencySimilarity
from sdmetrics.single_column import TVComplement

def said(directory):
    files = (f"{directory}/{name}.csv" for name in ("real", "synthetic"))
    real, synthetic = (pandas.read_csv(file, dtype=str, keep_default_na=False) for file in files)
    ones = [([name], TVComplement.compute(real[name], synthetic[name])) for name in real.columns]
    pairs = map(list, combinations(real, 2))
    return ones + [(pair, ContingencySimilarity.compute(real[pair], synthetic[pair])) for pair in pairs]

print(json.dumps([said(directory) for directory in sys.argv[1:]]))
"""
"""Every value as a text, a missing answer as the empty one: a category of its own, as it is for us."""


def table(n: int, *, seed: int, most: int) -> Dataset:
    """Skewed answers, the second and third following the first; of the last attribute, the first `most` candidates."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(6, n, p=(rng.dirichlet(np.ones(6)) + 0.1) / 1.6)
    owns = np.where(rng.random(n) < 0.7, colour % 3, rng.integers(3, size=n))
    rooms = np.minimum(rng.poisson(2 + colour, size=n), 13)
    return Dataset(
        DOMAIN, np.stack([colour, owns, rooms, rng.geometric(0.2, size=n) % most], axis=1)
    )


TABLES = {
    "fewer": (table(1000, seed=1, most=8), table(700, seed=2, most=8)),
    "more": (table(1000, seed=1, most=8), table(1300, seed=2, most=8)),
    "invented": (table(1000, seed=1, most=12), table(700, seed=2, most=60)),
}
"""A real and a synthetic table each."""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[Names, float]]:
    """What SDMetrics says of all columns and pairs. It takes seconds to start, so once for all tables."""
    folders = {key: tmp_path_factory.mktemp(key) for key in TABLES}
    for key, (real, synthetic) in TABLES.items():
        real.save(folders[key] / "real.csv")
        synthetic.save(folders[key] / "synthetic.csv")
    said = json.loads(
        output_of(python_with("sdmetrics>=0.14"), SCRIPT, *map(str, folders.values()))
    )
    return {
        key: {tuple(names): score for names, score in own}
        for key, own in zip(folders, said, strict=True)
    }


def complements(real: Dataset, synthetic: Dataset) -> dict[Names, float]:
    """One minus our AVD, of all columns and pairs."""
    ones, pairs, *_ = evaluate(real, synthetic, classifiers=False).ways
    return {score.names: 1 - score.avd for score in (*ones.sets, *pairs.sets)}


def n_invented(real: Dataset, synthetic: Dataset, name: str) -> int:
    """Candidates that the synthetic table holds and the real one does not."""
    return int(((real.counts([name]) == 0) & (synthetic.counts([name]) > 0)).sum())


@pytest.mark.parametrize("key", ["fewer", "more"])
def test_avd_of_columns_and_pairs_is_one_minus_what_sdmetrics_says(
    theirs: dict[str, dict[Names, float]], key: str
):
    real, synthetic = TABLES[key]
    assert not any(n_invented(real, synthetic, name) for name in DOMAIN.names)
    ours = complements(real, synthetic)
    assert len(ours) == 4 + 6
    assert ours == pytest.approx(theirs[key], abs=TOLERANCE, rel=0)
    assert min(ours.values()) < 0.9  # the tables differ, so that agreement says something


def test_a_value_that_the_real_table_lacks_moves_sdmetrics_by_a_millionth_of_a_record(
    theirs: dict[str, dict[Names, float]],
):
    """SDMetrics counts such a value as 1e-6 real records in a column, and in pairs as none, as we do in both."""
    real, synthetic = TABLES["invented"]
    assert n_invented(real, synthetic, "rare") > 5
    ours = complements(real, synthetic)
    for names, score in theirs["invented"].items():
        moved = 1e-6 * n_invented(real, synthetic, names[0]) / len(real) if len(names) == 1 else 0
        assert ours[names] == pytest.approx(score, abs=TOLERANCE + moved, rel=0), names
