"""Where commands write: what exists, and a directory that does not, are refused by one rule, before any work is done."""

from pathlib import Path

import pytest
from commands import all_commands, done, lopub, options_of, refusal

from lopub.reports.catalogue import ALUMNI

COMMANDS = {
    "demo": (),
    "campaign make": ("draft.json", "--epsilon", "4"),
    "campaign infer": ("people.csv", "--epsilon", "4"),
    "plan": ("draft.json", "--people", "100", "--epsilon", "4"),
    "data": ("retail",),
    "encode": ("campaign.json", "people.csv"),
    "count": ("reports.parquet",),
    "estimate": ("reports.parquet", "-a", "gender"),
    "publish": ("reports.parquet",),
    "evaluate": ("people.csv", "people.csv"),
    "backup": (),
    "draft new": (),
    "draft from-xlsform": ("form.xlsx",),
    "export": ("reports.parquet",),
    "page": ("campaign.json", "--collector", "https://collector.example"),
}
"""What else each needs; none of these files is there, so a command that looked at them first would say so."""
INSIDE = {"demo": "campaign.json", "data": "retail/retail.csv.gz"}
"""Commands that write several files into a directory that may exist, and one of those files."""


def written_to(command: str, path: Path, cwd: Path) -> str:
    return refusal(lopub(*command.split(), *COMMANDS[command], "-o", path, cwd=cwd))


def test_every_command_with_an_output_is_tried():
    assert set(COMMANDS) == {
        name for name, body in all_commands().items() if "--output" in options_of(body)
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_a_directory_that_is_not_there_is_refused(command: str, tmp_path: Path):
    for name in (
        ("nowhere/out", "nowhere/out.json", "nowhere/out.parquet")
        if command == "evaluate"
        else ("nowhere/out.parquet",)
    ):
        assert (
            written_to(command, Path(name), tmp_path)
            == f"cannot write {name}: there is no directory nowhere"
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_in_the_place_of_the_directory_is_refused(command: str, tmp_path: Path):
    (tmp_path / "taken").write_text("theirs")
    said = written_to(command, Path("taken/out.parquet"), tmp_path)
    assert said == "cannot write taken/out.parquet: taken is not a directory" or said.endswith(
        "taken/out.parquet: Not a directory"
    )
    assert (tmp_path / "taken").read_text() == "theirs"


@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_that_exists_is_refused(command: str, tmp_path: Path):
    taken = tmp_path / "out.parquet" / INSIDE.get(command, "")
    taken.parent.mkdir(parents=True, exist_ok=True)
    taken.write_text("theirs")
    assert " exists already" in written_to(command, Path("out.parquet"), tmp_path)
    assert taken.read_text() == "theirs"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_that_is_too_long_is_refused(command: str, tmp_path: Path):
    if command not in INSIDE:
        assert "File name too long" in written_to(command, Path("a" * 300), tmp_path)


def test_no_command_writes_over_what_it_reads(tmp_path: Path) -> None:
    """Not with --force either: `lopub count monday.parquet -o monday.parquet --force` would leave counts, and no reports."""
    ALUMNI.people(50, seed=1).save(tmp_path / "people.csv")
    done(
        lopub(
            "campaign",
            "infer",
            "people.csv",
            "-o",
            "c.json",
            "--epsilon",
            "4",
            "--columns",
            "gender,age",
            cwd=tmp_path,
        )
    )
    done(lopub("encode", "c.json", "people.csv", "-o", "r.parquet", "--seed", "1", cwd=tmp_path))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    same = tmp_path.name
    for words in (
        ["count", "r.parquet", "-o", f"../{same}/r.parquet"],
        ["estimate", "r.parquet", "-a", "age", "-o", "r.parquet"],
        ["campaign", "infer", "people.csv", "--epsilon", "4", "-o", "people.csv"],
    ):
        assert "is read by this command, and would be overwritten" in refusal(
            lopub(*words, "--force", cwd=tmp_path)
        )
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
