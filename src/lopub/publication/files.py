"""A publication as a directory, whole or not at all."""

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from lopub import __version__
from lopub.files import whole_directory
from lopub.joint import JointDistribution
from lopub.publication.stages import Publication

FORMAT = 1
"""Of the directory's layout, as the manifest names it."""
_HEAD = {"marginals": ["attribute", "value"], "pairs": ["attribute_1", "attribute_2", "value_1", "value_2"]}


def write_publication(publication: Publication, path: str | Path, *, force: bool = False) -> None:
    """Write all files; the same reports and settings give the same bytes."""
    with whole_directory(Path(path), force=force) as directory:
        _write_table(publication, directory / "data")
        for name, content in estimates(publication).items():
            _write(directory / "estimates" / name, content)
        _write(directory / "campaign.json", publication.campaign.canonical_bytes)
        _write(directory / "manifest.json", _json(manifest(publication, directory)))


def estimates(publication: Publication) -> dict[str, bytes]:
    """File name -> content of everything that was estimated."""
    pairs = [publication.pairs[pair] for pair in sorted(publication.pairs)]
    return {
        "marginals.csv": _cells(publication.marginals, "marginals"),
        "pairs.csv": _cells(pairs, "pairs"),
        "dependence.csv": _dependence(publication),
        "model.json": _json(model(publication)),
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


def manifest(publication: Publication, directory: Path) -> dict[str, Any]:
    """What was published, from what, how, and the hashes of all files."""
    campaign, settings = publication.campaign, publication.settings
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    pruning = settings.pruning
    return {
        "format": FORMAT,
        "lopub": __version__,
        "campaign": {"id": campaign.id, "name": campaign.terms.name, "epsilon": campaign.epsilon},
        "reports": {
            "accepted": publication.n_reports,
            "refused": {str(reason): publication.refused[reason] for reason in sorted(publication.refused)},
            "first_slot": publication.first_slot,
            "last_slot": publication.last_slot,
        },
        "settings": {
            "method": settings.method,
            "structure": settings.structure,
            "phi": settings.phi if settings.structure == "paper" else None,
            "pruning": None if pruning is None else {"find": pruning.find, "rank": pruning.rank, "rounding": pruning.rounding},
            "most_cells": publication.most_cells,
            "rows": len(publication.synthetic),
            "seed": settings.seed,
        },
        "files": {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files},
    }


def _write_table(publication: Publication, directory: Path) -> None:
    directory.mkdir()
    publication.synthetic.write_csv(directory / "synthetic.csv")
    pa.parquet.write_table(publication.synthetic.to_arrow(), directory / "synthetic.parquet", compression="zstd")


def _cells(joints: Iterable[JointDistribution], kind: str) -> bytes:
    """One row a cell: attributes, values, probability, standard error."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_HEAD[kind], "probability", "standard_error"])
    for joint in joints:
        for values, probability, error in joint.rows():
            writer.writerow([*joint.names, *values, repr(probability), "" if np.isnan(error) else repr(error)])
    return text.getvalue().encode()


def _dependence(publication: Publication) -> bytes:
    """One row a pair that was looked at: its strength, and what became of it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["attribute_1", "attribute_2", "measure", "strength", "mutual_information", "edge"])
    edges, dropped = set(publication.graph.edges), set(publication.dropped)
    for pair, strength in sorted(publication.graph.strengths.items()):
        fate = "dropped" if pair in dropped else "yes" if pair in edges else "no"
        information = publication.pairs[pair].mutual_information()
        names = [publication.names[position] for position in pair]
        writer.writerow([*names, publication.graph.measure, repr(strength), repr(information), fate])
    return text.getvalue().encode()


def _named(pairs: Sequence[tuple[int, int]], names: Sequence[str]) -> list[list[str]]:
    return [[names[position] for position in pair] for pair in pairs]


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
