"""Scores of a synthetic table: against brute force, by hand, and on tables whose answer is known."""

import subprocess
import sys
from itertools import combinations, product
from math import comb, log
from pathlib import Path

import numpy as np
import pytest

from lopub import Categorical, Dataset, Domain, DomainError
from lopub.evaluation import Evaluation, distance, evaluate
from lopub.evaluation.classifiers import predicted
from lopub.evaluation.distance import drawn_sets, subset_of_rank


def domain_of(**sizes: int) -> Domain:
    return Domain(
        tuple(
            Categorical(name=name, values=tuple(f"v{i}" for i in range(size)))
            for name, size in sizes.items()
        )
    )


def table_of(domain: Domain, *rows: tuple[int, ...]) -> Dataset:
    return Dataset(domain, np.array(rows, dtype=np.uint16).reshape(-1, len(domain)))


def random_table(n: int, seed: int, **sizes: int) -> Dataset:
    rng = np.random.default_rng(seed)
    return Dataset(
        domain_of(**sizes),
        np.stack([rng.integers(size, size=n) for size in sizes.values()], axis=1),
    )


def shuffled(dataset: Dataset, seed: int = 0) -> Dataset:
    """The same marginals, without dependence."""
    rng = np.random.default_rng(seed)
    return Dataset(
        dataset.domain, np.stack([rng.permutation(column) for column in dataset.codes.T], axis=1)
    )


def chain(n: int, seed: int) -> Dataset:
    """b follows a, and c follows b, each nine times of ten; d is on its own."""
    rng = np.random.default_rng(seed)
    a = rng.random(n) < 0.4
    b = a ^ (rng.random(n) < 0.1)
    c = b ^ (rng.random(n) < 0.1)
    return Dataset(
        domain_of(a=2, b=2, c=2, d=2),
        np.stack([a, b, c, rng.random(n) < 0.4], axis=1).astype(np.uint16),
    )


def scores_of(real: Dataset, synthetic: Dataset, **options: object) -> Evaluation:
    return evaluate(real, synthetic, **{"classifiers": False, **options})  # type: ignore[arg-type]


def brute_avd(real: Dataset, synthetic: Dataset, names: tuple[str, ...]) -> float:
    total = 0.0
    for cell in product(*(range(real.domain[name].size) for name in names)):
        shares = [
            np.mean([tuple(row) == cell for row in d.codes[:, d.domain.positions(names)]])
            for d in (real, synthetic)
        ]
        total += abs(shares[0] - shares[1])
    return total / 2


# ---- tables


def test_avd_of_every_set_is_that_of_brute_force():
    real, synthetic = (random_table(n, n, a=2, b=3, c=4, d=2) for n in (70, 50))
    for way in scores_of(real, synthetic).ways:
        assert len(way.sets) == comb(4, way.k)
        for score in way.sets:
            assert score.avd == pytest.approx(brute_avd(real, synthetic, score.names))


def test_cells_that_nobody_is_in_may_be_left_out(monkeypatch: pytest.MonkeyPatch):
    real, synthetic = (random_table(60, seed, a=5, b=7, c=4) for seed in (1, 2))
    whole = scores_of(real, synthetic)
    monkeypatch.setattr(distance, "MOST_DENSE", 1)
    for ours, theirs in zip(whole.ways, scores_of(real, synthetic).ways, strict=True):
        for mine, yours in zip(ours.sets, theirs.sets, strict=True):
            assert mine.avd == pytest.approx(yours.avd)
            assert mine.product_of_real == pytest.approx(yours.product_of_real)
            assert mine.product_of_synthetic == pytest.approx(yours.product_of_synthetic)
            assert mine.real_information == pytest.approx(yours.real_information)


def test_a_table_of_very_many_cells_is_scored():
    real, synthetic = (random_table(100, seed, a=60_000, b=60_000, c=60_000) for seed in (1, 2))
    assert scores_of(real, synthetic).ways[2].mean == pytest.approx(1)


def test_a_table_is_at_no_distance_from_itself():
    real = chain(2_000, seed=1)
    scores = scores_of(real, real)
    assert [way.mean for way in scores.ways] == [0, 0, 0]
    assert scores.dependent_mean == 0


def test_tables_without_a_common_value_are_at_distance_one():
    domain = domain_of(a=2, b=2)
    scores = scores_of(table_of(domain, (0, 0)), table_of(domain, (1, 1)))
    assert [way.mean for way in scores.ways] == [1, 1]


