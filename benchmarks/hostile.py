"""What slow clients cost honest ones: throughput and p99 undisturbed and under attack, in turn, in one run; so only ratios count.

`python benchmarks/hostile.py [--seconds S] [--rounds R] [--together]` starts `lopub serve` as its own process, honest senders as
another, and as a third the slow ones, which come back whenever they are cut. Writes benchmarks/results/hostile.csv: medians of
the rounds. `cores_for_the_slow` is the collector's own CPU time beyond what its honest reports cost it undisturbed: what other
programs take of the machine, the attackers among them, is not in it. Attackers have machines of their own, so the collector has a
core of its own here, and everybody else shares the others; `--together` lets them all share all cores.
"""

import argparse
import csv
import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import hostile
from lopub import Campaign
from lopub.collector.campaigns import open_campaign
from lopub.collector.database import store_at
from servers import Running, running_collector
from service import campaign, measured

RESULTS = Path(__file__).parent / "results" / "hostile.csv"
N_SLOW = 2000
PER_REQUEST = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--together", action="store_true")
    asked = parser.parse_args()
    target, rows = campaign(), []
    with tempfile.TemporaryDirectory() as directory:
        address = f"sqlite:///{directory}/lopub.db"
        store = store_at(address)
        open_campaign(store, target)
        store.close()
        with running_collector(address) as running:
            if not asked.together:
                set_apart(running)
            looked_at(
                running, target, asked.seconds
            )  # the first seconds are slower, and would flatter what comes after them
            for _ in range(asked.rounds):
                calm = looked_at(running, target, asked.seconds)
                with hostile.attacked(running.port, hostile.slow(N_SLOW)):
                    stormy = looked_at(running, target, asked.seconds)
                rows.append({"slow_connections": N_SLOW, **ratios(calm, stormy)})
                print(rows[-1], flush=True)
    whole = {name: round(statistics.median(row[name] for row in rows), 3) for name in rows[0]}
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(whole), lineterminator="\n")
        writer.writeheader()
        writer.writerow(whole)


def set_apart(running: Running) -> None:
    """The collector on the last core, whoever is started from now on on the others."""
    *others, last = sorted(os.sched_getaffinity(0))
    running.keep_to(last)
    os.sched_setaffinity(0, others or [last])


def cpu_seconds(running: Running) -> float:
    """What the collector has used so far."""
    fields = Path(f"/proc/{running.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def looked_at(running: Running, target: Campaign, seconds: float) -> dict[str, float]:
    """What honest senders get, and what the collector spends meanwhile."""
    before = cpu_seconds(running)
    found = measured(running, target, PER_REQUEST, seconds)
    spent = cpu_seconds(running) - before
    return found | {"cores": spent / seconds}


def ratios(calm: dict[str, float], stormy: dict[str, float]) -> dict[str, float]:
    throughput = stormy["reports_per_second"] / calm["reports_per_second"]
    return {
        "throughput_ratio": throughput,
        "p50_ratio": stormy["p50_ms"] / calm["p50_ms"],
        "p99_ratio": stormy["p99_ms"] / calm["p99_ms"],
        "reports_per_second_undisturbed": calm["reports_per_second"],
        "p99_ms_undisturbed": calm["p99_ms"],
        "cores_undisturbed": calm["cores"],
        "cores_attacked": stormy["cores"],
        "cores_for_the_slow": stormy["cores"] - throughput * calm["cores"],
    }


if __name__ == "__main__":
    main()
