"""Does the planner choose well, and does it predict well? Adult, TPC-E, Retail; epsilon 1 to 24. Needs LOPUB_DATA.

`python benchmarks/planning.py [what ...]`, what among grid, table, paper, wide; all by default. Writes planning.csv and
planning_table.csv in benchmarks/results. A grid of the planner's choices, simulated on records of the true table (40 pairs; those
near the best again with more seeds), tells the best plan; the planner itself sees a uniform population, or (table) the table.
"""

import csv
import sys
import time
from itertools import combinations
from pathlib import Path

import numpy as np

from lopub import AllAttributes, CampaignRequest, Categorical, Dataset, Domain, Em, Terms, make_campaign, simulate
from lopub.collection.catalogue import public_table
from lopub.forecast.design import designs
from lopub.inference import Study
from lopub.laws.designs import Design
from lopub.planning import Population, plan, tried
from lopub.planning.trial import affordable, campaign_for

EPSILONS = (1, 2, 4, 8, 16, 24)
TABLES = ("adult", "tpce", "retail")
N_PAIRS = 40
N_SEEDS = 6
"""Of errors of marginals, which are quick."""
N_PEOPLE = 15_000
"""Random records of each table that the grid is simulated on."""
TO_THE_END = {"tolerance": 1e-8, "most_evaluations": 20_000}
NEAR = 1.15
"""Plans within this factor of the best after one seed are simulated again."""
RESULTS = Path(__file__).parent / "results" / "planning.csv"


def simulated(design: Design, table: Dataset, epsilon: float, seeds: tuple[int, ...]) -> list[tuple[float, float]]:
    """(pairs, marginals) of each seed, on the table itself."""
    found = []
    for seed in seeds:
        trial = tried(design, Everybody(table), people=len(table), epsilon=epsilon, seed=seed, most_pairs=N_PAIRS)
        found.append((trial.pair_error, trial.marginal_error))
    return found


class Everybody(Population):
    """The table itself, everybody once."""

    def __init__(self, table: Dataset) -> None:
        super().__init__(table.domain, "the table itself", table, ())

    def people(self, n: int, seed: int) -> Dataset:
        return self.table


def grid(name: str, epsilon: float, writer, n_plans: int) -> int:
    table = sampled(name)
    errors: dict[Design, list[float]] = {}
    for design in designs(table.domain.sizes, epsilon):
        if affordable(design, len(table.domain)) and not (
            (design.view.n_alike(len(table.domain)) or 0) > 5 and not design.jointly
        ):
            errors[design] = [pair for pair, _ in simulated(design, table, epsilon, (11,))]
    least = min(runs[0] for runs in errors.values())
    planned = plan(table.domain, people=len(table), epsilon=epsilon)
    for design, runs in errors.items():
        if runs[0] <= NEAR * least or design == planned.best.design:
            runs += [pair for pair, _ in simulated(design, table, epsilon, (12, 13))]
    best = min((design for design in errors if len(errors[design]) > 1), key=lambda design: np.mean(errors[design]))
    chosen, least = float(np.mean(errors[planned.best.design])), float(np.mean(errors[best]))
    truth = simulated(planned.best.design, table, epsilon, (21, 22, 23))
    marginals = predicted_marginals(table, planned.best.design, epsilon)
    pairs = tried(
        planned.best.design, Population.of_table(table), people=len(table), epsilon=epsilon, most_pairs=N_PAIRS
    ).pair_error
    true_pairs = float(np.mean([run[0] for run in truth]))
    true_marginals = marginals_on(Everybody(table), planned.best.design, table, epsilon, range(31, 31 + N_SEEDS))
    row = [name, epsilon, str(planned.best.design), chosen, str(best), least, chosen / least]
    row += [marginals, true_marginals, marginals / true_marginals, pairs, true_pairs, pairs / true_pairs]
    row += [planned.error, planned.error / true_pairs, planned.independence_wins]
    writer.writerow([f"{value:.5f}" if isinstance(value, float) else value for value in row])
    ratios = marginals / true_marginals, pairs / true_pairs, planned.error / true_pairs
    print(
        f"  {name:6} {epsilon:2}: {planned.best.design} {chosen:.4f}, best {best} {least:.4f}: {chosen / least:.2f} (asked 1.10);"
        f" marginals predicted / simulated {ratios[0]:.2f} (asked 0.85-1.15); pairs {ratios[1]:.2f} (asked 0.80-1.20);"
        f" pairs at uniform {ratios[2]:.2f}",
        flush=True,
    )
    return n_plans + len(errors)


def predicted_marginals(table: Dataset, design: Design, epsilon: float) -> float:
    shares = {name: (table.counts((name,)) / len(table)).tolist() for name in table.domain.names}
    population = Population.with_shares(table.domain, shares)
    return marginals_on(population, design, table, epsilon, range(1, 1 + N_SEEDS))


def marginals_on(population: Population, design: Design, table: Dataset, epsilon: float, seeds) -> float:
    runs = [tried(design, population, people=len(table), epsilon=epsilon, seed=seed, most_pairs=0) for seed in seeds]
    return float(np.mean([run.marginal_error for run in runs]))


