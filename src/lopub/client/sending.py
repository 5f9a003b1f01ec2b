"""Sending: the same bytes to a collector until it acknowledges them. Standard library only; read it before you trust it.

What leaves this machine, in full: the collector's own path, its host, a media type, a length, the constant agent `lopub`, and
the body. No cookie, no token, no time. Redirects are not followed: they could lead elsewhere. Sending again is always safe,
because a collector counts a report once, by its id.
"""

import errno
import http.client
import io
import ipaddress
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from lopub.campaign.campaign import Campaign
from lopub.campaign.canonical import LONGEST_FILE
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import FRAMED_TYPE, JSON_TYPE, base64url, framed
from lopub.errors import (
    CampaignError,
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
PIECE = 16 * 1024
"""Bytes that are sent at a time: a TLS socket counts its timeout anew for each record, of this size."""
COME_AGAIN = (408, 425, 429)
"""Refusals that say nothing about the request: it came too slowly, too early, or among too many."""
LONGEST_QUOTE = 200
"""Characters of a collector's own words that are passed on."""

_ADDRESS = re.compile(
    r"(https?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::([0-9]{1,5}))?((?:/[A-Za-z0-9._~-]+)*/campaigns/([0-9a-f]{64}))/?"
)
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to try. All in seconds."""

    seconds: float = 60.0
    """Of everything together, waits included."""
    attempt: float = 10.0
    """Of one attempt."""
    first_wait: float = 0.5
    """At most, before the second attempt; twice as long before each later one. The wait itself is drawn."""
    longest_wait: float = 20.0

    def __post_init__(self) -> None:
        for name in ("seconds", "attempt", "first_wait", "longest_wait"):
            if not 0 < (value := getattr(self, name)) < float("inf"):
                raise DomainError(f"{name} must be a number of seconds above 0, got {value}")

    def wait(self, n_attempts: int) -> float:
        """A uniform draw below a limit that doubles, so that a crowd that was turned away does not come back as one."""
        limit = min(self.longest_wait, self.first_wait * 2.0 ** min(n_attempts - 1, 60))
        return limit * Randomness().below(2**20) / 2**20


PATIENT = Patience()


@dataclass(frozen=True)
class Address:
    """Where a collector has one campaign."""

    secure: bool
    host: str
    port: int
    path: str
    campaign_id: str

    @classmethod
    def of(cls, url: str, *, allow_plain_http: bool = False) -> Self:
        """The parts of https://host/campaigns/ID. Nothing else may be in it: a query could tell people apart."""
        found = _ADDRESS.fullmatch(url)
        if found is None or int(found[3] or 1) not in range(1, 2**16):
            raise CampaignError(
                "a campaign's address must look like https://host/campaigns/ and the 64 digits of its id"
            )
        secure, host = found[1] == "https", found[2].strip("[]")
        if not (secure or allow_plain_http or _is_loopback(host)):
            raise CampaignError(
                "a campaign's address must begin with https://, so that nobody on the way can read or change it"
            )
        return cls(secure, host, int(found[3] or (443 if secure else 80)), found[4], found[5])

    @property
    def host_name(self) -> str:
        """As it stands in a request: an address of version 6 in brackets."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def host_header(self) -> str:
        return (
            self.host_name
            if self.port == (443 if self.secure else 80)
            else f"{self.host_name}:{self.port}"
        )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# ---- what can be asked of a collector


@checks_options
def fetch_campaign(
    url: str, *, patience: Patience = PATIENT, allow_plain_http: bool = False
) -> Campaign:
    """The campaign at this address; its bytes must have the hash that the address names."""
    address = Address.of(url, allow_plain_http=allow_plain_http)
    request = _Request(
        address=address, method="GET", path=address.path, longest_answer=LONGEST_FILE
    )
    data, _ = _persist(request, patience, lambda answer: answer.body)
    return Campaign.from_bytes(data, expected_id=address.campaign_id)


def send_report(report: bytes, address: Address, patience: Patience = PATIENT) -> int:
    """Send until the collector has it for good; how many attempts it took. ReportRejected where it refuses the report."""
    request = _Request(
        address=address,
        path=f"{address.path}/reports",
        body=framed([report]),
        media_type=FRAMED_TYPE,
    )
    return _persist(request, patience, _counted)[1]


def withdraw_report(report_id: bytes, address: Address, patience: Patience = PATIENT) -> int:
    """Ask that a report be forgotten, and refused where it is still on its way; how many attempts it took."""
    body = json.dumps({"id": base64url(report_id)}).encode()
    path = f"{address.path}/withdrawals"
    request = _Request(address=address, path=path, body=body, media_type=JSON_TYPE)
    return _persist(request, patience, lambda answer: None)[1]


# ---- one request, as often as it takes


@dataclass(frozen=True, kw_only=True)
class _Request:
    address: Address
    path: str
    method: str = "POST"
    body: bytes | None = None
    media_type: str = ""
    longest_answer: int = LONGEST_ANSWER


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
    request: _Request, patience: Patience, understand: Callable[[_Answer], _T]
) -> tuple[_T, int]:
    """The same request until an answer is understood, and how many attempts it took; TryLater where time runs out."""
    ends = time.monotonic() + patience.seconds
    for n_attempts in count(1):
        try:
            left = max(ends - time.monotonic(), 0.001)
            return understand(_settled(_exchange(request, min(patience.attempt, left)))), n_attempts
        except _Unclear as trouble:
            wait = trouble.asked + patience.wait(n_attempts)
            if time.monotonic() + wait >= ends:
                attempts = f"{n_attempts} attempt{'s' if n_attempts > 1 else ''}"
                raise TryLater(
                    f"{request.address.host}: {trouble}, after {attempts}; try again later"
                ) from None
            time.sleep(wait)
    raise AssertionError("unreachable: counting does not end")


def _exchange(request: _Request, seconds: float) -> _Answer:
    """One attempt: a connection of its own, the request, the whole answer, all before the deadline."""
    ends = time.monotonic() + seconds
    address, sock = request.address, None
    headers = {"Host": address.host_header, "User-Agent": AGENT, "Connection": "close"}
    if request.media_type:
        headers["Content-Type"] = request.media_type
    try:
        sock = _connected(address, ends)
        connection = _speaking(sock, ends)
        connection.request(request.method, request.path, request.body, headers)
        response = connection.getresponse()
        body = response.read(request.longest_answer + 1)
        if len(body) > request.longest_answer:
            raise _Unclear("the answer is longer than any that was agreed on")
        if response.length:
            raise _Unclear("the answer was cut off")
        return _Answer(response.status, response.getheader("Retry-After", ""), body)
    except ssl.SSLCertVerificationError as error:
        raise CollectorError(
            f"the certificate of {address.host} is not trusted: {error.verify_message}"
        ) from None
    except TimeoutError:
        raise _Unclear("no answer in time") from None
    except OSError as error:
        raise _Unclear(f"no connection ({error.strerror or 'closed by the other side'})") from None
    except (http.client.HTTPException, ValueError):
        raise _Unclear("the answer is not HTTP, or was cut off") from None
    finally:
        if sock is not None:
            sock.close()


# ---- one connection, before a deadline


def _connected(address: Address, ends: float) -> socket.socket:
    """Straight to the host; with TLS through the system's https proxy where there is one, which sees no more than the host."""
    proxy = None if not address.secure or proxy_bypass(address.host) else getproxies().get("https")
    via = urlsplit(proxy if "://" in proxy else f"http://{proxy}") if proxy else None
    sock = (
        _dialled(via.hostname or "", via.port or 8080, ends)
        if via
        else _dialled(address.host, address.port, ends)
    )
    try:
        if via:
            _ask_for_tunnel(sock, address, ends)
        if not address.secure:
            return sock
        sock.settimeout(_left(ends))  # for the whole handshake, however many messages it has
        return ssl.create_default_context().wrap_socket(sock, server_hostname=address.host)
    except BaseException:
        sock.close()
        raise


def _dialled(host: str, port: int, ends: float) -> socket.socket:
    """Connected to the first of the host's addresses that answers; none may use up the time of the others."""
    addresses, trouble = _addresses(host, port, ends), OSError("no address")
    for n_left, (family, kind, protocol, _, target) in zip(
        range(len(addresses), 0, -1), addresses, strict=True
    ):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(_left(ends) / n_left)
            sock.connect(target)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
        except OSError as error:
            sock.close()
            trouble = error
    raise trouble


def _addresses(host: str, port: int, ends: float) -> list[tuple[Any, ...]]:
    """What the system knows of a host. Its search has no deadline: where it passes ours, it goes on, and nobody waits for it."""
    found: SimpleQueue[list[tuple[Any, ...]] | OSError] = SimpleQueue()

    def look_up() -> None:
        try:
            found.put(list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        except OSError as error:
            found.put(error)
        except UnicodeError:
            found.put(OSError(errno.EINVAL, "not the name of a host"))

    threading.Thread(target=look_up, daemon=True).start()
    try:
        answer = found.get(timeout=_left(ends))
    except Empty:
        raise TimeoutError from None
    if isinstance(answer, OSError):
        raise answer
    return answer


def _ask_for_tunnel(sock: socket.socket, address: Address, ends: float) -> None:
    target = f"{address.host_name}:{address.port}"
    connection = _speaking(sock, ends)
    connection.putrequest("CONNECT", target, skip_host=True, skip_accept_encoding=True)
    connection.putheader("Host", target)
    connection.endheaders()
    if (status := connection.getresponse().status) != 200:
        raise _Unclear(f"the proxy answers {status}")


def _speaking(sock: socket.socket, ends: float) -> http.client.HTTPConnection:
    """HTTP over a socket that is connected already."""
    connection = http.client.HTTPConnection("unused")  # every request names its host itself
    connection.sock = _Bounded(sock, ends)
    return connection


def _left(ends: float) -> float:
    """Seconds until the deadline; TimeoutError where it has passed."""
    if (left := ends - time.monotonic()) <= 0:
        raise TimeoutError
    return left


class _Bounded:
    """A socket for one exchange. A timeout of the system is for each byte; this one is for all of them."""

    def __init__(self, sock: socket.socket, ends: float) -> None:
        self._sock, self._ends = sock, ends

    def _timed(self) -> socket.socket:
        self._sock.settimeout(_left(self._ends))
        return self._sock

    def sendall(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE):
            self._timed().sendall(data[start : start + PIECE])

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Incoming(self._timed))

    def close(self) -> None:
        """A connection closes its socket before the answer is read; here the exchange does, at its end."""


class _Incoming(io.RawIOBase):
    """What a bounded socket receives, as a file."""

    def __init__(self, sock: Callable[[], socket.socket]) -> None:
        self._bounded = sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._bounded().recv_into(buffer)


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
        return answer.status == 422 and isinstance(_object(answer.body).get("refused"), list)
    except _Unclear:
        return False


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
