"""`lopub worker`: does the jobs that the console asks for."""

import signal
from typing import Annotated

import typer

from lopub.cli.children import end_with_parent
from lopub.cli.console import say
from lopub.cli.database import DEFAULT, opened
from lopub.cli.options import Database, Files
from lopub.cli.settings import note_unknown_settings

Name = Annotated[
    str,
    typer.Option(
        "--name",
        metavar="NAME",
        hidden=True,
        help="Take up at once the job that a worker of this name held.",
    ),
]
Child = Annotated[
    bool,
    typer.Option("--child", hidden=True, help="End with the process that started this one."),
]


def worker(
    database: Database = DEFAULT, files: Files = None, name: Name = "", child: Child = False
) -> None:
    """Do the jobs that the console asks for (publish, plan, delete) until stopped (SIGTERM or
    Ctrl-C).

    `lopub serve` has a worker of its own; more of them, also on other machines that share the
    directory, do more at a time. A job whose worker is stopped or killed is taken up again by
    another.

    Example: `lopub worker --database sqlite:///lopub.db`

    More: docs/console.md
    """
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: stopping.append(number))
    if child:
        end_with_parent()
    else:
        note_unknown_settings()
    with opened(database) as store:
        from lopub.collector.database import results_directory
        from lopub.collector.logs import log_event, log_to_standard_error
        from lopub.jobs.worker import Worker

        home = results_directory(files, database)
        doing = Worker(store, database, home, name=name)
        log_to_standard_error()
        say(f"working for {store.name}, results in {home}")
        log_event("worker started")
        doing.run(lambda: bool(stopping))
        log_event("worker stopped")
