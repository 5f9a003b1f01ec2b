"""`lopub token`: who may manage campaigns over HTTP."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from lopub.cli.console import note, out, print_json, say, table, tell
from lopub.cli.database import DEFAULT, opened
from lopub.cli.options import AsJson, Database

if TYPE_CHECKING:
    from lopub.collector.tokens import Grant

app = typer.Typer(
    no_args_is_help=True,
    help="Make, list and revoke the tokens that manage a collector's campaigns over HTTP.",
)


@app.command()
def new(
    database: Database = DEFAULT,
    scope: Annotated[
        str,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            help="read (lists and counts) or manage (also open and close).",
        ),
    ] = "manage",
    days: Annotated[
        int, typer.Option("--days", metavar="N", help="For how many days it is valid.")
    ] = 30,
    as_json: AsJson = False,
) -> None:
    """Make a token and print it, once: only its hash is kept.

    Example: `lopub token new --database sqlite:///lopub.db --scope manage --days 30`

    More: docs/operating.md
    """
    with opened(database, create=True) as store:
        from lopub.collector.tokens import grant_of, new_token

        token = new_token(store, scope=scope, days=days)
        grant = grant_of(store, token)
    tell({"token": token} | (described(grant) if grant else {}), token, as_json=as_json)
    note(
        f"note: this is the only time that the token is shown; it is valid for {days} days, scope {scope}"
    )


@app.command("list")
def list_tokens(database: Database = DEFAULT, as_json: AsJson = False) -> None:
    """List the tokens by their names: the first digits of their hashes.

    Example: `lopub token list --database sqlite:///lopub.db`

    More: docs/operating.md
    """
    with opened(database) as store:
        from lopub.collector.tokens import all_grants

        grants = all_grants(store)
    if as_json:
        print_json({"tokens": [described(grant) for grant in grants]})
        return
    shown = table("token", "scope", "expires")
    for grant in grants:
        shown.add_row(
            grant.name, grant.scope, f"{_day(grant)} (expired)" if grant.expired else _day(grant)
        )
    if grants:
        out.print(shown)
    else:
        say("there is no token; `lopub token new` makes one")


@app.command()
def revoke(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Its name in `lopub token list`.", show_default=False),
    ],
    database: Database = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Revoke a token: whoever presents it is refused from now on.

    Example: `lopub token revoke 3f2a90c1d4e5 --database sqlite:///lopub.db`

    More: docs/operating.md
    """
    with opened(database) as store:
        from lopub.collector.tokens import revoke as revoked

        revoked(store, name)
    tell({"revoked": name}, f"revoked: {name}", as_json=as_json)


def described(grant: "Grant") -> dict[str, object]:
    """What is known of a token, for programs."""
    return {
        "name": grant.name,
        "scope": grant.scope,
        "expires": _day(grant),
        "expired": grant.expired,
    }


def _day(grant: "Grant") -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(grant.expires))
