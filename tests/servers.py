"""Real processes for the tests of the collector: `lopub serve`, and a PostgreSQL of its own in a temporary directory."""

import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiers import FULL

STARTUP_SECONDS = 120
PATIENCE_SECONDS = 600
PROGRAM = ("-m", "lopub")
PLACES = [
    *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
    Path("/usr/local/bin"),
    Path("/usr/bin"),
]


@dataclass
class Answer:
    """What a collector answered."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Running:
    """A collector's process."""

    process: subprocess.Popen[str]
    port: int
    address: str
    errors: list[str] = field(default_factory=list)
    """The lines of its standard error so far."""
    source: str = "127.0.0.1"
    """Where requests come from."""
    _draining: threading.Thread | None = None

    def ask(
        self, method: str, path: str, body: bytes | str | None = None, **headers: str
    ) -> Answer:
        """Send a request on a connection of its own; `Content_Type` names a header."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=60, source_address=(self.source, 0)
        )
        try:
            connection.request(
                method,
                path,
                body,
                {name.replace("_", "-"): value for name, value in headers.items()},
            )
            answer = connection.getresponse()
            return Answer(
                answer.status,
                answer.read(),
                {name.lower(): value for name, value in answer.getheaders()},
            )
        finally:
            connection.close()

    def has_said(self, words: str, *, seconds: float = 60) -> bool:
        """Whether this is in its log; a line may come a moment after the answer that it explains."""
        until = time.monotonic() + seconds
        while not any(words in line for line in self.errors):
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True

    def keep_to(self, core: int) -> None:
        """Run on this core alone, with all threads."""
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            with suppress(ProcessLookupError):  # it ended meanwhile
                os.sched_setaffinity(int(thread), {core})

    def is_ready(self) -> bool:
        with suppress(OSError, http.client.HTTPException):
            return self.ask("GET", "/ready").status == 200
        return False

    def stop(self, number: int = signal.SIGTERM, *, seconds: float = 60) -> int:
        """Send a signal; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(seconds)
        if self._draining is not None:
            self._draining.join(seconds)  # so that `errors` has its last words
        if self.process.stdout:
            self.process.stdout.close()
        return code


