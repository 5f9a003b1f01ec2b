"""Problem documents (RFC 9457): why a request as a whole is refused, with types that never change.

Below 500: do not send the same again. 503 and 507 carry Retry-After: send the same bytes again.
"""

import json
from enum import Enum
from typing import Any

from starlette.responses import Response

from lopub.errors import (
    CampaignClosed,
    CampaignError,
    LopubError,
    Message,
    NoCampaign,
    StorageFull,
    StoreError,
    TooFewReports,
)

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1
"""What Retry-After says."""


class Kind(Enum):
    """Every problem there is: the last part of its type, its status, its title."""

    MALFORMED = ("malformed", 400, "The request cannot be read")
    UNAUTHORIZED = ("unauthorized", 401, "A valid token is needed")
    FORBIDDEN = ("forbidden", 403, "The token does not allow this")
    NOT_FOUND = ("not-found", 404, "There is nothing here")
    UNKNOWN_CAMPAIGN = ("unknown-campaign", 404, "There is no such campaign")
    METHOD_NOT_ALLOWED = ("method-not-allowed", 405, "The method is not allowed here")
    SLOW_BODY = ("slow-body", 408, "The body took too long")
    CLOSED = ("closed", 409, "The campaign is closed")
    TOO_FEW_REPORTS = ("too-few-reports", 409, "There are too few reports to show anything")
    TOO_LARGE = ("too-large", 413, "The request is too large")
    MEDIA_TYPE = ("media-type", 415, "The media type is not one that is taken here")
    REFUSED = ("refused", 422, "None of the reports was taken")
    WRONG_CAMPAIGN = ("wrong-campaign", 422, "The bytes are not that campaign")
    BUG = ("internal", 500, "Something went wrong here")
    BUSY = ("busy", 503, "Too much is waiting")
    UNAVAILABLE = ("unavailable", 503, "The store is out of reach")
    STORAGE_FULL = ("storage-full", 507, "The store is full")

    def __init__(self, slug: str, status: int, title: str) -> None:
        self.slug, self.status, self.title = slug, status, title

    @property
    def urn(self) -> str:
        return f"urn:lopub:problem:{self.slug}"


class Problem(LopubError):
    """A request to refuse; becomes a problem document."""

    def __init__(
        self,
        kind: Kind,
        detail: str | Message,
        headers: dict[str, str] | None = None,
        members: dict[str, Any] | None = None,
    ) -> None:
        """members: what the document states beside its type, title, status and detail."""
        super().__init__(str(detail))
        if isinstance(detail, Message):
            self.message = detail
        self.kind, self.headers, self.members = kind, headers or {}, members or {}


def problem_of(error: LopubError) -> Problem:
    """The problem that an error of ours is to whoever sent the request."""
    if isinstance(error, Problem):
        return error
    kinds: dict[type[LopubError], Kind] = {
        NoCampaign: Kind.UNKNOWN_CAMPAIGN,
        CampaignClosed: Kind.CLOSED,
        CampaignError: Kind.WRONG_CAMPAIGN,
        TooFewReports: Kind.TOO_FEW_REPORTS,
        StorageFull: Kind.STORAGE_FULL,
        StoreError: Kind.UNAVAILABLE,
    }
    kind = next((kind for cause, kind in kinds.items() if isinstance(error, cause)), Kind.BUG)
    # where the store is, is nobody's business outside
    return Problem(kind, _STORE_DETAILS.get(kind, error.message))


_STORE_DETAILS = {
    Kind.STORAGE_FULL: "the collector has no space left; send the same again later",
    Kind.UNAVAILABLE: "the collector cannot reach its store; send the same again later",
    Kind.BUG: "the collector has a bug; its log says more",
}


def document(problem: Problem) -> Response:
    """The answer that states a problem."""
    kind = problem.kind
    members: dict[str, Any] = {
        "type": kind.urn,
        "title": kind.title,
        "status": kind.status,
        "detail": str(problem),
        **problem.members,
    }
    headers = dict(problem.headers)
    if kind.status in (503, 507):
        headers["Retry-After"] = str(RETRY_SECONDS)
    if kind is Kind.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(
        json.dumps(members), status_code=kind.status, media_type=MEDIA_TYPE, headers=headers
    )
