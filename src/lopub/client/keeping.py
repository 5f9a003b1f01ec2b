"""Keeping: one finished report per campaign and respondent, and the sum of what they reveal.

Standard library only; read it before you trust it.

What lies in the directory of a `FileStore`, in full; all of it for its owner alone, none of it with a time of its own:

    salt          32 random bytes: every name below is a hash with it
    lock          empty: whoever writes holds it
    spent.json    for each draw of noise the report's name, a hash of the respondent, and epsilon; never less than was drawn; and
                  a hash by which the salt is known: with another one, every report would look as if it had never been made
    64 digits     a finished report: noise, never an answer; of a campaign that repeats, its whole series, replaced as it grows
    ….rounds      the rounds that a series drew, before its first report
    ….withdrawn   the id of a report that was withdrawn, and is not sent again
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
from decimal import Decimal
from pathlib import Path
from threading import Lock
from typing import Protocol, cast

from lopub.campaign.randomness import Randomness
from lopub.campaign.texts import one_line
from lopub.client.totals import Draw, Spent, charged, draw_of, finished, is_finished, total_of
from lopub.errors import CampaignError, StoreError
from lopub.files import NO_LINKS, locked, make_private_directory, sync, whole_file, write_synced

SALT_BYTES = 32
NO_TIME = 946_684_800
"""2000-01-01, in seconds since 1970: the time of every file. A report tells its day, and its file should not tell more."""

_REPORT = re.compile(r"[0-9a-f]{64}")
_OLDER_REPORT = re.compile(r"[0-9a-f]{64}-[0-9a-f]{32}")
_NOTE = re.compile(r"[0-9a-f]{64}\.(?:rounds|withdrawn)")
_WHOLE_PART = re.compile(r"\.([0-9a-f]{64}(?:\.rounds|\.withdrawn)?)\.([0-9a-f]{64})\.part")


class ClientStore(Protocol):
    """Where finished reports are kept, by campaign and respondent; and, under keys with a colon, notes on them."""

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


class SeriesStore(CountingStore, Protocol):
    """A store for campaigns that repeat, too: what is kept under one key grows, and is known to be missing where it is."""

    def exchange(self, key: str, before: bytes | None, after: bytes) -> bytes:
        """Keep this in the place of what was kept before, in one step, if that is still what is kept; either way, return what is
        kept now."""

    def is_lost(self, key: str) -> bool:
        """Whether something was counted and kept under this key, and is not there any more."""


def keeps_totals(store: ClientStore) -> CountingStore | None:
    """The store, where it adds up; asked by name, because a protocol that is checked at runtime takes as long as the noise."""
    return (
        cast(CountingStore, store) if hasattr(store, "spent") and hasattr(store, "charge") else None
    )


def keeps_series(store: ClientStore) -> SeriesStore:
    """The store, where it serves a campaign that repeats; refused where it does not."""
    if keeps_totals(store) is None or not (
        hasattr(store, "exchange") and hasattr(store, "is_lost")
    ):
        raise CampaignError(
            "a campaign that repeats needs a store that keeps a series and its total, as FileStore does; this one has no spent,"
            " charge, exchange and is_lost"
        )
    return cast(SeriesStore, store)


class MemoryStore:
    """For programs that keep the bytes themselves, and for experiments. Forgets when the process ends."""

    def __init__(self) -> None:
        self._reports: dict[str, bytes] = {}
        self._draws: tuple[Draw, ...] = ()
        self._lock = Lock()

    def __repr__(self) -> str:
        return one_line(self, f"{len(self._reports)} kept")

    def kept(self, key: str) -> bytes | None:
        """The report that was kept under this key."""
        return self._reports.get(key)

    def keep(self, key: str, report: bytes) -> bytes:
        """Keep a report, unless one is kept already; the one that counts."""
        with self._lock:
            if key not in self._reports:
                self._draws = finished(self._draws, key)
            return self._reports.setdefault(key, report)

    def exchange(self, key: str, before: bytes | None, after: bytes) -> bytes:
        """Keep this in the place of what was kept before; what is kept now."""
        with self._lock:
            if (kept := self._reports.get(key)) != before:
                return kept or b""
            self._reports[key], self._draws = after, finished(self._draws, key)
            return after

    def is_lost(self, key: str) -> bool:
        """Whether something was kept under this key, and is not there any more."""
        return key not in self._reports and is_finished(self._draws, key)

    def spent(self, person: str) -> Spent:
        """What this person's reports have cost so far."""
        return Spent(total_of(self._draws, person))

    def charge(self, key: str, person: str, loss: Decimal, cap: Decimal | None = None) -> None:
        """Note what a report will cost; refuse one that would pass the cap."""
        with self._lock:
            new = Draw(key, person, loss)
            self._draws = charged(self._draws, new, cap=cap, kept=key in self._reports, n_unknown=0)


