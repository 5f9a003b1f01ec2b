"""Our AVD is what SDMetrics measures: TVComplement of a column, ContingencySimilarity of a pair, each one minus it."""

import json
from pathlib import Path

import numpy as np
import pytest

from environments import output_of, python_with
from lopub import Boolean, Categorical, Dataset, Domain, IntegerRange
from lopub.evaluation import evaluate

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

real, synthetic = (pandas.read_csv(path, dtype=str, keep_default_na=False) for path in sys.argv[1:])
ones = {name: TVComplement.compute(real[name], synthetic[name]) for name in real.columns}
pairs = [(list(pair), ContingencySimilarity.compute(real[list(pair)], synthetic[list(pair)])) for pair in combinations(real, 2)]
print(json.dumps({"ones": ones, "pairs": pairs}))
"""
"""Every value as a text, a missing answer as the empty one: a category of its own, as it is for us."""


def table(n: int, *, seed: int, most: int) -> Dataset:
    """Skewed answers, the second and third following the first; of the last attribute, the first `most` candidates."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(6, n, p=(rng.dirichlet(np.ones(6)) + 0.1) / 1.6)
    owns = np.where(rng.random(n) < 0.7, colour % 3, rng.integers(3, size=n))
    rooms = np.minimum(rng.poisson(2 + colour, size=n), 13)
    return Dataset(DOMAIN, np.stack([colour, owns, rooms, rng.geometric(0.2, size=n) % most], axis=1))


@pytest.fixture(scope="module")
def sdmetrics() -> Path:
    return python_with("sdmetrics>=0.14")


def scores(sdmetrics: Path, directory: Path, real: Dataset, synthetic: Dataset) -> tuple[dict[Names, float], dict[Names, float]]:
    """Of all columns and pairs: one minus our AVD, and what SDMetrics says."""
    files = [str(directory / name) for name in ("real.csv", "synthetic.csv")]
    for dataset, path in zip((real, synthetic), files, strict=True):
        dataset.save(path)
    said = json.loads(output_of(sdmetrics, SCRIPT, *files))
    theirs = {(name,): score for name, score in said["ones"].items()} | {tuple(pair): score for pair, score in said["pairs"]}
    ones, pairs, *_ = evaluate(real, synthetic, classifiers=False).ways
    return {score.names: 1 - score.avd for score in (*ones.sets, *pairs.sets)}, theirs


def n_invented(real: Dataset, synthetic: Dataset, name: str) -> int:
    """Candidates that the synthetic table holds and the real one does not."""
    return int(((real.counts([name]) == 0) & (synthetic.counts([name]) > 0)).sum())


@pytest.mark.parametrize("n_synthetic", [700, 1300])
def test_avd_of_columns_and_pairs_is_one_minus_what_sdmetrics_says(sdmetrics: Path, tmp_path: Path, n_synthetic: int):
    real, synthetic = table(1000, seed=1, most=8), table(n_synthetic, seed=2, most=8)
    assert not any(n_invented(real, synthetic, name) for name in DOMAIN.names)
    ours, theirs = scores(sdmetrics, tmp_path, real, synthetic)
    assert len(ours) == 4 + 6
    assert ours == pytest.approx(theirs, abs=TOLERANCE, rel=0)
    assert min(ours.values()) < 0.9  # the tables differ, so that agreement says something


def test_a_value_that_the_real_table_lacks_moves_sdmetrics_by_a_millionth_of_a_record(sdmetrics: Path, tmp_path: Path):
    """SDMetrics counts such a value as 1e-6 real records in a column, and in pairs as none, as we do in both."""
    real, synthetic = table(1000, seed=1, most=12), table(700, seed=2, most=60)
    assert n_invented(real, synthetic, "rare") > 5
    ours, theirs = scores(sdmetrics, tmp_path, real, synthetic)
    for names, score in theirs.items():
        moved = 1e-6 * n_invented(real, synthetic, names[0]) / len(real) if len(names) == 1 else 0
        assert ours[names] == pytest.approx(score, abs=TOLERANCE + moved, rel=0), names