def against_the_paper() -> None:
    """Converged em pairs from the paper's Bloom at the same total epsilon. At epsilon 4 the usual tolerance ends a fit halfway
    (0.43 of the dependent pairs instead of 0.59), so those are run to the end; all pairs are not, to the paper's good."""
    table = public_table("adult")
    names = table.domain.names
    pairs = list(combinations(names, 2))
    truth = {pair: table.counts(pair) / len(table) for pair in pairs}
    dependent = sorted(pairs, key=lambda p: -np.abs(truth[p] - np.outer(truth[p].sum(1), truth[p].sum(0))).sum())[:12]
    for epsilon, asked in ((4, 0.30), (8, 0.25), (16, 0.25), (24, 0.25)):
        figures = []
        for seed in (1, 2):
            request = CampaignRequest(epsilon=epsilon, mechanism="bloom", view=AllAttributes(), jointly=False)
            study = Study(simulate(table, make_campaign(table.domain, Terms(name="paper"), request), seed=seed))
            paper = study.pairs(method="em")
            cliques = [study.clique(pair) for pair in dependent]
            paper |= dict(zip(dependent, study.joints(cliques, Em(**TO_THE_END)), strict=True))
            design = plan(table.domain, people=len(table), epsilon=epsilon).best.design
            ours = Study(simulate(table, campaign_for(design, Everybody(table), epsilon), seed=seed)).pairs()
            for of in (pairs, dependent):
                figures.append([np.mean([joints[pair].avd(truth[pair]) for pair in of]) for joints in (ours, paper)])
        every, few = (np.mean([figures[i] for i in range(at, len(figures), 2)], axis=0) for at in (0, 1))
        print(
            f"  Adult, epsilon {epsilon}: planned {every[0]:.4f} / {few[0]:.4f}, paper's Bloom by em {every[1]:.4f} /"
            f" {few[1]:.4f}: {every[0] / every[1]:.2f} / {few[0] / few[1]:.2f} (asked {asked})",
            flush=True,
        )


def wide() -> None:
    domain = Domain(tuple(Categorical(name=f"a{i}", values=tuple(map(str, range(2 + i % 9)))) for i in range(50)))
    for epsilon in (1, 4, 8):
        start = time.perf_counter()
        best = plan(domain, people=50_000, epsilon=epsilon).best.design
        print(
            f"  50 attributes, epsilon {epsilon}: {best}, planned in {time.perf_counter() - start:.1f} s (asked 30)", flush=True
        )


def with_table() -> None:
    """The same grid against plans that were tried on the public table itself; errors are simulated anew where needed."""
    with open(RESULTS, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with open(RESULTS.with_name("planning_table.csv"), "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        head = ["table", "epsilon", "chosen", "chosen_error", "best", "best_error", "ratio", "marginals_ratio"]
        writer.writerow(head)
        for row in rows:
            table = sampled(row["table"])
            epsilon = int(row["epsilon"])
            design = plan(table.domain, people=len(table), epsilon=epsilon, population=Population.of_table(table)).best.design
            known = {row["chosen"]: float(row["chosen_error"]), row["best"]: float(row["best_error"])}
            error = known.get(str(design))
            if error is None:
                error = float(np.mean([pair for pair, _ in simulated(design, table, epsilon, (11, 12, 13))]))
            ratio = error / min(error, float(row["best_error"]))
            simulated_marginals = marginals_on(Everybody(table), design, table, epsilon, range(31, 31 + N_SEEDS))
            marginals = predicted_marginals(table, design, epsilon) / simulated_marginals
            figures = [f"{error:.5f}", row["best"], row["best_error"], f"{ratio:.5f}", f"{marginals:.5f}"]
            writer.writerow([row["table"], epsilon, str(design), *figures])
            print(
                f"  {row['table']:6} {epsilon:2}: tried on the table {design} {error:.4f}: {ratio:.2f} (asked 1.10); marginals"
                f" predicted / simulated {marginals:.2f} (asked 0.85-1.15)",
                flush=True,
            )


def sampled(name: str) -> Dataset:
    table = public_table(name)
    return table[np.sort(np.random.default_rng(5).permutation(len(table))[:N_PEOPLE])]


def main(what: list[str]) -> None:
    if not what or "wide" in what:
        wide()
    if not what or "paper" in what:
        against_the_paper()
    if not what or "grid" in what:
        n_plans = 0
        with open(RESULTS, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            head = ["table", "epsilon", "chosen", "chosen_error", "best", "best_error", "ratio"]
            head += ["predicted_marginals", "simulated_marginals", "marginals_ratio"]
            head += ["predicted_pairs", "simulated_pairs", "pairs_ratio", "uniform_pairs", "uniform_ratio", "independence_wins"]
            writer.writerow(head)
            for name in TABLES:
                for epsilon in EPSILONS:
                    n_plans = grid(name, epsilon, writer, n_plans)
                    file.flush()
        print(f"  {n_plans} plans in the grid (at most 300)", flush=True)
    if not what or "table" in what:
        with_table()


if __name__ == "__main__":
    main(sys.argv[1:])
