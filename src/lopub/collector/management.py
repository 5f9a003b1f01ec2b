"""The routes beside ingest: campaigns, withdrawals, counts, health; described by OpenAPI."""

import base64
import hashlib
import json
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse

from lopub import __version__
from lopub.campaign.campaign import Campaign
from lopub.campaign.canonical import LONGEST_FILE
from lopub.campaign.report import ID_BYTES, JSON_TYPE, base64url
from lopub.collector.bodies import body_of, media_type_of
from lopub.collector.campaigns import (
    Entry,
    all_campaigns,
    close_campaign,
    open_campaign,
    tally,
    withdraw,
)
from lopub.collector.collector import Collector
from lopub.collector.documents import Campaigns, CampaignState, Tallied, state_of, tallied
from lopub.collector.front import docs_page, front_page
from lopub.collector.keeping import record
from lopub.collector.metrics import CONTENT_TYPE
from lopub.collector.migrating import version_of
from lopub.collector.openapi import (
    CAMPAIGN_BODY,
    CAMPAIGN_FILE,
    CLOSE_BODY,
    METRICS,
    WITHDRAWAL_BODY,
    described,
    problems,
)
from lopub.collector.problems import Kind, Problem
from lopub.collector.rows import SCHEMA
from lopub.collector.store import ReportStore
from lopub.collector.tokens import grant_of
from lopub.errors import CampaignClosed

LONGEST_WITHDRAWAL = 4096
FOREVER = "public, max-age=31536000, immutable"
STORE = (Kind.UNAVAILABLE, Kind.STORAGE_FULL)
TOKEN = (Kind.UNAUTHORIZED, Kind.FORBIDDEN, Kind.UNAVAILABLE)
NEW: dict[int | str, dict[str, Any]] = {201: {"model": CampaignState, "description": "It is new"}}
_bearer = HTTPBearer(auto_error=False, description="`lopub token new` makes one")


def management_app(collector: Collector, handlers: dict[Any, Any]) -> FastAPI:
    """Everything but ingest."""
    app = FastAPI(
        title="LoPub collector",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        exception_handlers=handlers,
        redirect_slashes=False,
    )
    _add_public(app, collector)
    _add_withdrawals(app, collector)
    _add_managed(app, collector)
    _add_operations(app, collector)
    _add_pages(app)
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    return app


def _allowed(collector: Collector, scope: str) -> Any:
    """A dependency that lets through whoever brings a token of this scope."""

    async def check(
        request: Request,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    ) -> None:
        grant = None
        if credentials is not None:
            grant = await run_in_threadpool(grant_of, collector.store, credentials.credentials)
        if grant is None or grant.expired:
            said = (
                "the token has expired" if grant else "this needs a token that the collector knows"
            )
            raise Problem(Kind.UNAUTHORIZED, f"{said}; `lopub token new` makes one")
        if not grant.allows(scope):
            raise Problem(
                Kind.FORBIDDEN,
                f"this needs a token of scope {scope}, and this one has scope {grant.scope}",
            )
        request.state.who = grant.name

    return Depends(check)


def _add_public(app: FastAPI, collector: Collector) -> None:
    @app.get(
        "/campaigns/{id}",
        responses=CAMPAIGN_FILE | problems(Kind.UNKNOWN_CAMPAIGN, *STORE),
        response_class=Response,
    )
    async def campaign(id: str, request: Request) -> Response:
        """The canonical bytes of a campaign; their SHA-256 is its id."""
        entry = await collector.entry(id)
        headers = {"ETag": f'"{entry.campaign.id}"', "Cache-Control": FOREVER}
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(entry.campaign.canonical_bytes, media_type=JSON_TYPE, headers=headers)


def _add_withdrawals(app: FastAPI, collector: Collector) -> None:
    kinds = (
        Kind.MALFORMED,
        Kind.UNKNOWN_CAMPAIGN,
        Kind.SLOW_BODY,
        Kind.CLOSED,
        Kind.TOO_LARGE,
        Kind.MEDIA_TYPE,
        *STORE,
    )

    @app.post(
        "/campaigns/{id}/withdrawals",
        status_code=204,
        responses=problems(*kinds),
        openapi_extra=WITHDRAWAL_BODY,
    )
    async def withdrawal(id: str, request: Request) -> Response:
        """Withdraw a report by its id, while the campaign is open. Whoever has the id may."""
        entry = await collector.open_entry(id)
        if media_type_of(request.scope) != JSON_TYPE:
            raise Problem(Kind.MEDIA_TYPE, f"a withdrawal comes as {JSON_TYPE}")
        seconds = collector.settings.receive_seconds
        report_id = _report_id(
            await body_of(request.scope, request.receive, most=LONGEST_WITHDRAWAL, seconds=seconds)
        )
        try:
            is_new = await run_in_threadpool(
                withdraw, collector.store, entry, hashlib.sha256(report_id).digest()
            )
        except CampaignClosed:
            raise collector.closed(entry) from None
        if is_new:
            collector.metrics.withdrew()
        return Response(status_code=204)


def _report_id(body: bytes) -> bytes:
    """The report's id that a withdrawal names."""
    text = _member(body, "id")
    try:
        report_id = base64.urlsafe_b64decode(text + "==")
        if len(report_id) == ID_BYTES and base64url(report_id) == text:
            return report_id
    except ValueError:
        pass
    raise Problem(
        Kind.MALFORMED,
        f'a withdrawal is {{"id": …}} with the report\'s {ID_BYTES} bytes of id as base64url',
    )


