"""What was estimated, as files: csv and JSON, each number as exact as it is."""

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from lopub.campaign.domain import Pair
from lopub.estimation.joint import JointDistribution, interval
from lopub.publication.stages import Publication
from lopub.publication.summary import summary


def estimates(publication: Publication) -> dict[str, bytes]:
    """File name -> content of everything that was estimated."""
    return {
        "marginals.csv": _marginals(publication),
        "pairs.csv": _pairs(publication.pairs[pair] for pair in sorted(publication.pairs)),
        "numbers.csv": _numbers(publication),
        "dependence.csv": _dependence(publication),
        "findings.csv": _findings(publication),
        "fit.csv": _fit(publication),
        "model.json": as_json(model(publication)),
        "summary.json": as_json(summary(publication)),
    }


def model(publication: Publication) -> dict[str, Any]:
    """The dependency graph, the cliques and the junction tree, by names."""
    names, fitted = publication.names, publication.model
    return {
        "attributes": list(names),
        "structure": publication.settings.structure,
        "measure": publication.graph.measure,
        "edges": _named(publication.graph.edges, names),
        "dropped_edges": _named(publication.dropped, names),
        "n_pairs": publication.graph.n_pairs,
        "n_pairs_saved": publication.graph.n_saved,
        "most_cells": publication.most_cells,
        "cliques": [
            {
                "attributes": [names[position] for position in clique],
                "parent": parent,
                "separator": [names[position] for position in separator],
                "cells": int(joint.size),
                "misfit": misfit,
                "more_than_pairs": refined,
            }
            for clique, parent, separator, joint, misfit, refined in zip(
                fitted.tree.cliques,
                fitted.tree.parents,
                fitted.tree.separators,
                fitted.joints,
                fitted.misfits,
                fitted.refined,
                strict=True,
            )
        ],
    }


def as_json(value: Any) -> bytes:
    """A value as indented JSON."""
    return (json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()


def _csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Floats as their shortest exact text; NaN as nothing."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        writer.writerow([_exact(value) if isinstance(value, float) else value for value in row])
    return text.getvalue().encode()


def _exact(value: float) -> str:
    return "" if math.isnan(value) else repr(value)


def _marginals(publication: Publication) -> bytes:
    """One row an answer: its share, standard error, 95 % interval, share in the synthetic table, and of a question that was asked
    of some only, the share among these with its interval."""
    rows = []
    asked = {
        (one.attribute, one.text): [one.value, one.low, one.high]
        for one in publication.asked_shares
    }
    for marginal in publication.marginals:
        synthetic = publication.synthetic.counts(marginal.names) / len(publication.synthetic)
        for (values, probability, error), made in zip(
            marginal.rows(), synthetic.tolist(), strict=True
        ):
            low, high = interval(probability, error) if not np.isnan(error) else (np.nan, np.nan)
            among = asked.get((marginal.names[0], values[0]), [np.nan] * 3)
            rows.append(
                [
                    *marginal.names,
                    *values,
                    probability,
                    error,
                    low,
                    high,
                    made,
                    marginal.fit.n_reports,
                    *among,
                ]
            )
    head = [
        "attribute",
        "value",
        "probability",
        "standard_error",
        "low",
        "high",
        "synthetic",
        "n_reports",
    ]
    return _csv([*head, "among_asked", "among_asked_low", "among_asked_high"], rows)


def _pairs(joints: Iterable[JointDistribution]) -> bytes:
    head = ["attribute_1", "attribute_2", "value_1", "value_2", "probability", "standard_error"]
    return _csv(
        head,
        (
            [*joint.names, *values, p, error]
            for joint in joints
            for values, p, error in joint.rows()
        ),
    )


def _numbers(publication: Publication) -> bytes:
    rows = (
        [row.attribute, row.name, row.value, row.low, row.high] for row in publication.statistics
    )
    return _csv(["attribute", "statistic", "value", "low", "high"], rows)


def _dependence(publication: Publication) -> bytes:
    """One row per pair that was fitted: its strength, and what became of it. Of very many pairs, those that were ruled out
    without a fit are not there, and those whose joint was not held have no mutual information."""
    edges, dropped, names = (
        set(publication.graph.edges),
        set(publication.dropped),
        publication.names,
    )
    rows = []
    for pair, strength in sorted(publication.graph.strengths.items()):
        fate = "dropped" if pair in dropped else "yes" if pair in edges else "no"
        information = (
            publication.pairs[pair].mutual_information() if pair in publication.pairs else np.nan
        )
        rows.append(
            [
                *(names[position] for position in pair),
                publication.graph.measure,
                strength,
                information,
                fate,
            ]
        )
    return _csv(
        ["attribute_1", "attribute_2", "measure", "strength", "mutual_information", "edge"], rows
    )


def _findings(publication: Publication) -> bytes:
    """One row per dependence that was found in the reports, surest first: whether it is stated, and its contrast, which says how
    often those of a group (texts of an attribute's answers, as JSON) give an answer, how often all others do, and how far these
    are apart."""
    head = [
        "attribute_1",
        "attribute_2",
        "gain",
        "stated",
        "group_attribute",
        "group",
        "answer_attribute",
        "answer",
    ]
    head += [
        f"{place}{end}"
        for place in ("within", "outside", "difference")
        for end in ("", "_low", "_high")
    ]
    rows: list[list[Any]] = []
    for one in publication.findings.every:
        row: list[Any] = [*one.names, one.gain, "yes" if one.is_stated else "no"]
        if (contrast := one.contrast) is not None:
            for split in (contrast.group, contrast.answer):
                row += [split.attribute.name, json.dumps(split.texts, ensure_ascii=False)]
            for estimate in (contrast.within, contrast.outside, contrast.difference):
                row += [estimate.value, estimate.low, estimate.high]
        rows.append(row + [""] * (len(head) - len(row)))
    return _csv(head, rows)


def _fit(publication: Publication) -> bytes:
    """One row a count of noisy answers."""
    head = [
        "attribute_1",
        "attribute_2",
        "said",
        "observed",
        "predicted",
        "standard_deviation",
        "deviation",
    ]
    rows = []
    for row in publication.fit:
        first, *rest = row.attributes
        rows.append(
            [
                first,
                "; ".join(rest),
                row.said,
                row.observed,
                row.predicted,
                row.spread,
                row.deviation,
            ]
        )
    return _csv(head, rows)


def _named(pairs: Sequence[Pair], names: Sequence[str]) -> list[list[str]]:
    return [[names[position] for position in pair] for pair in pairs]
