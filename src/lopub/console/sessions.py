"""Sessions as rows of the store, which all consoles on it share. A row holds hashes of cookie and
token alone."""

import hashlib
import secrets
import threading
import time

from sqlalchemy import delete, insert, select

from lopub.collector.rows import sessions, tokens
from lopub.collector.store import ReportStore
from lopub.collector.tokens import Grant, grant_of_row

LIFE_SECONDS = 8 * 3600
"""A working day; after it, sign in again."""
MOST_SESSIONS = 1000
MOST_FAILURES, WINDOW_SECONDS = 10, 60
"""Of everybody together: a token has 256 bits, so this only keeps guessing from filling the log.
Whoever is signed in, or has a right token, does not notice."""
COOKIE = "lopub_console"


def new_session(store: ReportStore, token: str) -> str:
    """Keep a session for a token; the value of a new cookie, whatever the browser brought."""
    cookie, now = secrets.token_urlsafe(32), int(time.time())
    newest = select(sessions.c.hash).order_by(sessions.c.ends.desc()).limit(MOST_SESSIONS - 1)
    with store.writing() as connection:
        connection.execute(delete(sessions).where(sessions.c.ends <= now))
        connection.execute(delete(sessions).where(sessions.c.hash.not_in(newest)))
        connection.execute(
            insert(sessions).values(hash=_hash(cookie), token=_hash(token), ends=now + LIFE_SECONDS)
        )
    return cookie


def grant_of_session(store: ReportStore, cookie: str) -> Grant | None:
    """What the token of a session allows; None where the session is over, or its token expired or
    revoked."""
    if not cookie:
        return None
    chosen = (
        select(tokens)
        .join(sessions, sessions.c.token == tokens.c.hash)
        .where(sessions.c.hash == _hash(cookie), sessions.c.ends > int(time.time()))
    )
    with store.reading() as connection:
        row = connection.execute(chosen).one_or_none()
    if row is None:
        return None
    grant = grant_of_row(row)
    return None if grant.expired else grant


def end_session(store: ReportStore, cookie: str) -> None:
    """Sign out; a session that is over already stays so."""
    with store.writing() as connection:
        connection.execute(delete(sessions).where(sessions.c.hash == _hash(cookie)))


class Attempts:
    """Tokens of the last minute that were wrong, in memory. No address is kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures: list[float] = []

    def are_few(self) -> bool:
        """Return whether wrong tokens are still written to the log: not while somebody guesses."""
        with self._lock:
            since = time.monotonic() - WINDOW_SECONDS
            self._failures = [one for one in self._failures if one > since]
            return len(self._failures) < MOST_FAILURES

    def count(self) -> None:
        """Count a wrong token."""
        with self._lock:
            self._failures.append(time.monotonic())


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogateescape")).digest()
