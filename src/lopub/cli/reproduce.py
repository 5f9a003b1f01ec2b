"""`lopub reproduce`: the paper's tables and figures, and ours beside them."""

from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import note, print_json, progress, say
from lopub.reproduce import EXPERIMENTS, FULL, QUICK, cells_of, measure, refuse_foreign, write_tables


def reproduce(
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WHAT]...", help=f"Among {', '.join(EXPERIMENTS)}; all unless given.", show_default=False),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the tables are; LOPUB_DATA unless given. See `lopub data`.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Where to write.")] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="A small part of everything, in about two minutes.")] = False,
    workers: Annotated[int | None, typer.Option(metavar="N", help="Processes; as many as cores unless given.", min=1)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a page that another run has left.")] = False,
) -> None:
    """Run the paper's evaluation: its algorithms and ours, one csv and one picture a figure, and a page of its claims.

    Takes up to an hour on two cores. What is measured is kept: run it again to go on where it was stopped.

    Example: `lopub reproduce --quick -o reproduction`
    """
    scale = QUICK if quick else FULL
    cells = cells_of(what or list(EXPERIMENTS), scale)
    refuse_foreign(output, force=force)
    bar, task = progress("measuring", total=len(cells))
    n_done = 0

    def told(n: int, total: int) -> None:
        nonlocal n_done
        n_done = n
        bar.update(task, completed=n, total=total)

    try:
        with bar:
            measured = measure(cells, output, data=data, workers=workers, told=told)
    except KeyboardInterrupt:
        note(f"stopped: {n_done:,} of {len(cells):,} cells are kept in {output}; run the same command to go on")
        raise typer.Exit(130) from None
    page = write_tables(measured, output)
    if as_json:
        print_json({"cells": len(cells), "page": str(page)})
    else:
        say(f"{len(cells):,} cells measured or kept; read {page}")
