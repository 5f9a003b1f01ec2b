"""Senders that never finish: heads and bodies of requests that arrive a byte at a time.

`python tests/slow_senders.py PORT PATH --heads N --bodies N [--trust CERTIFICATE]` prints one line
once all have connected and begun, then keeps on until it is ended. Who is hung up on comes again.
"""

import argparse
import asyncio
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

BODY_BYTES = 200_000
"""What every body says that it will have; less than nginx takes on the route of reports."""
PIECE = b"x" * 512
BYTE_SECONDS = 4.0
"""From one piece to the next: nginx waits ten seconds for each."""
AT_ONCE = 64
"""Handshakes under way."""


class Crowd:
    """Slow senders on one event loop."""

    def __init__(self, port: int, path: str, n: int, tls: ssl.SSLContext | None) -> None:
        self._port, self._path, self._tls = port, path, tls
        self._handshakes = asyncio.Semaphore(AT_ONCE)
        self._n_waited_for, self.all_begun = n, asyncio.Event()

    async def send(self, *, head_only: bool) -> None:
        """Begin a request, and go on with it for as long as somebody listens; then again."""
        begun = False
        while True:
            with suppress(OSError):
                writer = await self._connected()
                writer.write(self._head(head_only))
                await writer.drain()
                if not begun:
                    begun = True
                    self._count()
                await self._trickle(writer, b"a" if head_only else PIECE)
            await asyncio.sleep(BYTE_SECONDS)

    async def _connected(self) -> asyncio.StreamWriter:
        async with self._handshakes:
            name = "localhost" if self._tls else None
            _, writer = await asyncio.open_connection(
                "127.0.0.1", self._port, ssl=self._tls, server_hostname=name
            )
            return writer

    def _head(self, head_only: bool) -> bytes:
        lines = [f"POST {self._path} HTTP/1.1", "Host: localhost"]
        if head_only:
            return ("\r\n".join([*lines, "X-Slow: "])).encode()
        lines += [
            "Content-Type: application/vnd.lopub.reports.v1",
            f"Content-Length: {BODY_BYTES}",
        ]
        return ("\r\n".join([*lines, "", ""])).encode()

    def _count(self) -> None:
        self._n_waited_for -= 1
        if self._n_waited_for == 0:
            self.all_begun.set()

    @staticmethod
    async def _trickle(writer: asyncio.StreamWriter, piece: bytes) -> None:
        try:
            for _ in range(BODY_BYTES // len(piece) - 1):
                await asyncio.sleep(BYTE_SECONDS)
                writer.write(piece)
                await writer.drain()
        finally:
            writer.close()


async def send_slowly(arguments: argparse.Namespace) -> None:
    """Run all slow senders."""
    tls = ssl.create_default_context(cafile=arguments.trust) if arguments.trust else None
    crowd = Crowd(arguments.port, arguments.path, arguments.heads + arguments.bodies, tls)
    async with asyncio.TaskGroup() as group:
        for i in range(arguments.heads + arguments.bodies):
            group.create_task(crowd.send(head_only=i < arguments.heads))
        await crowd.all_begun.wait()
        print("all have begun", flush=True)


@contextmanager
def slow_senders(
    port: int, path: str, *, heads: int, bodies: int, trust: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Slow senders in a process of their own, for as long as they are needed."""
    command = [sys.executable, __file__, str(port), path]
    command += ["--heads", str(heads), "--bodies", str(bodies)]
    command += ["--trust", str(trust)] if trust else []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "all have begun\n"
        yield process
        assert process.poll() is None, "the slow senders ended early"
    finally:
        process.kill()
        process.communicate()


def main() -> None:
    """Send slowly, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("path")
    parser.add_argument("--heads", type=int, required=True)
    parser.add_argument("--bodies", type=int, required=True)
    parser.add_argument("--trust")
    asyncio.run(send_slowly(parser.parse_args()))


if __name__ == "__main__":
    main()
