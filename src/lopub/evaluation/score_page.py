"""The page of an evaluation: how far a synthetic table is from the real one. Every number is also in a file beside it."""

import csv
import io
import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from lopub.collection.dataset import Dataset
from lopub.evaluation import Evaluation, WayScore
from lopub.files import whole_directory
from lopub.pages import plots
from lopub.pages.page import bars, number, page, paragraph, share, table, text_of

WAYS = {1: "one attribute", 2: "two attributes", 3: "three attributes"}
MARK = "evaluation.json"
"""The file by which such a directory is known."""
N_WORST = 15
MOST_SHOWN = 40
"""Candidates of an attribute whose shares are shown; the file has all."""


def write_scorecard(scores: Evaluation, real: Dataset, synthetic: Dataset, path: str | Path, *, force: bool = False) -> None:
    """A directory with evaluation.json, marginals.csv and report.html, whole or not at all."""
    with whole_directory(Path(path), mark=MARK, force=force) as directory:
        (directory / MARK).write_bytes(as_json(scores))
        (directory / "marginals.csv").write_bytes(_marginals(real, synthetic))
        (directory / "report.html").write_bytes(scorecard_html(scores, real, synthetic))


def as_json(scores: Evaluation) -> bytes:
    """All scores as indented JSON."""
    return (json.dumps(scores.to_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()


def scorecard_html(scores: Evaluation, real: Dataset, synthetic: Dataset) -> bytes:
    """The scores as one HTML page, with pictures of both tables."""
    way = scores.ways[min(2, len(scores.ways)) - 1]
    lead = paragraph(
        f"{number(scores.n_synthetic, ',')} synthetic records beside {number(scores.n_real, ',')} real ones. In tables of"
        f" {WAYS[way.k]}, {share(way.mean)} of the people are in the wrong cell on average.",
        "lead",
    )
    sections = [
        ("distance", "How far off are tables?", _distances(scores)),
        ("pairs", "Pair by pair", _pairs(scores, real)),
        ("edges", "Which dependences survive?", _edges(scores)),
        ("classifiers", "Can one learn from it?", _classifiers(scores)),
        ("shares", "Answer by answer", _shares(real, synthetic)),
    ]
    return page("Synthetic against real data", [section for section in sections if section[2]], lead=lead).encode()


def _distances(scores: Evaluation) -> str:
    said = paragraph(
        "The distance of two tables (AVD) is the share of people who would have to change cells to make them equal: 0 is best."
        " Independence: what the product of the real one-way shares would be off by."
    )
    return said + table(
        "Mean distance of synthetic from real tables",
        ["tables of", "tables", "mean", "largest", "independence"],
        [*(_distance_row(way) for way in scores.ways), *_dependent_row(scores)],
        numeric=[1, 2, 3, 4],
    )


def _dependent_row(scores: Evaluation) -> list[list[str]]:
    """The pairs that depend most on each other, in the real table."""
    if scores.dependent_mean is None or scores.dependent_independence is None:
        return []
    worst = max(score.avd for score in scores.dependent)
    figures = [number(value, ".4f") for value in (scores.dependent_mean, worst, scores.dependent_independence)]
    return [["the most dependent pairs", number(len(scores.dependent), ","), *figures]]


def _distance_row(way: WayScore) -> list[str]:
    independence = number(way.product_of_real, ".4f") if way.k > 1 else "-"
    return [WAYS[way.k], number(len(way.sets), ","), number(way.mean, ".4f"), number(way.worst.avd, ".4f"), independence]


def _pairs(scores: Evaluation, real: Dataset) -> str:
    if len(scores.ways) < 2:
        return ""
    names = real.domain.names
    values = np.full((len(names), len(names)), np.nan)
    for score in scores.ways[1].sets:
        a, b = real.domain.positions(score.names)
        values[a, b] = values[b, a] = score.avd
    svg = plots.heat_map(
        values,
        names,
        name="errors",
        description="Heat map of the distance of synthetic from real tables for all pairs; the numbers are in evaluation.json",
        scale="AVD",
    )
    worst = sorted(scores.ways[1].sets, key=lambda score: (-score.avd, score.names))[:N_WORST]
    rows = [[" – ".join(escape(n) for n in s.names), number(s.avd, ".4f"), number(s.product_of_real, ".4f")] for s in worst]
    caption = "Distance of each two-way table; the numbers are in evaluation.json."
    drawn = f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"
    return drawn + table(f"The {len(rows)} worst pairs", ["pair", "AVD", "independence"], rows, numeric=[1, 2])


def _edges(scores: Evaluation) -> str:
    edges = scores.edges
    said = paragraph(f"Pairs that count as dependent by the paper's rule at phi = {number(edges.phi, 'g')}.")
    kinds = [("found in both", edges.found), ("only in the synthetic table", edges.added), ("only in the real table", edges.lost)]
    rows = [
        [kind, number(len(pairs), ","), "; ".join(" – ".join(escape(name) for name in pair) for pair in pairs) or "-"]
        for kind, pairs in kinds
    ]
    return said + table("Dependences", ["", "number", "which"], rows, numeric=[1])


def _classifiers(scores: Evaluation) -> str:
    if not scores.classifiers:
        return ""
    rows = [
        [
            escape(score.target),
            score.classifier.replace("_", " "),
            share(score.trained_on_synthetic),
            share(score.trained_on_real),
            share(score.majority),
        ]
        for score in scores.classifiers
    ]
    said = paragraph("Right guesses on real records that were not trained on; guessing the most frequent answer is the least.")
    columns = ["target", "classifier", "trained on synthetic", "trained on real", "most frequent answer"]
    return said + table("Rates of right guesses", columns, rows, numeric=[2, 3, 4])


def _shares(real: Dataset, synthetic: Dataset) -> str:
    said = paragraph("Share of each answer. The upper bar is the real table, the lower one the synthetic.")
    cards = "".join(_attribute(name, real, synthetic) for name in real.domain.names)
    return f'{said}<div class="cards">{cards}</div>'


def _attribute(name: str, real: Dataset, synthetic: Dataset) -> str:
    true, made = (dataset.counts((name,)) / len(dataset) for dataset in (real, synthetic))
    most = max(float(true.max()), float(made.max()))
    texts = real.domain[name].texts
    order = np.argsort(-true, kind="stable")[:MOST_SHOWN] if len(true) > MOST_SHOWN else np.arange(len(true))
    rows = [
        [
            text_of(texts[i]),
            share(float(true[i])),
            share(float(made[i])),
            f'<div class="bar" aria-hidden="true">{bars(float(true[i]), float(made[i]), most)}</div>',
        ]
        for i in order.tolist()
    ]
    body = table(name, ["answer", "real", "synthetic", ""], rows, numeric=[1, 2], unseen=True)
    return f"<div><h3>{escape(name)}</h3>{body}</div>"


def _marginals(real: Dataset, synthetic: Dataset) -> bytes:
    text = io.StringIO()
    writer: Any = csv.writer(text, lineterminator="\n")
    writer.writerow(["attribute", "value", "real", "synthetic"])
    for attribute in real.domain.attributes:
        shares = [(dataset.counts((attribute.name,)) / len(dataset)).tolist() for dataset in (real, synthetic)]
        for value, true, made in zip(attribute.texts, *shares, strict=True):
            writer.writerow([attribute.name, value, repr(true), repr(made)])
    return text.getvalue().encode()
