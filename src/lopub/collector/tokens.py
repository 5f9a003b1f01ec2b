"""Tokens that allow management: random, kept as hashes only, with a scope and an expiry."""

import hashlib
import secrets
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, delete, insert, select

from lopub.collector.rows import tokens
from lopub.collector.store import ReportStore
from lopub.errors import DomainError

SCOPES = ("read", "manage")
"""Each allows what those before it allow."""
SECONDS_A_DAY = 86_400
MOST_DAYS = 3650


@dataclass(frozen=True, kw_only=True)
class Grant:
    """What is known of a token: never the token itself."""

    name: str
    """The first digits of its hash."""
    scope: str
    expires: int
    """Unix seconds."""

    @property
    def expired(self) -> bool:
        return time.time() >= self.expires

    def allows(self, scope: str) -> bool:
        """Whether the token's scope includes this one."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


def new_token(store: ReportStore, *, scope: str, days: int) -> str:
    """Make a token and return it; this is the only time that it can be seen."""
    if scope not in SCOPES:
        raise DomainError(
            "scope must be one of {scopes}, got {scope!r}", scopes=", ".join(SCOPES), scope=scope
        )
    if not 1 <= days <= MOST_DAYS:
        raise DomainError("days must lie in 1..{most}, got {days}", most=MOST_DAYS, days=days)
    token = f"lopub_{secrets.token_urlsafe(32)}"
    expires = int(time.time()) + days * SECONDS_A_DAY
    with store.writing() as connection:
        connection.execute(insert(tokens).values(hash=_hash(token), scope=scope, expires=expires))
    return token


def grant_of(store: ReportStore, token: str) -> Grant | None:
    """Return what a token allows; None where it is not known."""
    with store.reading() as connection:
        row = connection.execute(select(tokens).where(tokens.c.hash == _hash(token))).one_or_none()
    return None if row is None else grant_of_row(row)


def all_grants(store: ReportStore) -> list[Grant]:
    """Return what each token allows, the first to expire first."""
    with store.reading() as connection:
        rows = connection.execute(select(tokens).order_by(tokens.c.expires, tokens.c.hash)).all()
    return [grant_of_row(row) for row in rows]


def revoke(store: ReportStore, name: str) -> None:
    """Take a token back, by its name in the list."""
    with store.writing() as connection:
        hashes = [
            h for h in connection.execute(select(tokens.c.hash)).scalars() if h.hex()[:12] == name
        ]
        if not hashes:
            raise DomainError(
                "there is no token {name!r}; `lopub token list` names them", name=name[:40]
            )
        connection.execute(delete(tokens).where(tokens.c.hash.in_(hashes)))


def grant_of_row(row: Row[Any]) -> Grant:
    """Return what a row of the table of tokens allows."""
    return Grant(name=row.hash.hex()[:12], scope=row.scope, expires=row.expires)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
