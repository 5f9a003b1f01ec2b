"""Keeping: one finished report per campaign and respondent, and the sum of what they reveal.

Standard library only; read it before you trust it.

What lies in the directory of a `FileStore`, in full; all of it for its owner alone, none of it with a time of its own:

    salt          32 random bytes: every name below is a hash with it
    lock          empty: whoever writes holds it
    spent.json    for each draw of noise the report's name, a hash of the respondent, and epsilon; never less than was drawn
    64 digits     a finished report: noise, never an answer; of a campaign that repeats, what its series keeps from the start
    ….round       the rounds that a series drew, and its reports; they are counted with its start
    .….part       a file that a crash cut short; a whole report among them is taken over, everything else is removed

A report is handed out only after all of this has reached the disk. Reports of earlier versions keep their older names.
"""

import contextlib
import hashlib
import hmac
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol, cast

from lopub.contract.budget import short_up
from lopub.contract.randomness import Randomness
from lopub.errors import EpsilonTooHigh, StoreError
from lopub.files import NO_LINKS, locked, make_private_directory, sync, whole_file, write_synced

SALT_BYTES = 32
MOST_EPSILON, LONGEST_EPSILON = 10**10, 200
"""Of a kept draw: far above what any campaign reveals, and longer than it is ever written."""
NO_TIME = 946_684_800
"""2000-01-01, in seconds since 1970: the time of every file. A report tells its day, and its file should not tell more."""

_EXACT = Context(prec=500, rounding=ROUND_CEILING)
"""An epsilon has some 120 digits; sums of them are exact, so that neither their number nor their order matters."""
_REPORT = re.compile(r"[0-9a-f]{64}")
_OLDER_REPORT = re.compile(r"[0-9a-f]{64}-[0-9a-f]{32}")
_ROUND = re.compile(r"[0-9a-f]{64}\.round")
_WHOLE_PART = re.compile(r"\.([0-9a-f]{64}(?:\.round)?)\.([0-9a-f]{64})\.part")


@dataclass(frozen=True)
class Spent:
    """What one respondent's reports in one store reveal at most, together."""

    epsilon: Decimal
    n_unknown: int = 0
    """Reports that are not in it: they were made before stores kept totals, and do not say their epsilon themselves."""


class ClientStore(Protocol):
    """Where finished reports are kept, by campaign and respondent."""

    def kept(self, key: str) -> bytes | None:
        """The report kept under this key, if there is one."""

    def keep(self, key: str, report: bytes) -> bytes:
        """Keep the report for good, unless there is one already; either way, return the one that is kept."""


class CountingStore(ClientStore, Protocol):
    """A store that also adds up what its reports reveal, per respondent; a report that is deleted or withdrawn counts on."""

    def spent(self, person: str) -> Spent:
        """What this respondent's reports reveal at most, together."""

    def charge(self, key: str, person: str, loss: Decimal, cap: Decimal | None = None) -> None:
        """Count a draw before it is made: once, until its report is kept. EpsilonTooHigh where the sum would pass the cap; a
        report that is kept already is counted whatever the cap."""


def keeps_totals(store: ClientStore) -> CountingStore | None:
    """The store, where it adds up; asked by name, because a protocol that is checked at runtime takes as long as the noise."""
    return cast(CountingStore, store) if hasattr(store, "spent") and hasattr(store, "charge") else None


class _Draw(NamedTuple):
    report: str
    person: str
    loss: Decimal
    finished: bool = False
    """Whether a report was kept for it. One that was not is still to be made, or was lost in a crash before anybody saw it."""


def _total(draws: tuple[_Draw, ...], person: str) -> Decimal:
    total = Decimal(0)
    for draw in draws:
        total = _EXACT.add(total, draw.loss if draw.person == person else Decimal(0))
    return total


def _charged(draws: tuple[_Draw, ...], new: _Draw, *, cap: Decimal | None, kept: bool, n_unknown: int) -> tuple[_Draw, ...]:
    """The draws with one more, unless that one is there already."""
    mine = [draw for draw in draws if draw.report == new.report]
    if kept:
        return draws if mine else (*draws, new._replace(finished=True))
    after = draws if any(not draw.finished for draw in mine) else (*draws, new)
    if cap is not None and n_unknown:
        raise StoreError(
            f"the store keeps {n_unknown} report{'s' if n_unknown > 1 else ''} from before totals were kept, so a lifetime_cap"
            " cannot be held to; send them once more, which counts them, or move them elsewhere"
        )
    if cap is not None and (total := _total(after, new.person)) > cap:
        raise EpsilonTooHigh(
            f"this report would bring the epsilon of everything sent from this store to {short_up(total, 6)};"
            f" the lifetime_cap is {cap}"
        )
    return after


def _finished(draws: tuple[_Draw, ...], report: str) -> tuple[_Draw, ...]:
    return tuple([draw._replace(finished=True) if draw.report == report else draw for draw in draws])


