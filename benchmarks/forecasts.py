"""Are forecasts right? `python benchmarks/forecasts.py [questionnaires] [tables]`, both by default. Writes forecasts.csv and
forecasts_tables.csv in benchmarks/results.

questionnaires: 40 random ones, of 2 to 40 questions with 2 to 500 answers, each with one drawn epsilon (0.5 to 16) and headcount
(1,000 to 1,000,000). The design that the planner takes is simulated on the same reference population, five times.
tables: what is forecast for people like those of surveys, beside simulations of the same design on public tables (LOPUB_DATA).
"""

import csv
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from lopub import Categorical, Dataset, Domain, Population
from lopub.planning.outlook import crowd_of
from lopub.planning.planner import plan
from lopub.planning.trial import tried
from lopub.reports.catalogue import public_table

N_QUESTIONNAIRES = 40
N_SEEDS = 5
TABLES = ("adult", "tpce", "retail", "nltcs")
EPSILONS = (1, 2, 4, 8)
PEOPLE = 15_000
RESULTS = Path(__file__).parent / "results"


def questionnaire(rng: np.random.Generator) -> Domain:
    """Most questions have few answers; in some questionnaires a few have hundreds."""
    most = np.exp(rng.uniform(np.log(4), np.log(500)))
    sizes = np.exp(rng.uniform(np.log(2), np.log(most), rng.integers(2, 41))).round().astype(int)
    return Domain(
        tuple(
            Categorical(name=f"q{i:02}", values=tuple(map(str, range(size))))
            for i, size in enumerate(sizes)
        )
    )


def simulated(
    design, crowd: Population, people: int, epsilon: float, pairs, seeds
) -> tuple[float, float, int]:
    """Mean shares and pairs, and how many people were simulated."""
    runs = [
        tried(design, crowd, people=people, epsilon=epsilon, seed=seed, pairs=pairs)
        for seed in seeds
    ]
    return (
        float(np.mean([r.share_error for r in runs])),
        float(np.mean([r.pair_error for r in runs])),
        runs[0].n_people,
    )


def of_questionnaires(numbers: Iterable[int] = range(N_QUESTIONNAIRES)) -> Iterator[list]:
    head = [
        "number",
        "questions",
        "largest",
        "epsilon",
        "people",
        "design",
        "shares",
        "simulated_shares",
        "shares_ratio",
    ]
    yield [*head, "pairs", "simulated_pairs", "pairs_ratio", "planning_seconds"]
    for number in numbers:
        rng = np.random.default_rng([18, number])
        domain = questionnaire(rng)
        epsilon, people = (
            round(float(np.exp(rng.uniform(np.log(0.5), np.log(16)))), 2),
            int(10 ** rng.uniform(3, 6)),
        )
        start = time.process_time()
        found = plan(domain, people=people, epsilon=epsilon)
        seconds, pairs = time.process_time() - start, found.pairs[:: max(1, len(found.pairs) // 50)]
        shares, together, n = simulated(
            found.best.design, found.population, people, epsilon, pairs, range(1, 1 + N_SEEDS)
        )
        forecast = found.best.forecast
        if n < people:  # too many to be simulated: compared where they were
            found_there = next(
                one
                for one in found.planner.outlooks(epsilon, people)
                if one.design == found.best.design
            )
            forecast = found_there.at(n)
        chosen = np.isin(
            np.arange(len(found.pairs)),
            np.arange(len(found.pairs))[:: max(1, len(found.pairs) // 50)],
        )
        expected = (
            float(np.mean(forecast.pair_errors[chosen])) if len(found.pairs) else forecast.shares
        )
        together = together if len(found.pairs) else shares
        yield [number, len(domain), max(domain.sizes), epsilon, n, str(found.best.design), forecast.shares, shares,
               forecast.shares / shares, expected, together, expected / together, seconds]  # fmt: skip


def of_tables() -> Iterator[list]:
    yield [
        "table",
        "epsilon",
        "people",
        "design",
        "shares",
        "simulated_shares",
        "shares_ratio",
        "pairs",
        "simulated_pairs",
        "pairs_ratio",
    ]
    for name in TABLES:
        try:
            whole = public_table(name)
        except Exception as error:
            print(f"  {name}: {error}")
            continue
        table: Dataset = whole[np.sort(np.random.default_rng(5).permutation(len(whole))[:PEOPLE])]
        for epsilon in EPSILONS:
            found = plan(table.domain, people=len(table), epsilon=epsilon)
            pairs = crowd_of(found.population).pairs
            shares, together, _ = simulated(
                found.best.design, Population.of_table(table), len(table), epsilon, pairs, (1, 2, 3)
            )
            forecast = found.best.forecast
            yield [name, epsilon, len(table), str(found.best.design), forecast.shares, shares, forecast.shares / shares,
                   forecast.pairs, together, forecast.pairs / together]  # fmt: skip


def written(rows: Iterator[list], path: Path) -> list[list]:
    found = []
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for row in rows:
            shown = [f"{value:.5f}" if isinstance(value, float) else value for value in row]
            writer.writerow(shown)
            file.flush()
            print("  " + "  ".join(map(str, shown)), flush=True)
            found.append(row)
    return found[1:]


def main(what: list[str]) -> None:
    if not what or "questionnaires" in what:
        rows = written(of_questionnaires(), RESULTS / "forecasts.csv")
        for at, of in ((8, "shares"), (11, "pairs")):
            ratios = np.array([row[at] for row in rows])
            within = ((ratios >= 0.75) & (ratios <= 1.33)).mean()
            print(f"  {of}: median {np.median(ratios):.3f} (asked 0.9-1.1), {100 * within:.1f} % within 0.75-1.33 (asked 95 %),"
                  f" from {ratios.min():.2f} to {ratios.max():.2f}")  # fmt: skip
    if not what or "tables" in what:
        written(of_tables(), RESULTS / "forecasts_tables.csv")


if __name__ == "__main__":
    main(sys.argv[1:])
