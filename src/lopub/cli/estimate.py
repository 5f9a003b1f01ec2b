"""`lopub estimate`: the joint distribution of some attributes, with intervals."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from lopub.cli.console import note, out, print_json, say, table, working
from lopub.cli.count import read_data
from lopub.contract.campaign import Campaign
from lopub.errors import StoreError
from lopub.inference import METHODS
from lopub.inference import estimate as estimated
from lopub.inference.joint import JointDistribution, interval


def estimate(
    campaign_file: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="The campaign file.", show_default=False)],
    reports_file: Annotated[Path, typer.Argument(metavar="REPORTS", help="Reports, or their counts.", show_default=False)],
    attributes: Annotated[str, typer.Option("--attributes", "-a", metavar="A,B,…", help="Which ones.", show_default=False)],
    method: Annotated[str, typer.Option(metavar="M", help=f"One of {', '.join(METHODS)}.")] = "shrunk",
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write all cells as csv.")] = None,
    top: Annotated[int, typer.Option(metavar="N", help="How many cells to print, the largest first.", min=1)] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")] = False,
) -> None:
    """Estimate the joint distribution of some attributes from noisy reports alone, with 95 % intervals.

    Example: `lopub estimate campaign.json reports.parquet --attributes age,income -o joint.csv`
    """
    if output is not None and output.exists() and not force:
        raise StoreError(f"{output} exists already; choose another name or use --force")
    names = [name.strip() for name in attributes.split(",") if name.strip()]
    campaign = Campaign.load(campaign_file)
    data = read_data(reports_file, campaign)
    with working(f"estimating {', '.join(names)}"):
        joint = estimated(data, names, method)
    if output is not None:
        joint.save(output, force=force)
    if as_json:
        print_json(described(joint))
    else:
        print_joint(joint, top)
    if output is not None:
        (note if as_json else say)(f"written: {output}")


def described(joint: JointDistribution) -> dict[str, Any]:
    """The estimate for programs."""
    fit = joint.fit
    rows = joint.rows()
    return {
        "attributes": list(joint.names),
        "method": fit.method,
        "n_reports": fit.n_reports,
        "converged": fit.converged,
        "n_evaluations": fit.n_evaluations,
        "gain": fit.gain,
        "strength": "product" if fit.strength is not None and np.isinf(fit.strength) else fit.strength,
        "identified": fit.identified,
        "mutual_information": joint.mutual_information(),
        "cells": [
            {"values": list(values), "probability": probability, "standard_error": None if np.isnan(error) else error}
            for values, probability, error in rows
        ],
    }


def print_joint(joint: JointDistribution, top: int) -> None:
    """The largest cells with their intervals, then how the estimate came about."""
    cells = table(*joint.names, "probability", "95 % interval", right=("probability", "95 % interval"))
    rows = sorted(joint.rows(), key=lambda row: -row[1])
    for values, probability, error in rows[:top]:
        low, high = interval(probability, error)
        shown = "-" if np.isnan(error) else f"{low:.4f} to {high:.4f}"
        cells.add_row(*(value or "(missing)" for value in values), f"{probability:.4f}", shown)
    out.print(cells)
    if len(rows) > top:
        rest = sum(probability for _, probability, _ in rows[top:])
        say(f"… and {len(rows) - top:,} more cells with {rest:.4f} together (--top N, or -o FILE for all)")
    say(summary(joint))


def summary(joint: JointDistribution) -> str:
    """One paragraph a steward can read."""
    fit = joint.fit
    parts = [f"{fit.n_reports:,} reports speak of this; method {fit.method}"]
    if not fit.identified:
        parts.append("no report covers all of these attributes: this is the joint of largest entropy that fits the covered parts")
    if fit.n_evaluations:
        parts.append(f"{'converged' if fit.converged else 'NOT converged'} after {fit.n_evaluations} EM evaluations")
    if fit.gain is not None and len(joint.names) > 1:
        parts.append(
            f"held-out gain over independence {fit.gain:.1f} nats"
            if fit.gain > 0
            else "independence would have done as well: held-out reports show no dependence"
        )
    return "; ".join(parts) + "."
