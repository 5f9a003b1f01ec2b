"""Child processes: they run as long as their parent does, are started again where they die, and end
with it."""

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from lopub.collector.logs import log_event

AGAIN_SECONDS = 1.0
STOP_SECONDS = 5.0
LOOK_SECONDS = 0.2


class Child:
    """One `lopub` command that is kept running."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], sockets: Sequence[int]
    ) -> None:
        self._command, self._environment = command, environment
        self._sockets = sockets
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def _watch(self) -> None:
        while not self._over.is_set():
            with self._started() as process:
                while process.poll() is None and not self._over.wait(LOOK_SECONDS):
                    pass
                if (status := process.poll()) is not None and not self._over.is_set():
                    log_event(
                        f"the {self._command[0]} died; it is started again",
                        logging.WARNING,
                        status=status,
                    )
                _end(process)
            self._over.wait(AGAIN_SECONDS)

    def _started(self) -> "subprocess.Popen[bytes]":
        """A process of a group of its own, so that Ctrl-C is for the parent alone. Nothing is ever
        written to its standard input, which ends with this process, however that ends:
        `end_with_parent` waits for it."""
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "lopub", *self._command, "--child"],
            env={**os.environ, **self._environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=self._sockets,
            process_group=0,
        )

    def tell_to_end(self) -> None:
        """Begin to end it."""
        self._over.set()

    def join(self) -> None:
        """Wait until it has ended."""
        self._watcher.join(2 * STOP_SECONDS)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def children(
    *commands: Sequence[str], environment: Mapping[str, str], sockets: Sequence[int] = ()
) -> Iterator[None]:
    """While the block runs, so do these commands. environment: what they have beside the parent's.
    sockets: descriptors that they have under the same numbers."""
    running = [Child(command, environment, sockets) for command in commands]
    try:
        yield
    finally:
        for child in running:
            child.tell_to_end()
        for child in running:
            child.join()


def end_with_parent() -> None:
    """End this process, which is a child, as SIGTERM does once its parent is gone, also where that
    was killed."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)
