"""Requests to the console, read within bounds: address, form, files, languages; and why one is
refused."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message as Received
from starlette.types import Receive

from lopub.collector.campaigns import Entry, find_campaign
from lopub.collector.drafts import KeptDraft, find_draft
from lopub.collector.store import ReportStore
from lopub.collector.tokens import Grant
from lopub.console.context import Context
from lopub.console.draft_history import DraftHistory
from lopub.errors import LopubError, StoreError
from lopub.jobs.queue import QueuedJob, find_job

LONGEST_FORM = 2 * 2**20
"""Bytes; deploy/nginx.conf has the same limit for the console."""
MOST_FIELDS, MOST_FILES = 20_000, 1
LONGEST_OPEN_FORM, MOST_OPEN_FIELDS = 16 * 2**10, 20
"""The limits of a form that anybody may send: a token, a language, a place to go back to."""
RECEIVE_SECONDS = 30
"""How long a form may take to arrive. A proxy before the console hands over whole bodies."""
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
UTF_8 = (b"utf-8", b"utf8", b"utf_8")
TAIL_BYTES = 512
LANGUAGE_COOKIE = "lopub_language"
LONGEST_PLACE = 2000
_PLACE = re.compile(r"/console(/[A-Za-z0-9_.-]+)*(\?[A-Za-z0-9_.~%&=+-]*)?")
_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_CAMPAIGN_ID = re.compile(r"[0-9a-f]{64}")


class Refusal(LopubError):
    """A request that is not granted: becomes a page with a sentence, and a link back."""

    def __init__(
        self, template: str, /, *, status: int = 400, back: str = "/console", **parameters: object
    ) -> None:
        super().__init__(template, **parameters)
        self.status, self.back = status, back

    @classmethod
    def of(cls, error: LopubError, *, status: int = 400, back: str = "/console") -> Self:
        """The refusal that another error's sentence explains."""
        found = cls(str(error), status=status, back=back)
        found.message = error.message
        return found


@contextmanager
def refusing(*, status: int = 400, back: str = "/console") -> Iterator[None]:
    """Errors within are refusals with this status and this way back; but not those of the store."""
    try:
        yield
    except (StoreError, Refusal):
        raise
    except LopubError as error:
        raise Refusal.of(error, status=status, back=back) from None


@dataclass(frozen=True)
class Upload:
    """A file that came with a form."""

    name: str
    content: bytes


@dataclass(frozen=True, kw_only=True)
class PageRequest:
    """What a page needs to know of a request."""

    context: Context
    names: Mapping[str, str]
    """What the address names."""
    query: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Upload] = field(default_factory=dict)
    grant: Grant | None = None
    """What somebody who is signed in may do."""
    languages: tuple[str, ...] = ()
    is_part: bool = False
    """Whether htmx asks for a part of a page."""
    place: str = ""
    """The address of the page that is looked at, to come back to; empty where there is none."""
    cookie: str = ""
    """Of the session."""
    is_secure: bool = False
    """Whether a proxy says that it was reached by TLS."""

    @property
    def store(self) -> ReportStore:
        return self.context.store

    @property
    def history(self) -> DraftHistory:
        return self.context.history

    @property
    def is_demo(self) -> bool:
        return self.context.is_demo

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

    # ---- what the address names, as the store has it now; a Refusal with status 404 where it has nothing

    def entry(self) -> Entry:
        """The campaign."""
        if not _CAMPAIGN_ID.fullmatch(self.names["id"]):
            raise Refusal("there is no such campaign", status=404)
        return find_campaign(self.store, self.names["id"])

    def draft(self) -> KeptDraft:
        """The draft."""
        with refusing(status=404):
            return find_draft(self.store, self.names["draft"])

    def job(self) -> QueuedJob:
        """The job."""
        text = self.names["job"]
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise Refusal("there is nothing at this address", status=404)
        with refusing(status=404):
            return find_job(self.store, int(text))


def place_within(text: str) -> str:
    """An address as it is where it lies within the console, and otherwise the console's first page:
    whoever makes a link must not be able to send people elsewhere."""
    is_place = (
        len(text) <= LONGEST_PLACE and _PLACE.fullmatch(text) and ".." not in text.partition("?")[0]
    )
    return text if is_place else "/console"


def place_of(request: Request) -> str:
    """The page that somebody looks at: the one that is asked for, or that which asks for a part or
    sends a form."""
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


def is_from_here(request: Request) -> bool:
    """Return whether a form comes from a page of the console. Every browser says so in one of two
    headers, and no page can change what it says; whatever sends neither is not a browser, and
    brings nobody's cookie."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    try:
        return origin is None or urlsplit(origin).netloc == request.headers.get("host", "")
    except ValueError:  # not an address
        return False


async def form_of(
    request: Request, *, longest: int = LONGEST_FORM, most_fields: int = MOST_FIELDS
) -> tuple[dict[str, str], dict[str, Upload]]:
    """The fields and files of a form; a field that comes twice counts once, the last time."""
    options = _form_options(request.headers.get("content-type", ""))
    body = _BoundedBody(request.receive, longest)
    limits = {"max_files": MOST_FILES, "max_fields": most_fields, "max_part_size": longest}
    fields: dict[str, str] = {}
    files: dict[str, Upload] = {}
    try:
        async with (
            asyncio.timeout(RECEIVE_SECONDS),
            Request(request.scope, body.receive).form(**limits) as form,
        ):
            for name, value in form.multi_items():
                if not isinstance(value, UploadFile):
                    fields[name] = value
                elif content := await value.read():
                    files[name] = Upload(value.filename or "", content)
    except HTTPException as error:
        raise Refusal("the form cannot be read: {why}", why=error.detail) from None
    except ClientDisconnect:
        raise Refusal("the form ended too early") from None
    except TimeoutError:
        raise Refusal(
            "the form did not arrive within {seconds} seconds", seconds=RECEIVE_SECONDS, status=408
        ) from None
    if b"boundary" in options and b"--%b--" % options[b"boundary"] not in body.tail:
        raise Refusal("the form ended too early")
    return fields, files


def _form_options(content_type: str) -> dict[bytes, bytes]:
    """The parameters of a form's type, once they are known to be harmless: Starlette decodes fields
    in whatever codec the sender names, and some of Python's take hours for a form, or fail."""
    kind, options = parse_options_header(content_type)
    if kind.decode("latin-1") not in ("", *FORM_TYPES):
        raise Refusal("a form must come as {kinds}", kinds=" or ".join(FORM_TYPES), status=415)
    if options.get(b"charset", b"utf-8").strip().lower() not in UTF_8:
        raise Refusal("a form must be encoded in UTF-8", status=415)
    return options


class _BoundedBody:
    """A body that is refused once it is too long: Starlette bounds the fields of a form, and not
    its files."""

    def __init__(self, receive: Receive, longest: int) -> None:
        self._receive, self._longest = receive, longest
        self._n_bytes = 0
        self.tail = b""
        """Its end, where a form of several parts says that it is whole; python-multipart does not
        look there."""

    async def receive(self) -> Received:
        """The next part of it."""
        message = await self._receive()
        content = message.get("body", b"")
        self._n_bytes += len(content)
        self.tail = (self.tail + content)[-TAIL_BYTES:]
        if self._n_bytes > self._longest:
            raise Refusal("a form may have at most {n:,} bytes", n=self._longest, status=413)
        return message
