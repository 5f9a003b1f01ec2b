"""Run a collector until it is told to stop."""

import contextlib
import signal
import socket
import sys
from collections.abc import Callable, Iterator

import uvicorn

from lopub.errors import StoreError
from lopub.service.app import app_of
from lopub.service.collector import Collector
from lopub.service.logs import log_to_standard_error, tell
from lopub.service.protocol import bounded
from lopub.service.settings import CollectorSettings
from lopub.service.store import ReportStore

SWITCH_SECONDS = 0.0005
"""How long the event loop may keep the writer's thread from going on; with Python's own 5 ms every commit would wait for it."""
STOP_SECONDS = 2
"""How long requests that are under way may take once the process was told to stop."""


class Server(uvicorn.Server):
    """Stops on SIGTERM and SIGINT, and then is done: exit 0, where uvicorn would die of the signal again."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """While the server runs, both signals stop it."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def serve(settings: CollectorSettings, store: ReportStore, *, listening: Callable[[str], None]) -> None:
    """Take requests until SIGTERM or SIGINT; what was accepted by then is finished. listening: told where."""
    log_to_standard_error()
    sys.setswitchinterval(SWITCH_SECONDS)
    store.hold()
    bound = _bound(settings)
    config = uvicorn.Config(
        app_of(Collector(settings, store)),
        http=bounded(connections=settings.connections, seconds=settings.receive_seconds),
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # nobody asks who sent a request
        server_header=False,
        date_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=settings.connections,
    )
    host, port = bound.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    tell("started", address=address)
    listening(address)
    try:
        Server(config).run(sockets=[bound])
    finally:
        store.close()
    tell("stopped")


def _bound(settings: CollectorSettings) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(settings.connections)
        bound.setblocking(False)
    except OSError as error:
        raise StoreError(f"cannot listen on {settings.host} port {settings.port}: {error.strerror}") from None
    return bound
