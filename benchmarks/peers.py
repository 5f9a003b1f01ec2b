"""Others on the same tables at the same epsilon: mean AVD of attributes and of pairs, over epsilon.

`python benchmarks/peers.py --python PEERS/bin/python [--tables adult,retail,…] [--epsilons 1,2,…] [--seeds N]`. PEERS is an
environment of its own, so that nobody's packages meet ours: `python -m venv PEERS && PEERS/bin/pip install multi-freq-ldpy mbi`.
Without --python only what needs nothing else is run. Needs LOPUB_DATA. Rows are kept: what is in benchmarks/results/peers.csv is
not run again. Draws docs/pictures/peers.svg.

| method | what it is |
|---|---|
| lopub | our default: `make_campaign` for this epsilon, `shrunk` pairs |
| one question | ours where only attributes matter: `subset`, one question a person; pairs are products |
| independent | the product of our own shares: what pairs are worth without looking at them |
| pairs | one pair a person, an adaptive oracle, made consistent: like CALM (Zhang et al. 2018) and HDG (Yang et al. 2020) with |
| | all pairs and grids as fine as the answers; written from those papers, the code is ours |
| rs+fd, smp | multi-freq-ldpy's RS+FD[ADP] and SMP[ADP]: attributes alone, pairs are products |
| mbi | our reports, pairs as they come (`em`), then mbi's graphical model of the tree of largest information |
| mst | MST at *central* epsilon 1, delta 1e-9, on mbi: a server that sees every record. The price of trust, not a peer |
"""

import argparse
import csv
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopub import CampaignRequest, Dataset, Study, Terms, make_campaign, simulate
from lopub.campaign.views import Sample
from lopub.estimation.joint import JointDistribution, avd
from lopub.reports.catalogue import public_table
from peers_elsewhere import projected

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "peers.csv"
COLUMNS = ("table", "epsilon", "method", "seed", "attributes", "pairs", "seconds")
TABLES, EPSILONS = ("adult", "retail", "nltcs", "tpce"), (1.0, 2.0, 4.0, 8.0)
ELSEWHERE = ("rs+fd", "smp", "mbi", "mst")
ONCE = ("mbi", "mst")
"""With one seed: they take minutes."""
ORDER = ("lopub", "independent", "pairs", "rs+fd", "smp", "mbi", "one question")
"""In which they are drawn, so that each has one colour."""
CENTRAL = 1.0
ONE_QUESTION = {"mechanism": "subset", "view": Sample(1)}
N_ROUNDS = 10
"""Of making pairs consistent; after five, nothing moves by more than a thousandth."""
Shares = NDArray[np.float64]
Found = Mapping[str, Shares]
"""Of attribute 3: "3"; of a pair: "3-5"."""


def named(*positions: int) -> str:
    return "-".join(map(str, positions))


def truth(table: Dataset) -> Found:
    names = table.domain.names
    cliques = [(i,) for i in range(len(names))] + list(combinations(range(len(names)), 2))
    return {
        named(*clique): table.counts([names[i] for i in clique]) / len(table) for clique in cliques
    }


def errors(found: Found, true: Found) -> tuple[float, float]:
    by = defaultdict(list)
    for name, shares in true.items():
        by["-" in name].append(avd(found[name], shares))
    return float(np.mean(by[False])), float(np.mean(by[True]))


# ---- ours


def study_of(table: Dataset, epsilon: float, seed: int, **wishes: Any) -> Study:
    request = CampaignRequest(epsilon=epsilon, **wishes)
    return Study(
        simulate(table, make_campaign(table.domain, Terms(name="peers"), request), seed=seed)
    )


def estimated(study: Study, table: Dataset, method: str) -> Found:
    place = table.domain.names.index
    found = {named(place(study.domain.names[i])): shares for i, shares in study.marginals.items()}
    return found | {
        named(*map(place, joint.names)): joint.probabilities
        for joint in pairs_of(study, table, method)
    }


def pairs_of(study: Study, table: Dataset, method: str) -> list[JointDistribution]:
    """With their attributes in the table's order, which a campaign does not keep."""
    return [
        joint.marginal(sorted(joint.names, key=table.domain.names.index))
        for joint in study.pairs(method=method).values()
    ]


# ---- one pair a person


