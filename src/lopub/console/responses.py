"""Answers of the console: pages in the reader's language, redirects, and files."""

import time
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from jinja2 import Environment
from starlette.responses import FileResponse, Response

from lopub.console.requests import PageRequest
from lopub.errors import Message
from lopub.jobs.queue import QueuedJob
from lopub.jobs.result_files import result_at
from lopub.pages.templating import LANGUAGES, environment, page_language

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"


def page(request: PageRequest, template: str, *, status: int = 200, **context: Any) -> Response:
    """A page, or a part of one, in the reader's language."""
    found = words_in(page_language(request.languages)).get_template(template)
    content = found.render(request=request, **context)
    return Response(content, status_code=status, media_type="text/html; charset=utf-8")


def refusal_page(
    request: PageRequest, message: Message | str, *, status: int, back: str = "/console"
) -> Response:
    """A page with a sentence that says what is wrong."""
    return page(request, "refused.html", status=status, message=message, back=back)


@cache
def words_in(language: str) -> Environment:
    """The console's templates in a language, with what others say in it."""
    found = environment(language, TEMPLATES, HERE / "locale")
    found.filters["utc"] = utc
    return found


def load_templates() -> None:
    """Load every template in every language, which first requests would have to."""
    for language in LANGUAGES:
        known = words_in(language)
        for name in known.list_templates(["html"]):
            known.get_template(name)


def utc(seconds: int) -> str:
    """A time in Unix seconds as people read it, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))


def redirect(address: str) -> Response:
    """Go on elsewhere: after something was done, so that going back, or a reload, does not do it
    again."""
    return Response(status_code=HTTPStatus.SEE_OTHER, headers={"Location": address})


def result_of(request: PageRequest, job: QueuedJob) -> Path:
    """Where the result of a job lies."""
    return result_at(request.context.files, job)


def file(
    path: Path,
    media_type: str,
    *,
    name: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A file of a result. name: under which it is kept; None where it is looked at in place."""
    return FileResponse(path, media_type=media_type, filename=name, headers=dict(headers or {}))