def test_shuffled_columns_give_the_error_of_the_product():
    real = chain(20_000, seed=1)
    pairs = scores_of(real, shuffled(real)).ways[1]
    assert pairs.product_of_synthetic == pytest.approx(pairs.product_of_real)
    assert pairs.product_of_real > 0.1
    assert pairs.mean == pytest.approx(pairs.product_of_real, abs=0.01)


def test_the_baselines_multiply_each_tables_own_marginals():
    domain = domain_of(a=2, b=2)
    real = table_of(domain, (0, 0), (1, 1))
    synthetic = table_of(domain, (0, 0), (0, 0), (0, 1), (1, 0))
    pair = scores_of(real, synthetic).ways[1].sets[0]
    assert pair.product_of_real == pytest.approx(0.5)
    assert pair.product_of_synthetic == pytest.approx(
        (abs(0.5 - 9 / 16) + 2 * 3 / 16 + (0.5 - 1 / 16)) / 2
    )


def test_the_mean_and_the_largest_are_those_of_the_breakdown():
    pairs = scores_of(*(random_table(60, seed, a=2, b=3, c=4) for seed in (1, 2))).ways[1]
    distances = [score.avd for score in pairs.sets]
    assert pairs.mean == pytest.approx(np.mean(distances))
    assert pairs.worst.avd == max(distances)


def test_the_most_dependent_pairs_are_those_furthest_from_their_product():
    real = chain(5_000, seed=1)
    assert [set(pair.names) for pair in scores_of(real, real, n_dependent=2).dependent] in (
        [{"a", "b"}, {"b", "c"}],
        [{"b", "c"}, {"a", "b"}],
    )


# ---- which sets


def test_every_rank_is_another_subset():
    subsets = {frozenset(subset_of_rank(rank, 3, 9)) for rank in range(comb(9, 3))}
    assert subsets == {frozenset(members) for members in combinations(range(9), 3)}


def test_no_more_triples_than_asked_for_are_scored():
    real = random_table(30, 1, **{f"a{i}": 2 for i in range(8)})
    triples = scores_of(real, real, most_sets=11).ways[2]
    assert len(triples.sets) == 11 == len({score.names for score in triples.sets})
    assert triples.n_possible == 56


def test_drawn_sets_are_sorted():
    domain = domain_of(**{f"a{i}": 2 for i in range(9)})
    drawn = drawn_sets(domain, 3, most=20, rng=np.random.default_rng(1))
    assert drawn == sorted(drawn) and all(members == tuple(sorted(members)) for members in drawn)


def test_another_seed_draws_other_triples():
    real = random_table(30, 1, **{f"a{i}": 2 for i in range(12)})
    drawn = [
        {score.names for score in scores_of(real, real, most_sets=20, seed=seed).ways[2].sets}
        for seed in (1, 2)
    ]
    assert drawn[0] != drawn[1]


