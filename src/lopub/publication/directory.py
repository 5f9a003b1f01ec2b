"""A publication as a directory, whole or not at all."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from lopub import __version__
from lopub.campaign.domain import NOT_APPLICABLE, Binned
from lopub.files import sha256_of, whole_directory
from lopub.publication.numbers import drawn
from lopub.publication.render.package import package_files
from lopub.publication.render.report_page import report_html
from lopub.publication.render.rounds import rounds_beside
from lopub.publication.render.tables import as_json, estimates
from lopub.publication.stages import Publication
from lopub.reports.dataset import (
    LINES_AT_ONCE,
    ROW_GROUP,
    Codes,
    Dataset,
    typed,
    write_csv,
    write_parquet,
)

FORMAT = 1
"""Of the directory's layout, as the manifest names it."""
COUNTS = "estimates/counts.parquet"
"""Where a publication has the counts of its reports, unless they are left out."""


def save_publication(publication: Publication, path: str | Path, *, force: bool = False) -> None:
    """Write all files; the same reports and settings give the same bytes."""
    with whole_directory(Path(path), mark="manifest.json", force=force) as directory:
        _write_copies(publication, directory / "data")
        for name, content in estimates(publication).items():
            _write(directory / "estimates" / name, content)
        if publication.counts is not None:
            publication.counts.save(directory / COUNTS)
        _write(directory / "campaign.json", publication.campaign.canonical_bytes)
        _write(directory / "report.html", report_html(publication))
        if publication.rounds is not None:
            for name, content in rounds_beside(
                publication.rounds, publication.settings.language
            ).items():
                _write(directory / name, content)
        for name, content in package_files(publication, directory).items():
            _write(directory / name, content)
        _write(directory / "manifest.json", as_json(manifest(publication, directory)))


def manifest(publication: Publication, directory: Path) -> dict[str, Any]:
    """What was published, from what, how, and the hashes of all files."""
    campaign, settings = publication.campaign, publication.settings
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    pruning = settings.pruning
    return {
        "format": FORMAT,
        "lopub": __version__,
        "campaign": {"id": campaign.id, "name": campaign.terms.name, "epsilon": campaign.epsilon}
        | ({"lifetime_epsilon": campaign.lifetime_epsilon} if campaign.terms.repeat else {}),
        "reports": {
            "accepted": publication.n_reports,
            "refused": {
                str(reason): publication.refused[reason] for reason in sorted(publication.refused)
            },
            "first_slot": publication.first_slot,
            "last_slot": publication.last_slot,
            "withdrawn": publication.origin.n_withdrawn,
            "simulated": publication.origin.is_simulated,
        }
        | ({"left_out": publication.n_left_out} if settings.leave_out else {}),
        "alarms": [alarm.to_json() for alarm in publication.alarms],
        "checks": dict(publication.checks),
        "settings": {
            "method": settings.estimator.name,
            "options": settings.estimator.options,
            "structure": settings.structure,
            "phi": publication.phi,
            "pruning": None
            if pruning is None
            else {"find": pruning.find, "rank": pruning.rank, "rounding": pruning.rounding},
            "most_cells": publication.most_cells,
            "rows": len(publication.synthetic),
            "copies": settings.copies,
            "numbers": settings.numbers,
            "margins": [list(names) for names in publication.margins],
            "seed": settings.seed,
            "language": settings.language,
            "counts": settings.counts,
        }
        | ({"leave_out": list(settings.leave_out)} if settings.leave_out else {}),
        "files": {str(path.relative_to(directory)): sha256_of(path) for path in files},
    }


def _write_copies(publication: Publication, directory: Path) -> None:
    """synthetic.csv and .parquet; further copies are numbered from 2."""
    directory.mkdir()
    for number, copy in enumerate(publication.copies, start=1):
        stem = "synthetic" if number == 1 else f"synthetic-{number}"
        with open(directory / f"{stem}.csv", "wb") as file:
            write_csv(file, map(_texts, _tables(publication, copy, number, LINES_AT_ONCE)))
        with open(directory / f"{stem}.parquet", "wb") as file:
            write_parquet(
                file,
                (
                    typed(table, copy.domain)
                    for table in _tables(publication, copy, number, ROW_GROUP)
                ),
            )
    pa.default_memory_pool().release_unused()


def _tables(
    publication: Publication, copy: Dataset, number: int, at_once: int
) -> Iterator[pa.Table]:
    """The records as they are published, so many at once: binned numbers as labels or, on request, as numbers drawn inside
    their bins."""
    binned = [
        (place, one) for place, one in enumerate(copy.domain.attributes) if isinstance(one, Binned)
    ]
    draw = publication.settings.numbers == "draw"
    sources = (
        [
            np.random.default_rng([publication.settings.seed, number, place, 1])
            for place, _ in binned
        ]
        if draw
        else []
    )
    for block in copy.blocks(at_once):
        table = block.to_arrow()
        for (place, attribute), rng in zip(binned, sources, strict=False):
            table = table.set_column(
                place, attribute.name, _numbers(attribute, block.codes[:, place], rng)
            )
        yield table


def _numbers(attribute: Binned, codes: Codes, rng: np.random.Generator) -> pa.Array:
    """Drawn inside their bins, no answer as null; of a question that applies only to some as texts, which can say so."""
    values = pa.array(drawn(attribute, codes, rng), from_pandas=True)
    if attribute.only_if is None:
        return values
    return pa.compute.if_else(
        codes == attribute.not_applicable_index, NOT_APPLICABLE, values.cast(pa.string())
    )


def _texts(table: pa.Table) -> pa.Table:
    """The table for csv, which knows no dictionaries; a missing answer is an empty field."""
    columns = {}
    for name in table.column_names:
        column = table[name]
        plain = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        columns[name] = plain.fill_null("") if pa.types.is_string(plain.type) else plain
    return pa.table(columns)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
