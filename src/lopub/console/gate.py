"""Who is signed in: sessions in memory, with a bounded life; attempts are limited, and no address is kept."""

import hashlib
import secrets
import threading
import time
from dataclasses import dataclass, field

LIFE_SECONDS = 8 * 3600
"""A working day; after it, sign in again."""
MOST_SESSIONS = 1000
MOST_FAILURES, WINDOW_SECONDS = 10, 60
"""Of everybody together: a token has 256 bits, so this only keeps guessing from being a load. Whoever is signed in, or
has a right token, does not notice."""
COOKIE = "lopub_console"


@dataclass(frozen=True)
class Session:
    """Somebody who is signed in."""

    token: str
    """With which; asked again at every request, so that a revoked token ends its sessions."""
    ends: float
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24))


class Gate:
    """The sessions of a console. Cookies are kept as hashes, as tokens are."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[bytes, Session] = {}
        self._failures: list[float] = []

    def enter(self, token: str) -> str:
        """Sign in; the value of a new cookie, whatever the browser brought."""
        cookie = secrets.token_urlsafe(32)
        with self._lock:
            now = time.monotonic()
            self._sessions = {key: one for key, one in self._sessions.items() if one.ends > now}
            while len(self._sessions) >= MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[_hash(cookie)] = Session(token, now + LIFE_SECONDS)
        return cookie

    def session(self, cookie: str) -> Session | None:
        """Who has this cookie; None where nobody has, or it is over."""
        with self._lock:
            found = self._sessions.get(_hash(cookie))
        return found if found is not None and found.ends > time.monotonic() else None

    def leave(self, cookie: str) -> None:
        """Sign out."""
        with self._lock:
            self._sessions.pop(_hash(cookie), None)

    def may_try(self) -> bool:
        """Whether the store may be asked about a token now: not while somebody guesses."""
        with self._lock:
            since = time.monotonic() - WINDOW_SECONDS
            self._failures = [one for one in self._failures if one > since]
            return len(self._failures) < MOST_FAILURES

    def failed(self) -> None:
        """A token was tried that is none."""
        with self._lock:
            self._failures.append(time.monotonic())


def _hash(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode(errors="surrogateescape")).digest()
