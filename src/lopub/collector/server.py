"""Serve an application over HTTP until the process is told to stop: stock uvicorn, by its public options."""

import signal
import socket
import sys
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from lopub.errors import StoreError

SWITCH_SECONDS = 0.0005
"""How long the event loop may keep the thread that commits from going on; by Python's default of 5 ms
every commit would wait for it."""
STOP_SECONDS = 2
"""How long requests that are under way may take once the process was told to stop."""
KEEP_ALIVE_SECONDS = 75
"""Longer than nginx keeps an idle connection to us (60), so that it never sends on one that we are closing."""
BACKLOG = 2048
"""Connections that may wait to be accepted; beyond it, the system lets them try again after a second."""


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; port 0 takes any that is free."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        raise StoreError(f"cannot listen on {host} port {port}: {error.strerror}") from None
    return bound


def address_of(bound: socket.socket) -> str:
    """Return the address of a listening socket, as a browser takes it."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(bound: socket.socket) -> bool:
    """Return whether only this machine can reach a listening socket."""
    host = str(bound.getsockname()[0])
    return host.startswith("127.") or host == "::1"


def serve(app: ASGIApp, bound: socket.socket) -> None:
    """Take requests until SIGTERM or SIGINT, finish those that are under way, and return.

    Nothing about a sender is read or logged: no access log, no addresses from a proxy's headers.
    """
    _stay_alive_after_signals()
    sys.setswitchinterval(SWITCH_SECONDS)
    _PatientServer(
        uvicorn.Config(
            app,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=STOP_SECONDS,
            backlog=BACKLOG,
        )
    ).run(sockets=[bound])


class _PatientServer(uvicorn.Server):
    """A server that people who press Ctrl-C again do not cut short: it ends soon enough."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; a second signal changes nothing."""
        if not self.should_exit:
            super().handle_exit(sig, frame)


def _stay_alive_after_signals() -> None:
    """Ignore, after uvicorn has stopped, the signal that stopped it: uvicorn raises it once more."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
