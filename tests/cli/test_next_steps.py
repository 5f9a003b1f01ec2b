"""`lopub` without arguments, and completion in a shell."""

import re
from pathlib import Path

import pytest
from commands import done, in_a_process, lopub

import people
from lopub.campaign.budget import SUGGESTED_EPSILON
from lopub.cli.next_steps import PLAN
from lopub.collector.drafts import EPSILON, PEOPLE
from lopub.questionnaire.draft_template import template

STAGES = {
    "": "lopub demo",
    "demo/publication/manifest.json": "lopub query demo/publication",
    "draft.json": "lopub draft check draft.json",
    "campaign.json": "lopub collect open campaign.json",
    "lopub.db": "lopub serve --database sqlite:///lopub.db",
    "reports.parquet": "lopub publish campaign.json reports.parquet -o publication",
    "publication/manifest.json": "lopub query publication",
}


@pytest.mark.parametrize("stage", STAGES)
def test_lopub_alone_shows_three_steps_that_follow_from_what_is_there(stage: str, tmp_path: Path):
    for name in list(STAGES)[1 : list(STAGES).index(stage) + 1]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    shown = done(lopub(cwd=tmp_path)).stdout.splitlines()
    steps = [line.strip() for line in shown if line.startswith("  lopub ")]
    assert len(steps) == 3 and steps[0].startswith(STAGES[stage])


def test_a_database_with_reports_is_published(tmp_path: Path):
    """Without any, publish, query and count were suggested, and all three refused."""
    people.campaign().save(tmp_path / "campaign.json")
    (tmp_path / "people.csv").write_text("smoker,colour\ntrue,red\n")
    done(lopub("encode", "campaign.json", "people.csv", "-o", "one.parquet", cwd=tmp_path))
    done(
        lopub(
            "import",
            "campaign.json",
            "one.parquet",
            "--database",
            "sqlite:///lopub.db",
            cwd=tmp_path,
        )
    )
    assert "lopub publish campaign.json sqlite:///lopub.db" in done(lopub(cwd=tmp_path)).stdout


def test_a_shell_completes_commands_and_options():
    asked = {"_LOPUB_COMPLETE": "complete_bash", "COMP_WORDS": "lopub pu", "COMP_CWORD": "1"}
    assert completed(asked) == ["publish"]
    assert completed(asked | {"COMP_WORDS": "lopub campaign make --eps", "COMP_CWORD": "3"}) == [
        "--epsilon"
    ]


def completed(asked: dict[str, str]) -> list[str]:
    import os

    return done(in_a_process(env=os.environ | asked)).stdout.split()


def test_every_place_that_suggests_an_epsilon_suggests_the_same():
    steps = " ".join(command for command, _ in PLAN)
    assert (
        set(re.findall(r"--epsilon (\S+)", f"{steps} {template('survey')}"))
        == {EPSILON}
        == {str(SUGGESTED_EPSILON)}
    )
    assert set(re.findall(r"--people (\d+)", steps)) == {str(PEOPLE)}
    start = (Path(__file__).parents[2] / "docs" / "start" / "steward.md").read_text()
    assert set(re.findall(r"lopub .*--epsilon (\S+)", start)) == {EPSILON}
