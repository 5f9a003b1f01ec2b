"""What fake reports move in practice: the made-up alumni, every mechanism, fakes that choose their outputs and views.

`python benchmarks/poisoning.py` writes results/poisoning.csv; with `page` it only puts that table's figures into
docs/threats.md. An attack lifts the rarest cell, or sinks the most frequent one.
Every fake has the view in which it weighs most, and says for (against) the cell either what the linear estimate rewards most, or
that one candidate and nothing besides; the worse of the two counts. A shift is the estimate with fakes less the one without, in
the direction of the attack. `bound` holds whatever the honest reports say, `mean_bound` on average over their noise; `liars`
are as many people who answer falsely, but follow the protocol; `warned` says whether the views gave the fakes away.
"""

import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from lopub import (
    AllAttributes,
    Campaign,
    CampaignRequest,
    Dataset,
    Fill,
    Report,
    ReportBatch,
    Sample,
    Terms,
    count,
    make_campaign,
    simulate,
)
from lopub.bulk.codes import code_matrix
from lopub.campaign.domain import Clique
from lopub.campaign.mechanisms import Channel
from lopub.campaign.report import mask_of, pack
from lopub.estimation.moments import MomentEquations
from lopub.planning.coverage import odd_coverage
from lopub.planning.honest_views import drawn_views
from lopub.planning.poisoning import poisoning_bound, reach
from lopub.queries import Study
from lopub.reports.catalogue import ALUMNI

N_PEOPLE = 20_000
SHARES = (0.001, 0.01, 0.05)
METHODS = ("moments", "em", "shrunk")
CLIQUES = (("income",), ("education", "income"))
RESULTS = Path(__file__).parent / "results" / "poisoning.csv"
PAGE = Path(__file__).parent.parent / "docs" / "threats.md"
BEGIN, END = "<!-- made by benchmarks/poisoning.py -->", "<!-- end -->"
FIELDS = (
    *(
        "mechanism",
        "view",
        "randomize",
        "epsilon",
        "attributes",
        "attack",
        "fake_share",
        "true_share",
    ),
    *(
        "bound",
        "mean_bound",
        "linear",
        *METHODS,
        "liars_bound",
        *(f"liars_{method}" for method in METHODS),
        "warned",
    ),
)
REQUESTS = [
    CampaignRequest(epsilon=4, mechanism="direct", view=Sample(2), jointly=True),
    CampaignRequest(epsilon=4, mechanism="subset", view=Sample(2), jointly=True),
    CampaignRequest(epsilon=4, mechanism="unary", view=Sample(2), jointly=True),
    CampaignRequest(epsilon=4, mechanism="direct", view=Sample(2), jointly=False),
    CampaignRequest(epsilon=4, mechanism="subset", view=Sample(2), jointly=False),
    CampaignRequest(epsilon=4, mechanism="unary", view=Sample(2), jointly=False),
    CampaignRequest(epsilon=1, mechanism="subset", view=Sample(2), jointly=True),
    CampaignRequest(epsilon=8, mechanism="direct", view=Fill(496), jointly=True),
    CampaignRequest(epsilon=8, mechanism="subset", view=Sample(3), jointly=True),
    CampaignRequest(
        flip_probability=0.5,
        mechanism="bloom",
        n_bits=64,
        n_hashes=4,
        view=AllAttributes(),
        jointly=False,
    ),
    CampaignRequest(
        flip_probability=0.9,
        mechanism="bloom",
        n_bits=64,
        n_hashes=4,
        view=AllAttributes(),
        jointly=False,
    ),
]

# ---- fakes


def aimed_view(campaign: Campaign, clique: Clique) -> Clique:
    """Where a fake weighs most: its weight times how far it reaches."""
    reaches = {
        view: reach(campaign, clique, view)
        for view in drawn_views(campaign)
        if set(clique) <= set(view)
    }
    return max(
        reaches, key=lambda view: (reaches[view].weight * float(reaches[view].high.max()), view)
    )


def aimed_bits(channel: Channel, cells: np.ndarray, whole: bool) -> np.ndarray:
    """Bits for these candidates of a block: all that the linear estimate rewards, or those of one candidate."""
    law = channel.law()
    if law.rows is None:
        return np.isin(np.arange(law.n_bits), cells if whole else cells[:1])
    if whole:
        return np.linalg.pinv(code_matrix(law).T)[cells].sum(axis=0) > 0
    return np.isin(np.arange(law.n_bits), law.rows[cells[0]])


