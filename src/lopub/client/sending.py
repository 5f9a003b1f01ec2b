"""Sending: the same bytes to a collector until it acknowledges them. Standard library only; read it before you trust it.

What leaves this machine, in full: the collector's own path, its host, a media type, a length, the constant agent `lopub`, and
the body. No cookie, no token, no time. Redirects are not followed: they could lead elsewhere. Sending again is always safe,
because a collector counts a report once, by its id. Proxies are those that the standard library finds, and ALL_PROXY: where one
is set for the address, nothing goes past it. An exchange has a deadline as a whole, but for the system's search for a host's
name, which cannot be cut short.
"""

import base64
import http.client
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from lopub.campaign.campaign import Campaign
from lopub.campaign.canonical import LONGEST_FILE
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import FRAMED_TYPE, JSON_TYPE, base64url, framed
from lopub.client.address import Address
from lopub.errors import (
    CollectorError,
    DomainError,
    Reason,
    ReportRejected,
    TryLater,
    checks_options,
)

AGENT = "lopub"
"""One constant for everybody: no version, no system, nothing that tells two people apart."""
LONGEST_ANSWER = 64 * 1024
"""Bytes; of a campaign, LONGEST_FILE."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 20.0
"""Seconds, at most, before the second attempt; twice as long before each later one. The wait itself is drawn."""
COME_AGAIN = (408, 425, 429)
"""Refusals that say nothing about the request: it came too slowly, too early, or among too many."""
LONGEST_QUOTE = 200
"""Characters of a collector's own words that are passed on."""

_T = TypeVar("_T")


class Patience:
    """How long to try: so many seconds for one exchange, and so many from now on for everything, waits included."""

    def __init__(self, timeout: float, patience: float) -> None:
        for name, value in (("timeout", timeout), ("patience", patience)):
            if isinstance(value, bool) or not 0 < value < float("inf"):
                raise DomainError(f"{name} must be a number of seconds above 0, got {value}")
        self._timeout, self._ends = timeout, time.monotonic() + patience

    def attempt(self) -> float:
        """Seconds that the next exchange may take."""
        return max(min(self._timeout, self._ends - time.monotonic()), 0.001)

    def outlasts(self, wait: float) -> bool:
        """Whether something is left after a wait."""
        return time.monotonic() + wait < self._ends


def wait_after(n_attempts: int) -> float:
    """A uniform draw below a limit that doubles, so that a crowd that was turned away does not come back as one."""
    limit = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(n_attempts - 1, 60))
    return limit * Randomness().below(2**20) / 2**20


# ---- what can be asked of a collector


@checks_options
def fetch_campaign(
    url: str, *, timeout: float = 10.0, patience: float = 60.0, allow_plain_http: bool = False
) -> Campaign:
    """The campaign at this address; its bytes must have the hash that the address names. timeout, patience: seconds, of one
    exchange and in all."""
    address = Address.of(url, allow_plain_http=allow_plain_http)
    request = _Request(address, "GET", address.path, longest_answer=LONGEST_FILE)
    data, _ = _persist(request, Patience(timeout, patience), lambda answer: answer.body)
    return Campaign.from_bytes(data, expected_id=address.campaign_id)


def send_report(report: bytes, address: Address, time_left: Patience) -> int:
    """Send until the collector has it for good; how many attempts it took. ReportRejected where it refuses the report."""
    path = f"{address.path}/reports"
    request = _Request(address, "POST", path, framed([report]), FRAMED_TYPE)
    return _persist(request, time_left, _counted)[1]


def withdraw_report(report_id: bytes, address: Address, time_left: Patience) -> int:
    """Ask that a report be forgotten, and refused where it is still on its way; how many attempts it took."""
    body = json.dumps({"id": base64url(report_id)}).encode()
    request = _Request(address, "POST", f"{address.path}/withdrawals", body, JSON_TYPE)
    return _persist(request, time_left, _forgotten)[1]


# ---- one request, as often as it takes


@dataclass(frozen=True)
class _Request:
    address: Address
    method: str
    path: str
    body: bytes | None = None
    media_type: str = ""
    longest_answer: int = LONGEST_ANSWER

    @property
    def headers(self) -> dict[str, str]:
        own = {"Host": self.address.host_header, "User-Agent": AGENT, "Connection": "close"}
        return own | ({"Content-Type": self.media_type} if self.media_type else {})


@dataclass(frozen=True)
class _Answer:
    status: int
    retry_after: str
    body: bytes


