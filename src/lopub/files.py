"""Files that appear whole or not at all."""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from lopub.errors import StoreError

NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""What a file system without hard links answers."""


@contextlib.contextmanager
def whole_file(path: Path, *, force: bool = False, mode: int = 0o666) -> Iterator[Path]:
    """A path beside the wanted one, to be written to; on success it becomes the wanted one, on failure it is gone.

    Without force an existing file is refused, also one that appears in the meantime.
    """
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        if not force and path.exists():
            raise exists(path)
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        yield part
        _sync(part)
        _settle(part, path, force)
        _sync(path.parent)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def write_whole(path: Path, data: bytes, *, force: bool = False, mode: int = 0o666) -> None:
    """Write a file, whole or not at all."""
    with whole_file(path, force=force, mode=mode) as part:
        part.write_bytes(data)


def exists(path: Path) -> StoreError:
    return StoreError(f"{path} exists already; choose another name or use --force")


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
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))  # takes the name, or fails where it is taken
            os.replace(part, path)
    except FileExistsError:
        raise exists(path) from None


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
