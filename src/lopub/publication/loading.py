"""A publication's directory becomes a publication again.

What is not in its files is made from them: the cliques' joints are those of the first synthetic table, and what more or fewer
reports covered than expected is not there.
"""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Attribute, Domain, Pair
from lopub.errors import LopubError, Reason, StoreError
from lopub.estimation.joint import Fit, JointDistribution
from lopub.estimation.methods import METHODS
from lopub.planning.alarms import Alarm
from lopub.publication.asked import AskedShare
from lopub.publication.directory import COUNTS, FORMAT
from lopub.publication.findings import Dependence, Dependences
from lopub.publication.fit import FitRow
from lopub.publication.numbers import Statistic
from lopub.publication.settings import PublishSettings
from lopub.publication.stages import Publication
from lopub.queries.contrasts import AnswerSplit, Contrast
from lopub.queries.ratios import Estimate
from lopub.reports.counts import Counts
from lopub.reports.dataset import Dataset
from lopub.reports.origin import Origin
from lopub.synthesis.cliques import TreeModel
from lopub.synthesis.dependence import DependencyGraph, Pruning
from lopub.synthesis.junction import JunctionTree

Row = dict[str, str]
Json = dict[str, Any]


def is_publication(path: str | Path) -> bool:
    """Whether a directory is one."""
    try:
        return all((Path(path) / name).is_file() for name in ("manifest.json", "campaign.json"))
    except OSError:  # such as a name that is too long
        return False


def load_publication(path: str | Path) -> Publication:
    """What the files of a directory hold; refused where they are not those of a publication."""
    directory = Path(path)
    if not is_publication(directory):
        raise StoreError(f"{path} is not a publication: it has no manifest.json and campaign.json")
    try:
        manifest = _json(directory / "manifest.json")
        if manifest["format"] != FORMAT:
            raise StoreError(
                f"{path} is a publication of format {manifest['format']}; this program reads format {FORMAT}"
            )
        return _loaded(directory, manifest)
    except (KeyError, TypeError, ValueError, IndexError, OSError) as error:
        if isinstance(error, LopubError):
            raise
        raise StoreError(
            f"{path} is not a whole publication: its files do not fit its manifest"
        ) from None


def _loaded(directory: Path, manifest: Json) -> Publication:
    campaign = Campaign.load(directory / "campaign.json")
    model, reports = _json(directory / "estimates" / "model.json"), manifest["reports"]
    domain = Domain(tuple(campaign.domain[name] for name in model["attributes"]))
    marginals = tuple(_marginals(directory, domain, manifest))
    copies = tuple(_copies(directory, campaign.domain, manifest["settings"]["copies"]))
    counts = directory / COUNTS
    return Publication(
        campaign=campaign,
        settings=_settings(manifest["settings"]),
        n_reports=int(reports["accepted"]),
        refused={Reason(name): int(n) for name, n in reports["refused"].items()},
        first_slot=reports["first_slot"],
        last_slot=reports["last_slot"],
        most_cells=int(model["most_cells"]),
        marginals=marginals,
        pairs=dict(_pairs(directory, domain, manifest)),
        graph=_graph(directory, domain, model),
        dropped=tuple(_pair(domain, names) for names in model["dropped_edges"]),
        model=_tree_model(domain, model, copies[0]),
        copies=copies,
        statistics=tuple(_statistics(directory)),
        asked_shares=tuple(_asked_shares(directory)),
        fit=tuple(_fit(directory)),
        margins=tuple(tuple(names) for names in manifest["settings"]["margins"]),
        odd_coverage=(),
        alarms=tuple(Alarm.from_json(each) for each in manifest.get("alarms", [])),
        checks={str(kind): str(made) for kind, made in manifest.get("checks", {}).items()},
        findings=_findings(directory, domain),
        origin=Origin(reports.get("simulated", False), reports.get("withdrawn", 0)),
        n_left_out=int(reports.get("left_out", 0)),
        counts=Counts.load(counts, campaign) if counts.exists() else None,
    )


def _json(path: Path) -> Json:
    found: Json = json.loads(path.read_text(encoding="utf-8"))
    return found


