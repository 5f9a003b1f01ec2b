"""nginx for tests: the real one, on loopback, with deploy/nginx.conf as it stands.

Only the three small files in `site` are changed: ports, upstream addresses and certificates.
"""

import http.client
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from servers import MOST_PORTS, PORTS, Answer

DEPLOY = Path(__file__).parent.parent / "deploy"
START_SECONDS = 60
NEEDED = ("nginx", "openssl")


@dataclass
class Nginx:
    """An nginx process in front of a collector, and what a sender needs to reach it."""

    process: subprocess.Popen[bytes]
    directory: Path
    port: int
    console_port: int
    source: str = "127.0.0.1"
    """Where requests come from."""

    @property
    def certificate(self) -> Path:
        return self.directory / "certificate.pem"

    @property
    def log(self) -> str:
        """Everything that nginx has written to its standard error."""
        return (self.directory / "nginx.log").read_text()

    def connect(self, *, tls: ssl.SSLContext | None = None) -> ssl.SSLSocket:
        """Return a new connection of a sender."""
        context = tls or self.tls()
        plain = socket.create_connection(
            ("127.0.0.1", self.port), timeout=60, source_address=(self.source, 0)
        )
        return context.wrap_socket(plain, server_hostname="localhost")

    def tls(self) -> ssl.SSLContext:
        """Return what trusts this nginx alone."""
        return ssl.create_default_context(cafile=str(self.certificate))

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | str | Iterator[bytes] | None = None,
        *,
        console: bool = False,
        **headers: str,
    ) -> Answer:
        """Send a request on a connection of its own; `Content_Type` names a header."""
        connection = http.client.HTTPSConnection(
            "localhost",
            self.console_port if console else self.port,
            timeout=60,
            source_address=(self.source, 0),
            context=self.tls(),
        )
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, named, encode_chunked=False)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, answer.read(), found)
        finally:
            connection.close()

    def stop(self) -> int:
        """End nginx at once; the exit code."""
        if self.process.poll() is None:  # by its own number: strace does not pass signals on
            os.kill(int((self.directory / "nginx.pid").read_text()), signal.SIGTERM)
        return self.process.wait(START_SECONDS)


def skip_without_nginx() -> None:
    """Skip a test where nginx is not installed; on the gate's machine that is a failure."""
    for program in NEEDED:
        if shutil.which(program) is None and not Path(f"/usr/sbin/{program}").exists():
            pytest.skip(f"{program} is not installed")


def make_certificate(directory: Path) -> None:
    """Write a certificate for localhost, which signs itself, and its key."""
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", str(directory / "key.pem"), "-out", str(directory / "certificate.pem")),
        ],
        check=True,
        capture_output=True,
    )


def write_configuration(directory: Path, changes: Mapping[str, str]) -> Path:
    """Copy deploy/nginx.conf and its three files, these with changes; each must be in one."""
    shutil.copytree(DEPLOY, directory, dirs_exist_ok=True)
    texts = {path: path.read_text() for path in (directory / "site").iterdir()}
    for old, new in changes.items():
        assert any(old in text for text in texts.values()), f"no file of deploy/site has {old!r}"
        texts = {path: text.replace(old, new) for path, text in texts.items()}
    for path, text in texts.items():
        path.write_text(text)
    return directory / "nginx.conf"


def changes_for(
    directory: Path, *, port: int, console_port: int, upstream: int, console_upstream: int
) -> dict[str, str]:
    """Return what tests change in deploy/site: ports, and where the certificate is."""
    return {
        "listen [::]:443 ssl backlog=4096;\n": "",
        "listen 443 ": f"listen 127.0.0.1:{port} ",
        "listen 127.0.0.1:8443 ": f"listen 127.0.0.1:{console_port} ",
        "server 127.0.0.1:8000 ": f"server 127.0.0.1:{upstream} ",
        "server 127.0.0.1:8001;": f"server 127.0.0.1:{console_upstream};",
        "/etc/ssl/lopub": str(directory),
    }


def free_port() -> int:
    """Return a port at which nobody listens, and of which the system gives nobody one."""
    for port in random.SystemRandom().sample(PORTS, MOST_PORTS):
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"none of {MOST_PORTS} ports is free")


def start_nginx(
    directory: Path,
    upstream: int,
    *,
    console_upstream: int = 9,
    prefix: Sequence[str] = (),
    tls: bool = True,
) -> Nginx:
    """Start nginx in front of a collector's port.

    prefix: a command that runs it, as strace. tls: without, a sender in Python is measured less.
    """
    skip_without_nginx()
    port, console_port = free_port(), free_port()
    changes = changes_for(
        directory,
        port=port,
        console_port=console_port,
        upstream=upstream,
        console_upstream=console_upstream,
    )
    if not tls:
        changes[" ssl backlog"] = " backlog"
    file = write_configuration(directory, changes)
    make_certificate(directory)
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    own = f"pid {directory}/nginx.pid; daemon off;"
    with (directory / "nginx.log").open("wb") as log:
        process = subprocess.Popen([*prefix, program, "-c", str(file), "-g", own], stderr=log)
    running = Nginx(process, directory, port, console_port)
    until = time.monotonic() + START_SECONDS
    while not (_is_listening(running) and re.search(r"start worker process \d", running.log)):
        assert process.poll() is None and time.monotonic() < until, running.log
        time.sleep(0.02)
    return running


def _is_listening(running: Nginx) -> bool:
    with suppress(OSError):
        socket.create_connection(("127.0.0.1", running.port)).close()
        return True
    return False


@contextmanager
def running_nginx(
    directory: Path,
    upstream: int,
    *,
    console_upstream: int = 9,
    prefix: Sequence[str] = (),
    tls: bool = True,
) -> Iterator[Nginx]:
    """nginx in front of a collector's port, for as long as it is needed."""
    running = start_nginx(
        directory, upstream, console_upstream=console_upstream, prefix=prefix, tls=tls
    )
    try:
        yield running
    finally:
        running.stop()