def aimed_output(
    channel: Channel, cells: np.ndarray, up: bool, whole: bool, rng: np.random.Generator
) -> int:
    """An output that speaks for the cells of a block, or against them."""
    others = np.setdiff1d(np.arange(channel.n_candidates), cells)
    wanted, rest = (cells, others) if up else (others, cells)
    if hasattr(channel, "value"):  # hashed: a function, and where it sends one of them
        function = int(rng.integers(channel.n_functions))
        return channel.output(
            function * channel.n_values + channel.value(function, int(rng.choice(wanted)))
        )
    if hasattr(channel, "output"):  # direct
        return channel.output(int(rng.choice(wanted)))
    if channel.n_ones is not None:
        order = [*rng.permutation(wanted), *rng.permutation(rest)]
        return sum(1 << int(i) for i in order[: channel.n_ones])
    bits = aimed_bits(channel, cells, whole)
    return sum(1 << int(i) for i in np.flatnonzero(bits if up else ~bits))


def careless_output(channel: Channel, rng: np.random.Generator) -> int:
    """An output of a block that is not aimed at: noise."""
    if hasattr(channel, "output"):
        return channel.output(int(rng.integers(channel.n_candidates)))
    if channel.n_ones is not None:
        return sum(
            1 << int(i) for i in rng.choice(channel.n_candidates, channel.n_ones, replace=False)
        )
    return sum(
        1 << int(i) for i in np.flatnonzero(rng.random(channel.width) < float(channel.law().q))
    )


def fakes(
    campaign: Campaign, clique: Clique, cell: tuple[int, ...], up: bool, whole: bool, n: int
) -> ReportBatch:
    """n fakes with one view. To sink a pair of separate answers, its first is asserted and its second denied."""
    view, rng, sizes = aimed_view(campaign, clique), np.random.default_rng(7), campaign.domain.sizes
    blocks = [view] if campaign.jointly else [(position,) for position in view]
    mask = mask_of(view, campaign.mask_bytes) if campaign.view.masked else b""
    reports = []
    for _ in range(n):
        outputs = []
        for block, channel in zip(blocks, campaign.channels(view), strict=True):
            if not set(block) & set(clique):
                outputs.append(careless_output(channel, rng))
                continue
            grid = np.zeros([sizes[position] for position in block], dtype=bool)
            grid[tuple(cell[clique.index(p)] if p in clique else slice(None) for p in block)] = True
            asserted = up or (not campaign.jointly and len(clique) > 1 and block[0] == clique[0])
            outputs.append(aimed_output(channel, np.flatnonzero(grid), asserted, whole, rng))
        payload = pack(outputs, campaign.channels(view))
        reports.append(
            Report(campaign=campaign.prefix, id=rng.bytes(16), slot=0, mask=mask, payload=payload)
        )
    Report.from_bytes(reports[0].to_bytes(), campaign)
    return ReportBatch.from_reports(reports, campaign)


# ---- estimates


def linear(batch: ReportBatch, clique: Clique) -> np.ndarray:
    """Before the simplex: the mean of debiased bits, or of their products, over the reports that cover the clique."""
    if batch.campaign.jointly:
        return MomentEquations(count(batch))._linear(clique)
    rows = [batch.rows_of(i) for i, view in enumerate(batch.views) if set(clique) <= set(view)]
    counts = count(batch[np.sort(np.concatenate(rows))])
    moments, (noise,) = MomentEquations(counts), counts.noises(clique)
    means = (
        moments._debiased(clique[0], noise)[1:]
        if len(clique) == 1
        else moments._co_occurrences(*clique, noise)[1:, 1:]
    )
    for axis, position in enumerate(clique):
        channel = batch.campaign.mechanism.channel(
            (batch.campaign.domain.attributes[position],), noise
        )
        if channel.law().rows is not None:
            means = np.moveaxis(
                np.tensordot(np.linalg.pinv(code_matrix(channel.law()).T), means, axes=(1, axis)),
                0,
                axis,
            )
    return means


def estimates(batch: ReportBatch, clique: Clique, cell: tuple[int, ...]) -> dict[str, float]:
    study = Study(batch)
    names = [batch.campaign.domain.names[position] for position in clique]
    found = {method: float(study.estimate(names, method).probabilities[cell]) for method in METHODS}
    return {"linear": float(linear(batch, clique)[cell]), **found}


# ---- the table