def _rows(directory: Path, name: str) -> Iterator[Row]:
    with open(directory / "estimates" / name, newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _number(text: str) -> float:
    return float(text) if text else float("nan")


def _settings(settings: Mapping[str, Any]) -> PublishSettings:
    pruning = settings["pruning"]
    return PublishSettings(
        method=METHODS[settings["method"]](**settings["options"]),
        structure=settings["structure"],
        phi=settings["phi"],
        pruning=None if pruning is None else Pruning(**pruning),
        rows=settings["rows"],
        copies=settings["copies"],
        numbers=settings["numbers"],
        seed=settings["seed"],
        language=settings.get("language", ""),
        counts=settings.get("counts", False),
        leave_out=tuple(map(str, settings.get("leave_out", ()))),
    )


def _joint(domain: Domain, names: tuple[str, ...], rows: list[Row], fit: Fit) -> JointDistribution:
    """All cells, in the order in which they were written."""
    attributes = tuple(domain[name] for name in names)
    shape = tuple(attribute.size for attribute in attributes)
    probabilities, errors = (
        np.array([_number(row[key]) for row in rows]).reshape(shape) for key in _FIGURES
    )
    return JointDistribution(
        attributes, probabilities, None if np.isnan(errors).all() else errors, fit
    )


_FIGURES = ("probability", "standard_error")


def _fit_of(manifest: Json, names: tuple[str, ...]) -> Fit:
    known = list(names) in manifest["settings"]["margins"]
    return Fit(
        method="given" if known else manifest["settings"]["method"],
        n_reports=int(manifest["reports"]["accepted"]),
    )


def _marginals(directory: Path, domain: Domain, manifest: Json) -> Iterator[JointDistribution]:
    for name, rows in groupby(_rows(directory, "marginals.csv"), key=lambda row: row["attribute"]):
        own = list(rows)
        yield _joint(
            domain,
            (name,),
            own,
            replace(_fit_of(manifest, (name,)), n_reports=int(own[0]["n_reports"] or 0)),
        )


def _pairs(
    directory: Path, domain: Domain, manifest: Json
) -> Iterator[tuple[Pair, JointDistribution]]:
    for names, rows in groupby(
        _rows(directory, "pairs.csv"), key=lambda row: (row["attribute_1"], row["attribute_2"])
    ):
        yield _pair(domain, names), _joint(domain, names, list(rows), _fit_of(manifest, names))


def _pair(domain: Domain, names: tuple[str, ...] | list[str]) -> Pair:
    first, second = domain.positions(names)
    return first, second


def _graph(directory: Path, domain: Domain, model: Json) -> DependencyGraph:
    rows = list(_rows(directory, "dependence.csv"))
    strengths = {
        _pair(domain, (row["attribute_1"], row["attribute_2"])): float(row["strength"])
        for row in rows
    }
    edges = tuple(_pair(domain, names) for names in model["edges"])
    n_known = model["n_pairs"] - model["n_pairs_saved"] - len(strengths)
    return DependencyGraph(len(domain), model["measure"], edges, strengths, n_known=n_known)


def _tree_model(domain: Domain, model: Json, table: Dataset) -> TreeModel:
    cliques = [tuple(domain.positions(clique["attributes"])) for clique in model["cliques"]]
    tree = JunctionTree(tuple(cliques), tuple(clique["parent"] for clique in model["cliques"]))
    joints = tuple(table.counts(clique["attributes"]) / len(table) for clique in model["cliques"])
    misfits = tuple(clique["misfit"] for clique in model["cliques"])
    return TreeModel(
        tree, joints, misfits, tuple(clique["more_than_pairs"] for clique in model["cliques"])
    )


def _copies(directory: Path, domain: Domain, n: int) -> Iterator[Dataset]:
    for number in range(1, n + 1):
        stem = "synthetic" if number == 1 else f"synthetic-{number}"
        yield Dataset.load(directory / "data" / f"{stem}.parquet", domain)


def _statistics(directory: Path) -> Iterator[Statistic]:
    for row in _rows(directory, "numbers.csv"):
        yield Statistic(
            row["attribute"],
            row["statistic"],
            *(_number(row[key]) for key in ("value", "low", "high")),
        )


def _asked_shares(directory: Path) -> Iterator[AskedShare]:
    """As far as the file has them: earlier ones have no intervals."""
    for row in _rows(directory, "marginals.csv"):
        if row.get("among_asked"):
            ends = (_number(row.get(f"among_asked_{end}", "")) for end in ("low", "high"))
            yield AskedShare(row["attribute"], row["value"], _number(row["among_asked"]), *ends)


def _findings(directory: Path, domain: Domain) -> Dependences:
    """What was stated; nothing is known of a publication that does not say."""
    if not (directory / "estimates" / "findings.csv").exists():
        return Dependences()
    every = tuple(_finding(row, domain) for row in _rows(directory, "findings.csv"))
    return Dependences(
        every, _json(directory / "estimates" / "summary.json")["findings"]["least_gain"]
    )


def _finding(row: Row, domain: Domain) -> Dependence:
    contrast = None
    if row["group"]:
        group, answer = (
            _split(domain[row[f"{part}_attribute"]], row[part]) for part in ("group", "answer")
        )
        within, outside = (_estimate(row, part) for part in ("within", "outside"))
        contrast = Contrast(group, answer, within, outside)
    return Dependence(
        (row["attribute_1"], row["attribute_2"]),
        _number(row["gain"]),
        row["stated"] == "yes",
        contrast,
    )


def _split(attribute: Attribute, texts: str) -> AnswerSplit:
    return AnswerSplit(attribute, tuple(attribute.texts.index(text) for text in json.loads(texts)))


def _estimate(row: Row, part: str) -> Estimate:
    value, low, high = (_number(row[f"{part}{end}"]) for end in ("", "_low", "_high"))
    return Estimate(value, float("nan"), low, high)


def _fit(directory: Path) -> Iterator[FitRow]:
    for row in _rows(directory, "fit.csv"):
        rest = row["attribute_2"].split("; ") if row["attribute_2"] else []
        figures = int(row["observed"]), float(row["predicted"]), float(row["standard_deviation"])
        yield FitRow((row["attribute_1"], *rest), row["said"], *figures)
