"""`python -m reproduction`: the paper's tables and figures, and ours beside them."""

from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import note, progress_bar, refuse, tell
from lopub.cli.options import OUTPUT, AsJson, Force
from lopub.cli.outputs import check_parent
from lopub.errors import LopubError
from reproduction import (
    EXPERIMENTS,
    FULL,
    QUICK,
    cells_of,
    measure,
    n_kept,
    refuse_foreign,
    remake_page,
    tables_there,
    write_tables,
)
from reproduction.extent import TABLES

Tables = Annotated[
    str | None,
    typer.Option(
        "--tables",
        metavar="NAMES",
        help=f"Which of {', '.join(TABLES)}, as in adult,retail; all that are there unless given.",
        show_default=False,
    ),
]
PageOnly = Annotated[
    bool,
    typer.Option(
        "--page-only", help="Measure nothing: make the page again from the csv files in the output."
    ),
]

app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def reproduce(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHAT",
            help=f"Any of {', '.join(EXPERIMENTS)}; all unless given.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Where tables are kept (see `lopub data`); LOPUB_DATA unless given.",
            show_default=False,
        ),
    ] = None,
    tables: Tables = None,
    output: Annotated[
        Path, typer.Option(*OUTPUT, metavar="DIR", help="Where to write the page.")
    ] = Path("reproduced"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A small part of everything, in a few minutes.")
    ] = False,
    page_only: PageOnly = False,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            help="How many processes; as many as cores unless given.",
            min=1,
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Repeat the paper's evaluation: its algorithms and ours, a csv and a picture per figure, and a page of its claims.

    Takes up to an hour on two cores. What is measured is kept: run it again to go on where it was stopped.

    Example: `python -m reproduction --quick -o reproduced`

    More: docs/reproduction.md
    """
    if page_only:
        made = remake_page(output)
        tell(
            {"n_cells": 0, "output": str(output), "page": str(made)},
            f"nothing measured; read {made}",
            as_json=as_json,
        )
        return
    if unknown := sorted(set(what or ()) - set(EXPERIMENTS)):
        raise typer.BadParameter(
            f"unknown part {unknown[0]!r}; known parts: {', '.join(EXPERIMENTS)}"
        )
    scale = QUICK if quick else FULL
    chosen = tables_there(data) if tables is None else [name.strip() for name in tables.split(",")]
    cells = cells_of(what or list(EXPERIMENTS), scale, chosen)
    check_parent(output)
    refuse_foreign(output, force=force)
    try:
        with progress_bar("measuring") as progress:
            measured = measure(cells, output, data=data, workers=workers, progress=progress)
    except KeyboardInterrupt:
        n_done = n_kept(cells, output)
        note(
            f"stopped: {n_done:,} of {len(cells):,} cells are kept in {output}; run the same command to go on"
        )
        raise typer.Exit(130) from None
    page = write_tables(measured, output, scale)
    document = {"n_cells": len(cells), "output": str(output), "page": str(page)}
    tell(document, f"{len(cells):,} cells measured or kept; read {page}", as_json=as_json)


def main() -> None:
    """Run the command; a user's mistake ends in one sentence."""
    try:
        app(prog_name="python -m reproduction")
    except LopubError as error:
        refuse(error)


if __name__ == "__main__":
    main()
