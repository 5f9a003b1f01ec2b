"""A request to the console, read within bounds: its form, its files, its language."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from urllib.parse import parse_qsl

from starlette.requests import Request

from lopub.collector.bodies import body_of, media_type_of
from lopub.collector.tokens import Grant
from lopub.console.gate import Session
from lopub.errors import DomainError

LONGEST_FORM = 2 * 2**20
MOST_FIELDS = 20_000
LANGUAGE_COOKIE = "lopub_language"
_PLACE = re.compile(r"/console(/[A-Za-z0-9_.-]+)*(\?[A-Za-z0-9_.~%&=+-]*)?")
LONGEST_PLACE = 2000
_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


@dataclass(frozen=True)
class Upload:
    """A file that came with a form."""

    name: str
    content: bytes


@dataclass(frozen=True, kw_only=True)
class Visit:
    """What a screen needs to know of a request."""

    at: Mapping[str, str]
    """What the address names."""
    query: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Upload] = field(default_factory=dict)
    session: Session | None = None
    grant: Grant | None = None
    languages: tuple[str, ...] = ()
    is_part: bool = False
    """Whether htmx asks for a part of a page."""
    place: str = ""
    """The address of the page that is looked at, to come back to; empty where there is none."""
    cookie: str = ""
    """Of the session."""
    is_secure: bool = False
    """Whether a proxy says that it was reached by TLS."""
    is_demo: bool = False
    """Whether everything here is made up, and gone when the collector stops."""

    @property
    def may_manage(self) -> bool:
        return self.grant is not None and self.grant.allows("manage")

    @property
    def who(self) -> str:
        return "" if self.grant is None else self.grant.name

    def number(self, name: str, default: int) -> int:
        """A whole number among what is asked for, or in the form."""
        text = self.form.get(name, self.query.get(name, ""))
        return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else default

    def number_at(self, name: str) -> int:
        """A whole number that the address names."""
        text = self.at[name]
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise DomainError("there is nothing at this address")
        return int(text)


def place_within(text: str) -> str:
    """An address as it is where it lies within the console, and otherwise the console's first page: whoever makes a link must not
    be able to send people elsewhere."""
    is_place = (
        len(text) <= LONGEST_PLACE and _PLACE.fullmatch(text) and ".." not in text.partition("?")[0]
    )
    return text if is_place else "/console"


def place_of(request: Request) -> str:
    """The page that somebody looks at: the one that is asked for, or that which asks for a part or sends a form."""
    if request.headers.get("hx-request") == "true":
        return _path_of(request.headers.get("hx-current-url", ""))
    if request.method != "GET":
        return _path_of(request.headers.get("referer", ""))
    path, query = str(request.scope["path"]), request.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def _path_of(address: str) -> str:
    """What an address has after its host; empty where there is none."""
    _, _, found = address.partition("://")
    return "/" + found.partition("/")[2].partition("#")[0] if found else ""


def languages_of(request: Request) -> tuple[str, ...]:
    """Those that the reader chose, or that the browser asks for."""
    chosen = request.cookies.get(LANGUAGE_COOKIE, "")
    asked = [
        part.partition(";")[0].strip()
        for part in request.headers.get("accept-language", "").split(",")
    ]
    return tuple(tag for tag in (chosen, *asked) if _TAG.fullmatch(tag))


async def form_of(request: Request, *, seconds: float) -> tuple[dict[str, str], dict[str, Upload]]:
    """The fields and files of a form; a field that comes twice counts once, the last time."""
    body = await body_of(request.scope, request.receive, most=LONGEST_FORM, seconds=seconds)
    if media_type_of(request.scope) == "multipart/form-data":
        return _parts(request.headers["content-type"], body)
    try:
        return dict(
            parse_qsl(
                body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"
            )
        ), {}
    except ValueError:
        raise DomainError("the form cannot be read") from None


def _parts(content_type: str, body: bytes) -> tuple[dict[str, str], dict[str, Upload]]:
    head = (
        b"Content-Type: "
        + content_type.encode("latin-1", "replace").replace(b"\n", b"").replace(b"\r", b"")
        + b"\r\n\r\n"
    )
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    form: dict[str, str] = {}
    files: dict[str, Upload] = {}
    for part in message.iter_parts() if message.is_multipart() else ():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes):
            continue
        if (filename := part.get_filename()) is None:
            form[name] = content.decode(errors="replace")
        elif content:
            files[name] = Upload(filename, content)
    return form, files
