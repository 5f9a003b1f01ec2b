"""`lopub backup` and `lopub restore`: a collector's whole database in one file."""

from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import count_of_reports, tell, working
from lopub.cli.database import DEFAULT, opened
from lopub.cli.options import OUTPUT, AsJson, Database, Force
from lopub.cli.outputs import check_file


def backup(
    output: Annotated[
        Path,
        typer.Option(
            *OUTPUT, metavar="FILE", help="Where to write the backup.", show_default=False
        ),
    ],
    database: Database = DEFAULT,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Write a consistent copy of a collector's database to a file, while the collector goes on.

    A backup of either kind of database can be restored into either kind. It holds reports: keep it
    as carefully as the database.

    Example: `lopub backup --database sqlite:///lopub.db -o lopub.backup`

    More: docs/operating.md
    """
    check_file(output, force=force)
    with opened(database) as store, working("backing up"):
        from lopub.collector.backup import backup as backed_up

        n_reports = backed_up(store, output, force=force)
    document = {"database": store.name, "n_reports": n_reports, "output": str(output)}
    tell(
        document, f"{count_of_reports(n_reports)} backed up", f"written: {output}", as_json=as_json
    )


def restore(
    backup_file: Annotated[
        Path, typer.Argument(metavar="BACKUP", help="The backup file.", show_default=False)
    ],
    database: Database = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Fill an empty database from a backup.

    Example: `lopub restore lopub.backup --database postgresql://lopub@localhost/lopub`

    More: docs/operating.md
    """
    with opened(database, create=True, alone=True) as store, working("restoring"):
        from lopub.collector.backup import restore as restored

        n_reports = restored(backup_file, store)
    document = {"database": store.name, "n_reports": n_reports}
    tell(document, f"{count_of_reports(n_reports)} restored into {store.name}", as_json=as_json)
