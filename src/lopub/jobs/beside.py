"""A worker beside a collector: a process of its own, started again if it dies, ended with the collector."""

import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

AGAIN_SECONDS = 1.0
STOP_SECONDS = 5.0


@contextmanager
def worker_beside(database: str, home: Path) -> Iterator[None]:
    """While the block runs, one worker does the jobs of a database."""
    over = threading.Event()
    name = f"serve-{secrets.token_hex(8)}"  # not the number of a process: two containers may have the same
    command = [
        sys.executable,
        "-m",
        "lopub",
        "worker",
        "--child",
        "--name",
        name,
        "--files",
        str(home),
    ]
    environment = {
        **os.environ,
        "LOPUB_DATABASE": database,
    }  # an address may hold a password, which others could see in a command

    def watch() -> None:
        while not over.is_set():
            process = subprocess.Popen(  # noqa: S603
                command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
            while process.poll() is None and not over.wait(0.2):
                pass
            _ended(process)
            over.wait(AGAIN_SECONDS)

    watcher = threading.Thread(target=watch, name="lopub-worker", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join(2 * STOP_SECONDS)


def _ended(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
