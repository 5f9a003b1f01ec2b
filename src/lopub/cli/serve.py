"""`lopub serve`: the collector."""

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import note, say
from lopub.cli.database import refuse_without_service


def serve(
    database: Annotated[
        str | None,
        typer.Option(
            "--database",
            metavar="URL",
            help="sqlite:///FILE or postgresql://USER@HOST/NAME; sqlite:///lopub.db unless given.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option("--host", metavar="HOST", help="The address to listen on; 127.0.0.1 unless given.", show_default=False),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="PORT", help="The port to listen on; 8000 unless given, 0 for any.", show_default=False),
    ] = None,
    settings_file: Annotated[
        Path | None,
        typer.Option(
            "--settings", metavar="FILE", help="Settings as TOML; LOPUB_* in the environment overrule them.", show_default=False
        ),
    ] = None,
    console: Annotated[
        str | None,
        typer.Option(
            "--console",
            metavar="HOST:PORT",
            help="Where the console and the metrics listen; 127.0.0.1:8001 unless given, '' for nowhere.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Collect reports over HTTP until stopped (SIGTERM or Ctrl-C). Nothing that tells who sent a report is kept.

    Example: `lopub serve --database sqlite:///lopub.db --port 8000`

    More: docs/operating.md, and docs/console.md on the console
    """
    refuse_without_service()
    from lopub.jobs.beside import worker_beside
    from lopub.service.database import store_at
    from lopub.service.run import serve as served
    from lopub.service.settings import settings_from
    from lopub.service.tokens import all_grants

    given = {"database": database, "host": host, "port": port, "console": console}
    settings = settings_from(settings_file, os.environ, given)
    store = store_at(settings.database)
    if not all_grants(store):
        note(f"note: there is no token yet; to sign in and to manage campaigns: lopub token new --database {store.name}")

    def listening(address: str, console: str) -> None:
        say(f"listening on {address}, database {store.name}")
        if console:
            say(f"the console is at {console}")

    with worker_beside(settings.database, settings.home) if settings.console else nullcontext():
        served(settings, store, listening=listening)


alone = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
"""The command without all others, which take longer to load than the collector itself."""
alone.command()(serve)
alone.callback()(lambda: None)
