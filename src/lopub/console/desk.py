"""What all screens share: the store, the results of jobs, who is signed in; and how a screen becomes an answer."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment
from starlette.responses import FileResponse, Response

from lopub.collector.campaigns import Entry, find_campaign
from lopub.collector.collector import CAMPAIGN_ID, Collector
from lopub.collector.queue import QueuedJob
from lopub.collector.store import ReportStore
from lopub.collector.tokens import Grants
from lopub.console.alarming import Lookout
from lopub.console.changes import Changes
from lopub.console.gate import Gate
from lopub.console.moments import FreshThings
from lopub.console.results import result_at
from lopub.console.sayings import said
from lopub.console.visits import Visit
from lopub.errors import NoCampaign
from lopub.pages.templating import environment, page_language

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"


@dataclass(frozen=True, kw_only=True)
class Desk:
    """The console's own things."""

    collector: Collector
    home: Path
    """Where the results of jobs lie."""
    public: str
    """The address by which contributors reach the collector."""
    is_demo: bool = False
    """Whether everything here is made up."""
    gate: Gate = field(default_factory=Gate)
    changes: Changes = field(default_factory=Changes)
    moments: FreshThings[bytes] = field(default_factory=FreshThings)
    grants: FreshThings[Grants] = field(default_factory=FreshThings)
    lookout: Lookout = field(default_factory=Lookout)

    @property
    def store(self) -> ReportStore:
        return self.collector.store

    def entry(self, visit: Visit) -> Entry:
        """The campaign that an address names, as the store has it now."""
        if not CAMPAIGN_ID.fullmatch(visit.at["id"]):
            raise NoCampaign("there is no such campaign")
        return find_campaign(self.store, visit.at["id"])


Answer = Response
Show = Callable[[Desk, Visit], Answer]


@dataclass(frozen=True)
class Screen:
    """A route of the console: who may ask, and what answers."""

    method: Literal["GET", "POST"]
    path: str
    show: Show
    scope: Literal["", "read", "manage"] = "read"
    """Empty: whoever comes."""
    what: str = ""
    """Under which name it is written down, if it does something."""
    makes: bool = False
    """Whether it is about what it makes, to which it leads, and not about what the address names."""
    at_hand: Callable[[Desk, Visit], Answer | None] | None = None
    """What was made for somebody else a moment ago, if so; for what many people look at."""


def page(visit: Visit, template: str, *, status: int = 200, **context: Any) -> Answer:
    """A page, or a part of one, in the reader's language."""
    return html(rendered(visit, template, **context), status=status)


def rendered(visit: Visit, template: str, **context: Any) -> bytes:
    """A page, or a part of one, as bytes."""
    return (
        words_in(page_language(visit.languages))
        .get_template(template)
        .render(visit=visit, **context)
        .encode()
    )


def html(content: bytes, *, status: int = 200) -> Answer:
    """Bytes that are a page, or a part of one."""
    return Response(content, status_code=status, media_type="text/html; charset=utf-8")


@cache
def words_in(language: str) -> Environment:
    """The console's templates in a language, with what others say in it."""
    found = environment(language, TEMPLATES, HERE / "words")
    found.filters |= {"said": partial(said, language=language), "moment": moment}
    return found


def moment(seconds: int) -> str:
    """A time in Unix seconds as people read it, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))


def to(address: str) -> Answer:
    """Go on elsewhere: after something was done, so that going back, or a reload, does not do it again."""
    return Response(status_code=HTTPStatus.SEE_OTHER, headers={"Location": address})


def refused(visit: Visit, sentence: str, *, status: int = 400, back: str = "/console") -> Answer:
    """A page with a sentence that says what is wrong."""
    return page(visit, "refused.html", status=status, sentence=sentence, back=back)


def result_of(desk: Desk, job: QueuedJob) -> Path:
    """Where the result of a job lies."""
    return result_at(desk.home, job)


def file(
    path: Path,
    media_type: str,
    *,
    name: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """A file of a result. name: under which it is kept; None where it is looked at in place."""
    return FileResponse(path, media_type=media_type, filename=name, headers=dict(headers or {}))
