"""`hashed` beside `subset`: the variance of an estimated cell and the bytes of a report, over the cells and epsilon.

The variance is that of the estimated share of a cell that nobody has, times the number of reports: in closed form,
q (1 - q) / (p - q)^2, and simulated, over groups of reports. Asked: at most 1.07 times that of `subset` from 200 cells on. Writes
benchmarks/results/hashed.csv. `python benchmarks/hashed.py`.
"""

import csv
from decimal import Decimal
from pathlib import Path

import numpy as np

from lopub.bulk import Bulk
from lopub.campaign.mechanisms import Channel
from lopub.campaign.mechanisms.hashed import HashedChannel
from lopub.campaign.mechanisms.subset import SubsetChannel
from lopub.planning.budgets import odds_for

N_CELLS = (200, 2_500, 10_000, 60_000)
EPSILONS = ("0.5", "1", "2", "3")
GROUP = 100
"""Reports of one estimate."""
SIMULATED_BITS = 2**24
FEWEST_GROUPS = 4
MOST_RATIO = 1.07
SEED = 20_180_301
RESULTS = Path(__file__).parent / "results"


def variance(channel: Channel) -> float:
    """In closed form, of one report."""
    law = channel.law()
    return float(law.q * (1 - law.q) / (law.p - law.q) ** 2)


def simulated_variance(name: str, channel: Channel) -> float:
    """Of one report: the mean square of what is estimated for cells that nobody has. Everybody is in the middle one."""
    bulk, law, source = Bulk.known[name], channel.law(), np.random.SFC64(SEED)
    middle, squares = channel.n_candidates // 2, []
    for _ in range(max(FEWEST_GROUPS, SIMULATED_BITS // (GROUP * channel.n_candidates))):
        payloads = bulk.payloads((channel,), [np.full(GROUP, middle)], source)
        ones = np.delete(bulk.bits((channel,), 0, payloads).sum(axis=0, dtype=np.int64), middle)
        squares.append(float(np.mean(((ones / GROUP - float(law.q)) / float(law.p - law.q)) ** 2)))
    return GROUP * float(np.mean(squares))


def row_of(n_cells: int, epsilon: str) -> dict[str, str]:
    odds = odds_for(Decimal(epsilon), 1)
    hashed, subset = HashedChannel(n_cells, odds), SubsetChannel(n_cells, odds)
    own, other = simulated_variance("hashed", hashed), simulated_variance("subset", subset)
    return {
        "cells": str(n_cells),
        "epsilon": epsilon,
        "values": str(hashed.n_values),
        "digits": str(hashed.n_digits),
        "variance_hashed": f"{variance(hashed):.4f}",
        "variance_subset": f"{variance(subset):.4f}",
        "ratio": f"{variance(hashed) / variance(subset):.4f}",
        "simulated_hashed": f"{own:.4f}",
        "simulated_subset": f"{other:.4f}",
        "simulated_ratio": f"{own / other:.4f}",
        "payload_bytes_hashed": str(hashed.n_bytes),
        "payload_bytes_subset": str((n_cells + 7) // 8),
    }


def main() -> None:
    rows = [row_of(n_cells, epsilon) for n_cells in N_CELLS for epsilon in EPSILONS]
    with (RESULTS / "hashed.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print(" ".join(f"{value:>10}" for value in row.values()))
    worst = max(float(row["ratio"]) for row in rows)
    print(f"at most {worst:.4f} times the variance of `subset`; asked are {MOST_RATIO}")


if __name__ == "__main__":
    main()
