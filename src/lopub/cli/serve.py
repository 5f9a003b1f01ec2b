"""`lopub serve`: the collector, and its console."""

import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lopub.cli.console import note, say
from lopub.cli.database import refuse_without_service

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from lopub.collector.collector import Collector
    from lopub.collector.settings import CollectorSettings
    from lopub.collector.store import ReportStore

ServedDatabase = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        help="sqlite:///FILE or postgresql://USER@HOST/NAME; sqlite:///lopub.db unless given.",
        show_default=False,
    ),
]
Host = Annotated[
    str | None,
    typer.Option(
        "--host",
        metavar="HOST",
        help="The address to listen on; 127.0.0.1 unless given.",
        show_default=False,
    ),
]
Port = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="PORT",
        help="The port to listen on; 8000 unless given, 0 for any.",
        show_default=False,
    ),
]
Console = Annotated[
    str | None,
    typer.Option(
        "--console",
        metavar="HOST:PORT",
        help="Where the console and the metrics listen; 127.0.0.1:8001 unless given, '' for nowhere.",
        show_default=False,
    ),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        metavar="FILE",
        help="Settings as TOML; LOPUB_* in the environment overrule them.",
        show_default=False,
    ),
]
Demo = Annotated[
    bool,
    typer.Option(
        "--demo",
        help="Show the whole product: made-up campaigns in a new database, deleted when it stops, and a token to sign in.",
    ),
]
Given = Mapping[str, str | int | None]
DEMO_ENDS = (
    "a demo keeps nothing: when it stops, everything in it is deleted, also what you wrote; to keep your work, start"
    " lopub serve --database sqlite:///lopub.db"
)


def serve(
    database: ServedDatabase = None,
    host: Host = None,
    port: Port = None,
    console: Console = None,
    settings_file: SettingsFile = None,
    demo: Demo = False,
) -> None:
    """Collect reports over HTTP until stopped (SIGTERM or Ctrl-C). Nothing that tells who sent a report is kept.

    Example: `lopub serve --database sqlite:///lopub.db --port 8000`
    or `lopub serve --demo`

    More: docs/operating.md, and docs/console.md on the console
    """
    refuse_without_service()
    from lopub.collector.database import store_at
    from lopub.collector.settings import settings_from
    from lopub.collector.tokens import all_grants

    given: Given = {"database": database, "host": host, "port": port, "console": console}
    with demonstrated(given) if demo else nullcontext(given) as chosen:
        settings = settings_from(settings_file, os.environ, chosen)
        store = store_at(settings.database)
        token = filled(store) if demo else ""
        if not demo and not all_grants(store):
            note(
                f"note: there is no token yet; to sign in and to manage campaigns: lopub token new --database {store.name}"
            )
        run(settings, store, token)


def run(settings: "CollectorSettings", store: "ReportStore", token: str) -> None:
    """Serve, with a worker beside where there is a console. token: that of a demo, to be told; empty where it is none."""
    from lopub.collector.run import serve as served
    from lopub.jobs.beside import worker_beside

    def listening(address: str, console: str) -> None:
        say(f"listening on {address}, database {store.name}")
        if console:
            say(f"the console is at {console}")
        if token:
            say(DEMO_ENDS)
            say(f"sign in with {token}")

    with worker_beside(settings.database, settings.home) if settings.console else nullcontext():
        served(settings, store, listening=listening, console=partial(_console, is_demo=bool(token)))


def _console(collector: "Collector", public: str, *, is_demo: bool) -> "ASGIApp":
    """The console, whose packages take longer to load than the collector itself."""
    from lopub.console.app import console_app, warm

    threading.Thread(target=warm, name="lopub-warm", daemon=True).start()
    return console_app(
        collector, home=collector.settings.home.resolve(), public=public, is_demo=is_demo
    )


@contextmanager
def demonstrated(given: Given) -> Iterator[Given]:
    """What was given, with a database that is gone afterwards."""
    if given["database"] is not None:
        raise typer.BadParameter("--demo makes a database of its own; leave --database out")
    with tempfile.TemporaryDirectory(prefix="lopub-demo-", ignore_cleanup_errors=True) as directory:
        yield {**given, "database": f"sqlite:///{directory}/lopub.db"}


def filled(store: "ReportStore") -> str:
    """Fill a store with what a demo shows; a token for it."""
    from lopub.collector.tokens import new_token
    from lopub.jobs.demo import fill

    say("making up people; this takes some seconds")
    fill(store)
    return new_token(store, scope="manage", days=1)
