"""The console as an application of its own: its routes, and the policy under which everything is
answered."""

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lopub.console import (
    campaign_list,
    campaign_pages,
    draft_pages,
    job_pages,
    plan_pages,
    publish_pages,
    report_pages,
    sign_in,
    storage_pages,
)
from lopub.console.context import Context
from lopub.console.forecasts import load_forecasts
from lopub.console.responses import HERE, load_templates, redirect, refusal_page
from lopub.console.routes import page_request
from lopub.pages.contribution import MEDIA_TYPES, assets

PAGES = [
    *sign_in.ROUTES,
    *campaign_list.ROUTES,
    *draft_pages.ROUTES,
    *plan_pages.ROUTES,
    *campaign_pages.ROUTES,
    *publish_pages.ROUTES,
    *report_pages.ROUTES,
    *storage_pages.ROUTES,
    *job_pages.ROUTES,
]
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
"""What every answer has, unless its handler says otherwise."""
ASKED_AGAIN = {"Cache-Control": "no-cache"}
STATIC = {
    "console.css": "text/css",
    "style.css": "text/css",
    "console.js": "text/javascript",
    "htmx.min.js": "text/javascript",
}
STYLE = HERE.parent / "pages" / "templates" / "style.css"


class SecurityHeaders:
    """Middleware that adds what every answer has."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the application does, with the headers that it has not set."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


async def _front(_: Request) -> Response:
    return redirect("/console")


async def _health(_: Request) -> Response:
    return JSONResponse({"status": "alive"})


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404)
    path = STYLE if name == "style.css" else HERE / "static" / name
    return FileResponse(path, media_type=STATIC[name], headers=ASKED_AGAIN)


async def _contribution_file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in assets():
        raise HTTPException(404)
    media_type = MEDIA_TYPES[name[name.rindex(".") :]]
    return Response(assets()[name], media_type=media_type, headers=ASKED_AGAIN)


async def _not_here(request: Request, error: Exception) -> Response:
    """A page for an address, or a method, that there is not."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    sentence = "there is nothing at this address"
    return await run_in_threadpool(refusal_page, page_request(request), sentence, status=status)


BESIDE = [
    Route("/", _front),
    Route("/health", _health),
    Route("/console/static/{name}", _static),
    Route(f"{plan_pages.SHARED}{{name}}", _contribution_file),
]
"""What the console answers besides its pages."""


def console_app(context: Context) -> Starlette:
    """Return the console as an ASGI application."""
    app = Starlette(
        routes=[*BESIDE, *PAGES],
        middleware=[Middleware(SecurityHeaders)],
        exception_handlers={HTTPException: _not_here},
    )
    app.router.redirect_slashes = False
    app.state.context = context
    return app


def prepare(context: Context) -> None:
    """Tidy up after consoles that were killed, and load what first requests would wait for."""
    storage_pages.remove_abandoned_downloads(context.files)
    load_templates()
    load_forecasts()