def attacked(
    campaign: Campaign, people: Dataset, names: tuple[str, ...], up: bool
) -> list[dict[str, object]]:
    clique = tuple(sorted(people.domain.positions(names)))
    truth = people.counts([people.domain.names[position] for position in clique]) / len(people)
    cell = np.unravel_index(int(np.argmin(truth) if up else np.argmax(truth)), truth.shape)
    cell = tuple(int(code) for code in cell)
    honest, sign = simulate(people, campaign, seed=1), 1 if up else -1
    before = estimates(honest, clique, cell)
    rows = []
    for share in SHARES if up else SHARES[1:2]:
        n_fake = round(share / (1 - share) * len(people))
        ways = [
            ReportBatch.concatenated([honest, fakes(campaign, clique, cell, up, whole, n_fake)])
            for whole in (True, False)
        ]
        after = [
            estimates(batch, clique, cell)
            for batch in ways[: 2 if campaign.mechanism.name in ("unary", "bloom") else 1]
        ]
        shifts = {
            method: max(sign * (own[method] - before[method]) for own in after) for method in before
        }
        lied = lying(people, clique, cell, up, n_fake)
        falsely = estimates(
            ReportBatch.concatenated([honest, simulate(lied, campaign, seed=2)]), clique, cell
        )
        sizes = {"n_reports": len(people), "n_fake": n_fake}
        own = {
            "attributes": " ".join(names), "attack": "lift" if up else "sink", "fake_share": share,
            "true_share": round(float(truth[cell]), 4), "bound": poisoning_bound(campaign, names, **sizes),
            "mean_bound": poisoning_bound(campaign, names, **sizes, share=float(truth[cell])),
            **shifts, "liars_bound": n_fake / (n_fake + len(people)) * (1 - truth[cell] if up else truth[cell]),
            **{f"liars_{method}": sign * (falsely[method] - before[method]) for method in METHODS},
            "warned": bool(odd_coverage(count(ways[0]))),
        }  # fmt: skip
        rows.append(
            {
                key: round(value, 4) if isinstance(value, float) else value
                for key, value in own.items()
            }
        )
    return rows


def lying(people: Dataset, clique: Clique, cell: tuple[int, ...], up: bool, n: int) -> Dataset:
    """More people of the same kind who all give (none of whom gives) the cell as their answer."""
    codes = ALUMNI.people(n, seed=5).codes.copy()
    for position, code in zip(clique, cell, strict=True):
        codes[:, position] = code if up else (code + 1) % people.domain.sizes[position]
    return Dataset(people.domain, codes)


def page_table() -> str:
    """The rows of docs/threats.md: one percent of fakes that lift a cell, from the csv alone."""
    with open(RESULTS, newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if row["fake_share"] == "0.01" and row["attack"] == "lift"
        ]
    lines = [
        "| mechanism, view, randomized | epsilon | cell of | bound | linear | default | liars | warned |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        what = "an attribute" if " " not in row["attributes"] else "a pair"
        how = f"`{row['mechanism']}`, {row['view']}, {row['randomize']}"
        figures = (
            f"{min(float(row[key]), 9.99):.3f}"
            for key in ("bound", "linear", "shrunk", "liars_bound")
        )
        lines.append(
            f"| {how} | {row['epsilon']} | {what} | {' | '.join(figures)} | {'yes' if row['warned'] == 'True' else 'no'} |"
        )
    return "\n".join(lines)


def write_page() -> None:
    """Put the table where the page has it."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{page_table()}\n{END}{rest.partition(END)[2]}")


def measure() -> None:
    warnings.simplefilter("ignore")
    people = ALUMNI.people(N_PEOPLE, seed=1)
    with open(RESULTS, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for request in REQUESTS:
            campaign = make_campaign(people.domain, Terms(name="alumni"), request)
            own = {
                "mechanism": campaign.mechanism.name, "view": str(campaign.view), "epsilon": round(campaign.epsilon, 2),
                "randomize": "jointly" if campaign.jointly else "separately",
            }  # fmt: skip
            for names in CLIQUES:
                began = time.perf_counter()
                for up in (True, False):
                    for row in attacked(campaign, people, names, up):
                        writer.writerow(own | row)
                print(*own.values(), *names, f"{time.perf_counter() - began:.0f} s", flush=True)
                file.flush()


if __name__ == "__main__":
    if sys.argv[1:] != ["page"]:
        measure()
    write_page()
