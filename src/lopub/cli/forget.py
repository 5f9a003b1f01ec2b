"""`lopub forget`: delete everything that this device keeps for its campaigns."""

import sys
from typing import Annotated

import typer

from lopub.cli.console import note, tell
from lopub.cli.options import AsJson
from lopub.cli.send import Store
from lopub.client.store import FileStore

MEANING = (
    "Whoever then answers a campaign again sends a second, independent report. The two together reveal up to the sum of their"
    " epsilons, and no cap knows of the first."
)


def forget(
    store: Store = None,
    agreed: Annotated[bool, typer.Option("--yes", help="Delete without being asked.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete everything that this device keeps: reports and totals of all campaigns and of all who share the device.

    A collector keeps what it has: run `lopub withdraw` before, if it is to forget that, too. A report that still waits is never
    sent. Whoever answers a campaign again afterwards sends a second, independent report; the two together reveal up to the sum of
    their epsilons, and no cap knows of the first.

    Example: `lopub forget`

    More: docs/operating.md
    """
    kept = FileStore(store)
    with kept.reading() as rows:
        n_reports = rows.n_reports()
    if not agreed:
        if not sys.stdin.isatty():
            raise typer.BadParameter("nobody can be asked here; add --yes to delete everything")
        if not typer.confirm(f"{MEANING}\nDelete all that is kept in {kept.path}?", err=True):
            note("lopub: nothing was deleted.")
            raise typer.Exit(1)
    kept.delete_everything()
    tell(
        {"deleted": n_reports},
        f"Deleted: {n_reports} report{'' if n_reports == 1 else 's'}, and all totals. {MEANING}",
        as_json=as_json,
    )
