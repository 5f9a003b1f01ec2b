"""How often the alarms see fakes: every mechanism, several views, budgets and sizes, every kind of fake, 1, 2 and 5 % of them.

`python benchmarks/alarms.py [DESIGN …] [--campaigns C] [--reports N …]` writes benchmarks/results/alarms.csv: power is the share
of campaigns in which any alarm came, notices apart; share 0 are honest campaigns, so that what comes there is false. What is
measured replaces its rows and leaves the others; `page` only puts the table's figures into docs/threats.md.
"""

import argparse
import csv
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import fakes
from lopub import (
    AllAttributes,
    Campaign,
    CampaignRequest,
    Fill,
    Listed,
    Report,
    ReportBatch,
    Sample,
    Terms,
    make_campaign,
)
from lopub.campaign.report import pack
from lopub.planning.alarms import alarms_of
from poisoning import aimed_output

RESULTS = Path(__file__).parent / "results" / "alarms.csv"
PAGE = Path(__file__).parent.parent / "docs" / "threats.md"
BEGIN, END = "<!-- made by benchmarks/alarms.py -->", "<!-- end of alarms -->"
SHARES = (0.01, 0.02, 0.05)
LISTED = Listed.of(
    fakes.DOMAIN,
    [(fakes.DOMAIN.names[:3], 3), (fakes.DOMAIN.names[2:5], 2), (fakes.DOMAIN.names[5:], 1)],
)
REQUESTS = [
    *(
        CampaignRequest(epsilon=epsilon, mechanism="direct", view=Sample(2), jointly=True)
        for epsilon in (1, 2, 4)
    ),
    CampaignRequest(epsilon=2, mechanism="direct", view=Sample(1), jointly=False),
    CampaignRequest(epsilon=4, mechanism="direct", view=Fill(200), jointly=True),
    CampaignRequest(epsilon=4, mechanism="direct", view=AllAttributes(), jointly=False),
    *(
        CampaignRequest(epsilon=epsilon, mechanism="subset", view=Sample(2), jointly=True)
        for epsilon in (1, 2, 4)
    ),
    CampaignRequest(epsilon=2, mechanism="subset", view=Sample(1), jointly=False),
    CampaignRequest(epsilon=4, mechanism="subset", view=Sample(3), jointly=True),
    CampaignRequest(epsilon=2, mechanism="subset", view=LISTED, jointly=True),
    *(
        CampaignRequest(epsilon=epsilon, mechanism="unary", view=Sample(2), jointly=True)
        for epsilon in (1, 2, 4)
    ),
    *(
        CampaignRequest(epsilon=epsilon, mechanism="unary", view=Sample(2), jointly=False)
        for epsilon in (2, 4)
    ),
    CampaignRequest(epsilon=8, mechanism="unary", view=AllAttributes(), jointly=False),
    *(
        CampaignRequest(epsilon=epsilon, mechanism="hashed", view=Sample(2), jointly=True)
        for epsilon in (1, 2, 4)
    ),
    CampaignRequest(epsilon=4, mechanism="hashed", view=Sample(4), jointly=True),
    *(
        CampaignRequest(flip_probability=flip, mechanism="bloom", view=AllAttributes())
        for flip in ("0.5", "0.9")
    ),
    CampaignRequest(flip_probability="0.5", mechanism="bloom", view=Sample(2)),
]


# ---- fakes


def aimed(target: Campaign, n: int, seed: int) -> ReportBatch:
    """What speaks most for the last answer of every question, without noise; in views that were drawn."""
    rng = np.random.default_rng(seed)
    drawn = fakes.honest(target, n, seed)
    return ReportBatch.from_reports(
        [_aimed(drawn.report(i), target, rng) for i in range(n)], target
    )


def _aimed(report: Report, target: Campaign, rng: np.random.Generator) -> Report:
    channels = target.channels(report.view(target))
    outputs = [
        aimed_output(channel, np.array([channel.n_candidates - 1]), True, False, rng)
        for channel in channels
    ]
    raw = report.to_bytes()
    payload = pack(outputs, channels)
    return Report.from_bytes(raw[: len(raw) - len(payload)] + payload, target)


def everything(target: Campaign, n: int, seed: int) -> ReportBatch:
    """What speaks for all answers at once: all ones, or the function that sends every answer to 0; in views that were drawn."""
    if fakes.is_possible("all ones", target):
        return fakes.all_ones(target, n, seed)
    drawn = fakes.honest(target, n, seed)
    raws = (drawn.report(i) for i in range(n))
    return ReportBatch.from_reports(
        [Report.from_bytes(_zeroed(report), target) for report in raws], target
    )


def _zeroed(report: Report) -> bytes:
    raw = report.to_bytes()
    return raw[: len(raw) - len(report.payload)] + bytes(len(report.payload))


def aimed_in_one_view(target: Campaign, n: int, seed: int) -> ReportBatch:
    """The same as `aimed`, all in the view of the last attributes."""
    drawn, rng = fakes.chosen_view(target, n, seed), np.random.default_rng(seed)
    return ReportBatch.from_reports(
        [_aimed(drawn.report(i), target, rng) for i in range(len(drawn))], target
    )


