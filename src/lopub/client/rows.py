"""The rows of a store, within one transaction: what is charged, what was drawn, and what became of it.

    facts     a random salt, and its hash, by which a damaged salt is noticed
    series    for each campaign and respondent: what everything that is sent reveals at most (empty until it is charged), the
              rounds that were drawn, in mode permanent the noisy answer, and how many reports were made
    reports   the bytes of each report, and what became of it

Names of campaigns, respondents and rounds are hashes keyed with the salt, and the rows lie in the order of these hashes: they
tell neither who answered what, nor when, nor in which order.
"""

import hashlib
import hmac
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from enum import StrEnum
from typing import NamedTuple

from lopub.campaign.budget import short_up
from lopub.campaign.randomness import Randomness
from lopub.errors import EpsilonTooHigh, Reason, StoreError

SALT_BYTES = 32
MOST_EPSILON, LONGEST_EPSILON = 10**10, 200
"""Of one series: far above what any campaign reveals, and longer than it is ever written."""
SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE series (
    name BLOB PRIMARY KEY, person BLOB NOT NULL, rounds BLOB NOT NULL, answer BLOB NOT NULL,
    loss TEXT NOT NULL, n_reports INTEGER NOT NULL, CHECK (n_reports = 0 OR loss <> '')
) WITHOUT ROWID;
CREATE TABLE reports (
    series BLOB NOT NULL, name BLOB NOT NULL, report BLOB NOT NULL, fate TEXT NOT NULL, PRIMARY KEY (series, name)
) WITHOUT ROWID;
"""
_EXACT = Context(prec=500, rounding=ROUND_CEILING)
"""An epsilon has some 120 digits; sums of them are exact, so that neither their number nor their order matters."""


class Fate(StrEnum):
    """What became of a report."""

    WAITING = "waiting"
    """No collector has answered for it yet."""
    SENT = "sent"
    """A collector has it."""
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"
    """A collector was asked to forget it, and has confirmed that."""
    CANCELLED = "cancelled"
    """It was waiting, and is never sent."""


@dataclass(frozen=True)
class ContributionOutcome:
    """What became of a contribution. It does not say what the report says, which nobody should go by."""

    fate: Fate
    """sent, waiting (it goes out with the next `send` or `contribute`, as the same bytes), refused, withdrawn or cancelled."""
    why: str = ""
    """One sentence where it was not sent: what is in the way, or for what it was refused."""
    reason: Reason | None = None
    """Of a refusal."""


class KeptReport(NamedTuple):
    """A report as it is kept."""

    name: bytes
    data: bytes
    fate: Fate


class Series(NamedTuple):
    """All that is kept of one respondent's reports to one campaign."""

    rounds: bytes
    """Which rounds were drawn; empty where the campaign does not repeat."""
    answer: bytes
    """In mode permanent, the noisy answer; else empty."""
    reports: tuple[KeptReport, ...]


