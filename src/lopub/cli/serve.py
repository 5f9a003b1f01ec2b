"""`lopub serve`: the collector, with a console and a worker beside it."""

import os
import secrets
import socket
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lopub.campaign.schedule import GRACE_DAYS
from lopub.cli.children import children
from lopub.cli.console import note, say
from lopub.cli.database import refuse_without_service
from lopub.cli.options import Embed, Files, Grace, Public
from lopub.cli.settings import note_unknown_settings

if TYPE_CHECKING:
    from lopub.collector.collector import CollectorSettings
    from lopub.collector.store import ReportStore

DATABASE = "sqlite:///lopub.db"
ServedDatabase = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        envvar="LOPUB_DATABASE",
        help=f"sqlite:///FILE or postgresql://USER@HOST/NAME; {DATABASE} unless given.",
        show_default=False,
    ),
]
Host = Annotated[
    str,
    typer.Option("--host", metavar="HOST", envvar="LOPUB_HOST", help="The address to listen on."),
]
Port = Annotated[
    int,
    typer.Option(
        "--port",
        metavar="PORT",
        envvar="LOPUB_PORT",
        min=0,
        max=65535,
        help="The port to listen on; 0 for any.",
    ),
]
ConsolePort = Annotated[
    int,
    typer.Option(
        "--console-port",
        metavar="PORT",
        envvar="LOPUB_CONSOLE_PORT",
        min=0,
        max=65535,
        help="The port of the console, on this machine alone; 0 for any.",
    ),
]
Alone = Annotated[
    bool,
    typer.Option("--alone", help="The collector only: console and worker are started elsewhere."),
]
Demo = Annotated[
    bool,
    typer.Option(
        "--demo",
        help="Show the whole product: made-up campaigns in a new database, deleted when it stops, and a token to sign in.",
    ),
]
DEMO_ENDS = (
    "a demo keeps nothing: when it stops, everything in it is deleted, also what you wrote; to keep your work, start"
    " lopub serve --database sqlite:///lopub.db"
)
NO_PROXY = (
    "note: other machines can reach this address, and it has no TLS and no protection from slow senders;"
    " put nginx in front (docs/operating.md)"
)


def serve(
    database: ServedDatabase = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    console_port: ConsolePort = 8001,
    public: Public = "",
    files: Files = None,
    embed: Embed = "",
    grace_days: Grace = GRACE_DAYS,
    alone: Alone = False,
    demo: Demo = False,
) -> None:
    """Collect reports over HTTP until stopped (SIGTERM or Ctrl-C). Nothing that tells who sent a
    report is kept.

    Example: `lopub serve --database sqlite:///lopub.db --port 8000` or `lopub serve --demo`

    More: docs/operating.md, and docs/console.md on the console
    """
    refuse_without_service()
    note_unknown_settings()
    from lopub.collector.app import collector_app
    from lopub.collector.collector import Collector, CollectorSettings
    from lopub.collector.database import results_directory, store_at
    from lopub.collector.logs import log_event, log_to_standard_error
    from lopub.collector.server import address_of, is_loopback, listening_socket
    from lopub.collector.server import serve as serve_app

    settings = CollectorSettings(embed=embed, grace_days=grace_days)
    bound = listening_socket(host, port)  # before a database is made, should the port be taken
    beside = None if alone else listening_socket("127.0.0.1", console_port)
    with demo_database(database) if demo else nullcontext(database or DATABASE) as chosen:
        store = store_at(chosen)
        home = results_directory(files, chosen)
        token = filled(store) if demo else ""
        _suggest_token(store, chosen, demo)
        log_to_standard_error()
        store.hold()
        address = address_of(bound)
        log_event("started", address=address)
        unnamed = "" if database or demo else " (none was named)"
        say(f"listening on {address}, database {store.name}{unnamed}")
        if beside is not None:
            say(f"the console is at {address_of(beside)}/console")
        if not is_loopback(bound):
            note(NO_PROXY)
        if token:
            say(DEMO_ENDS)
            say(f"sign in with {token}")
        try:
            with _beside(chosen, beside, public or address, home, settings, demo):
                serve_app(collector_app(Collector(settings, store)), bound)
        finally:
            store.close()
        log_event("stopped")


def _beside(
    database: str,
    bound: "socket.socket | None",
    public: str,
    home: Path,
    settings: "CollectorSettings",
    demo: bool,
) -> AbstractContextManager[None]:
    """Console and worker, for as long as the collector runs. bound: where the console listens; None
    for neither."""
    if bound is None:
        return nullcontext()
    descriptor = bound.fileno()
    console = ["console", "--socket", str(descriptor), "--public", public, "--files", str(home)]
    console += ["--embed", settings.embed, "--grace-days", str(settings.grace_days)]
    console += ["--demo"] if demo else []
    # a name, and not the number of a process: two containers may have the same
    worker = ["worker", "--files", str(home), "--name", f"serve-{secrets.token_hex(8)}"]
    # an address may hold a password, which others could see in a command
    return children(console, worker, environment={"LOPUB_DATABASE": database}, sockets=[descriptor])


def _suggest_token(store: "ReportStore", database: str, demo: bool) -> None:
    from lopub.collector.tokens import all_grants

    if not demo and not all_grants(store):
        note(
            "note: there is no token yet; to sign in and to manage campaigns:"
            f" lopub token new{_option_for(store, database)}"
        )


def _option_for(store: "ReportStore", database: str) -> str:
    """How another command is told of the database; a password is not repeated."""
    if os.environ.get("LOPUB_DATABASE") == database:
        return ""
    return " with the same --database" if ":***@" in store.name else f" --database {store.name}"


@contextmanager
def demo_database(given: str | None) -> Iterator[str]:
    """The address of a database that is gone afterwards."""
    if given is not None:
        raise typer.BadParameter("--demo makes a database of its own; leave --database out")
    with tempfile.TemporaryDirectory(prefix="lopub-demo-", ignore_cleanup_errors=True) as directory:
        yield f"sqlite:///{Path(directory)}/lopub.db"


def filled(store: "ReportStore") -> str:
    """Fill a store with what a demo shows; a token for it."""
    from lopub.collector.tokens import new_token
    from lopub.jobs.demo import fill

    say("making up people; this takes some seconds")
    fill(store)
    return new_token(store, scope="manage", days=1)
