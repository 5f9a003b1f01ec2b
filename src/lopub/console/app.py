"""The console as an application of its own: who may ask for what, and under which policy everything is answered."""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from lopub.collector.collector import Collector
from lopub.collector.keeping import record
from lopub.collector.logs import log
from lopub.collector.metrics import CONTENT_TYPE
from lopub.collector.problems import Problem, problem_of
from lopub.collector.tokens import grant_among, grant_of, grants_of
from lopub.console import ending, foreseeing, listing, publishing, running, signing, writing
from lopub.console.desk import HERE, Desk, Screen, refused, to, words_in
from lopub.console.gate import COOKIE, Session
from lopub.console.visits import Visit, form_of, languages_of, place_of, place_within
from lopub.errors import DomainError, LopubError, NoCampaign
from lopub.pages.contribution import MEDIA_TYPES, assets
from lopub.pages.templating import LANGUAGES

SCREENS = (
    *signing.SCREENS, *listing.SCREENS, *writing.SCREENS, *foreseeing.SCREENS, *running.SCREENS, *publishing.SCREENS,
    *ending.SCREENS,
)  # fmt: skip
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self';"
    " frame-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
STATIC = {
    "console.css": "text/css", "style.css": "text/css", "console.js": "text/javascript", "htmx.min.js": "text/javascript",
    "echarts.min.js": "text/javascript",
}  # fmt: skip
STYLE = HERE.parent / "pages" / "templates" / "style.css"


def console_app(
    collector: Collector, *, home: Path, public: str, is_demo: bool = False
) -> Starlette:
    """The console and the metrics. public: the address by which contributors reach the collector."""
    desk = Desk(collector=collector, home=home, public=public, is_demo=is_demo)

    async def metrics(_: Request) -> Response:
        return Response(
            collector.metrics.text(n_waiting=collector.writer.n_waiting), media_type=CONTENT_TYPE
        )

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            return Response(status_code=404, headers=HEADERS)
        path = STYLE if name == "style.css" else HERE / "static" / name
        return FileResponse(
            path, media_type=STATIC[name], headers=HEADERS | {"Cache-Control": "no-cache"}
        )

    async def shared(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in assets():
            return Response(status_code=404, headers=HEADERS)
        headers = HEADERS | {"Cache-Control": "no-cache"}
        return Response(
            assets()[name], media_type=MEDIA_TYPES[name[name.rindex(".") :]], headers=headers
        )

    async def front(_: Request) -> Response:
        return to("/console")

    routes = [
        Route("/", front),
        Route("/metrics", metrics),
        Route("/console/static/{name}", static),
    ]
    routes.append(Route(f"{foreseeing.SHARED}{{name}}", shared))
    return Starlette(
        routes=routes
        + [Route(one.path, _answering(desk, one), methods=[one.method]) for one in SCREENS]
    )


def warm() -> None:
    """Load what first requests would have to: templates in every language, and what forecasts need."""
    for language in LANGUAGES:
        known = words_in(language)
        for name in known.list_templates(["html"]):
            known.get_template(name)
    foreseeing.warm()


Handler = Callable[[Request], Awaitable[Response]]


def _answering(desk: Desk, screen: Screen) -> Handler:
    """A screen behind its checks."""

    async def handle(request: Request) -> Response:
        visit = replace(_visit(request), is_demo=desk.is_demo)
        try:
            answer = await _checked(desk, screen, request, visit)
        except LopubError as error:
            answer = _told(visit, error)
        except Exception:
            log.exception("bug in the console")
            answer = refused(
                visit, "the console has a bug; the collector's log says more", status=500
            )
        for name, value in HEADERS.items():
            answer.headers.setdefault(name, value)
        return answer

    return handle


async def _checked(desk: Desk, screen: Screen, request: Request, visit: Visit) -> Response:
    """Session, scope, form: in this order, so that nobody unknown makes the console read anything."""
    session = desk.gate.session(visit.cookie)
    if session and (made := _at_hand(desk, screen, visit, session)):
        return made
    grant = (
        None if session is None else await run_in_threadpool(grant_of, desk.store, session.token)
    )
    grant = None if grant is None or grant.expired else grant
    if screen.scope and (session is None or grant is None):
        return _sign_in(visit)
    visit = replace(visit, session=session if grant else None, grant=grant)
    if screen.scope and grant is not None and not grant.allows(screen.scope):
        return refused(visit, f"this needs a token of scope {screen.scope}", status=403)
    if screen.method == "POST":
        if not _is_own(request):
            return refused(visit, "the request came from another site", status=403)
        form, files = await form_of(request, seconds=desk.collector.settings.receive_seconds)
        visit = replace(visit, form=form, files=files)
        if screen.scope and not (
            session and hmac.compare_digest(form.get("csrf", "").encode(), session.csrf.encode())
        ):
            return refused(
                visit,
                "the form is not one that this session was given; load the page again",
                status=403,
            )
    return await run_in_threadpool(_shown, desk, screen, visit)


def _at_hand(desk: Desk, screen: Screen, visit: Visit, session: Session) -> Response | None:
    """What many look at, as it was a moment ago, for those who were allowed to see it then: no thread, no question to the store,
    which is busy taking reports."""
    if screen.at_hand is None or (grants := desk.grants.at_hand(screen.scope)) is None:
        return None
    grant = grant_among(grants, session.token)
    return (
        screen.at_hand(desk, visit)
        if grant and not grant.expired and grant.allows(screen.scope)
        else None
    )


def _sign_in(visit: Visit) -> Response:
    """Where somebody unknown has to go; htmx would put that page into this one, unless it is told otherwise."""
    place = place_within(visit.place)
    address = "/console/sign-in" + ("" if place == "/console" else f"?{urlencode({'back': place})}")
    return (
        Response(status_code=204, headers={"HX-Redirect": address})
        if visit.is_part
        else to(address)
    )


def _shown(desk: Desk, screen: Screen, visit: Visit) -> Response:
    answer = screen.show(desk, visit)
    if screen.at_hand is not None:
        desk.grants.of(screen.scope, lambda: grants_of(desk.store))
    if screen.what and answer.status_code < 400:
        about = (
            answer.headers.get("location", "").rpartition("/")[2]
            if screen.makes
            else next(iter(visit.at.values()), "")
        )
        record(desk.store, visit.who, screen.what, about)
    return answer


def _visit(request: Request) -> Visit:
    return Visit(
        at={name: str(value) for name, value in request.path_params.items()},
        query=dict(request.query_params),
        languages=languages_of(request),
        place=place_of(request),
        is_part=request.headers.get("hx-request") == "true",
        cookie=request.cookies.get(COOKIE, ""),
        is_secure=request.headers.get("x-forwarded-proto") == "https",
    )


def _is_own(request: Request) -> bool:
    """Whether a form comes from a page of the console: browsers say so, and a form from elsewhere cannot lie."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    return urlsplit(origin).netloc == request.headers.get("host", "")


def _told(visit: Visit, error: LopubError) -> Response:
    if isinstance(error, DomainError | NoCampaign):
        return refused(visit, str(error), status=404)
    problem = error if isinstance(error, Problem) else problem_of(error)
    return refused(visit, str(problem), status=problem.kind.status)
