"""`lopub estimate`: the joint distribution of some attributes, with intervals."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from lopub.cli.console import out, print_json, say, table, working
from lopub.cli.options import OUTPUT, AsJson, Force, From, Round, SomeSources, SourceCampaign, Stop
from lopub.cli.outputs import check_file, check_unread
from lopub.cli.sources import read, resolved
from lopub.estimation import METHODS
from lopub.estimation.joint import Fit, JointDistribution, interval
from lopub.estimation.methods import stopping
from lopub.queries import estimate as estimated


def estimate(
    attributes: Annotated[
        str,
        typer.Option(
            "--attributes",
            "-a",
            metavar="A,B,…",
            help="The attributes, with commas between them.",
            show_default=False,
        ),
    ],
    sources: SomeSources = None,
    more: From = None,
    campaign: SourceCampaign = None,
    round_name: Round = None,
    method: Annotated[
        str, typer.Option("--method", metavar="METHOD", help=f"One of {', '.join(METHODS)}.")
    ] = "shrunk",
    stop: Stop = None,
    output: Annotated[
        Path | None,
        typer.Option(
            *OUTPUT, metavar="FILE", help="Where to write all cells, as csv.", show_default=False
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            "--top", metavar="N", help="How many cells to print, the largest first.", min=1
        ),
    ] = 20,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Estimate the joint distribution of some attributes from noisy reports alone, with 95 % intervals.

    Example: `lopub estimate campaign.json reports.parquet --attributes age,income -o joint.csv`

    More: docs/estimation.md, and docs/commands.md on sources
    """
    how = stopping(method, stop)  # refuses before anything is read
    if output is not None:
        check_file(output, force=force)
    names = [name.strip() for name in attributes.split(",") if name.strip()]
    named = resolved([*(sources or ()), *(more or ())], campaign, round_name)
    if output is not None:
        check_unread(output, (*named.reports, *named.counts))
    found = read(named)
    with working(f"estimating {', '.join(names)}"):
        joint = estimated(found.data, names, how)
    if output is not None:
        joint.save(output, force=force)
    if as_json:
        print_json(
            found.described()
            | described(joint)
            | {"output": None if output is None else str(output)}
        )
        return
    print_joint(joint, top)
    if output is not None:
        say(f"written: {output}")


def described(joint: JointDistribution) -> dict[str, Any]:
    """The estimate for programs."""
    fit = joint.fit
    rows = joint.rows()
    return {
        "attributes": list(joint.names),
        "method": fit.method,
        "n_informative": fit.n_reports,
        "converged": fit.converged,
        "n_evaluations": fit.n_evaluations,
        "gain": fit.gain,
        "strength": "product"
        if fit.strength is not None and np.isinf(fit.strength)
        else fit.strength,
        "identified": fit.identified,
        "mutual_information": joint.mutual_information(),
        "cells": [
            {
                "values": list(values),
                "probability": probability,
                "standard_error": None if np.isnan(error) else error,
            }
            for values, probability, error in rows
        ],
    }


def print_joint(joint: JointDistribution, top: int) -> None:
    """The largest cells with their intervals, then how the estimate came about."""
    cells = table(
        *joint.names, "probability", "95 % interval", right=("probability", "95 % interval")
    )
    rows = sorted(joint.rows(), key=lambda row: -row[1])
    for values, probability, error in rows[:top]:
        low, high = interval(probability, error)
        shown = "-" if np.isnan(error) else f"{low:.4f} to {high:.4f}"
        cells.add_row(*(value or "(missing)" for value in values), f"{probability:.4f}", shown)
    out.print(cells)
    if len(rows) > top:
        rest = sum(probability for _, probability, _ in rows[top:])
        say(
            f"… and {len(rows) - top:,} more cells with {rest:.4f} together (--top N, or -o FILE for all)"
        )
    say(summary(joint))


def summary(joint: JointDistribution) -> str:
    """One paragraph a steward can read."""
    fit = joint.fit
    parts = [f"{fit.n_reports:,} reports speak of this; method {fit.method}"]
    if not fit.identified:
        parts.append(
            "no report covers all of these attributes: this is the joint of largest entropy that fits the covered parts"
        )
    if fit.n_evaluations:
        parts.append(how_it_ended(fit))
    if fit.gain is not None and len(joint.names) > 1:
        parts.append(what_is_gained(fit))
    return "; ".join(parts) + "."


def what_is_gained(fit: Fit) -> str:
    """Whether held-out reports speak for a dependence.

    >>> what_is_gained(Fit(method="shrunk", gain=0.0, strength=0.01))
    'held-out reports of these attributes show no dependence by themselves; those of other pairs speak for some'
    """
    if fit.gain:
        return f"held-out gain over independence {fit.gain:.1f} nats"
    if fit.strength is not None and np.isfinite(fit.strength):
        return "held-out reports of these attributes show no dependence by themselves; those of other pairs speak for some"
    return "independence would have done as well: held-out reports show no dependence"


def how_it_ended(fit: Fit) -> str:
    """Whether EM went on until nothing moved, and if not, what that means.

    >>> how_it_ended(Fit(method="em", converged=False, n_evaluations=1200, trace=(-90.0, -80.25, -80.2496)))
    'still moving a little after 1,200 EM evaluations (the last raised the log-likelihood by 0.0004), as is usual at strong noise'
    """
    if fit.converged:
        return f"converged after {fit.n_evaluations:,} EM evaluations"
    rise = abs(fit.trace[-1] - fit.trace[-2]) if len(fit.trace) > 1 else 0.0
    last = f" (the last raised the log-likelihood by {rise:.2g})" if rise else ""
    return f"still moving a little after {fit.n_evaluations:,} EM evaluations{last}, as is usual at strong noise"
