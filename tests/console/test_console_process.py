"""The console as a process: it slows no collector, ends with its parent, and shares its sessions."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

import people
from consoles import ConsoleProcess, asked, new_tokens, running_console
from lopub.campaign.report import FRAMED_TYPE, framed
from lopub.collector.campaigns import open_campaign
from lopub.collector.database import store_at

SECONDS = 120


def until(holds: Callable[[], bool]) -> None:
    over = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < over
        time.sleep(0.05)


def children_of(parent: int) -> dict[str, int]:
    """The numbers of the processes that a process has started, by their commands."""
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (directory / "cmdline").read_bytes().decode().split("\0")
            state, above = (directory / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(above) == parent and state != "Z" and "lopub" in words:
                found[words[words.index("lopub") + 1]] = int(directory.name)
    return found


def is_running(number: int) -> bool:
    with suppress(OSError):
        return (Path("/proc") / str(number) / "stat").read_text().rpartition(")")[2].split()[
            0
        ] != "Z"
    return False


@contextmanager
def console_alone(address: str, directory: Path) -> Iterator[str]:
    """`lopub console` at any free port; its address."""
    command = [sys.executable, "-m", "lopub", "console", "--port", "0", "--files", str(directory)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "LOPUB_DATABASE": address},
    )
    assert process.stdout is not None
    try:
        told = re.match(r"the console is at (http://[\d.:]+)/console, ", process.stdout.readline())
        assert told
        yield told[1]
    finally:
        process.terminate()
        assert process.wait(SECONDS) == 0
        process.stdout.close()


def test_who_signs_in_at_one_console_is_signed_in_at_the_other(database: str, tmp_path: Path):
    """Sessions were kept in the memory of one process, so that two consoles sent everybody to sign
    in again and again."""
    token, _ = new_tokens(database)
    with console_alone(database, tmp_path) as one, console_alone(database, tmp_path) as two:
        form = f"token={token}".encode()
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = asked(one, "POST", "/console/sign-in", form, kind)
        cookie = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
        assert asked(two, "GET", "/console", headers=cookie).status == 200
        assert asked(two, "POST", "/console/sign-out", b"", kind | cookie).status == 303
        assert asked(one, "GET", "/console", headers=cookie).status == 303


def test_a_console_that_stands_still_holds_up_no_report(tmp_path: Path):
    """Reports and readiness waited once for whatever stewards made the console do, in one process."""
    address = f"sqlite:///{tmp_path}/lopub.db"
    campaign = people.campaign("running")
    store = store_at(address)
    open_campaign(store, campaign)
    store.close()
    with running_console(address, tmp_path) as console:
        number = children_of(console.process.pid)["console"]
        os.kill(number, signal.SIGSTOP)
        home = f"http://127.0.0.1:{console.port}"
        (report,) = people.reports(campaign, 1)
        kind = {"Content-Type": FRAMED_TYPE}
        path = f"/campaigns/{campaign.id}"
        assert asked(home, "POST", f"{path}/reports", framed([report]), kind).status == 200
        assert asked(home, "GET", "/ready").status == 200
        os.kill(number, signal.SIGCONT)
        assert console.ask("GET", "/console").status == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_whoever_stops_the_collector_stops_console_and_worker(tmp_path: Path, number: int):
    with running_console(f"sqlite:///{tmp_path}/lopub.db", tmp_path) as console:
        beside = children_of(console.process.pid)
        assert beside.keys() == {"console", "worker"}
        console.process.send_signal(number)
        assert console.process.wait(SECONDS) == 0
        assert not [one for one in beside.values() if is_running(one)]


def test_nothing_is_left_where_the_collector_is_killed(tmp_path: Path):
    """At whatever moment: a worker that looked for its parent only once it was ready never missed
    one that had gone before."""
    with running_console(f"sqlite:///{tmp_path}/lopub.db", tmp_path) as console:
        beside = [*children_of(console.process.pid).values()]
        console.process.kill()
        until(lambda: not [one for one in beside if is_running(one)])


def test_a_console_that_died_is_there_again_at_the_same_address(tmp_path: Path):
    with running_console(f"sqlite:///{tmp_path}/lopub.db", tmp_path) as console:
        before = children_of(console.process.pid)
        for one in before.values():
            os.kill(one, signal.SIGKILL)
        assert console.ask("GET", "/console").status == 200  # still signed in
        until(lambda: children_of(console.process.pid).keys() == before.keys())
        assert not set(before.values()) & set(children_of(console.process.pid).values())
        logged = "".join(console.errors)
    for name in before:
        assert f'"level": "warning", "event": "the {name} died; it is started again"' in logged


def test_no_secret_is_in_a_command_or_in_the_files(tmp_path: Path):
    with running_console(f"sqlite:///{tmp_path}/lopub.db", tmp_path) as console:
        numbers = children_of(console.process.pid).values()
        commands = [(Path("/proc") / str(one) / "cmdline").read_text() for one in numbers]
        assert len(commands) == 2 and not [one for one in commands if "lopub.db\0" in one]
        content = b"".join(path.read_bytes() for path in tmp_path.glob("lopub.db*"))
    for secret in (console.token, console.reader, console.cookie):
        assert secret.encode() not in content


def test_the_console_refuses_a_port_that_is_taken_and_makes_no_database(tmp_path: Path):
    with running_console(f"sqlite:///{tmp_path}/lopub.db", tmp_path) as console:
        taken = console.home.rpartition(":")[2]
        command = [sys.executable, "-m", "lopub", "serve", "--port", "0", "--console-port", taken]
        other = f"sqlite:///{tmp_path}/other.db"
        done = subprocess.run(
            [*command, "--database", other], capture_output=True, text=True, check=False
        )
    assert done.returncode == 1 and f"cannot listen on 127.0.0.1 port {taken}" in done.stderr
    assert not (tmp_path / "other.db").exists()


def test_a_console_makes_no_database(tmp_path: Path):
    command = [sys.executable, "-m", "lopub", "console", "--port", "0"]
    address = f"sqlite:///{tmp_path}/missing.db"
    done = subprocess.run(
        [*command, "--database", address], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "there is no database" in done.stderr
    assert [*tmp_path.iterdir()] == []


@contextmanager
def demo(directory: Path) -> Iterator[tuple[ConsoleProcess, list[str]]]:
    """`lopub serve --demo`, signed in with the token that it tells; and what it says."""
    command = [
        sys.executable,
        "-m",
        "lopub",
        "serve",
        "--demo",
        "--port",
        "0",
        "--console-port",
        "0",
    ]
    environment = {**os.environ, "TMPDIR": str(directory)}
    environment.pop("LOPUB_FILES", None)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(5)]
        console = ConsoleProcess(
            address="",
            home=lines[2].split()[-1].removesuffix("/console"),
            token=lines[-1].split()[-1],
            reader="",
            port=int(lines[1].partition(",")[0].rpartition(":")[2]),
            process=process,
        )
        console.sign_in()
        yield console, lines
    finally:
        process.terminate()
        assert process.wait(SECONDS) == 0
        process.stdout.close()


def test_a_demo_shows_the_whole_product_and_leaves_nothing(tmp_path: Path):
    with demo(tmp_path) as (console, lines):
        assert lines[1].startswith("listening on http://127.0.0.1:")
        assert "a demo keeps nothing" in lines[3] and "sign in with lopub_" in lines[4]
        page = console.get("/console")
        assert "This is a demo" in page and {"open", "planned", "draft"} <= set(
            re.findall(r'class="state (\w+)"', page)
        )
        (address,) = re.findall(r'href="(/console/campaigns/\w{64})">College alumni', page)
        shown = console.get(address)
        assert f"http://127.0.0.1:{console.port}/c/" in shown and '<svg class="bars"' in shown
        until(lambda: 'class="state published"' in console.get("/console"))
        stranger = replace(console, cookie="")
        shown = stranger.get("/console/sign-in")
        assert "in the line that begins with “sign in with”" in shown
    assert [*tmp_path.glob("lopub-demo-*")] == []