class _Unclear(Exception):
    """No answer that can be relied on: the request may or may not have arrived. asked: seconds that the collector asks for."""

    def __init__(self, message: str, asked: float = 0.0) -> None:
        super().__init__(message)
        self.asked = asked


def _persist(
    request: _Request, time_left: Patience, understand: Callable[[_Answer], _T]
) -> tuple[_T, int]:
    """The same request until an answer is understood, and how many attempts it took; TryLater where time runs out."""
    for n_attempts in count(1):
        try:
            return understand(_settled(_exchange(request, time_left.attempt()))), n_attempts
        except _Unclear as trouble:
            wait = trouble.asked + wait_after(n_attempts)
            if not time_left.outlasts(wait):
                attempts = f"{n_attempts} attempt{'s' if n_attempts > 1 else ''}"
                raise TryLater(
                    f"{request.address.host}: {trouble}, after {attempts}; try again later"
                ) from None
            time.sleep(wait)
    raise AssertionError("unreachable: counting does not end")


def _exchange(request: _Request, seconds: float) -> _Answer:
    """One attempt: a connection of its own, the request, the whole answer, all before the deadline."""
    host, ends = request.address.host, time.monotonic() + seconds
    try:
        with _connected(request.address, ends) as sock:
            connection = _speaking(sock)
            connection.request(request.method, request.path, request.body, request.headers)
            response = connection.getresponse()
            body = response.read(request.longest_answer + 1)
            if time.monotonic() >= ends:
                raise TimeoutError
            if len(body) > request.longest_answer:
                raise _Unclear("the answer is longer than any that was agreed on")
            if response.length:
                raise _Unclear("the answer was cut off")
            return _Answer(response.status, response.getheader("Retry-After", ""), body)
    except ssl.SSLCertVerificationError as error:
        raise CollectorError(
            f"the certificate of {host} is not trusted: {error.verify_message}"
        ) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, CollectorError):
            raise
        if isinstance(error, TimeoutError) or time.monotonic() >= ends:
            raise _Unclear("no answer in time") from None
        if isinstance(error, OSError):
            why = error.strerror or "closed by the other side"
            raise _Unclear(f"no connection ({why})") from None
        raise _Unclear("the answer is not HTTP, or was cut off") from None


# ---- one connection, before a deadline


@contextmanager
def _connected(address: Address, ends: float) -> Iterator[socket.socket]:
    """A connection to the collector, straight or as a tunnel through the proxy that is set, which sees no more than the host
    where TLS is spoken. It is shut when its time is over, however slowly bytes still come."""
    proxy = _proxy_for(address)
    via = (proxy.hostname or "", proxy.port or 80) if proxy else (address.host, address.port)
    with _dialled(*via, ends) as sock, _shut_at(ends, sock):
        if proxy:
            _ask_for_tunnel(sock, address, proxy)
        if not address.secure:
            yield sock
            return
        sock.settimeout(_left(ends))  # and no handshake over a connection that was shut
        context = ssl.create_default_context()
        with context.wrap_socket(sock, server_hostname=address.host) as inner:
            yield inner


