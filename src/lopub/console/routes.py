"""Routes of the console: who may ask for a page, and what becomes of errors. Handlers are plain
functions that run in threads."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lopub.collector.logs import log
from lopub.collector.problems import problem_of
from lopub.collector.steward_log import record
from lopub.console.context import Busy, Context, Slow
from lopub.console.requests import (
    LONGEST_OPEN_FORM,
    MOST_OPEN_FIELDS,
    PageRequest,
    Refusal,
    form_of,
    is_from_here,
    languages_of,
    place_of,
    place_within,
)
from lopub.console.responses import redirect, refusal_page
from lopub.console.sessions import COOKIE, grant_of_session
from lopub.errors import CampaignClosed, CampaignError, DomainError, LopubError, Message, NoCampaign

Handler = Callable[[PageRequest], Response]
Scope = Literal["", "read", "manage"]
"""What a token has to allow; empty: whoever comes."""
OPEN_LIMITS = {"longest": LONGEST_OPEN_FORM, "most_fields": MOST_OPEN_FIELDS}


class PageRoute(Route):
    """A route whose handler is asked only for those whose token allows it, and only by pages of the
    console."""

    def __init__(
        self,
        method: Literal["GET", "POST"],
        path: str,
        handler: Handler,
        *,
        scope: Scope,
        log: str = "",
        logs_result: bool = False,
        slow: Slow = "",
    ) -> None:
        """log: under which name the log of stewards has it; empty where it changes nothing.
        logs_result: whether it is about what comes of it, to which it leads, and not about what the
        address names. slow: the kind of page, if it is slow."""
        super().__init__(path, self._answer, methods=[method])
        self.handler, self.scope, self.log = handler, scope, log
        self._logs_result, self._slow = logs_result, slow

    async def _answer(self, request: Request) -> Response:
        asked = page_request(request)
        try:
            grant = await run_in_threadpool(grant_of_session, asked.store, asked.cookie)
            asked = replace(asked, grant=grant)
            return await self._checked(request, asked)
        except LopubError as error:
            return await run_in_threadpool(_refused, asked, error)
        except Exception:
            log.exception("bug in the console")
            sentence = "the console has a bug; its log says more"
            return await run_in_threadpool(refusal_page, asked, sentence, status=500)

    async def _checked(self, request: Request, asked: PageRequest) -> Response:
        """Scope, then form: in this order, so that nobody unknown makes the console read anything."""
        if self.scope and asked.grant is None:
            return _to_sign_in(asked)
        if self.scope and asked.grant is not None and not asked.grant.allows(self.scope):
            raise Refusal("this needs a token of scope {scope}", scope=self.scope, status=403)
        if request.method == "POST":
            if not is_from_here(request):
                raise Refusal("the request came from another site", status=403)
            limits = {} if self.scope else OPEN_LIMITS
            form, files = await form_of(request, **limits)
            asked = replace(asked, form=form, files=files)
        if not self._slow:
            return await run_in_threadpool(self._handled, asked)
        async with asked.context.turns.turn(self._slow):
            return await run_in_threadpool(self._handled, asked)

    def _handled(self, asked: PageRequest) -> Response:
        """The handler's answer; what it did is in the log of stewards."""
        answer = self.handler(asked)
        if self.log and answer.status_code < 400:
            result = answer.headers.get("location", "").rpartition("/")[2]
            about = result if self._logs_result else next(iter(asked.names.values()), "")
            record(asked.store, asked.who, self.log, about)
        return answer


def get(
    path: str, handler: Handler, *, scope: Scope = "read", log: str = "", slow: Slow = ""
) -> PageRoute:
    """A page to look at, or a file to fetch."""
    return PageRoute("GET", path, handler, scope=scope, log=log, slow=slow)


def post(
    path: str,
    handler: Handler,
    *,
    scope: Scope = "manage",
    log: str = "",
    logs_result: bool = False,
    slow: Slow = "",
) -> PageRoute:
    """Something to do by a form."""
    return PageRoute(
        "POST", path, handler, scope=scope, log=log, logs_result=logs_result, slow=slow
    )


def page_request(request: Request) -> PageRequest:
    """What a page needs to know of a request, before anybody asked who sent it."""
    context: Context = request.app.state.context
    return PageRequest(
        context=context,
        names={name: str(value) for name, value in request.path_params.items()},
        query=dict(request.query_params),
        languages=languages_of(request),
        place=place_of(request),
        is_part=request.headers.get("hx-request") == "true",
        cookie=request.cookies.get(COOKIE, ""),
        is_secure=request.headers.get("x-forwarded-proto") == "https",
    )


def _to_sign_in(asked: PageRequest) -> Response:
    """Where somebody unknown has to go: as a whole page, which htmx would put into this one."""
    place = place_within(asked.place)
    address = "/console/sign-in" + ("" if place == "/console" else f"?{urlencode({'back': place})}")
    if asked.is_part:
        return Response(status_code=204, headers={"HX-Redirect": address})
    return redirect(address)


def _refused(asked: PageRequest, error: LopubError) -> Response:
    message, status, back = _refusal(error)
    return refusal_page(asked, message, status=status, back=back)


def _refusal(error: LopubError) -> tuple[Message, int, str]:
    """The sentence, the status, and where to go back to."""
    if isinstance(error, Refusal):
        return error.message, error.status, error.back
    if isinstance(error, Busy):
        return error.message, 503, "/console"
    if isinstance(error, NoCampaign):
        return error.message, 404, "/console"
    if isinstance(error, DomainError | CampaignError) and not isinstance(error, CampaignClosed):
        return error.message, 400, "/console"
    problem = problem_of(error)  # which keeps to itself where the store is
    return problem.message, problem.kind.status, "/console"
