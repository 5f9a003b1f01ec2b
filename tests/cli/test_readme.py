"""The README's examples run, in the order in which they stand, as one walk."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from commands import done, lopub

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks() -> list[tuple[str, str]]:
    """(language, text) of all blocks."""
    return re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)


def commands(text: str) -> list[list[str]]:
    """The lopub commands of a shell block, without their comments."""
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("lopub ")]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """What a reader would have at hand: the draft, and what `make demo` made, with fewer people."""
    done(lopub("demo", "--people", "2000", cwd=tmp_path))
    (tmp_path / "draft.json").write_text(
        next(text for language, text in blocks() if language == "json")
    )
    return tmp_path


def test_every_example_runs_after_the_one_before(people: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(people)
    n_commands = n_scripts = 0
    for language, text in blocks():
        if language == "sh":
            for arguments in commands(text):
                done(lopub(*arguments))
                n_commands += 1
        elif language == "python":
            exec(compile(text, "README.md", "exec"), {})
            n_scripts += 1
    assert (n_commands, n_scripts) == (4, 2)


def test_the_first_steps_run():
    result = subprocess.run(
        [sys.executable, ROOT / "examples" / "first_steps.py"],
        check=True,
        capture_output=True,
        text=True,
    )
    first, again = [
        line.split()[1]
        for line in result.stdout.splitlines()
        if line.startswith(("report", "again"))
    ]
    assert first == again
    assert (
        result.stdout.count("\nestimate ") == 6 and "report.html" in result.stdout.splitlines()[-1]
    )


def test_every_page_that_the_readme_points_to_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target
