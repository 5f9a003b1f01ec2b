"""What a release is made of: the same bytes whenever it is built, and a wheel that works with the extras that it names."""

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
import yaml
from documents import ROOT

import lopub

EPOCH = "1700000000"


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


def test_a_wheel_has_the_translations(wheel: Path):
    """They are read as they are: nothing compiles them."""
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if name.endswith(".po")}
    assert {"lopub/pages/locale/de.po", "lopub/console/locale/de.po"} <= found


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
