"""What pages of other origins may ask for: campaigns, reports and withdrawals, by anybody, without credentials.

None of the three looks at who asks, so every origin gets the same answer, and the origin itself is never read. All else (lists,
counts, opening and closing) needs a token, and gets no such permission.
"""

import re

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SHARED = re.compile(r"/campaigns/[^/]+(/reports|/withdrawals)?")
_EVERYBODY = {"Access-Control-Allow-Origin": "*"}
PERMISSION = _EVERYBODY | {"Access-Control-Expose-Headers": "Retry-After"}
"""What an answer says that any page may read."""
DAY = 86_400
"""Seconds for which a browser may remember a permission."""


class CrossOrigin:
    """An application whose public routes may be asked from any page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight; let everything else through, with the permission where there is one."""
        shared = _SHARED.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if shared is None:
            await self._app(scope, receive, send)
        elif scope["method"] == "OPTIONS" and any(
            name == b"access-control-request-method" for name, _ in scope["headers"]
        ):
            await _permission("POST" if shared[1] else "GET")(scope, receive, send)
        else:
            await self._app(scope, receive, _permitting(send))


def _permission(method: str) -> Response:
    """What a preflight is told, whatever it asks for: the browser compares."""
    headers = {
        "Access-Control-Allow-Methods": method,
        "Access-Control-Allow-Headers": "Content-Type",
        "Access-Control-Max-Age": str(DAY),
    }
    return Response(status_code=204, headers=_EVERYBODY | headers)


def _permitting(send: Send) -> Send:
    async def permitting(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(PERMISSION)
        await send(message)

    return permitting