def start_collector(
    address: str,
    *options: str,
    environment: Mapping[str, str] | None = None,
    program: Sequence[str] = PROGRAM,
) -> Running:
    """`lopub serve` on a database, at any free port, ready for requests. program: what Python is told to run, in its place."""
    command = [
        sys.executable,
        *program,
        "serve",
        "--database",
        address,
        "--port",
        "0",
        "--alone",
        *options,
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    assert process.stdout is not None and process.stderr is not None
    line = process.stdout.readline()
    if "listening on" not in line:
        _, said = process.communicate(timeout=10)
        raise RuntimeError(f"lopub serve did not start: {said}")
    running = Running(process, int(line.partition(",")[0].rpartition(":")[2]), address)
    running._draining = threading.Thread(
        target=_drain, args=(process.stderr, running.errors), daemon=True
    )
    running._draining.start()
    until = time.monotonic() + STARTUP_SECONDS
    while not running.is_ready():
        assert time.monotonic() < until and process.poll() is None, running.errors
        time.sleep(0.02)
    return running


def _drain(stream: Any, lines: list[str]) -> None:
    for line in stream:
        lines.append(line)
    stream.close()


@contextmanager
def running_collector(
    address: str,
    *options: str,
    environment: Mapping[str, str] | None = None,
    program: Sequence[str] = PROGRAM,
) -> Iterator[Running]:
    running = start_collector(address, *options, environment=environment, program=program)
    try:
        yield running
    finally:
        running.stop()


def postgres_programs() -> Path | None:
    """Where PostgreSQL's programs are, if they are here."""
    return next(
        (place for place in PLACES if (place / "initdb").exists() and (place / "pg_ctl").exists()),
        None,
    )


PORTS = range(10_000, 32_768)
"""Below those that a system hands out by itself: nobody is given one of them while a server is stopped for a moment."""
MOST_PORTS = 20
"""So many are tried; each may be somebody else's."""


class Postgres:
    """A throw-away cluster on loopback."""

    def __init__(self, directory: Path, *, syncs: bool = True) -> None:
        self.directory, self.port, self._syncs = directory, 0, syncs
        self._n_databases = 0
        self._run(
            "initdb", "-D", str(directory / "data"), "-U", "lopub", "-A", "trust", "--no-sync"
        )

    def start(self) -> None:
        """At the port that it had; at first, at one that nobody else has, which only a start can tell."""
        if self.port:
            self._start()
            return
        for self.port in random.SystemRandom().sample(PORTS, MOST_PORTS):
            try:
                self._start()
                return
            except AssertionError:
                log = (self.directory / "log").read_text()
                if "could not bind" not in log.rpartition("starting PostgreSQL")[2]:
                    raise
        raise RuntimeError(f"none of {MOST_PORTS} ports is free for PostgreSQL")

    def _start(self) -> None:
        settings = {
            "listen_addresses": "127.0.0.1",
            "lc_messages": "C",
            "fsync": "on" if self._syncs else "off",
        }
        given = " ".join(f"-c {name}={value}" for name, value in settings.items())
        options = f"-p {self.port} -k {self.directory} {given}"
        self._control("-l", str(self.directory / "log"), "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        self._control("-m", mode, "stop")

    def reload(self) -> None:
        """Its rules are read again, and hold once this returns: for every connection from then on."""
        before = self._loaded()
        self._control("reload")
        while self._loaded() == before:
            time.sleep(0.02)

    def _loaded(self) -> str:
        """When a server that a connection meets had read its rules."""
        return self._run(
            "psql", *self._here, "-d", "postgres", "-A", "-t", "-c", "SELECT pg_conf_load_time()"
        )

    def _control(self, *arguments: str) -> None:
        """pg_ctl, however long it takes: the last checkpoint of hundreds of databases can take minutes on a busy disk."""
        self._run(
            "pg_ctl",
            "-D",
            str(self.directory / "data"),
            "-w",
            "-t",
            str(PATIENCE_SECONDS),
            *arguments,
        )

    @property
    def _here(self) -> tuple[str, ...]:
        return ("-h", "127.0.0.1", "-p", str(self.port), "-U", "lopub")

    def new_database(self) -> str:
        """The address of a new, empty database."""
        self._n_databases += 1
        name = f"lopub{self._n_databases}"
        self._run("createdb", *self._here, name)
        return f"postgresql://lopub@127.0.0.1:{self.port}/{name}"

    @contextmanager
    def place(self, directory: Path) -> Iterator[str]:
        """The address of a new, empty database whose tables lie in a directory of their own; its log stays with the others."""
        if os.getuid() == 0:
            shutil.chown(directory, "postgres")
        home = directory / "tables"
        home.mkdir()
        if os.getuid() == 0:
            shutil.chown(home, "postgres")
        address = self.new_database()
        name = address.rpartition("/")[2]
        self.sql(f"CREATE TABLESPACE {name} LOCATION '{home}'")
        self.sql(f"ALTER DATABASE {name} SET TABLESPACE {name}")
        try:
            yield address
        finally:
            self.sql(f"DROP DATABASE {name} WITH (FORCE)")
            self.sql(f"DROP TABLESPACE {name}")

    def sql(self, statement: str) -> None:
        self._run("psql", *self._here, "-d", "postgres", "-q", "-c", statement)

    def dump(self, address: str) -> bytes:
        """What pg_dump says of a database."""
        file = self.directory / "dump.sql"
        self._run("pg_dump", "--inserts", "-f", str(file), address)
        content = file.read_bytes()
        file.unlink()
        return content

    def _run(self, program: str, *arguments: str) -> str:
        place = postgres_programs()
        assert place is not None
        as_postgres = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        command = [*as_postgres, str(place / program), *arguments]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd="/"
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def postgres_cluster(*, syncs: bool = FULL) -> Iterator[Postgres]:
    """A PostgreSQL server in a temporary directory; PostgreSQL does not run as root, so then it runs as the user postgres.

    syncs: whether it waits for the disk. A process that is killed loses nothing either way; figures are measured with it.
    """
    directory = Path(tempfile.mkdtemp(prefix="lopub-pg-"))
    try:
        if os.getuid() == 0:
            shutil.chown(directory, "postgres")
        cluster = Postgres(directory, syncs=syncs)
        cluster.start()
        try:
            yield cluster
        finally:
            with suppress(AssertionError):
                cluster.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def running_postgres() -> Iterator[str]:
    """The address of an empty database on a server of its own."""
    with postgres_cluster(syncs=True) as cluster:
        yield cluster.new_database()
