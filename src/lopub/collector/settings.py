"""Settings of the collector: defaults, then a TOML file, then the environment, then the command line."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lopub.campaign.schedule import GRACE_DAYS
from lopub.errors import DomainError, StoreError

PREFIX = "LOPUB_"
"""Before the name of a setting in the environment."""
_SITE = re.compile(r"https?://(\*\.)?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[0-9]{1,5})?")


@dataclass(frozen=True, kw_only=True)
class CollectorSettings:
    """What a collector can be told. Sizes in bytes, times in seconds."""

    database: str = "sqlite:///lopub.db"
    """Where reports are kept: sqlite:///FILE or postgresql://…"""
    host: str = "127.0.0.1"
    port: int = 8000
    """0: any free one."""
    body_bytes: int = 4 * 2**20
    """The longest body of reports."""
    request_reports: int = 4096
    """The most reports in one request."""
    receive_seconds: int = 10
    """How long a request's head and body may take to arrive."""
    queue_reports: int = 65_536
    """Reports that may wait for a commit; beyond it, requests are sent away for a while."""
    connections: int = 1024
    """Connections at a time."""
    grace_days: int = GRACE_DAYS
    """Days between the end of a campaign's schedule and its close, for campaigns that are opened from now on."""
    console: str = "127.0.0.1:8001"
    """Where the console and the metrics listen, as HOST:PORT; empty: there is no console."""
    files: str = ""
    """The directory for the results of jobs; empty: beside an SQLite file, or lopub.files in the working directory."""
    public: str = ""
    """The address by which contributors reach the collector, for links and QR codes; empty: where it listens."""
    embed: str = ""
    """Sites whose pages may show the contributor's page in a frame, as https://town.example, apart by spaces; empty: none."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if not isinstance(getattr(self, field.name), _type(field.name)):
                raise DomainError(f"setting {field.name} must be {_KINDS[_type(field.name)]}")
        if not 0 <= self.port < 2**16:
            raise DomainError(f"setting port must lie in 0..65535, got {self.port}")
        if self.console and self.console_address is None:
            raise DomainError("setting console must be HOST:PORT, as in 127.0.0.1:8001, or empty")
        for site in self.embed.split():
            if not _SITE.fullmatch(site):
                raise DomainError(
                    f"setting embed must be sites such as https://town.example, apart by spaces, got {site[:80]!r}"
                )
        if not 0 <= self.grace_days <= GRACE_DAYS:
            raise DomainError(
                f"setting grace_days must lie in 0..{GRACE_DAYS}, got {self.grace_days}"
            )
        for name in (
            "body_bytes",
            "request_reports",
            "receive_seconds",
            "queue_reports",
            "connections",
        ):
            if getattr(self, name) < 1:
                raise DomainError(f"setting {name} must be at least 1, got {getattr(self, name)}")
        if self.queue_reports < self.request_reports:
            raise DomainError(
                "setting queue_reports must not be below request_reports, or no large request could ever wait"
            )

    @property
    def console_address(self) -> tuple[str, int] | None:
        """Host and port of the console; None where there is none."""
        return _host_and_port(self.console)

    @property
    def home(self) -> Path:
        """Where the results of jobs lie."""
        return Path(self.files) if self.files else files_of(self.database)


def _host_and_port(text: str) -> tuple[str, int] | None:
    """127.0.0.1:8001 or [::1]:8001, apart; None where it is neither."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    return (
        (host, int(port))
        if host and port.isascii() and port.isdigit() and int(port) < 2**16
        else None
    )


def files_of(database: str) -> Path:
    """Where results of jobs lie unless somebody says: beside an SQLite file, or in the working directory."""
    _, found, path = database.partition("sqlite:///")
    return Path(f"{path}.files") if found else Path("lopub.files")


_KINDS: dict[type, str] = {int: "an integer", str: "a text"}


def _type(name: str) -> type:
    return type(getattr(CollectorSettings, name))


def settings_from(
    file: Path | None, environment: Mapping[str, str], given: Mapping[str, Any]
) -> CollectorSettings:
    """The settings of a file, overruled by the environment, overruled by what was given and is not None."""
    chosen: dict[str, Any] = {**_from_file(file)} if file else {}
    for field in fields(CollectorSettings):
        text = environment.get(PREFIX + field.name.upper())
        if text is not None:
            chosen[field.name] = _parsed(field.name, text)
    chosen.update({name: value for name, value in given.items() if value is not None})
    return CollectorSettings(**chosen)


def _from_file(file: Path) -> dict[str, Any]:
    try:
        chosen = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise StoreError(f"cannot read settings {file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise DomainError(f"{file} is not a TOML file") from None
    known = [field.name for field in fields(CollectorSettings)]
    for name in sorted(set(chosen) - set(known)):
        raise DomainError(
            f"{file} has a setting {name!r}, which there is not; known are {', '.join(known)}"
        )
    return chosen


def _parsed(name: str, text: str) -> str | int:
    if _type(name) is str:
        return text
    try:
        return int(text)
    except ValueError:
        raise DomainError(f"{PREFIX}{name.upper()} must be an integer") from None
