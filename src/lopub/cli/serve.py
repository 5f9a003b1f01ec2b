"""`lopub serve`: the collector."""

import os
from pathlib import Path
from typing import Annotated

import typer

from lopub.cli.console import note, say
from lopub.cli.database import refuse_without_service


def serve(
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="sqlite:///FILE or postgresql://…; sqlite:///lopub.db unless given.")
    ] = None,
    host: Annotated[str | None, typer.Option(metavar="H", help="Where to listen; 127.0.0.1 unless given.")] = None,
    port: Annotated[int | None, typer.Option(metavar="P", help="On which port; 8000 unless given, 0 for any.")] = None,
    settings_file: Annotated[
        Path | None, typer.Option("--settings", metavar="FILE", help="Settings as TOML; LOPUB_* in the environment overrule it.")
    ] = None,
) -> None:
    """Collect reports over HTTP until told to stop (SIGTERM, or Ctrl-C). Keeps nothing that tells who sent them.

    Example: `lopub serve --database sqlite:///lopub.db --port 8000`
    """
    refuse_without_service()
    from lopub.service.database import store_at
    from lopub.service.run import serve as served
    from lopub.service.settings import settings_from
    from lopub.service.tokens import all_grants

    settings = settings_from(settings_file, os.environ, {"database": database, "host": host, "port": port})
    store = store_at(settings.database)
    if not all_grants(store):
        note(f"note: there is no token yet; to manage campaigns over HTTP: lopub token new --database {store.name}")
    served(settings, store, listening=lambda address: say(f"listening on {address}, database {store.name}"))


alone = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
"""The command without all others, which take longer to load than the collector itself."""
alone.command()(serve)
alone.callback()(lambda: None)
