"""`lopub console`: the console of a collector, in a process of its own."""

import socket
import threading
from typing import Annotated

import typer

from lopub.campaign.schedule import GRACE_DAYS
from lopub.cli.children import end_with_parent
from lopub.cli.console import note, say
from lopub.cli.database import DEFAULT, opened
from lopub.cli.options import Database, Embed, Files, Grace, Public
from lopub.cli.settings import note_unknown_settings

PUBLIC = "http://127.0.0.1:8000"
NO_PUBLIC = (
    f"note: --public (LOPUB_PUBLIC) is not set: links, posters and QR codes lead to {PUBLIC}, which"
    " is this machine only"
)
Host = Annotated[
    str,
    typer.Option(
        "--host", metavar="HOST", envvar="LOPUB_CONSOLE_HOST", help="The address to listen on."
    ),
]
Port = Annotated[
    int,
    typer.Option(
        "--port",
        metavar="PORT",
        envvar="LOPUB_CONSOLE_PORT",
        min=0,
        max=65535,
        help="The port to listen on; 0 for any.",
    ),
]
Demo = Annotated[bool, typer.Option("--demo", hidden=True, help="Everything here is made up.")]
Socket = Annotated[
    int | None,
    typer.Option(
        "--socket",
        metavar="N",
        hidden=True,
        help="The descriptor of a socket that listens already.",
    ),
]
IsChild = Annotated[
    bool,
    typer.Option("--child", hidden=True, help="End with the process that started this one."),
]


def console(
    database: Database = DEFAULT,
    host: Host = "127.0.0.1",
    port: Port = 8001,
    public: Public = "",
    files: Files = None,
    embed: Embed = "",
    grace_days: Grace = GRACE_DAYS,
    demo: Demo = False,
    descriptor: Socket = None,
    child: IsChild = False,
) -> None:
    """Serve the console of a collector until stopped (SIGTERM or Ctrl-C): a campaign from its draft
    to its deletion.

    `lopub serve` has a console of its own. Any number of consoles may share a PostgreSQL database,
    and whoever is signed in to one is signed in to all.

    Example: `lopub console --database postgresql://lopub@db/lopub --public
    https://collector.example`

    More: docs/console.md
    """
    if child:
        end_with_parent()
    else:
        note_unknown_settings()
    with opened(database) as store:
        from lopub.collector.collector import CollectorSettings
        from lopub.collector.database import results_directory
        from lopub.collector.logs import log_event, log_to_standard_error
        from lopub.collector.server import address_of, listening_socket
        from lopub.collector.server import serve as serve_app
        from lopub.console.app import console_app, prepare
        from lopub.console.context import Context

        settings = CollectorSettings(embed=embed, grace_days=grace_days)
        context = Context(
            store=store,
            files=results_directory(files, database),
            public=public or PUBLIC,
            embed=settings.embed,
            grace_days=settings.grace_days,
            is_demo=demo,
        )
        bound = socket.socket(fileno=descriptor) if descriptor else listening_socket(host, port)
        log_to_standard_error()
        threading.Thread(target=prepare, args=(context,), daemon=True).start()
        address = f"{address_of(bound)}/console"
        say(f"the console is at {address}, database {store.name}")
        if not public:
            note(NO_PUBLIC)
        log_event("console started", address=address)
        serve_app(console_app(context), bound)
        log_event("console stopped")
