"""The pages on running a collector and on its HTTP interface: every command on them is run.

docs/operating.md is followed from top to bottom with the real nginx, PostgreSQL and curl. Only places
differ: directories, ports, and the name of the machine. `sudo`, `systemctl` and `chown` are stand-ins, as
a test is neither root nor init.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from commands import all_commands, done, lopub
from documents import ROOT, blocks_of

from lopub.campaign.report import FRAMED_TYPE
from proxies import changes_for, free_port, skip_without_nginx, write_configuration
from servers import Postgres, running_collector

PAGE = ROOT / "docs" / "operating.md"
TEXT = PAGE.read_text(encoding="utf-8")
HTTP = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
NEEDED = ("bash", "curl", "sha256sum")
LONGEST_SECONDS = 300


def block(page: str, language: str, words: str) -> str:
    """Return the block of a page that has these words in it."""
    found = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
    return next(text for text in found if words in text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the campaign of the README, and the repository's `deploy`."""
    if not all(map(shutil.which, NEEDED)):
        pytest.skip("no bash, curl or sha256sum")
    (tmp_path / "draft.json").write_text(block(README, "json", '"alumni"'))
    make = ("campaign", "make", "draft.json", "-o", "campaign.json", "--epsilon", "4")
    done(lopub(*make, cwd=tmp_path))
    return tmp_path