class MemoryStore:
    """For programs that keep the bytes themselves, and for experiments. Forgets when the process ends."""

    def __init__(self) -> None:
        self._reports: dict[str, bytes] = {}
        self._draws: tuple[_Draw, ...] = ()
        self._lock = Lock()

    def kept(self, key: str) -> bytes | None:
        """The report that was kept under this key."""
        return self._reports.get(key)

    def keep(self, key: str, report: bytes) -> bytes:
        """Keep a report, unless one is kept already; the one that counts."""
        with self._lock:
            if key not in self._reports:
                self._draws = _finished(self._draws, key)
            return self._reports.setdefault(key, report)

    def spent(self, person: str) -> Spent:
        """What this person's reports have cost so far."""
        return Spent(_total(self._draws, person))

    def charge(self, key: str, person: str, loss: Decimal, cap: Decimal | None = None) -> None:
        """Note what a report will cost; refuse one that would pass the cap."""
        with self._lock:
            new = _Draw(key, person, loss)
            self._draws = _charged(self._draws, new, cap=cap, kept=key in self._reports, n_unknown=0)


class FileStore:
    """One file per report, readable by its owner alone. Holds noisy reports only, never an answer."""

    def __init__(self, directory: str | Path | None = None) -> None:
        self._directory = Path(directory) if directory else Path.home() / ".lopub" / "reports"

    def kept(self, key: str) -> bytes | None:
        """The report that was kept under this key."""
        with _told("read", self._directory):
            self._close_to_others()
            if self._parts():
                with self._alone():
                    pass  # which settles them
            return self._read(key)

    def keep(self, key: str, report: bytes) -> bytes:
        """Keep a report, unless one is kept already; the one that counts."""
        with _told("write", self._directory), self._alone():
            if (first := self._read(key)) is not None:
                return first  # another process was faster: its report is the one that counts
            name = self._file_name(key, self._salt())
            part = self._directory / f".{name}.{hashlib.sha256(report).hexdigest()}.part"
            try:
                write_synced(part, report, mode=0o600, time=NO_TIME)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
            self._finish(part, name)
            return (self._directory / name).read_bytes()

    def spent(self, person: str) -> Spent:
        """What this person's reports have cost so far."""
        with _told("read", self._directory):
            salt, draws = self._salt(), self._draws()
            epsilon = _total(draws, self._name(person, salt)) if salt else Decimal(0)
            return Spent(epsilon, self._n_unknown(person, draws))

    def charge(self, key: str, person: str, loss: Decimal, cap: Decimal | None = None) -> None:
        """Note what a report will cost; refuse one that would pass the cap."""
        with _told("write", self._directory), self._alone():
            salt, draws = self._salt(), self._draws()
            new = _Draw(self._name(key, salt), self._name(person, salt), loss)
            kept = self._read(key) is not None
            self._save(draws, _charged(draws, new, cap=cap, kept=kept, n_unknown=self._n_unknown(person, draws)))

    def path_of(self, key: str) -> Path:
        """The file of this key's report; its older name, where it has that or the store has no salt yet."""
        salt, older = self._salt(), self._directory / key
        return self._directory / self._file_name(key, salt) if salt and not older.exists() else older

    # ---- the directory

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """The directory made, closed to others, free of leftovers, and ours alone for the while."""
        make_private_directory(self._directory)
        self._close_to_others()
        with locked(self._directory / "lock"):
            self._make_salt()
            for part in self._parts():
                self._settle(part)
            try:
                yield
            finally:
                for path in (self._directory / "lock", self._directory):
                    os.utime(path, (NO_TIME, NO_TIME))

    def _close_to_others(self) -> None:
        """A directory that others may look into is closed to them, if it is a store and nothing else."""
        try:
            mode = self._directory.stat().st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISDIR(mode):
            raise StoreError(f"the store {self._directory} is not a directory")
        if not mode & 0o077:
            return
        if any(not self._is_ours(path.name) for path in self._directory.iterdir()):
            raise StoreError(
                f"the store {self._directory} is open to other users and holds other files, too; give reports a directory"
                " of their own"
            )
        with contextlib.suppress(OSError):
            self._directory.chmod(0o700)
        if self._directory.stat().st_mode & 0o077:
            raise StoreError(f"the store {self._directory} is open to other users and cannot be closed to them; choose another")

    @staticmethod
    def _is_ours(name: str) -> bool:
        known = name in ("salt", "lock", "spent.json") or name.endswith(".part")
        return known or any(pattern.fullmatch(name) for pattern in (_REPORT, _ROUND, _OLDER_REPORT))

    # ---- names

    def _salt(self) -> bytes:
        """Empty where there is none yet."""
        try:
            salt = (self._directory / "salt").read_bytes()
        except FileNotFoundError:
            if not self._directory.exists() or not any(self._needs_salt(path.name) for path in self._directory.iterdir()):
                return b""
            salt = b""
        if len(salt) != SALT_BYTES:
            raise StoreError(
                f"the store {self._directory} has lost its file salt, without which no report is found; restore it, or delete"
                " the store if nothing in it was ever sent"
            )
        return salt

    @staticmethod
    def _needs_salt(name: str) -> bool:
        return name == "spent.json" or any(pattern.fullmatch(name) for pattern in (_REPORT, _ROUND, _WHOLE_PART))

    def _make_salt(self) -> None:
        if not self._salt():
            self._write("salt", Randomness().take(SALT_BYTES))

    @staticmethod
    def _name(text: str, salt: bytes) -> str:
        return hmac.new(salt, text.encode(), hashlib.sha256).hexdigest()

    @classmethod
    def _file_name(cls, key: str, salt: bytes) -> str:
        """What belongs to a series, whose key has a colon, is counted with its start, and has a name that says so."""
        return cls._name(key, salt) + (".round" if ":" in key else "")

    # ---- reports

    def _read(self, key: str) -> bytes | None:
        salt = self._salt()
        for name in [self._file_name(key, salt)] * bool(salt) + [key]:  # the key itself: its name in earlier versions
            with contextlib.suppress(FileNotFoundError):
                return (self._directory / name).read_bytes()
        return None

    def _parts(self) -> list[Path]:
        return sorted(self._directory.glob(".*.part"))

    def _settle(self, part: Path) -> None:
        """What a crash left: a report that is whole was drawn, and must not be drawn again; the rest was never a report."""
        found = _WHOLE_PART.fullmatch(part.name)
        if found and hashlib.sha256(part.read_bytes()).hexdigest() == found[2]:
            self._finish(part, found[1])
        else:
            part.unlink()

    def _finish(self, part: Path, name: str) -> None:
        """The whole report gets its name, unless one has it; from here on its draw counts for good."""
        path = self._directory / name
        if not path.exists():
            draws = self._draws()
            self._save(draws, _finished(draws, name))
            try:
                os.link(part, path)  # unlike a rename, fails where the name is taken, even on a disk whose locks do not lock
            except FileExistsError:
                pass
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
                os.replace(part, path)
        sync(self._directory)
        part.unlink(missing_ok=True)

    # ---- totals

    def _draws(self) -> tuple[_Draw, ...]:
        path = self._directory / "spent.json"
        try:
            kept = json.loads(path.read_bytes())
            if kept["format"] != 1 or not isinstance(kept["draws"], list):
                raise ValueError
            return tuple(_draw(draw) for draw in kept["draws"])
        except FileNotFoundError:
            return ()
        except (ValueError, ArithmeticError, KeyError, TypeError, RecursionError):
            raise StoreError(f"the totals {path} are damaged; restore them from a backup") from None

    def _save(self, before: tuple[_Draw, ...], draws: tuple[_Draw, ...]) -> None:
        if draws == before:
            return
        rows = [{"report": d.report, "person": d.person, "epsilon": str(d.loss), "finished": d.finished} for d in draws]
        rows.sort(key=lambda row: str(row["report"]))  # in no order of time
        self._write("spent.json", json.dumps({"draws": rows, "format": 1}, indent=1, sort_keys=True).encode())

    def _write(self, name: str, data: bytes) -> None:
        with whole_file(self._directory / name, force=True, mode=0o600) as part:
            part.write_bytes(data)
            os.utime(part, (NO_TIME, NO_TIME))

    def _n_unknown(self, person: str, draws: tuple[_Draw, ...]) -> int:
        """Reports of this respondent, or of nobody knows whom, that the totals do not know."""
        if not self._directory.exists():
            return 0
        salt, known = self._salt(), {draw.report for draw in draws}
        names = [path.name for path in self._directory.iterdir()]
        older = [name for name in names if _OLDER_REPORT.fullmatch(name) and name.endswith(f"-{person}")]
        mine = [name for name in names if _REPORT.fullmatch(name)] + [self._name(name, salt) for name in older]
        return sum(name not in known for name in mine)


def _draw(members: dict[str, object]) -> _Draw:
    """As it was written; whatever else stands in its place is damage."""
    report, person, epsilon, finished = (members[key] for key in ("report", "person", "epsilon", "finished"))
    if not (isinstance(report, str) and isinstance(person, str) and isinstance(epsilon, str) and isinstance(finished, bool)):
        raise TypeError
    loss = Decimal(epsilon)
    if not all(map(_REPORT.fullmatch, (report, person))) or not 0 < loss <= MOST_EPSILON or len(epsilon) > LONGEST_EPSILON:
        raise ValueError
    return _Draw(report, person, loss, finished)


@contextlib.contextmanager
def _told(verb: str, directory: Path) -> Iterator[None]:
    """What the system refuses, in one sentence."""
    try:
        yield
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"cannot {verb} the store {directory}: {error.strerror or error}") from None