def one_pair_each(table: Dataset, epsilon: float, seed: int) -> Found:
    """Everybody is asked for one pair of answers, with randomized response or optimized unary encoding, whichever is better."""
    rng, sizes = np.random.default_rng(seed), table.domain.sizes
    pairs = list(combinations(range(len(sizes)), 2))
    asked = rng.integers(0, len(pairs), len(table))
    noisy: dict[tuple[int, int], Shares] = {}
    spread: dict[tuple[int, int], float] = {}
    for number, (i, j) in enumerate(pairs):
        codes = table.codes[asked == number].astype(int)
        cells = codes[:, i] * sizes[j] + codes[:, j]
        shares, spread[i, j] = oracle(cells, sizes[i] * sizes[j], epsilon, rng)
        noisy[i, j] = shares.reshape(sizes[i], sizes[j])
    return consistent(noisy, spread, len(sizes))


def oracle(
    cells: NDArray[np.int64], k: int, epsilon: float, rng: np.random.Generator
) -> tuple[Shares, float]:
    """Unbiased shares of k cells, and their variance."""
    n, e = max(len(cells), 1), np.exp(epsilon)
    if k < 3 * e + 2:
        p, q = e / (e + k - 1), 1 / (e + k - 1)
        others = (cells + rng.integers(1, k, len(cells))) % k
        counts = np.bincount(np.where(rng.random(len(cells)) < p, cells, others), minlength=k)
    else:
        p, q = 0.5, 1 / (e + 1)
        true = np.bincount(cells, minlength=k)
        counts = rng.binomial(true, p) + rng.binomial(len(cells) - true, q)
    return (counts / n - q) / (p - q), q * (1 - q) / (n * (p - q) ** 2)


def consistent(
    noisy: dict[tuple[int, int], Shares], spread: Mapping[tuple[int, int], float], d: int
) -> Found:
    """Pairs that agree about each attribute, by the average weighted with precision, and are distributions."""
    joints = dict(noisy)
    alone: list[Shares] = []
    for _ in range(N_ROUNDS):
        alone = []
        for i in range(d):
            own = {
                pair: joint.sum(axis=1 - pair.index(i))
                for pair, joint in joints.items()
                if i in pair
            }
            weights = {
                pair: 1 / (spread[pair] * joints[pair].shape[1 - pair.index(i)]) for pair in own
            }
            alone.append(sum(weights[pair] * own[pair] for pair in own) / sum(weights.values()))
            for pair in own:
                missing = (alone[i] - own[pair]) / joints[pair].shape[1 - pair.index(i)]
                joints[pair] = joints[pair] + np.expand_dims(missing, 1 - pair.index(i))
        joints = {pair: projected(joint) for pair, joint in joints.items()}
    return {named(i): projected(shares) for i, shares in enumerate(alone)} | {
        named(*pair): joint for pair, joint in joints.items()
    }


# ---- elsewhere


def elsewhere(python: str, table: Dataset, method: str, epsilon: float, seed: int) -> Found:
    made: dict[str, NDArray] = {"codes": table.codes, "sizes": np.array(table.domain.sizes)}
    if method == "mbi":
        for joint in pairs_of(study_of(table, epsilon, seed), table, "em"):
            name = named(*map(table.domain.names.index, joint.names))
            made[name] = joint.probabilities
            made[f"error {name}"] = np.sqrt(
                np.nanmean(np.square(joint.standard_errors))
            )  # a cell held at zero has none
    with tempfile.TemporaryDirectory() as directory:
        source, target = Path(directory) / "in.npz", Path(directory) / "out.npz"
        np.savez(source, **made)
        told = CENTRAL if method == "mst" else epsilon
        command = [
            python,
            str(HERE / "peers_elsewhere.py"),
            str(source),
            str(target),
            method,
            str(told),
            str(seed),
        ]
        subprocess.run(command, check=True)
        with np.load(target) as found:
            return dict(found)


# ---- all of them


