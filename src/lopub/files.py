"""Files that appear whole or not at all; and what every reader of JSON asks for."""

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lopub.errors import StoreError

ABANDONED_SECONDS = 60
"""A part that is younger may just have been made, and not yet be claimed."""
_PART = re.compile(r"(\.[0-9a-f]{16}\.part)(?:-wal|-shm|-journal)?")
NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""What a file system without hard links answers."""


@contextlib.contextmanager
def whole_file(path: Path, *, force: bool = False, mode: int = 0o666) -> Iterator[Path]:
    """A path beside the wanted one, to be written to; on success it becomes the wanted one, on failure it is gone.

    Without force an existing file is refused, also one that appears in the meantime.
    """
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with _told_of(path):
            if not force and path.exists():
                raise exists(path)
            os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
            with claimed(part):
                _sweep(part)
                yield part
                sync(part)
                _settle(part, path, force)
            sync(path.parent)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


@contextlib.contextmanager
def whole_directory(path: Path, *, mark: str, force: bool = False) -> Iterator[Path]:
    """A directory beside the wanted one, to be filled; on success it becomes the wanted one, on failure it is gone.

    Without force an existing directory is refused; with it, an old one that has the file `mark`, and so is of the same kind, is
    put aside until the new one is in its place. Whatever moment the machine stops at, the name holds a whole directory or
    nothing.
    """
    refuse_taken(path, mark=mark, force=force)
    part, old = (path.with_name(f".{secrets.token_hex(8)}.{kind}") for kind in ("part", "old"))
    try:
        with _told_of(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            part.mkdir()
            with claimed(part):
                _sweep(part)
                yield part
                _sync_all(part)
                refuse_taken(path, mark=mark, force=force)
                if path.exists():
                    path.rename(old)
                part.rename(path)
            sync(path.parent)
    finally:
        with contextlib.suppress(OSError):
            if old.exists() and not path.exists():
                old.rename(path)
            for leftover in (part, old):
                shutil.rmtree(leftover, ignore_errors=True)


@contextlib.contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """What the system refuses becomes a sentence about this path."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None


@contextlib.contextmanager
def claimed(part: Path) -> Iterator[None]:
    """Until a part has its name, others can see that somebody needs it. The system lets go where a process is killed."""
    descriptor = os.open(part, os.O_RDONLY)
    try:
        _is_free(descriptor)
        yield
    finally:
        os.close(descriptor)


def _sweep(part: Path) -> None:
    """Remove what processes that were killed left beside this new part, but not what somebody still writes."""
    with contextlib.suppress(OSError):
        now = part.stat().st_mtime
        for name in sorted(os.listdir(part.parent)):
            if found := _PART.fullmatch(name):
                with contextlib.suppress(OSError):
                    _remove_abandoned(part.with_name(name), part.with_name(found[1]), now)


def _remove_abandoned(leftover: Path, whole: Path, now: float) -> None:
    """whole: what it belongs to, which is something else where SQLite kept a file beside its own."""
    if leftover != whole:
        if not whole.exists():
            leftover.unlink()
        return
    if now - leftover.stat().st_mtime > ABANDONED_SECONDS:
        remove_unclaimed(leftover)


def remove_unclaimed(leftover: Path) -> None:
    """Remove what a process that is gone was writing; what somebody still writes stays."""
    descriptor = os.open(leftover, os.O_RDONLY)
    try:
        if _is_free(descriptor):
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    finally:
        os.close(descriptor)


def _is_free(descriptor: int) -> bool:
    """Whether nobody else has claimed it; from now on it is ours, until the descriptor is closed. Not known on Windows."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def write_whole(path: Path, data: bytes, *, force: bool = False, mode: int = 0o666) -> None:
    """Write a file, whole or not at all."""
    with whole_file(path, force=force, mode=mode) as part:
        part.write_bytes(data)


def refuse_taken(path: Path, *, mark: str, force: bool, option: str = "force=True") -> None:
    """Refuse a directory whose name is in use. One that is empty is as good as none; force takes the place of one with the file
    `mark`, and of nothing else. option: how force is asked for."""
    with _told_of(path):
        if not path.name:
            raise StoreError(f"{path} cannot be replaced as a whole; name a directory inside it")
        if not (path.exists() or path.is_symlink()) or (
            path.is_dir() and not path.is_symlink() and not any(path.iterdir())
        ):
            return
        if not force:
            raise exists(path, option)
        if path.is_symlink() or not (path / mark).is_file():
            raise StoreError(
                f"{path} exists and has no {mark}, so {option} does not replace it; choose another name"
            )


def write_synced(path: Path, data: bytes, *, mode: int, time: int) -> None:
    """Write a new file for good, with a time of our choosing; whole only where this returns."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    path.write_bytes(data)
    os.utime(path, (time, time))
    sync(path)


def make_private_directory(path: Path) -> None:
    """A directory for its owner alone, and so is every parent that is missing; there for good once this returns."""
    missing = [directory for directory in (path, *path.parents) if not directory.exists()]
    for directory in reversed(missing):
        directory.mkdir(mode=0o700, exist_ok=True)
        sync(directory.parent)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """For one process, and one thread of it, at a time. The system lets go of the lock where a process is killed."""
    import fcntl  # not on Windows, where a store in memory serves all the same

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a forked child may still have it open
    finally:
        os.close(descriptor)


def exists(path: Path, option: str = "force=True") -> StoreError:
    """The error that a name is taken. option: what overwrites it."""
    return StoreError(f"{path} exists already; choose another name or use {option}")


def _settle(part: Path, path: Path, force: bool) -> None:
    if force:
        os.replace(part, path)
        return
    try:
        try:
            os.link(part, path)  # unlike a rename, fails where the name is taken
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            os.close(
                os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            )  # takes the name, or fails where it is taken
            os.replace(part, path)
    except FileExistsError:
        raise exists(path) from None


def _sync_all(directory: Path) -> None:
    for inner in sorted(directory.rglob("*")):
        sync(inner)
    sync(directory)


def sync(path: Path) -> None:
    """Until a file, or the names in a directory, have reached the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, of any size, as hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def kind_of(data: bytes) -> str:
    """What a file is that begins so, in words for a message.

    >>> kind_of(b"PAR1..."), kind_of(b'{"name": 1}'), kind_of(b"age,city")
    ('a Parquet file', 'JSON', 'text')
    """
    head = data[:512]
    for mark, kind in _MARKS.items():
        if head.startswith(mark):
            return kind
    if not head.strip():
        return "empty"
    if any(byte < ord(" ") and byte not in b"\t\r\n" for byte in head):
        return "a binary file"
    return (
        "JSON" if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"[")) else "text"
    )


_MARKS = {
    b"PAR1": "a Parquet file",
    b"\x1f\x8b": "a gzipped file",
    b"SQLite format 3\x00": "a SQLite database",
}


def members_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object for `object_pairs_hook`; raises a ValueError where a member is named twice, of which json keeps the last."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member is named twice")
    return members
