"""`lopub backup` and `lopub restore`: a collector's whole database in one file."""

from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import say, working
from lopub.cli.database import DEFAULT, Database, opened
from lopub.files import exists


def backup(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The backup.", show_default=False)],
    database: Database = DEFAULT,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")] = False,
) -> None:
    """Write one consistent state of a database to a file, while its collector goes on.

    The file is the same whichever kind of database it comes from, and can be restored into either kind.

    Example: `lopub backup --database sqlite:///lopub.db -o lopub.backup`
    """
    if output.exists() and not force:
        raise exists(output)
    with opened(database) as store, working("backing up"):
        from lopub.service.backup import backup as backed_up

        n_reports = backed_up(store, output, force=force)
    say(f"{n_reports:,} reports backed up")
    say(f"written: {output}")


def restore(
    backup_file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup.", show_default=False)],
    database: Database = DEFAULT,
) -> None:
    """Fill an empty database from a backup.

    Example: `lopub restore lopub.backup --database postgresql://lopub@localhost/lopub`
    """
    with opened(database, create=True, alone=True) as store, working("restoring"):
        from lopub.service.backup import restore as restored

        n_reports = restored(backup_file, store)
    say(f"{n_reports:,} reports restored into {store.name}")
