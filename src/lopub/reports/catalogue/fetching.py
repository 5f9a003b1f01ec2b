"""Originals over HTTP: resumed where a transfer broke off, never larger than they can be, and checked by their SHA-256.

Beside the client, the collector, the console and the command line, only this module and the Spark engine open connections.
"""

import contextlib
import hashlib
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lopub.errors import LopubWarning, StoreError
from lopub.reports.catalogue.originals import Original
from lopub.reports.progress import Progress, silent

TIMEOUT = 30.0
"""Seconds in which a server must say something."""
PAUSES = (1.0, 3.0)
"""Seconds before the second and the third try at a transfer that broke off."""
BLOCK = 65_536
PASSING = (408, 425, 429, 500, 502, 503, 504)
"""Answers after which another try may succeed."""
NOT_SATISFIABLE = 416
GONE = (404, 410)


class _BrokenOff(Exception):
    """A transfer that another try may bring further."""


class _NotThere(StoreError):
    """A server without this file, as a mirror that has it only packed."""


def fetch(
    original: Original, folder: Path, *, base: str | None = None, progress: Progress | None = None
) -> bytes:
    """The original's content, from the first address that has it, or from the base address of a mirror.

    What has arrived stays in the folder, as `*.part`, until `forget`: another call goes on from there. A warning tells of
    addresses that failed before one served; that one of them has no such file is no news. progress: told in bytes, with a
    total where the server says how many there will be.
    """
    addresses = mirrored(original, base) if base is not None else original.addresses
    for address in addresses:
        if (content := _kept(original, _part(original, address, folder))) is not None:
            return content
    failures: dict[str, StoreError] = {}
    for address in addresses:
        try:
            content = _from_address(
                original, address, _part(original, address, folder), progress or silent
            )
        except StoreError as error:
            failures[address] = error
        else:
            _warn(original, address, failures)
            return content
    reasons = "; ".join(f"{address}: {error}" for address, error in failures.items())
    raise StoreError(
        f"cannot download {original.name} ({reasons}); use --url BASE for a mirror or --from FILE"
    )


def _warn(original: Original, address: str, failures: dict[str, StoreError]) -> None:
    for other, error in failures.items():
        if not isinstance(error, _NotThere):
            warnings.warn(
                f"{original.name} came from {address}, not from {other}: {error}",
                LopubWarning,
                stacklevel=3,
            )


def forget(original: Original, folder: Path) -> None:
    """Remove what was kept of an original."""
    for part in folder.glob(f"{original.name}.*.part"):
        with contextlib.suppress(OSError):
            part.unlink()


def mirrored(original: Original, base: str) -> tuple[str, str]:
    """Where a mirror would have it: under its name, as it is or packed."""
    try:
        parts = urlsplit(base)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits or not base.isascii() or any(sign <= " " for sign in base):
        raise StoreError(
            "--url must be the http or https address of a directory, such as https://example.org/tables"
        )
    address = f"{base.rstrip('/')}/{original.name}"
    return address, f"{address}.gz"


def _part(original: Original, address: str, folder: Path) -> Path:
    """One file an address: what two servers send need not fit together."""
    return folder / f"{original.name}.{hashlib.sha256(address.encode()).hexdigest()[:8]}.part"


def _from_address(original: Original, address: str, part: Path, progress: Progress) -> bytes:
    for pause in (*PAUSES, None):
        try:
            _transfer(original, address, part, progress)
            break
        except _BrokenOff as error:
            if pause is None:
                _drop_if_empty(part)
                raise StoreError(
                    f"{error}, {len(PAUSES) + 1} tries in all; run it again to go on from there"
                ) from None
            time.sleep(pause)
    if (content := _kept(original, part)) is None:
        part.unlink(missing_ok=True)
        raise StoreError(
            f"what it sent is not {original.name} (SHA-256 {original.sha256[:16]}… expected) and was thrown away"
        )
    return content


def _kept(original: Original, part: Path) -> bytes | None:
    """The content of a part that is whole; one that is too large is thrown away."""
    try:
        if part.stat().st_size > original.most_bytes:
            part.unlink()
            return None
        return original.content(part.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"cannot read {part}: {error.strerror}") from None


def _drop_if_empty(part: Path) -> None:
    with contextlib.suppress(OSError):
        if not part.stat().st_size:
            part.unlink()


def _transfer(original: Original, address: str, part: Path, progress: Progress) -> None:
    """Append what the part lacks, or start over where the server sends everything."""
    try:
        have = part.stat().st_size if part.exists() else 0
        with contextlib.closing(_answer(address, part, have)) as answer:
            have = have if _goes_on(answer, have) else 0
            total = _total(answer, have)
            with open(part, "ab" if have else "wb") as kept:
                for block in _blocks(answer, have, total, most=original.most_bytes):
                    kept.write(block)
                    have += len(block)
                    progress(f"downloading {original.name}", have, total)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"cannot write {part}: {error.strerror or error}") from None


def _answer(address: str, part: Path, have: int) -> Any:
    """The server's answer to a request for what comes after the first `have` bytes; a part that has no such is thrown away."""
    span = {"Range": f"bytes={have}-"} if have else {}
    request = urllib.request.Request(address, headers={"User-Agent": "lopub", **span})  # noqa: S310 (http or https, see above)
    try:
        return urllib.request.urlopen(request, timeout=TIMEOUT)  # noqa: S310
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == NOT_SATISFIABLE:
            part.unlink(missing_ok=True)
        if error.code in (*PASSING, NOT_SATISFIABLE):
            raise _BrokenOff(f"it answered {error.code}") from None
        raise (_NotThere if error.code in GONE else StoreError)(
            f"it answered {error.code}"
        ) from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise _BrokenOff("it fell silent") from None
        raise StoreError(_words(error.reason)) from None
    except (OSError, HTTPException) as error:
        raise _BrokenOff(_words(error)) from None


def _goes_on(answer: Any, have: int) -> bool:
    return answer.status == 206 and str(answer.headers.get("Content-Range", "")).startswith(
        f"bytes {have}-"
    )


def _total(answer: Any, have: int) -> int | None:
    length = str(answer.headers.get("Content-Length", ""))
    return have + int(length) if length.isdecimal() else None


def _blocks(answer: Any, have: int, total: int | None, *, most: int) -> Iterator[bytes]:
    """The bytes as they come, until there are more than there can be; fewer than were announced are a broken transfer."""
    while have <= most:
        try:
            block: bytes = answer.read1(BLOCK)
        except (OSError, HTTPException) as error:
            raise _BrokenOff(
                f"the transfer broke off after {have:,} bytes ({_words(error)})"
            ) from None
        if not block and total is not None and have < total:
            raise _BrokenOff(f"the transfer broke off after {have:,} of {total:,} bytes")
        if not block:
            return
        have += len(block)
        yield block


def _words(error: object) -> str:
    """An error of the machine or the network, in a few words."""
    if isinstance(error, TimeoutError):
        return "it fell silent"
    return str(getattr(error, "strerror", None) or error or type(error).__name__)