def methods_at(
    python: str, table: Dataset, epsilon: float, seed: int
) -> dict[str, Callable[[], Found]]:
    """Every method, to be run on one table; those of other packages only if a Python with them is named."""
    ours = {
        "lopub": lambda: estimated(study_of(table, epsilon, seed), table, "shrunk"),
        "independent": lambda: estimated(study_of(table, epsilon, seed), table, "product"),
        "one question": lambda: estimated(
            study_of(table, epsilon, seed, **ONE_QUESTION), table, "shrunk"
        ),
        "pairs": lambda: one_pair_each(table, epsilon, seed),
    }
    others = [one for one in ELSEWHERE if python and (seed == 1 or one not in ONCE)]
    return ours | {
        method: partial(elsewhere, python, table, method, epsilon, seed) for method in others
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default="")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    done = {
        (row["table"], float(row["epsilon"]), row["method"], int(row["seed"])) for row in rows()
    }
    for name in asked.tables.split(","):
        table = public_table(name)
        true = truth(table)
        for epsilon in map(float, asked.epsilons.split(",")):
            for seed in range(1, asked.seeds + 1):
                methods = methods_at(asked.python, table, epsilon, seed)
                for method, run in methods.items():
                    at = CENTRAL if method == "mst" else epsilon
                    if (name, at, method, seed) not in done:
                        keep(name, at, method, seed, run, true)
                        done.add((name, at, method, seed))
    tell_who_wins()
    draw()


def keep(
    table: str, epsilon: float, method: str, seed: int, run: Callable[[], Found], true: Found
) -> None:
    started = time.perf_counter()
    attributes, pairs = errors(run(), true)
    row = (
        table,
        epsilon,
        method,
        seed,
        f"{attributes:.5f}",
        f"{pairs:.5f}",
        f"{time.perf_counter() - started:.1f}",
    )
    print(*row, flush=True)
    is_new = not RESULTS.exists()
    with RESULTS.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(COLUMNS)
        writer.writerow(row)


def rows() -> list[dict[str, str]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def tell_who_wins() -> None:
    """Where a local method has a smaller mean error than our default, and whether by more than two standard errors of the
    differences over the same seeds."""
    by = {(row["table"], float(row["epsilon"]), row["method"], row["seed"]): row for row in rows()}
    methods = sorted({method for _, _, method, _ in by} - {"lopub", "independent", "mst"})
    for table, epsilon, measure in product(TABLES, EPSILONS, ("attributes", "pairs")):
        for method in methods:
            seeds = [seed for t, e, m, seed in by if (t, e, m) == (table, epsilon, method)]
            mine, theirs = (
                [float(by[table, epsilon, m, seed][measure]) for seed in seeds]
                for m in ("lopub", method)
            )
            less = np.subtract(mine, theirs)
            if seeds and less.mean() > 0:
                error = less.std(ddof=1) / np.sqrt(len(less)) if len(less) > 1 else np.nan
                verdict = "clearly" if less.mean() > 2 * error else "perhaps"
                print(
                    f"{table} {epsilon:g} {measure}: lopub {np.mean(mine):.4f}, {method} {np.mean(theirs):.4f}, {verdict}"
                )


def draw() -> None:
    """Errors of pairs over epsilon, a panel for each table."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    found = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in rows():
        found[row["table"]][row["method"]][float(row["epsilon"])].append(float(row["pairs"]))
    tables = [name for name in TABLES if name in found]
    with mpl.rc_context(
        {
            "svg.hashsalt": "lopub",
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    ):
        figure, panels = plt.subplots(
            1,
            len(tables),
            figsize=(2.6 * len(tables), 2.9),
            layout="constrained",
            sharey=True,
            squeeze=False,
        )
        styles = ("o-", "x:", "s--", "^--", "v--", "D--", "P-.")
        for panel, name in zip(panels[0], tables, strict=True):
            for number, method in enumerate(ORDER):
                if found[name][method]:
                    points = sorted(
                        (epsilon, np.mean(values))
                        for epsilon, values in found[name][method].items()
                    )
                    panel.plot(
                        *zip(*points, strict=True),
                        styles[number],
                        color=f"C{number}",
                        label=method,
                        markersize=4,
                    )
            if central := found[name].get("mst"):
                panel.axhline(
                    np.mean(central[CENTRAL]),
                    color="gray",
                    linewidth=1,
                    label="mst, trusted server, epsilon 1",
                )
            panel.set(
                xscale="log",
                yscale="log",
                title=name,
                xlabel="epsilon of a person",
                xticks=EPSILONS,
                xticklabels=[f"{e:g}" for e in EPSILONS],
            )
            panel.minorticks_off()
        panels[0][0].set_ylabel("mean AVD of pairs")
        figure.legend(
            *panels[0][0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=4,
            frameon=False,
        )
        figure.savefig(
            HERE.parent / "docs" / "pictures" / "peers.svg",
            metadata={"Date": None, "Creator": None},
        )


if __name__ == "__main__":
    main()
