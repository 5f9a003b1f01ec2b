"""The routes beside ingest: campaigns, counts, health and metrics. openapi.json describes them."""

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lopub.campaign.campaign import Campaign
from lopub.campaign.canonical import LONGEST_FILE
from lopub.campaign.report import JSON_TYPE
from lopub.collector.campaigns import (
    Entry,
    Tally,
    all_campaigns,
    close_campaign,
    day_at,
    find_campaign,
    open_campaign,
    tally,
)
from lopub.collector.collector import Collector
from lopub.collector.logs import log_event
from lopub.collector.metrics import CONTENT_TYPE
from lopub.collector.problems import Kind, Problem
from lopub.collector.requests import (
    SMALL_BODY_BYTES,
    authorized,
    body_of,
    collector_of,
    member_of,
)
from lopub.collector.retention import retention_problem
from lopub.collector.schema import SCHEMA, revision_of
from lopub.collector.steward_log import record
from lopub.collector.store import ReportStore

FOREVER = "public, max-age=31536000, immutable"


class CampaignsEndpoint(HTTPEndpoint):
    """`/campaigns`."""

    async def get(self, request: Request) -> Response:
        """Every campaign, open or closed."""
        await authorized(request, "read")
        entries = await run_in_threadpool(all_campaigns, collector_of(request).store)
        return JSONResponse({"campaigns": [state_of(entry) for entry in entries]})


class CampaignEndpoint(HTTPEndpoint):
    """`/campaigns/{id}`."""

    async def get(self, request: Request) -> Response:
        """The canonical bytes of a campaign; their SHA-256 is its id."""
        entry = await collector_of(request).entry(request.path_params["id"])
        headers = {"ETag": f'"{entry.campaign.id}"', "Cache-Control": FOREVER}
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(entry.campaign.canonical_bytes, media_type=JSON_TYPE, headers=headers)

    async def put(self, request: Request) -> Response:
        """Open a campaign: the body is its canonical bytes, whose SHA-256 is the id."""
        who, collector = await authorized(request, "manage"), collector_of(request)
        body = await body_of(request, JSON_TYPE, most_bytes=LONGEST_FILE)
        entry, is_new = await run_in_threadpool(
            _opened, collector, body, request.path_params["id"], who
        )
        return JSONResponse(state_of(collector.remember(entry)), 201 if is_new else 200)


class CloseEndpoint(HTTPEndpoint):
    """`/campaigns/{id}/close`."""

    async def post(self, request: Request) -> Response:
        """Close a campaign for good; the body names it once more."""
        who, collector = await authorized(request, "manage"), collector_of(request)
        campaign_id = request.path_params["id"]
        await collector.entry(campaign_id)
        body = await body_of(request, most_bytes=SMALL_BODY_BYTES)
        if member_of(body, "id") != campaign_id:
            raise Problem(
                Kind.WRONG_CAMPAIGN,
                'closing cannot be undone; repeat the campaign\'s id in the body, as {"id": …}',
            )
        entry = await run_in_threadpool(_closed, collector.store, campaign_id, who)
        return JSONResponse(state_of(collector.remember(entry)))


class CountsEndpoint(HTTPEndpoint):
    """`/campaigns/{id}/counts`."""

    async def get(self, request: Request) -> Response:
        """How many reports came in by slot, were refused by reason, were withdrawn."""
        await authorized(request, "read")
        collector = collector_of(request)
        entry = await collector.entry(request.path_params["id"])
        found = await run_in_threadpool(tally, collector.store, entry)
        return JSONResponse(counts_of(entry, found))


class HealthEndpoint(HTTPEndpoint):
    """`/health`."""

    async def get(self, request: Request) -> Response:
        """That the process is alive."""
        return JSONResponse({"status": "alive"})


class ReadyEndpoint(HTTPEndpoint):
    """`/ready`."""

    async def get(self, request: Request) -> Response:
        """That the store can be reached, has the right schema, and takes commits; and, where
        retention has stopped because of a clock, why. Reports are taken all the same."""
        collector = collector_of(request)
        collector.writer.refuse_if_failing()
        if await run_in_threadpool(_schema, collector.store) != SCHEMA:
            raise Problem(
                Kind.UNAVAILABLE, "the store's schema is not the one that this collector writes"
            )
        problem = await run_in_threadpool(retention_problem, collector.store)
        stopped = {} if problem is None else {"retention": str(problem)}
        return JSONResponse({"status": "ready", **stopped})


class MetricsEndpoint(HTTPEndpoint):
    """`/metrics`."""

    async def get(self, request: Request) -> Response:
        """Counters for Prometheus."""
        await authorized(request, "read")
        collector = collector_of(request)
        text = collector.metrics.text(n_waiting=collector.writer.n_waiting)
        return Response(text, media_type=CONTENT_TYPE)


def state_of(entry: Entry) -> dict[str, Any]:
    """Return what a collector says about a campaign; openapi.json explains the members."""
    terms = entry.campaign.terms
    return {
        "id": entry.campaign.id,
        "name": terms.name,
        "min_reports": terms.min_reports,
        "open": entry.closed is None,
        "closed": None if entry.closed_on is None else str(entry.closed_on),
        "closes": None if entry.closes_on is None else str(entry.closes_on),
        "erased": entry.erased is not None,
    }


def counts_of(entry: Entry, found: Tally) -> dict[str, Any]:
    """Return what a collector says about the reports of a campaign."""
    return {
        "id": entry.campaign.id,
        "reports": found.n_reports,
        "slots": [
            {"day": str(day_at(slot)), "slot": slot, "reports": n}
            for slot, n in found.slots.items()
        ],
        "refused": {str(reason): n for reason, n in found.refused.items()},
        "withdrawn": found.n_withdrawn,
    }


def _opened(collector: Collector, body: bytes, campaign_id: str, who: str) -> tuple[Entry, bool]:
    """Open a campaign, and log who did where it is new."""
    campaign = Campaign.from_bytes(body, expected_id=campaign_id)
    entry, is_new = open_campaign(
        collector.store, campaign, grace_days=collector.settings.grace_days
    )
    if is_new:
        _record(collector.store, who, "campaign opened", campaign.id)
    return entry, is_new


def _closed(store: ReportStore, campaign_id: str, who: str) -> Entry:
    """Close a campaign, and log who did where it was open."""
    was_open = find_campaign(store, campaign_id).closed is None
    entry = close_campaign(store, campaign_id)
    if was_open:
        _record(store, who, "campaign closed", campaign_id)
    return entry


def _record(store: ReportStore, who: str, what: str, campaign_id: str) -> None:
    """Write down what a steward did, in the database and in the log. who: the name of a token."""
    record(store, who, what, campaign_id)
    log_event(what, token=who, campaign=campaign_id[:16])


def _schema(store: ReportStore) -> int | None:
    with store.reading() as connection:
        return revision_of(connection)
