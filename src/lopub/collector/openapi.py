"""The parts of the API's description that the routes themselves cannot say."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from lopub.campaign.report import FRAMED_TYPE, JSON_TYPE
from lopub.campaign.schedule import EARLY, LATE
from lopub.collector.problems import MEDIA_TYPE, Kind
from lopub.errors import Reason

Described = dict[int | str, dict[str, Any]]

_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}
_OBJECT = {"type": "object"}
_REPORT_ID = {"type": "string", "pattern": "^[A-Za-z0-9_-]{21}[AQgw]$"}
_BASE64URL = {"type": "string", "pattern": "^[A-Za-z0-9_-]*$"}

CAMPAIGN_FILE: Described = {
    200: {"description": "The canonical bytes", "content": {JSON_TYPE: {"schema": _OBJECT}}},
    304: {"description": "Not changed; it never does"},
}
CAMPAIGN_BODY = {"requestBody": {"required": True, "content": {JSON_TYPE: {"schema": _OBJECT}}}}
WITHDRAWAL_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            JSON_TYPE: {
                "schema": {"type": "object", "required": ["id"], "properties": {"id": _REPORT_ID}}
            }
        },
    }
}
CLOSE_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            JSON_TYPE: {
                "schema": {
                    "type": "object",
                    "required": ["id"],
                    "properties": {"id": {"type": "string", "pattern": "^[0-9a-f]{64}$"}},
                }
            }
        },
    }
}
METRICS: Described = {
    200: {
        "description": "Prometheus text",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}

_TWIN = {
    "type": "object",
    "required": ["version", "campaign", "id", "slot", "payload"],
    "additionalProperties": False,
    "properties": {
        "version": {"type": "integer", "enum": [1]},
        "campaign": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "id": _REPORT_ID,
        "slot": {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
        "view": _BASE64URL,
        "payload": _BASE64URL,
    },
}
_RECEIVED = {
    "type": "object",
    "required": ["received", "refused"],
    "properties": {
        "received": {"type": "integer", "minimum": 1},
        "refused": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["index", "reason", "detail"],
                "properties": {
                    "index": {"type": "integer", "minimum": 0},
                    "reason": {"type": "string", "enum": [str(reason) for reason in Reason]},
                    "detail": {"type": "string"},
                    "when": {"type": "string", "enum": [EARLY, LATE]},
                },
            },
        },
    },
}


def problems(*kinds: Kind) -> Described:
    """The problem documents that a route may answer with, by status."""
    found: Described = {}
    for kind in kinds:
        title = (
            f"{found[kind.status]['description']}; {kind.title}"
            if kind.status in found
            else kind.title
        )
        found[kind.status] = {"description": title, "content": {MEDIA_TYPE: {"schema": _PROBLEM}}}
    return found


def described(app: FastAPI) -> dict[str, Any]:
    """The whole API, ingest included."""
    if not app.openapi_schema:
        schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
        for path in schema["paths"].values():
            for operation in path.values():
                if "HTTPValidationError" in str(operation["responses"].get("422", "")):
                    del operation["responses"]["422"]  # nothing here is validated by FastAPI
        schema["components"]["schemas"].pop("HTTPValidationError", None)
        schema["components"]["schemas"].pop("ValidationError", None)
        schema["paths"]["/campaigns/{id}/reports"] = {"post": _ingest()}
        app.openapi_schema = schema
    return app.openapi_schema


def _ingest() -> dict[str, Any]:
    refused = (
        Kind.MALFORMED, Kind.UNKNOWN_CAMPAIGN, Kind.SLOW_BODY, Kind.CLOSED, Kind.TOO_LARGE, Kind.MEDIA_TYPE, Kind.BUSY,
        Kind.UNAVAILABLE, Kind.STORAGE_FULL,
    )  # fmt: skip
    twins = {
        "anyOf": [
            _TWIN,
            {
                "type": "object",
                "required": ["reports"],
                "properties": {"reports": {"type": "array"}},
            },
        ]
    }
    answers = {str(status): answer for status, answer in problems(*refused).items()}
    return {
        "summary": "Reports",
        "description": "Send reports; answered once they are durable. The answer lists only those that were refused.",
        "operationId": "ingest",
        "parameters": [
            {
                "name": "id",
                "in": "path",
                "required": True,
                "schema": {"type": "string", "title": "Id"},
            }
        ],
        "requestBody": {
            "required": True,
            "content": {
                FRAMED_TYPE: {"schema": {"type": "string", "format": "binary"}},
                JSON_TYPE: {"schema": twins},
            },
        },
        "responses": {
            "200": {"description": "Durable", "content": {JSON_TYPE: {"schema": _RECEIVED}}},
            **answers,
        },
    }
