"""`lopub token`: who may manage campaigns over HTTP."""

import time
from typing import Annotated

import typer

from lopub.cli.console import note, out, say, table
from lopub.cli.database import DEFAULT, Database, opened

app = typer.Typer(no_args_is_help=True, help="Tokens to manage a collector's campaigns over HTTP.")


@app.command()
def new(
    database: Database = DEFAULT,
    scope: Annotated[str, typer.Option(metavar="S", help="read (lists and counts) or manage (also open and close).")] = "manage",
    days: Annotated[int, typer.Option(metavar="N", help="For how many days it is good.")] = 30,
) -> None:
    """Make a token and print it, once: only its hash is kept.

    Example: `lopub token new --database sqlite:///lopub.db --scope manage --days 30`
    """
    with opened(database, create=True) as store:
        from lopub.service.tokens import new_token

        say(new_token(store, scope=scope, days=days))
    note(f"note: this is the only time that the token is shown; it is good for {days} days, scope {scope}")


@app.command("list")
def list_tokens(database: Database = DEFAULT) -> None:
    """List the tokens by their names: the first digits of their hashes.

    Example: `lopub token list --database sqlite:///lopub.db`
    """
    with opened(database) as store:
        from lopub.service.tokens import all_grants

        grants = all_grants(store)
    shown = table("token", "scope", "expires")
    for grant in grants:
        day = time.strftime("%Y-%m-%d", time.gmtime(grant.expires))
        shown.add_row(grant.name, grant.scope, f"{day} (expired)" if grant.expired else day)
    if grants:
        out.print(shown)
    else:
        say("there is no token; `lopub token new` makes one")


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(metavar="TOKEN", help="Its name in the list.", show_default=False)],
    database: Database = DEFAULT,
) -> None:
    """Take a token back; whoever brings it is refused from now on.

    Example: `lopub token revoke 3f2a90c1d4e5 --database sqlite:///lopub.db`
    """
    with opened(database) as store:
        from lopub.service.tokens import revoke as revoked

        revoked(store, name)
    say(f"revoked: {name}")
