"""What slow clients cost honest ones: throughput and p99 undisturbed and under attack, in turn, in one run; so only ratios count.

`python benchmarks/hostile.py [--seconds S] [--rounds R]` starts `lopub serve` as its own process, honest senders as
another, and as a third the slow ones, which come back whenever they are cut. Writes benchmarks/results/hostile.csv.
"""

import argparse
import csv
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import hostile
from lopub.service.campaigns import open_campaign
from lopub.service.database import store_at
from servers import running_collector
from service import campaign, measured

RESULTS = Path(__file__).parent / "results" / "hostile.csv"
N_SLOW = 2000
PER_REQUEST = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    target, rows = campaign(), []
    with tempfile.TemporaryDirectory() as directory:
        address = f"sqlite:///{directory}/lopub.db"
        store = store_at(address)
        open_campaign(store, target)
        store.close()
        with running_collector(address) as running:
            for _ in range(asked.rounds):
                calm = measured(running, target, PER_REQUEST, asked.seconds)
                with hostile.attacked(running.port, hostile.slow(N_SLOW)):
                    stormy = measured(running, target, PER_REQUEST, asked.seconds)
                rows.append({"slow_connections": N_SLOW, **ratios(calm, stormy)})
                print(rows[-1], flush=True)
    whole = {name: round(statistics.median(row[name] for row in rows), 3) for name in rows[0]}
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(whole), lineterminator="\n")
        writer.writeheader()
        writer.writerow(whole)


def ratios(calm: dict[str, float], stormy: dict[str, float]) -> dict[str, float]:
    return {
        "throughput_ratio": stormy["reports_per_second"] / calm["reports_per_second"],
        "p50_ratio": stormy["p50_ms"] / calm["p50_ms"],
        "p99_ratio": stormy["p99_ms"] / calm["p99_ms"],
        "reports_per_second_undisturbed": calm["reports_per_second"],
        "p99_ms_undisturbed": calm["p99_ms"],
    }


if __name__ == "__main__":
    main()