def run_script(script: str, folder: Path, *places: Path) -> str:
    """Run shell commands in a folder, programs of these places before all others; the output."""
    own = (
        "CURL_CA_BUNDLE",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
    )  # of this machine; the pages say their own
    environment = {name: value for name, value in os.environ.items() if name not in own}
    path = os.pathsep.join(
        [*map(str, places), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    ran = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
    return ran.stdout


# ---- running a collector

SUDO = '[ "$1" = -u ] && shift 2\nexec "$@"\n'
CHOWN = "exit 0\n"
NGINX = 'exec {program} -c {root}/etc/nginx/nginx.conf -g "pid {root}/nginx.pid;" "$@" 2>> {root}/nginx.log\n'
SYSTEMCTL = """case "$*" in
  daemon-reload) ;;
  "restart nginx") nginx ;;
  "enable --now "*)
    shift 2
    for unit in "$@"; do keep-running $unit > {root}/$unit.log 2>&1 < /dev/null & echo $! >> {root}/pids; done ;;
  *) exit 64 ;;
esac
"""
KEEP_RUNNING = """set -a; . {root}/etc/lopub.env; set +a
trap 'kill $child; exit' TERM
while true; do
  $(sed -n 's/^ExecStart=//p' {root}/etc/systemd/system/$1.service) &
  child=$!
  wait $child
  sleep 1
done
"""
"""`Restart=always`: the first start of console and worker may be too early for them."""


class Machine:
    """A directory that stands for the machine of the page: its `etc`, its programs, its ports."""

    def __init__(self, folder: Path, database: str) -> None:
        self.folder, self.root, self.programs = folder, folder / "machine", folder / "programs"
        for directory in ("etc/nginx", "etc/systemd/system", "var/lib/lopub"):
            (self.root / directory).mkdir(parents=True)
        self.port, self.console_port = free_port(), free_port()
        self.upstream, self.console_upstream = free_port(), free_port()
        self.places = {
            "/opt/lopub/bin": str(Path(sys.executable).parent),
            "/etc/": f"{self.root}/etc/",
            "/var/lib/lopub": f"{self.root}/var/lib/lopub",
            "127.0.0.1:8000": f"127.0.0.1:{self.upstream}",
            "https://collector.example/": f"https://localhost:{self.port}/",
            "postgresql://lopub:PASSWORD@localhost/lopub": database,
            "LOPUB_FILES=": f"LOPUB_PORT={self.upstream}\nLOPUB_CONSOLE_PORT={self.console_upstream}\nLOPUB_FILES=",
        }
        self._copy_deploy()
        self._make_programs()

    def translated(self, text: str) -> str:
        """Return text of the page, or of a unit, with the places of this machine."""
        for old, new in self.places.items():
            text = text.replace(old, new)
        return text

    def _copy_deploy(self) -> None:
        deploy = self.folder / "deploy"
        changes = changes_for(
            self.root / "etc/ssl/lopub",
            port=self.port,
            console_port=self.console_port,
            upstream=self.upstream,
            console_upstream=self.console_upstream,
        )
        write_configuration(deploy, changes)
        for unit in (deploy / "systemd").iterdir():
            unit.write_text(self.translated(unit.read_text()))

    def _make_programs(self) -> None:
        self.programs.mkdir()
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        programs = {"sudo": SUDO, "chown": CHOWN, "nginx": NGINX, "systemctl": SYSTEMCTL}
        programs["keep-running"] = KEEP_RUNNING
        for name, text in programs.items():
            file = self.programs / name
            filled = text.replace("{program}", program).replace("{root}", str(self.root))
            file.write_text(f"#!/usr/bin/env bash\n{filled}")
            file.chmod(0o755)

    def stop(self) -> None:
        """End what the page has started."""
        for file in ("nginx.pid", "pids"):
            with suppress(FileNotFoundError):
                for number in (self.root / file).read_text().split():
                    with suppress(ProcessLookupError):
                        os.kill(int(number), 15)


@contextmanager
def machine_of(folder: Path, database: str) -> Iterator[Machine]:
    """A machine on which nothing runs any more afterwards."""
    machine = Machine(folder, database)
    try:
        yield machine
    finally:
        machine.stop()


def test_the_page_on_running_a_collector_runs_from_top_to_bottom(folder: Path, postgres: Postgres):
    skip_without_nginx()
    blocks = [one.text for one in blocks_of(PAGE) if one.language == "sh" and one.reason is None]
    with machine_of(folder, postgres.new_database()) as machine:
        if "console" in all_commands():
            console = f"https://localhost:{machine.console_port}/console"
            blocks.append(f"until curl --silent --fail --location {console}; do sleep 0.5; done")
        said = run_script(machine.translated("\n".join(blocks)), folder, machine.programs)
    assert '"status":"ready"' in said
    assert '"reports":1,' in said  # sent twice, counted once
    assert "Withdrawn" in said and "0 reports backed up" in said
    assert "lopub_withdrawals_total 1" in said
    log = (machine.root / "nginx.log").read_text()
    assert "syntax is ok" in log


def test_units_differ_in_their_command_only():
    """What shields the machine from one of them shields it from all."""
    texts = [unit.read_text() for unit in UNITS]
    assert len(texts) == 3
    shared = {re.sub(r"(?m)^(Description|ExecStart)=.*\n", "", text) for text in texts}
    assert len(shared) == 1
    commands = [re.search(r"(?m)^ExecStart=/opt/lopub/bin/lopub (\w+)", text) for text in texts]
    assert {command[1] for command in commands if command} == {"serve", "console", "worker"}


def test_every_page_that_this_one_points_to_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / "docs" / target).resolve().exists(), target


def test_every_metric_of_the_page_is_one_of_the_collectors():
    metrics = pytest.importorskip("lopub.collector.metrics")
    shown = metrics.Metrics().text(n_waiting=0)
    named = set(re.findall(r"`(lopub_\w+)", TEXT))
    assert named == set(re.findall(r"# TYPE (\w+)", shown))


def test_every_setting_of_the_page_is_an_option_of_its_command():
    """And every option of theirs that has a variable is on the page."""
    rows = re.findall(r"(?m)^\| (`LOPUB_[^|]*) \| ([^|]*) \|", TEXT)
    stated = {name for names, _ in rows for name in re.findall(r"LOPUB_\w+", names)}
    commands = [all_commands()[name] for name in ("serve", "console", "worker")]
    options = [option for command in commands for option in command.params]
    assert stated == {option.envvar for option in options if option.envvar}


# ---- the HTTP interface


def test_every_command_of_the_page_on_http_runs(folder: Path):
    python = block(HTTP, "python", "report.json")
    made = subprocess.run(
        [sys.executable, "-c", python], cwd=folder, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    with running_collector(f"sqlite:///{folder}/lopub.db") as running:
        script = block(HTTP, "sh", "COLLECTOR=").replace("8000", str(running.port))
        said = run_script(script, folder)
    assert "  -" in said  # the hash of what was fetched
    assert '"received": 1' in said or '"received":1' in said
    assert '"open":false' in said
    assert "lopub_withdrawals_total 1" in said


def test_the_page_on_http_and_the_collectors_own_name_every_route(tmp_path: Path):
    with running_collector(f"sqlite:///{tmp_path}/lopub.db") as running:
        paths = running.ask("GET", "/openapi.json").json["paths"]
        shown = running.ask("GET", "/docs").body.decode()
        front = running.ask("GET", "/")
    for path, methods in paths.items():
        for method in methods:
            assert f"`{method.upper()} {path}`" in HTTP
            assert f"<code>{method.upper()} {path}</code>" in shown
    types = paths["/campaigns/{id}/reports"]["post"]["requestBody"]["content"]
    example = f"@reports.bin -H &#39;Content-Type: {FRAMED_TYPE}&#39;"
    assert FRAMED_TYPE in types and example in shown
    assert front.status == 200 and b'href="/docs"' in front.body
    assert "default-src 'none'" in front.headers["content-security-policy"]