def test_pairs_beyond_the_cap_are_drawn(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("lopub.evaluation.scores.MOST_PAIRS", 4)
    real = random_table(30, 1, a=2, b=2, c=2, d=2)
    pairs = scores_of(real, real).ways[1]
    assert len(pairs.sets) == 4 and pairs.n_possible == 6


def test_one_attribute_has_one_way_tables_only():
    scores = evaluate(random_table(30, 1, a=2), random_table(30, 2, a=2))
    assert [way.k for way in scores.ways] == [1]
    assert scores.dependent_mean is None and scores.classifiers == ()


# ---- edges


def test_edges_are_those_of_the_papers_rule_by_hand():
    """a = b in the real table (I = ln 2), a = c in the synthetic one; the threshold is phi^2 / 2 = 0.02."""
    domain = domain_of(a=2, b=2, c=2)
    real = table_of(domain, *((a, a, c) for a in (0, 1) for c in (0, 1)))
    synthetic = table_of(domain, *((a, b, a) for a in (0, 1) for b in (0, 1)))
    edges = scores_of(real, synthetic, phi=0.2).edges
    assert (edges.found, edges.added, edges.lost) == ((), (("a", "c"),), (("a", "b"),))
    assert scores_of(real, real).edges.found == (("a", "b"),)


@pytest.mark.parametrize(("phi", "found"), [(0.19, 1), (0.21, 0)])
def test_the_threshold_grows_with_the_smaller_of_two_domains(phi: float, found: int):
    """Weakly dependent a (3 candidates) and b (3): tau = 2 * phi^2 / 2. Forbids min of the sizes instead of sizes - 1."""
    domain = domain_of(a=3, b=3)
    counts = weak_counts(information=0.04)
    rows = [(i, j) for i in range(3) for j in range(3) for _ in range(int(counts[i, j]))]
    assert (
        len(scores_of(table_of(domain, *rows), table_of(domain, *rows), phi=phi).edges.found)
        == found
    )


def weak_counts(information: float) -> np.ndarray:
    """A 3 x 3 table of counts with uniform marginals and very nearly this mutual information."""
    strengths = np.linspace(0, 1, 100_001)
    same, other = (1 + 2 * strengths) / 9, (1 - strengths) / 9
    with np.errstate(divide="ignore", invalid="ignore"):
        informations = 3 * same * np.log(9 * same) + 6 * np.where(
            other > 0, other * np.log(9 * other), 0
        )
    strength = strengths[np.searchsorted(informations, information)]
    return np.round(20_000 * ((1 - strength) / 9 + strength / 3 * np.eye(3)))


def test_mutual_information_is_in_nats():
    domain = domain_of(a=2, b=2)
    real = table_of(domain, (0, 0), (1, 1))
    assert scores_of(real, real).ways[1].sets[0].real_information == pytest.approx(log(2))


def test_a_table_has_no_edge_more_or_less_than_itself():
    real = chain(2_000, seed=1)
    edges = scores_of(real, real).edges
    assert edges.added == edges.lost == ()
    assert edges.found == (("a", "b"), ("a", "c"), ("b", "c"))


def test_shuffled_columns_lose_every_edge():
    real = chain(2_000, seed=1)
    edges = scores_of(real, shuffled(real)).edges
    assert edges.found == edges.added == () and len(edges.lost) == 3


# ---- classifiers


def test_a_learnable_target_is_learnt_from_synthetic_records():
    for score in evaluate(chain(4_000, seed=1), chain(4_000, seed=2), targets=["b"]).classifiers:
        assert score.trained_on_synthetic > score.majority + 0.2
        assert score.trained_on_synthetic == pytest.approx(score.trained_on_real, abs=0.03)


def test_nothing_is_learnt_about_an_attribute_on_its_own():
    for score in evaluate(chain(4_000, seed=1), chain(4_000, seed=2), targets=["d"]).classifiers:
        assert score.trained_on_synthetic < score.majority + 0.03


def test_nothing_is_learnt_from_shuffled_columns():
    real = chain(4_000, seed=1)
    for score in evaluate(real, shuffled(real), targets=["b"]).classifiers:
        assert score.trained_on_synthetic < score.majority + 0.05 < score.trained_on_real


def test_rates_are_given_for_both_classifiers_of_each_target():
    scores = evaluate(chain(200, seed=1), chain(200, seed=2), targets=["c", "a"]).classifiers
    assert [(score.target, score.classifier) for score in scores] == [
        ("c", "svm"),
        ("c", "random_forest"),
        ("a", "svm"),
        ("a", "random_forest"),
    ]


def test_targets_are_small_attributes_without_a_crushing_majority_the_most_dependent_first():
    rng = np.random.default_rng(1)
    n = 3_000
    key, lone = rng.random(n) < 0.4, rng.random(n) < 0.4
    columns = {
        "key": key,
        "lock": key ^ (rng.random(n) < 0.05),
        "lone": lone,
        "rare": rng.random(n) < 0.05,
        "wide": np.where(lone, 0, rng.integers(11, size=n)),
        "many": rng.integers(4, size=n),
        "late": rng.random(n) < 0.4,
    }
    sizes = {name: max(2, int(column.max()) + 1) for name, column in columns.items()}
    real = Dataset(domain_of(**sizes), np.stack(list(columns.values()), axis=1).astype(np.uint16))
    targets = [score.target for score in evaluate(real, real).classifiers[::2]]
    assert targets == ["key", "lock", "lone"]


def test_a_target_with_one_class_in_the_synthetic_table_is_predicted_as_that_class():
    real = chain(500, seed=1)
    codes = real.codes.copy()
    codes[:, 1] = 1
    for score in evaluate(real, Dataset(real.domain, codes), targets=["b"]).classifiers:
        assert score.trained_on_synthetic == pytest.approx(real.column("b").mean(), abs=0.1)


def test_a_target_without_other_attributes_gets_its_most_frequent_candidate():
    domain = domain_of(a=3)
    table = table_of(domain, (2,), (2,), (0,))
    assert predicted("svm", table, table, "a", seed=0).tolist() == [2, 2, 2]


def test_no_target_is_chosen_from_too_few_records():
    tiny = chain(4, seed=1)
    assert evaluate(tiny, tiny).classifiers == ()


# ---- determinism

FINGERPRINT = """
import hashlib, json
from test_evaluation import chain, evaluate
print(hashlib.sha256(json.dumps(evaluate(chain(400, seed=1), chain(300, seed=2), most_sets=2).to_dict()).encode()).hexdigest())
"""


def test_scores_do_not_depend_on_the_hash_seed():
    prints = {
        subprocess.run(
            [sys.executable, "-c", FINGERPRINT],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(prints) == 1


def test_same_seed_same_scores():
    real, synthetic = chain(400, seed=1), chain(300, seed=2)
    assert evaluate(real, synthetic, seed=7) == evaluate(real, synthetic, seed=7)


def test_scores_do_not_depend_on_the_order_of_the_attributes():
    def by_name(scores: Evaluation) -> dict[frozenset[str], float]:
        return {frozenset(score.names): score.avd for way in scores.ways for score in way.sets}

    real, synthetic = (random_table(300, seed, **{f"a{i}": 2 for i in range(9)}) for seed in (1, 2))
    order = np.random.default_rng(1).permutation(9)
    domain = Domain(tuple(real.domain.attributes[i] for i in order))
    turned = [Dataset(domain, table.codes[:, order]) for table in (real, synthetic)]
    ours, theirs = evaluate(real, synthetic, most_sets=10), evaluate(*turned, most_sets=10)
    assert by_name(ours) == pytest.approx(by_name(theirs))
    assert ours.classifiers == theirs.classifiers


def test_progress_ends_with_the_last_of_all_steps():
    steps: list[tuple[str, int, int | None]] = []
    evaluate(chain(200, seed=1), chain(200, seed=2), progress=lambda *step: steps.append(step))
    total = 4 + 6 + 4 + 3 * 4
    assert steps == [("comparing", number, total) for number in range(1, total + 1)]


def test_the_dictionary_holds_every_number_of_the_breakdown():
    scores = evaluate(chain(200, seed=1), chain(150, seed=2), targets=["a"])
    shown = scores.to_dict()
    assert (shown["n_real"], shown["n_synthetic"]) == (200, 150)
    assert shown["avd"]["2"]["sets"][0]["avd"] == scores.ways[1].sets[0].avd
    assert shown["avd"]["3"]["mean"] == scores.ways[2].mean
    assert shown["dependent"]["mean"] == scores.dependent_mean
    assert shown["edges"]["n_found"] == len(shown["edges"]["found"]) == 3
    assert shown["classifiers"][0]["trained_on_real"] == scores.classifiers[0].trained_on_real


# ---- bad input


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"phi": -0.1}, "phi must lie in 0..1, got -0.1"),
        ({"phi": 1.5}, "phi must lie in 0..1, got 1.5"),
        ({"phi": float("nan")}, "phi must lie in 0..1, got nan"),
        ({"most_sets": 0}, "most_sets must be at least 1, got 0"),
        ({"n_dependent": 0}, "n_dependent must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"targets": ["z"]}, "there is no attribute 'z'"),
        ({"targets": ["a", "a"]}, "targets names attribute 'a' twice"),
    ],
)
def test_a_wrong_option_gets_one_sentence(options: dict[str, object], words: str):
    real = chain(20, seed=1)
    with pytest.raises(DomainError, match=words.replace(".", r"\.")):
        evaluate(real, real, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("which", ["real", "synthetic"])
def test_a_table_without_records_is_refused(which: str):
    full = chain(20, seed=1)
    pair = {"real": full, "synthetic": full, which: full[:0]}
    with pytest.raises(DomainError, match=f"the {which} table has no records"):
        evaluate(**pair)


def test_tables_of_other_attributes_are_refused():
    with pytest.raises(DomainError, match="same attributes in the same order; got 1 and 2"):
        evaluate(random_table(9, 1, a=2), random_table(9, 1, a=2, b=2))


def test_tables_of_other_candidates_are_refused():
    with pytest.raises(
        DomainError, match="attribute 'b' has other candidates in the synthetic table"
    ):
        evaluate(random_table(9, 1, a=2, b=2), random_table(9, 1, a=2, b=3))


def test_named_targets_need_five_real_records():
    tiny = chain(4, seed=1)
    with pytest.raises(DomainError, match="classifiers need at least 5 real records, got 4"):
        evaluate(tiny, tiny, targets=["a"])
