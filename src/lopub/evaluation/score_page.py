"""The page of an evaluation: how far a synthetic table is from the real one. Every number is also in a file beside it."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lopub.evaluation import Evaluation, SetScore, WayScore
from lopub.files import whole_directory
from lopub.pages import plots
from lopub.pages.templating import page_language, rendered
from lopub.pages.translation import catalogue, translatable
from lopub.reports.dataset import Dataset

WAYS = {
    1: translatable("one attribute"),
    2: translatable("two attributes"),
    3: translatable("three attributes"),
}
FATES = (
    translatable("found in both"),
    translatable("only in the synthetic table"),
    translatable("only in the real table"),
)
SECTIONS = {
    "distance": translatable("How far off are tables?"),
    "pairs": translatable("Pair by pair"),
    "edges": translatable("Which dependences survive?"),
    "classifiers": translatable("Can one learn from it?"),
    "shares": translatable("Answer by answer"),
}
HEAT = translatable(
    "Heat map of the distance of synthetic from real tables for all pairs; the numbers are in evaluation.json"
)
TEMPLATES = Path(__file__).parent / "templates"
MARK = "evaluation.json"
"""The file by which such a directory is known."""
N_WORST = 15
MOST_SHOWN = 40
"""Candidates of an attribute whose shares are shown; the file has all."""


def write_scorecard(
    scores: Evaluation,
    real: Dataset,
    synthetic: Dataset,
    path: str | Path,
    *,
    language: str = "",
    force: bool = False,
) -> None:
    """A directory with evaluation.json, marginals.csv and report.html, whole or not at all. language: of the page's words."""
    with whole_directory(Path(path), mark=MARK, force=force) as directory:
        (directory / MARK).write_bytes(as_json(scores))
        (directory / "marginals.csv").write_bytes(_marginals(real, synthetic))
        (directory / "report.html").write_bytes(scorecard_html(scores, real, synthetic, language))


def as_json(scores: Evaluation) -> bytes:
    """All scores as indented JSON."""
    return (
        json.dumps(scores.to_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    ).encode()


def scorecard_html(
    scores: Evaluation, real: Dataset, synthetic: Dataset, language: str = ""
) -> bytes:
    """The scores as one HTML page, with pictures of both tables."""
    own = page_language([language] if language else [])
    return rendered("scores.html", TEMPLATES, own, page=ScorePage(scores, real, synthetic, own))


@dataclass(frozen=True)
class SharesShown:
    """Of one attribute: (answer, real share, synthetic share), and the largest of them."""

    name: str
    rows: list[tuple[str, float, float]]
    most: float


@dataclass(frozen=True, eq=False)
class ScorePage:
    """What the page is made of."""

    scores: Evaluation
    real: Dataset
    synthetic: Dataset
    language: str
    """Of its own words."""

    @property
    def way(self) -> WayScore:
        """Tables of two attributes, where there are two."""
        return self.scores.ways[min(2, len(self.scores.ways)) - 1]

    def tables_of(self, k: int) -> str:
        """What a table of so many attributes is called."""
        return WAYS[k]

    @property
    def links(self) -> list[tuple[str, str]]:
        """The sections, and what they are called."""
        there = {"pairs": bool(self.worst), "classifiers": bool(self.scores.classifiers)}
        return [
            (name, catalogue(self.language).gettext(heading))
            for name, heading in SECTIONS.items()
            if there.get(name, True)
        ]

    @property
    def dependent(self) -> list[float]:
        """Mean, largest and independence's distance of the pairs that depend most on each other, in the real table."""
        scores = self.scores
        if scores.dependent_mean is None or scores.dependent_independence is None:
            return []
        return [
            scores.dependent_mean,
            max(score.avd for score in scores.dependent),
            scores.dependent_independence,
        ]

    @property
    def worst(self) -> list[SetScore]:
        """The pairs that are furthest off."""
        pairs = self.scores.ways[1].sets if len(self.scores.ways) > 1 else ()
        return sorted(pairs, key=lambda score: (-score.avd, score.names))[:N_WORST]

    @property
    def heat(self) -> str:
        """The distance of every pair."""
        names = self.real.domain.names
        values = np.full((len(names), len(names)), np.nan)
        for score in self.scores.ways[1].sets:
            a, b = self.real.domain.positions(score.names)
            values[a, b] = values[b, a] = score.avd
        return plots.heat_map(
            values,
            names,
            name="errors",
            description=catalogue(self.language).gettext(HEAT),
            scale="AVD",
        )

    @property
    def edges(self) -> list[tuple[str, Sequence[tuple[str, ...]]]]:
        """What became of the dependences."""
        edges = self.scores.edges
        return list(zip(FATES, (edges.found, edges.added, edges.lost), strict=True))

    @property
    def shares(self) -> Iterator[SharesShown]:
        """Attribute by attribute; of many answers the most frequent."""
        for name in self.real.domain.names:
            true, made = (
                dataset.counts((name,)) / len(dataset) for dataset in (self.real, self.synthetic)
            )
            texts = self.real.domain[name].texts
            order = (
                np.argsort(-true, kind="stable")[:MOST_SHOWN]
                if len(true) > MOST_SHOWN
                else np.arange(len(true))
            )
            rows = [(texts[i], float(true[i]), float(made[i])) for i in order.tolist()]
            yield SharesShown(name, rows, max(float(true.max()), float(made.max())))


def _marginals(real: Dataset, synthetic: Dataset) -> bytes:
    text = io.StringIO()
    writer: Any = csv.writer(text, lineterminator="\n")
    writer.writerow(["attribute", "value", "real", "synthetic"])
    for attribute in real.domain.attributes:
        shares = [
            (dataset.counts((attribute.name,)) / len(dataset)).tolist()
            for dataset in (real, synthetic)
        ]
        for value, true, made in zip(attribute.texts, *shares, strict=True):
            writer.writerow([attribute.name, value, repr(true), repr(made)])
    return text.getvalue().encode()
