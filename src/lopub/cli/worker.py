"""`lopub worker`: does the jobs that the console asks for."""

import os
import signal
from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import say
from lopub.cli.database import DEFAULT, opened
from lopub.cli.options import Database


def worker(
    database: Database = DEFAULT,
    files: Annotated[
        Path | None,
        typer.Option(
            "--files",
            metavar="DIR",
            help="Where results go: the directory that the console reads.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str,
        typer.Option(
            "--name",
            metavar="NAME",
            hidden=True,
            help="Take up at once what one of this name held.",
        ),
    ] = "",
    child: Annotated[
        bool,
        typer.Option("--child", hidden=True, help="End with the process that started this one."),
    ] = False,
) -> None:
    """Do the jobs that the console asks for (publish, plan, export, back up, delete) until stopped (SIGTERM or Ctrl-C).

    `lopub serve` has a worker of its own; more of them, also on other machines that share the directory, do more at a time. A job
    whose worker is killed is taken up again by another.

    Example: `lopub worker --database sqlite:///lopub.db`

    More: docs/console.md
    """
    with opened(database) as store:
        from lopub.collector.logs import log_to_standard_error
        from lopub.collector.settings import files_of
        from lopub.jobs.worker import Worker

        home = files or files_of(database)
        log_to_standard_error()
        stopping: list[int] = []
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: stopping.append(number))
        parent = os.getppid()
        say(f"working for {store.name}, results in {home}")
        Worker(store, database, home, name=name).run(
            lambda: bool(stopping) or (child and os.getppid() != parent)
        )