class FileStore:
    """One file per report, readable by its owner alone. Holds noisy reports only, never an answer."""

    def __init__(self, directory: str | Path | None = None) -> None:
        self._directory = Path(directory) if directory else Path.home() / ".lopub" / "reports"

    def __repr__(self) -> str:
        return one_line(self, repr(str(self._directory)))

    def kept(self, key: str) -> bytes | None:
        """The report that was kept under this key."""
        with _told("read", self._directory):
            self._close_to_others()
            if self._parts():
                with self._alone():
                    pass  # which settles them
            if (found := self._read(key)) is None:
                self._draws()  # nothing is kept by this name; which means something only if the salt is the right one
            return found

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

    def exchange(self, key: str, before: bytes | None, after: bytes) -> bytes:
        """Keep this in the place of what was kept before; what is kept now. A crash leaves the one or the other, whole."""
        with _told("write", self._directory), self._alone():
            if (kept := self._read(key)) != before:
                return kept or b""
            name = self._file_name(key, self._salt())
            self._write(name, after)
            self._save(
                finished(self._draws(), name)
            )  # or else when it is next charged, which comes before it is handed out
            return after

    def is_lost(self, key: str) -> bool:
        """Whether something was kept under this key, and is not there any more."""
        with _told("read", self._directory):
            if not (draws := self._draws()):
                return False
            return (
                is_finished(draws, self._file_name(key, self._salt())) and self._read(key) is None
            )

    def spent(self, person: str) -> Spent:
        """What this person's reports have cost so far."""
        with _told("read", self._directory):
            salt, draws = self._salt(), self._draws()
            epsilon = total_of(draws, self._name(person, salt)) if salt else Decimal(0)
            return Spent(epsilon, self._n_unknown(person, draws))

    def charge(self, key: str, person: str, loss: Decimal, cap: Decimal | None = None) -> None:
        """Note what a report will cost; refuse one that would pass the cap."""
        with _told("write", self._directory), self._alone():
            salt, draws = self._salt(), self._draws()
            new = Draw(self._name(key, salt), self._name(person, salt), loss)
            kept = self._read(key) is not None
            self._save(
                charged(draws, new, cap=cap, kept=kept, n_unknown=self._n_unknown(person, draws))
            )

    def path_of(self, key: str) -> Path:
        """The file of this key's report; its older name, where it has that or the store has no salt yet."""
        salt, older = self._salt(), self._directory / key
        return (
            self._directory / self._file_name(key, salt) if salt and not older.exists() else older
        )

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
            raise StoreError(
                f"the store {self._directory} is open to other users and cannot be closed to them; choose another"
            )

    @staticmethod
    def _is_ours(name: str) -> bool:
        known = name in ("salt", "lock", "spent.json") or name.endswith(".part")
        return known or any(pattern.fullmatch(name) for pattern in (_REPORT, _NOTE, _OLDER_REPORT))

    # ---- names

    def _salt(self) -> bytes:
        """Empty where there is none yet."""
        if (salt := self._salt_file()) is None and self._has_what_needs_salt():
            salt = self._salt_file()  # it is written before anything that needs it: what another thread has just made has one
            if salt is None:
                raise self._without_salt()
        if salt is not None and len(salt) != SALT_BYTES:
            raise self._without_salt()
        return salt or b""

    def _salt_file(self) -> bytes | None:
        try:
            return (self._directory / "salt").read_bytes()
        except FileNotFoundError:
            return None

    def _has_what_needs_salt(self) -> bool:
        return self._directory.exists() and any(
            self._needs_salt(path.name) for path in self._directory.iterdir()
        )

    def _without_salt(self) -> StoreError:
        return StoreError(
            f"the store {self._directory} has lost or damaged its file salt, without which no report is found; restore it, or"
            " delete the store if nothing in it was ever sent"
        )

    @staticmethod
    def _needs_salt(name: str) -> bool:
        return name == "spent.json" or any(
            pattern.fullmatch(name) for pattern in (_REPORT, _NOTE, _WHOLE_PART)
        )

    def _make_salt(self) -> None:
        if not self._salt():
            self._write("salt", Randomness().take(SALT_BYTES))

    @staticmethod
    def _name(text: str, salt: bytes) -> str:
        return hmac.new(salt, text.encode(), hashlib.sha256).hexdigest()

    @classmethod
    def _file_name(cls, key: str, salt: bytes) -> str:
        """Notes, whose key has a colon, are not counted, and have a name that says what they are."""
        _, colon, note = key.partition(":")
        return cls._name(key, salt) + (colon and (".rounds" if note == "rounds" else ".withdrawn"))

    # ---- reports

    def _read(self, key: str) -> bytes | None:
        salt = self._salt()
        for name in [self._file_name(key, salt)] * bool(salt) + [
            key
        ]:  # the key itself: its name in earlier versions
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
            part.unlink(
                missing_ok=True
            )  # another part may have been written meanwhile, which removes what was left before

    def _finish(self, part: Path, name: str) -> None:
        """The whole report gets its name, unless one has it; from here on its draw counts for good."""
        path = self._directory / name
        if not path.exists():
            self._save(finished(self._draws(), name))
            try:
                os.link(
                    part, path
                )  # unlike a rename, fails where the name is taken, even on a disk whose locks do not lock
            except FileExistsError:
                pass
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
                os.replace(part, path)
        sync(self._directory)
        part.unlink(missing_ok=True)

    # ---- totals

    def _draws(self) -> tuple[Draw, ...]:
        path = self._directory / "spent.json"
        try:
            kept = json.loads(path.read_bytes())
            if kept["format"] != 1 or not isinstance(kept["draws"], list):
                raise ValueError
            draws, known_by = tuple(draw_of(draw) for draw in kept["draws"]), kept.get("salt")
        except FileNotFoundError:
            return ()
        except (ValueError, ArithmeticError, KeyError, TypeError, RecursionError):
            raise StoreError(f"the totals {path} are damaged; restore them from a backup") from None
        if known_by not in (
            None,
            self._name("salt", self._salt()),
        ):  # earlier versions did not write it
            raise self._without_salt()
        return draws

    def _save(self, draws: tuple[Draw, ...]) -> None:
        if not draws:
            return
        rows = [
            {"report": d.report, "person": d.person, "epsilon": str(d.loss), "finished": d.finished}
            for d in draws
        ]
        rows.sort(key=lambda row: str(row["report"]))  # in no order of time
        members = {"draws": rows, "format": 1, "salt": self._name("salt", self._salt())}
        data, path = (
            json.dumps(members, indent=1, sort_keys=True).encode(),
            self._directory / "spent.json",
        )
        if not path.exists() or path.read_bytes() != data:
            self._write(path.name, data)

    def _write(self, name: str, data: bytes) -> None:
        with whole_file(self._directory / name, force=True, mode=0o600) as part:
            part.write_bytes(data)
            os.utime(part, (NO_TIME, NO_TIME))

    def _n_unknown(self, person: str, draws: tuple[Draw, ...]) -> int:
        """Reports of this respondent, or of nobody knows whom, that the totals do not know."""
        if not self._directory.exists():
            return 0
        salt, known = self._salt(), {draw.report for draw in draws}
        names = [path.name for path in self._directory.iterdir()]
        older = [
            name for name in names if _OLDER_REPORT.fullmatch(name) and name.endswith(f"-{person}")
        ]
        mine = [name for name in names if _REPORT.fullmatch(name)] + [
            self._name(name, salt) for name in older
        ]
        return sum(name not in known for name in mine)


@contextlib.contextmanager
def _told(verb: str, directory: Path) -> Iterator[None]:
    """What the system refuses, in one sentence."""
    try:
        yield
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(
            f"cannot {verb} the store {directory}: {error.strerror or error}"
        ) from None
