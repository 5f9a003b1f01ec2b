"""Run a collector until it is told to stop."""

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, Literal, cast

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from lopub.collector.app import app_of
from lopub.collector.collector import Collector
from lopub.collector.door import Door
from lopub.collector.logs import log_to_standard_error, tell
from lopub.collector.protocol import CROWDED, GRACE_SECONDS, Bounded, bounded
from lopub.collector.settings import CollectorSettings
from lopub.collector.store import ReportStore
from lopub.errors import StoreError

SWITCH_SECONDS = 0.0005
"""How long the event loop may keep the writer's thread from going on; with Python's own 5 ms every commit would wait for it."""
STOP_SECONDS = 2
"""How long requests that are under way may take once the process was told to stop."""

SOCKETS_PER_PLACE, OTHER_FILES = 4, 256
"""Open files: places here and in the console, and as many of those who were refused and still read why."""
LEAST_WAITING = 2048
"""Connections that may wait until they are looked at; beyond it, the system lets them try again after a second."""

ConsoleOf = Callable[[Collector, str], ASGIApp]
"""Makes the console of a collector, whose public address is the second argument."""


class Server(uvicorn.Server):
    """Stops on SIGTERM and SIGINT, and then is done: exit 0, where uvicorn would die of the signal again. Others run beside it,
    in the same event loop, and stop with it."""

    def __init__(
        self,
        config: uvicorn.Config,
        door: Door,
        beside: Sequence[tuple[uvicorn.Server, socket.socket]] = (),
    ) -> None:
        super().__init__(config)
        self._door, self._beside = door, beside

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, but people come in by a door of our own."""
        await super().startup(sockets=[])
        self.servers.append(cast(asyncio.Server, self._door.open(self._protocol)))

    def _protocol(self) -> asyncio.Protocol:
        make = cast(Any, self.config.http_protocol_class)
        return cast(
            asyncio.Protocol,
            make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state),
        )

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Take requests, here and beside, until it is to stop."""
        with self.capture_signals():
            await asyncio.gather(
                self._serve(sockets), *(server._serve([bound]) for server, bound in self._beside)
            )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, with all others. Told so again, it goes on stopping, for STOP_SECONDS at most: uvicorn would cut what is being
        finished, and log that as an error."""
        if not self.should_exit:
            super().handle_exit(sig, frame)
            for server, _ in self._beside:
                server.handle_exit(sig, frame)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """While the server runs, both signals stop it."""
        before = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def serve(
    settings: CollectorSettings,
    store: ReportStore,
    *,
    listening: Callable[[str, str], None],
    console: ConsoleOf,
) -> None:
    """Take requests until SIGTERM or SIGINT; what was accepted by then is finished. listening: called with the address, and with
    the console's, which is empty where there is none. console: makes the console."""
    log_to_standard_error()
    allow_files(SOCKETS_PER_PLACE * settings.connections + OTHER_FILES)
    sys.setswitchinterval(SWITCH_SECONDS)
    store.hold()
    bound = _bound(settings.host, settings.port, settings.connections)
    address = _address(bound)
    collector = Collector(settings, store)
    beside = _console(collector, lambda: console(collector, settings.public.rstrip("/") or address))
    console_address = _address(beside[0][1]) + "/console" if beside else ""
    tell("started", address=address, console=console_address)
    listening(address, console_address)
    protocol = bounded(
        connections=settings.connections,
        seconds=settings.receive_seconds,
        turns_away=collector.turns_away,
        lets_by=collector.writer.expect,
    )
    door = Door(bound, protocol.places, CROWDED, most=settings.connections, seconds=GRACE_SECONDS)
    try:
        Server(_config(app_of(collector), protocol), door, beside).run(sockets=[bound])
    finally:
        store.close()
    tell("stopped")


def allow_files(wanted: int) -> None:
    """Let this process open so many files, where it may; a connection is one, and many systems begin with 1,024."""
    try:
        import resource
    except ImportError:  # not on Windows, which has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        tell("few_files", allowed=allowed, wanted=wanted)


def _console(
    collector: Collector, load: Callable[[], ASGIApp]
) -> list[tuple[uvicorn.Server, socket.socket]]:
    """The server of the console, on an address of its own, if there is to be one."""
    at = collector.settings.console_address
    if at is None:
        return []
    try:
        bound = _bound(*at, collector.settings.connections)
    except StoreError as error:
        raise StoreError(
            f"{error}; put the console elsewhere with --console HOST:PORT, or leave it out with --console ''"
        ) from None
    app = LateConsole(load)
    protocol = bounded(
        connections=collector.settings.connections, seconds=collector.settings.receive_seconds
    )
    return [(uvicorn.Server(_config(app, protocol, lifespan="on")), bound)]


class LateConsole:
    """The console, which is loaded once the collector listens: its packages take longer to load than the collector itself."""

    def __init__(self, load: Callable[[], ASGIApp]) -> None:
        self._load = load
        self._app: asyncio.Task[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As an ASGI application."""
        if self._app is None:
            self._app = asyncio.create_task(asyncio.to_thread(self._load))
        if scope["type"] == "lifespan":
            for done in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{done}.complete"})
            return
        await (await asyncio.shield(self._app))(scope, receive, send)


def _config(
    app: Any, protocol: type[Bounded], lifespan: Literal["auto", "on"] = "auto"
) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan=lifespan,
        log_config=None,
        access_log=False,
        proxy_headers=False,  # nobody asks who sent a request
        server_header=False,
        date_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=LEAST_WAITING,
    )


def _address(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bound(host: str, port: int, connections: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(max(connections, LEAST_WAITING))
        bound.setblocking(False)
    except OSError as error:
        raise StoreError(f"cannot listen on {host} port {port}: {error.strerror}") from None
    return bound
