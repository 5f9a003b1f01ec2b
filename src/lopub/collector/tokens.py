"""Tokens that allow management: random, kept as hashes only, with a scope and an end."""

import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import delete, insert, select

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
    """A token; this is the only time that it can be seen."""
    if scope not in SCOPES:
        raise DomainError(f"scope must be one of {', '.join(SCOPES)}, got {scope!r}")
    if not 1 <= days <= MOST_DAYS:
        raise DomainError(f"days must lie in 1..{MOST_DAYS}, got {days}")
    token = f"lopub_{secrets.token_urlsafe(32)}"
    expires = int(time.time()) + days * SECONDS_A_DAY
    with store.writing() as connection:
        connection.execute(insert(tokens).values(hash=_hash(token), scope=scope, expires=expires))
    return token


def grant_of(store: ReportStore, token: str) -> Grant | None:
    """What a token allows; None where it is not known."""
    with store.reading() as connection:
        row = connection.execute(select(tokens).where(tokens.c.hash == _hash(token))).one_or_none()
    return None if row is None else _grant(row.hash, row.scope, row.expires)


def all_grants(store: ReportStore) -> list[Grant]:
    """What each token allows, the first to expire first."""
    with store.reading() as connection:
        rows = connection.execute(select(tokens).order_by(tokens.c.expires, tokens.c.hash)).all()
    return [_grant(row.hash, row.scope, row.expires) for row in rows]


Grants = Mapping[bytes, Grant]
"""By the hashes of their tokens."""


def grants_of(store: ReportStore) -> Grants:
    """What each token allows."""
    with store.reading() as connection:
        return {
            row.hash: _grant(row.hash, row.scope, row.expires)
            for row in connection.execute(select(tokens))
        }


def grant_among(grants: Grants, token: str) -> Grant | None:
    """What a token allows; None where it is not among them."""
    return grants.get(_hash(token))


def revoke(store: ReportStore, name: str) -> None:
    """Take a token back, by its name in the list."""
    with store.writing() as connection:
        hashes = [
            h for h in connection.execute(select(tokens.c.hash)).scalars() if h.hex()[:12] == name
        ]
        if not hashes:
            raise DomainError(f"there is no token {name[:40]!r}; `lopub token list` names them")
        connection.execute(delete(tokens).where(tokens.c.hash.in_(hashes)))


def _grant(hashed: bytes, scope: str, expires: int) -> Grant:
    return Grant(name=hashed.hex()[:12], scope=scope, expires=expires)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
