"""How often the alarms see fakes: every design and kind of fake, 1, 2 and 5 % of them, over some campaigns each.

`python benchmarks/alarms.py [--campaigns C] [--reports N]` writes benchmarks/results/alarms.csv. Power is the share of
campaigns in which any alarm came; notices do not count.
"""

import argparse
import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import fakes
from lopub.forecast.alarms import alarms_of

RESULTS = Path(__file__).parent / "results" / "alarms.csv"
SHARES = (0.01, 0.02, 0.05)


def power(design: str, kind: str, share: float, n_reports: int, n_campaigns: int) -> float:
    target, seen = fakes.campaign(design), 0
    for seed in range(n_campaigns):
        found = alarms_of(fakes.mixed(target, kind, n_reports, share, seed))
        seen += any(not alarm.is_notice for alarm in found)
    return seen / n_campaigns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=50)
    parser.add_argument("--reports", type=int, default=10_000)
    asked = parser.parse_args()
    rows = []
    for design in fakes.DESIGNS:
        for kind in fakes.KINDS:
            if fakes.is_possible(kind, fakes.campaign(design)):
                powers = {f"power_{share:.0%}": power(design, kind, share, asked.reports, asked.campaigns) for share in SHARES}
                rows.append({"design": design, "fakes": kind, "reports": asked.reports, "campaigns": asked.campaigns, **powers})
                print(rows[-1], flush=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