def _member(body: bytes, name: str) -> str:
    """A text in a body of JSON; empty where there is none."""
    try:
        found = json.loads(body.decode())[name]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return found if isinstance(found, str) else ""


def _add_managed(app: FastAPI, collector: Collector) -> None:
    store, settings = collector.store, collector.settings
    read, manage = [_allowed(collector, "read")], [_allowed(collector, "manage")]

    @app.get("/campaigns", dependencies=read, responses=problems(*TOKEN))
    async def campaigns() -> Campaigns:
        """Every campaign, open or closed."""
        return Campaigns(
            campaigns=[state_of(entry) for entry in await run_in_threadpool(all_campaigns, store)]
        )

    @app.put(
        "/campaigns/{id}",
        dependencies=manage,
        openapi_extra=CAMPAIGN_BODY,
        responses=NEW
        | problems(
            Kind.SLOW_BODY,
            Kind.CLOSED,
            Kind.TOO_LARGE,
            Kind.MALFORMED,
            Kind.MEDIA_TYPE,
            Kind.WRONG_CAMPAIGN,
            *TOKEN,
            *STORE,
        ),
    )
    async def opened(id: str, request: Request, response: Response) -> CampaignState:
        """Open a campaign: the body is its canonical bytes, whose SHA-256 is the id.

        Without a schedule it stays open until it is closed. With one it closes by itself, some days of grace after its last day:
        until then, reports made within the schedule are still taken, and withdrawals too.
        """
        if media_type_of(request.scope) != JSON_TYPE:
            raise Problem(Kind.MEDIA_TYPE, f"a campaign comes as {JSON_TYPE}")
        body = await body_of(
            request.scope, request.receive, most=LONGEST_FILE, seconds=settings.receive_seconds
        )
        campaign = await run_in_threadpool(Campaign.from_bytes, body, expected_id=id)
        entry, is_new = await run_in_threadpool(_opened, collector, campaign, request.state.who)
        response.status_code = 201 if is_new else 200
        return state_of(collector.remember(entry))

    @app.post(
        "/campaigns/{id}/close",
        dependencies=manage,
        openapi_extra=CLOSE_BODY,
        responses=problems(
            Kind.UNKNOWN_CAMPAIGN,
            Kind.MALFORMED,
            Kind.SLOW_BODY,
            Kind.TOO_LARGE,
            Kind.WRONG_CAMPAIGN,
            *TOKEN,
            *STORE,
        ),
    )
    async def closed(id: str, request: Request) -> CampaignState:
        """Close a campaign: no more reports, no more withdrawals; its retention begins. Closing it again changes nothing.

        It cannot be undone, so the body says the id once more: `{"id": …}`.
        """
        await collector.entry(id)
        body = await body_of(
            request.scope,
            request.receive,
            most=LONGEST_WITHDRAWAL,
            seconds=settings.receive_seconds,
        )
        if _member(body, "id") != id:
            raise Problem(
                Kind.WRONG_CAMPAIGN,
                'closing cannot be undone; say which campaign once more, as {"id": …} in the body',
            )
        entry = await run_in_threadpool(_closed, store, id, request.state.who)
        return state_of(collector.remember(entry))

    @app.get(
        "/campaigns/{id}/counts",
        dependencies=read,
        responses=problems(Kind.UNKNOWN_CAMPAIGN, Kind.TOO_FEW_REPORTS, *TOKEN, *STORE),
    )
    async def counts(id: str) -> Tallied:
        """How many reports came in by slot, were refused by reason, were withdrawn; nothing below the campaign's min_reports."""
        entry = await collector.entry(id)
        return tallied(entry, await run_in_threadpool(tally, store, entry))


def _opened(collector: Collector, campaign: Campaign, who: str) -> tuple[Entry, bool]:
    """A campaign that is open now, and whether it is new; then it is written down."""
    entry, is_new = open_campaign(
        collector.store, campaign, grace_days=collector.settings.grace_days
    )
    if is_new:
        record(collector.store, who, "campaign opened", campaign.id)
    return entry, is_new


def _closed(store: ReportStore, campaign_id: str, who: str) -> Entry:
    """A campaign that is closed now, which is written down."""
    entry = close_campaign(store, campaign_id)
    record(store, who, "campaign closed", campaign_id)
    return entry


def _add_operations(app: FastAPI, collector: Collector) -> None:
    @app.get("/health", responses=problems())
    async def health() -> dict[str, str]:
        """That the process is alive."""
        return {"status": "alive"}

    @app.get("/ready", responses=problems(Kind.UNAVAILABLE))
    async def ready() -> dict[str, str]:
        """That the store can be reached, and its schema is the right one."""
        if await run_in_threadpool(_schema, collector) != SCHEMA:
            raise Problem(
                Kind.UNAVAILABLE,
                "the store's schema is not the one that this collector was started with",
            )
        return {"status": "ready"}

    if collector.settings.console:
        return  # the metrics are there, on an address of their own

    @app.get("/metrics", response_class=PlainTextResponse, responses=METRICS)
    async def metrics() -> Response:
        """Counters for Prometheus."""
        return Response(
            collector.metrics.text(n_waiting=collector.writer.n_waiting), media_type=CONTENT_TYPE
        )


def _add_pages(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def front() -> Response:
        """For somebody who looks what is here."""
        return await run_in_threadpool(front_page)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        """Every route, with a command that asks it."""
        return await run_in_threadpool(docs_page, described(app))


def _schema(collector: Collector) -> str | None:
    with collector.store.reading() as connection:
        return version_of(connection)