KINDS = {
    "proper noise, one view": fakes.chosen_view,
    "no noise, one view": aimed_in_one_view,
    "no noise, drawn views": aimed,
    "everything at once": everything,
    "one output again and again": fakes.one_payload,
    "outputs of others once more": fakes.copies,
    "lies with proper noise": fakes.liars,
}


def is_possible(kind: str, target: Campaign) -> bool:
    """Whether there are views to choose from, and outputs that speak for everything."""
    if kind.endswith("one view"):
        return target.view.masked
    return (
        kind != "everything at once"
        or fakes.is_possible("all ones", target)
        or target.mechanism.name == "hashed"
    )


# ---- the table


def named(target: Campaign) -> str:
    how = "jointly" if target.jointly else "separately"
    return f"{target.mechanism.name}, {target.view}, {how}, epsilon {target.epsilon:.3g}"


def rows_of(target: Campaign, n: int, n_campaigns: int) -> Iterator[dict[str, Any]]:
    """One row for each kind and share. Honest people of a campaign are the same whatever the fakes."""
    sizes = {"design": named(target), "reports": n, "campaigns": n_campaigns}
    crowds = [fakes.honest(target, n, seed) for seed in range(n_campaigns)]
    yield sizes | {"fakes": "none", "share": 0.0, "power": _power(crowds)}
    for kind in (kind for kind in KINDS if is_possible(kind, target)):
        sent = [
            KINDS[kind](target, math.ceil(n * max(SHARES)), seed + 10**6)
            for seed in range(n_campaigns)
        ]
        for share in SHARES:
            k = round(n * share)
            mixed = [
                ReportBatch.concatenated([crowd[: n - k], batch[:k]])
                for crowd, batch in zip(crowds, sent, strict=True)
            ]
            yield sizes | {"fakes": kind, "share": share, "power": _power(mixed)}


def _power(batches: list[ReportBatch]) -> float:
    return sum(any(not alarm.is_notice for alarm in alarms_of(batch)) for batch in batches) / len(
        batches
    )


def found_rows() -> list[dict[str, Any]]:
    """What earlier runs found."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


# ---- the page


def page_table() -> str:
    """By kind of fake and number of reports: the lowest and the highest power over the designs of a mechanism; mechanisms with
    the same figures share a row."""
    rows = found_rows()
    sizes, shares = sorted({int(row["reports"]) for row in rows}), [str(share) for share in SHARES]
    heads = [f"{float(share):.0%} of {n:,}" for n in sizes for share in shares]
    lines = ["| fakes | mechanism | " + " | ".join(heads) + " |", "|---" * (2 + len(heads)) + "|"]
    for kind in KINDS:
        alike: dict[str, list[str]] = {}
        for mechanism in dict.fromkeys(row["design"].partition(",")[0] for row in rows):
            own = [
                row for row in rows if row["fakes"] == kind and row["design"].startswith(mechanism)
            ]
            cells = (
                _range([row for row in own if (int(row["reports"]), row["share"]) == (n, s)])
                for n in sizes
                for s in shares
            )
            if own:
                alike.setdefault(" | ".join(cells), []).append(f"`{mechanism}`")
        lines += [f"| {kind} | {', '.join(names)} | {cells} |" for cells, names in alike.items()]
    return "\n".join(lines)


def _range(rows: list[dict[str, Any]]) -> str:
    low, high = (round(100 * choose(float(row["power"]) for row in rows)) for choose in (min, max))
    return f"{low} %" if low == high else f"{low} to {high} %"


def write_page() -> None:
    """Put the table where the page has it."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{page_table()}\n{END}{rest.partition(END)[2]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "designs",
        nargs="*",
        help="words of their names, as in 'subset, sample:2'; all of them if none is given",
    )
    parser.add_argument("--campaigns", type=int, default=40)
    parser.add_argument("--reports", type=int, nargs="*", default=[10_000, 50_000])
    asked = parser.parse_args()
    if asked.designs != ["page"]:
        measure(asked.designs, asked.reports, asked.campaigns)
    write_page()


def measure(words: list[str], sizes: list[int], n_campaigns: int) -> None:
    targets = [make_campaign(fakes.DOMAIN, Terms(name="alarms"), request) for request in REQUESTS]
    order = [named(target) for target in targets]
    chosen = [each for each in targets if not words or any(word in named(each) for word in words)]
    rows = []
    for target in chosen:
        for n in sizes:
            for row in rows_of(target, n, n_campaigns):
                rows.append(row)
                print(*row.values(), flush=True)
    now = {(row["design"], row["reports"]) for row in rows}
    rows += [
        row
        for row in found_rows()
        if row["design"] in order and (row["design"], int(row["reports"])) not in now
    ]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(
            file, ["design", "reports", "campaigns", "fakes", "share", "power"], lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(
            sorted(rows, key=lambda row: (order.index(row["design"]), int(row["reports"])))
        )


if __name__ == "__main__":
    main()
