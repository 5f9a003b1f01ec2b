"""Error of pairs over people and epsilon, as planned for the made-up alumni: a figure for docs/choosing.md.

`python benchmarks/curves.py` writes benchmarks/results/curves.csv and docs/pictures/curves.svg. Every point is the planner's
forecast for the population itself.
"""

import csv
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from lopub import Population, plan
from lopub.reports.catalogue import ALUMNI

HERE = Path(__file__).parent
PEOPLE = (1_000, 3_000, 10_000, 30_000, 100_000)
EPSILONS = (1, 2, 4, 8)


def main() -> None:
    crowd = Population.of_table(ALUMNI.people(100_000, seed=1))
    rows = []
    for epsilon in EPSILONS:
        for people in PEOPLE:
            found = plan(crowd.domain, people=people, epsilon=epsilon, population=crowd)
            forecast = found.best.forecast
            rows.append(
                (
                    epsilon,
                    people,
                    str(found.best.design),
                    found.error,
                    forecast.blind,
                    forecast.shares,
                )
            )
            print(
                f"  epsilon {epsilon}, {people:,} people: {found.best.design}, pairs {found.error:.4f}",
                flush=True,
            )
    with open(HERE / "results" / "curves.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["epsilon", "people", "choice", "pairs", "independence", "shares"])
        writer.writerows([*row[:3], *(f"{value:.5f}" for value in row[3:])] for row in rows)
    with mpl.rc_context(
        {
            "svg.hashsalt": "lopub",
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    ):
        figure = Figure(figsize=(5.5, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for epsilon in EPSILONS:
            own = [(people, error) for e, people, _, error, *_ in rows if e == epsilon]
            axes.loglog(*zip(*own, strict=True), "o-", label=f"epsilon {epsilon}")
        axes.set(xlabel="people", ylabel="mean AVD of pairs")
        axes.legend(frameon=False)
        figure.savefig(
            HERE.parent / "docs" / "pictures" / "curves.svg",
            metadata={"Date": None, "Creator": None},
        )


if __name__ == "__main__":
    main()