@contextmanager
def _shut_at(ends: float, sock: socket.socket) -> Iterator[None]:
    """Shut a connection when its time is over: the timeout of a socket begins anew with each byte."""
    left = _left(ends)
    spare = (
        sock.dup()
    )  # the same connection, whatever becomes of the socket when TLS is wrapped around it

    def shut() -> None:
        with suppress(OSError):
            spare.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(left, shut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        spare.close()


def _dialled(host: str, port: int, ends: float) -> socket.socket:
    """Connected to the first of the host's addresses that answers; none may use up the time of the others."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise OSError(0, "not the name of a host") from None
    trouble = OSError(0, "no address")
    for n_left, (family, kind, protocol, _, target) in zip(
        range(len(addresses), 0, -1), addresses, strict=True
    ):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(_left(ends) / n_left)
            sock.connect(target)
            sock.settimeout(_left(ends))
            return sock
        except OSError as error:
            sock.close()
            trouble = error
    raise trouble


def _left(ends: float) -> float:
    """Seconds until the deadline; TimeoutError where it has passed."""
    if (left := ends - time.monotonic()) <= 0:
        raise TimeoutError
    return left


def _speaking(sock: socket.socket) -> http.client.HTTPConnection:
    """HTTP over a socket that is connected already."""
    connection = http.client.HTTPConnection("unused")  # every request names its host itself
    connection.sock = sock
    return connection


# ---- proxies


def _proxy_for(address: Address) -> SplitResult | None:
    """The proxy that is set for this address; none for this very machine over plain http."""
    if not address.secure and address.is_loopback:
        return None
    known = getproxies()
    found = known.get("https" if address.secure else "http") or known.get("all")
    if not found or proxy_bypass(address.host):
        return None
    proxy = urlsplit(found if "://" in found else f"http://{found}")
    if proxy.scheme != "http":
        raise CollectorError(
            f"the proxy that is set for {address.host} speaks {proxy.scheme}, which this program does not; set https_proxy to one"
            " that speaks http, or name the host in no_proxy"
        )
    return proxy


def _ask_for_tunnel(sock: socket.socket, address: Address, proxy: SplitResult) -> None:
    target = f"{address.host_name}:{address.port}"
    with closing(_speaking(sock.dup())) as connection:  # which closes what it is given
        connection.putrequest("CONNECT", target, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", target)
        if proxy.username is not None:
            words = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
            credentials = base64.b64encode(words.encode()).decode()
            connection.putheader("Proxy-Authorization", f"Basic {credentials}")
        connection.endheaders()
        if (status := connection.getresponse().status) != 200:
            raise _Unclear(f"the proxy answers {status}")


# ---- what an answer means


def _settled(answer: _Answer) -> _Answer:
    """A good answer. Anything from 500 on may pass, and so may COME_AGAIN: send again. Other refusals and redirects are final."""
    if answer.status in (200, 204) or _lists_refusals(answer):
        return answer
    if answer.status >= 500 or answer.status in COME_AGAIN:
        raise _Unclear(f"the collector answers {answer.status}", _asked(answer.retry_after))
    if answer.status >= 400:
        raise CollectorError(
            f"the collector refuses this request with {answer.status}{_problem(answer.body)}"
        )
    if answer.status >= 300:
        raise CollectorError(
            f"the collector answers {answer.status}, which points elsewhere; that is not followed: ask for its right address"
        )
    raise _Unclear(f"the collector answers {answer.status}, which was not agreed on")


def _lists_refusals(answer: _Answer) -> bool:
    """Whether every report of the request was refused, each with its reason."""
    try:
        refused = _object(answer.body).get("refused")
    except _Unclear:
        return False
    return answer.status == 422 and isinstance(refused, list) and bool(refused)


def _asked(retry_after: str) -> float:
    """Seconds that a collector asks for; a date, which the format does not have, is not read."""
    return float(retry_after) if re.fullmatch(r"[0-9]{1,6}", retry_after) else 0.0


def _counted(answer: _Answer) -> None:
    """Whether the one report that was sent is in the collector's keeping."""
    value = _object(answer.body)
    refused, received = value.get("refused"), value.get("received")
    if refused == [] and received == 1 and received is not True:
        return
    item = refused[0] if isinstance(refused, list) and len(refused) == 1 else None
    if not isinstance(item, dict) or item.get("index") != 0:
        raise _Unclear("the answer does not say what became of the report")
    try:
        reason = Reason(str(item.get("reason")))
    except ValueError:
        raise CollectorError(
            "the collector refuses the report for a reason that this program does not know"
        ) from None
    said = f"the collector refuses the report ({reason}){_quoted(item.get('detail'))}"
    raise ReportRejected(reason, said, when=str(item.get("when", "")))


def _forgotten(answer: _Answer) -> None:
    """Refuse any answer but 204, which alone says that a report was withdrawn."""
    if answer.status == 422:
        raise CollectorError(f"the collector refuses this request with 422{_problem(answer.body)}")
    if answer.status != 204:
        raise _Unclear(f"the collector answers {answer.status}, which was not agreed on")


def _problem(body: bytes) -> str:
    """What a problem document (RFC 9457) says."""
    try:
        value = _object(body)
    except _Unclear:
        return ""
    kind = str(value.get("type", "")).removeprefix("urn:lopub:problem:")
    named = f" ({kind})" if re.fullmatch(r"[a-z-]{1,40}", kind) else ""
    return named + _quoted(value.get("detail") or value.get("title"))


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body.decode())
    except (ValueError, RecursionError):
        raise _Unclear("the answer is not JSON") from None
    if not isinstance(value, dict):
        raise _Unclear("the answer is not a JSON object")
    return value


def _quoted(words: object) -> str:
    """A collector's own words, so that nobody takes them for ours; one line, no control characters."""
    if not isinstance(words, str) or not words:
        return ""
    line = "".join(sign if sign.isprintable() else " " for sign in words[:LONGEST_QUOTE])
    return f': it says "{line}"'