class Rows:
    """What a store holds, within one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute
        facts = dict(self._execute("SELECT name, value FROM facts"))
        self._salt = _bytes(facts.get("salt"))
        if hashlib.sha256(self._salt).digest() != facts.get("hash of the salt"):
            raise lost()

    def series(self, key: str) -> Series | None:
        """What is kept under this key; refused where something of it is lost, because it would be drawn a second time."""
        name = self._name(key)
        row = self._execute(
            "SELECT rounds, answer, n_reports FROM series WHERE name = ?", (name,)
        ).fetchone()
        found = self._execute("SELECT name, report, fate FROM reports WHERE series = ?", (name,))
        reports = tuple(KeptReport(each, _bytes(data), _fate(fate)) for each, data, fate in found)
        if len(reports) != (row[2] if row else 0):
            raise lost()
        return Series(_bytes(row[0]), _bytes(row[1]), reports) if row else None

    def begin(self, key: str, person: str, rounds: bytes = b"") -> Series:
        """Keep the rounds that were drawn, before anything is charged."""
        values = (self._name(key), self._name(person), rounds)
        self._execute("INSERT INTO series VALUES (?, ?, ?, x'', '', 0)", values)
        return Series(rounds, b"", ())

    def charge(self, key: str, loss: Decimal) -> None:
        """Count what a series that was begun reveals at most, for good, before its first draw of noise."""
        self._execute(
            "UPDATE series SET loss = ? WHERE name = ? AND loss = ''", (str(loss), self._name(key))
        )

    def spent(self, person: str) -> Decimal:
        """What this respondent's reports reveal at most, together; those that were withdrawn or cancelled count on."""
        query = "SELECT loss FROM series WHERE person = ? AND loss <> ''"
        total = Decimal(0)
        for (loss,) in self._execute(query, (self._name(person),)):
            total = _EXACT.add(total, _loss_in(loss))
        return total

    def keep_answer(self, key: str, answer: bytes) -> None:
        """Keep the permanent noisy answer."""
        self._execute("UPDATE series SET answer = ? WHERE name = ?", (answer, self._name(key)))

    def keep_report(self, key: str, number: int, report: bytes) -> bytes:
        """Keep the first report of a round of a series that was charged; its name. number: the round's slot; 0 where the campaign
        does not repeat."""
        series, name = self._name(key), self._name(f"{key}/{number}")
        values = (series, name, report, Fate.WAITING)
        self._execute("INSERT INTO reports VALUES (?, ?, ?, ?)", values)
        self._execute("UPDATE series SET n_reports = n_reports + 1 WHERE name = ?", (series,))
        return name

    def set_fate(self, key: str, name: bytes, fate: Fate) -> None:
        """Keep what became of a report."""
        values = (fate, self._name(key), name)
        self._execute("UPDATE reports SET fate = ? WHERE series = ? AND name = ?", values)

    def hold_to(self, cap: Decimal, person: str) -> None:
        """Refuse to draw where what is spent, with the draw that was just charged, passes the cap."""
        if (spent := self.spent(person)) > cap:
            raise EpsilonTooHigh(
                f"this report would bring the epsilon of everything sent from this store to {short_up(spent, 6)};"
                f" the lifetime_cap is {cap}"
            )

    def n_reports(self) -> int:
        """How many reports are kept, of all respondents."""
        return int(self._execute("SELECT count(*) FROM reports").fetchone()[0])

    def delete_everything(self) -> None:
        """Delete every row, and the salt that the names were made with."""
        for query in ("DELETE FROM facts", "DELETE FROM series", "DELETE FROM reports"):
            self._execute(query)
        keep_salt(self._execute, new_salt())

    def _name(self, text: str) -> bytes:
        return hmac.digest(self._salt, text.encode(), "sha256")


def new_salt() -> bytes:
    """What the names of a file are keyed with."""
    return Randomness().take(SALT_BYTES)


def keep_salt(execute: Callable[..., object], salt: bytes) -> None:
    """Write down the salt of an empty store, and its hash."""
    facts = {"salt": salt, "hash of the salt": hashlib.sha256(salt).digest()}
    for fact in facts.items():
        execute("INSERT INTO facts VALUES (?, ?)", fact)


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise lost()
    return value


def _fate(word: object) -> Fate:
    try:
        return Fate(str(word))
    except ValueError:
        raise lost() from None


def _loss_in(text: object) -> Decimal:
    """A loss as it was written; whatever else stands in its place is damage."""
    if isinstance(text, str) and len(text) <= LONGEST_EPSILON:
        with suppress(ArithmeticError):
            loss = Decimal(text)
            if 0 < loss <= MOST_EPSILON:
                return loss
    raise lost()


def lost() -> StoreError:
    """The refusal where something that was kept is gone."""
    return StoreError(
        "the store has lost or damaged something that was kept; restore it from a backup, because drawing it anew would reveal"
        " more than was agreed to"
    )
