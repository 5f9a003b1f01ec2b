"""`lopub data`: public tables, from their originals."""

import hashlib
import os
import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from lopub.cli.console import noted_warnings, progress_bar, tell
from lopub.cli.options import OUTPUT, AsJson, Force
from lopub.cli.outputs import check_parent
from lopub.reports.catalogue.obtaining import Place, bring, download
from lopub.reports.catalogue.originals import SOURCES, PublicSource
from lopub.reports.catalogue.preparation import Prepared
from lopub.reports.catalogue.public import VARIABLE


class Known(StrEnum):
    """The tables of the paper's evaluation."""

    ADULT = "adult"
    RETAIL = "retail"
    TPCE = "tpce"
    NLTCS = "nltcs"


def data(
    name: Annotated[
        Known,
        typer.Argument(
            metavar="NAME", help="Which table: adult, retail, tpce or nltcs.", show_default=False
        ),
    ],
    directory: Annotated[
        Path | None,
        typer.Option(
            *OUTPUT,
            metavar="DIR",
            help=f"Where tables are kept; {VARIABLE} unless given, or else data.",
        ),
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="An original, or a directory with them, gzipped or not. May be repeated.",
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            "--url",
            metavar="BASE",
            help="A mirror: the address under which the originals are, gzipped or not.",
        ),
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Download and prepare a public table of the paper's evaluation, checked by SHA-256.

    A download that broke off is resumed by the next call. With `--from` nothing is downloaded: the originals are files that you
    have. TPC-E has no public download, and NLTCS comes under a data use agreement, so these two need `--from`.

    Example: `lopub data adult -o tables`

    More: docs/datasets.md
    """
    if files and base is not None:
        raise typer.BadParameter("give either --from or --url, not both")
    source = SOURCES[name.value]
    place = Place(directory or Path(os.environ.get(VARIABLE) or "data"), source.name)
    check_parent(place.directory)
    if files:
        prepared = bring(source, place, files, force=force)
    else:
        with noted_warnings(), progress_bar("downloading", in_bytes=True) as progress:
            prepared = download(source, place, base=base, force=force, progress=progress)
    lines = [
        f"{source.name}: {prepared.n_records:,} records of {prepared.n_attributes} attributes",
        f"written: {place.table}",
        f"written: {place.domain}",
        f"licence: {source.licence}",
        f"cite: {source.citation}",
        f"To use it: export {VARIABLE}={shlex.quote(str(place.directory.absolute()))}",
    ]
    tell(_summary(source, place, prepared), *lines, as_json=as_json)


def _summary(source: PublicSource, place: Place, prepared: Prepared) -> dict[str, Any]:
    contents = ((place.table, prepared.csv), (place.domain, prepared.domain))
    return {
        "name": source.name,
        "n_records": prepared.n_records,
        "n_attributes": prepared.n_attributes,
        "output": str(place.directory),
        "files": [
            {"path": str(path), "unpacked_sha256": hashlib.sha256(content).hexdigest()}
            for path, content in contents
        ],
        "licence": source.licence,
        "citation": source.citation,
    }
