"""The README's examples run, in the order in which they stand."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_the_draft_becomes_a_campaign_and_the_five_lines_make_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "draft.json").write_text(blocks("json")[0])
    make, show = [line.split()[1:] for line in blocks("sh")[1].splitlines()[:2]]
    for command in (make, show):
        subprocess.run([sys.executable, "-m", "lopub", *command], check=True, capture_output=True)
    names: dict[str, object] = {}
    exec(blocks("python")[0], names)
    assert isinstance(names["send"], bytes)
    assert len(list((tmp_path / "reports").iterdir())) == 1


def test_the_first_steps_run():
    result = subprocess.run([sys.executable, ROOT / "examples" / "first_steps.py"], check=True, capture_output=True, text=True)
    first, again = [line.split()[1] for line in result.stdout.splitlines() if line.startswith(("report", "again"))]
    assert first == again


def test_the_draft_in_the_readme_is_valid_json():
    assert json.loads(blocks("json")[0])["name"] == "alumni"
