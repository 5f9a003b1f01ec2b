"""Wrong files, wrong ids and weak epsilons on the command line: each is told as what it is, and nothing is written."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lopub.campaign.campaign import Campaign
from lopub.cli import app
from lopub.cli.console import refuse
from lopub.errors import LopubError

Lopub = Callable[..., tuple[int, str, str]]

DRAFT = {
    "name": "alumni",
    "schema": {
        "fields": [
            {"name": "gender", "type": "string", "categories": ["F", "M"]},
            {"name": "age", "type": "integer", "constraints": {"minimum": 25, "maximum": 27}},
            {"name": "happy", "type": "boolean", "constraints": {"required": False}},
        ]
    },
}
TABLE = "gender,age,happy\nF,25,true\nM,26,\nF,27,false\nM,25,true\n"


@pytest.fixture
def lopub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Lopub:
    """Runs a command in a folder with a file of each kind; (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")

    def run(*arguments: str) -> tuple[int, str, str]:
        code: object = 0
        try:
            try:
                app(arguments, prog_name="lopub")
            except LopubError as error:
                refuse(error)
        except SystemExit as end:
            code = end.code or 0
        said = capsys.readouterr()
        assert isinstance(code, int)
        return code, said.out, said.err

    Path("draft.json").write_text(json.dumps(DRAFT, indent=1))
    Path("people.csv").write_text(TABLE)
    Path("people.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    Path("picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    Path("lopub.db").write_bytes(b"SQLite format 3\x00" + bytes(100))
    Path("empty").touch()
    Path("folder").mkdir()
    assert run("campaign", "make", "draft.json", "-o", "campaign.json", "--epsilon", "4")[0] == 0
    assert (
        run("encode", "campaign.json", "people.csv", "-o", "reports.parquet", "--seed", "1")[0] == 0
    )
    return run


def refusal(result: tuple[int, str, str]) -> str:
    code, _, said = result
    assert code == 1 and said.startswith("lopub: ") and "Traceback" not in said
    return said.removeprefix("lopub: ").rstrip("\n")


# ---- a file of another kind

NOT_A_CAMPAIGN = {
    "draft.json": "draft.json is a draft, not a campaign; `lopub campaign make` makes one of it",
    "people.csv": "people.csv is not a campaign, but text",
    "people.csv.gz": "people.csv.gz is not a campaign, but a gzipped file",
    "reports.parquet": "reports.parquet is not a campaign, but a Parquet file",
    "picture.png": "picture.png is not a campaign, but a binary file",
    "empty": "empty is not a campaign, but empty",
    "folder": "cannot read campaign folder: Is a directory",
    "nowhere": "cannot read campaign nowhere: No such file or directory",
}
NOT_REPORTS = {
    "people.csv": "not a file of reports, but text; if it is a table of records, `lopub encode` lets simulated clients report",
    "people.csv.gz": "people.csv.gz is not a file of reports, but a gzipped file; unpack it first",
    "picture.png": "picture.png is not a file of reports, but a binary file",
    "lopub.db": "a SQLite database; to read the reports of a collector, name it as sqlite:///FILE",
    "folder": "folder has no file of reports; their names end in .parquet, .bin, .reports",
    "nowhere": "cannot read reports nowhere: No such file or directory",
    "n" * 300: "File name too long",
    "*.reports": "*.reports has no file of reports",
    "empty": "",
}
NOT_A_DRAFT = {
    "campaign.json": "campaign.json: this is a finished campaign, not a draft",
    "people.csv": "people.csv is not a draft, but text",
    "reports.parquet": "reports.parquet is not a draft, but a Parquet file",
    "empty": "empty is not a draft, but empty",
    "folder": "cannot read draft folder: Is a directory",
}
NOT_A_TABLE = {
    "campaign.json": "campaign.json is not a csv table, but JSON",
    "draft.json": "draft.json is not a csv table, but JSON",
    "lopub.db": "lopub.db is not a csv table, but a SQLite database",
    "picture.png": "picture.png is not UTF-8 text",
    "empty": "empty is empty",
    "folder": "cannot read folder: Is a directory",
}


@pytest.mark.parametrize("file", NOT_A_CAMPAIGN)
def test_a_file_that_is_not_a_campaign_is_told_as_what_it_is(lopub: Lopub, file: str) -> None:
    for rest in (
        ("campaign", "show", file),
        ("campaign", "check", file),
        ("encode", file, "people.csv", "-o", "out.bin"),
    ):
        assert refusal(lopub(*rest)).startswith(NOT_A_CAMPAIGN[file])
    for command in ("publish", "count"):
        named = ("--campaign", file, "-o", "out")
        assert refusal(lopub(command, "reports.parquet", *named)).startswith(NOT_A_CAMPAIGN[file])
    assert not list(Path.cwd().glob("out*"))


@pytest.mark.parametrize("file", NOT_REPORTS)
def test_a_file_that_holds_no_reports_is_told_as_what_it_is(lopub: Lopub, file: str) -> None:
    for command in ("publish", "estimate"):
        rest = (
            ("-o", "out.csv", "--attributes", "gender,age")
            if command == "estimate"
            else ("-o", "out")
        )
        said = refusal(lopub(command, "campaign.json", file, *rest)).replace(f"{Path.cwd()}/", "")
        assert NOT_REPORTS[file] in said
    if file not in ("empty", "folder"):  # which may be counted: they have none
        said = refusal(lopub("count", "campaign.json", file, "-o", "out")).replace(
            f"{Path.cwd()}/", ""
        )
        assert NOT_REPORTS[file] in said
    assert not list(Path.cwd().glob("out*"))


@pytest.mark.parametrize("file", NOT_A_DRAFT)
def test_a_file_that_is_not_a_draft_is_told_as_what_it_is(lopub: Lopub, file: str) -> None:
    assert NOT_A_DRAFT[file] in refusal(
        lopub("campaign", "make", file, "-o", "out.json", "--epsilon", "4")
    )
    if file != "campaign.json":  # whose questions may be planned for
        assert NOT_A_DRAFT[file] in refusal(
            lopub("plan", file, "--people", "100", "--epsilon", "4", "-o", "out.json")
        )
    assert not Path("out.json").exists()


@pytest.mark.parametrize("file", NOT_A_TABLE)
def test_a_file_that_is_not_a_table_is_told_as_what_it_is(lopub: Lopub, file: str) -> None:
    assert NOT_A_TABLE[file] in refusal(lopub("encode", "campaign.json", file, "-o", "out.bin"))
    assert NOT_A_TABLE[file] in refusal(
        lopub("campaign", "infer", file, "-o", "out.json", "--epsilon", "4")
    )
    assert not list(Path.cwd().glob("out*"))


def test_a_file_of_reports_is_not_taken_for_a_table(lopub: Lopub) -> None:
    said = refusal(
        lopub("campaign", "infer", "reports.parquet", "-o", "out.json", "--epsilon", "4")
    )
    assert "reports.parquet is not a csv table, but a Parquet file" in said
    said = refusal(lopub("encode", "campaign.json", "reports.parquet", "-o", "out.bin"))
    assert (
        "reports.parquet has no column 'gender', 'age', 'happy'; its columns are id, slot, view, payload"
        in said
    )
    assert not list(Path.cwd().glob("out*"))


@pytest.mark.parametrize("name", ["out.csv", "out", "out.json", "out.parquet.gz"])
def test_reports_are_not_written_under_the_name_of_another_kind_of_file(
    lopub: Lopub, name: str
) -> None:
    said = refusal(lopub("encode", "campaign.json", "people.csv", "-o", name))
    assert (
        said
        == f"{name} must end in .parquet, or in .bin or .reports for framed wire bytes: it will hold reports"
    )
    assert not Path(name).exists()


# ---- options


def test_make_without_a_budget_names_the_options(lopub: Lopub) -> None:
    assert "--epsilon E or --flip-probability F" in refusal(
        lopub("campaign", "make", "draft.json", "-o", "out.json")
    )


def test_check_compares_a_short_id_and_says_that_it_proves_nothing(lopub: Lopub) -> None:
    whole = Campaign.load("campaign.json").id
    for short in (whole[:16] + "…", whole[:16].upper(), whole[:8], whole[:63]):
        code, out, err = lopub("campaign", "check", "campaign.json", "--id", short)
        assert (code, out) == (0, f"ok: campaign {whole}\n")
        assert err.startswith(
            f"note: its first {len(short.rstrip('…'))} digits are those given; only all 64 prove"
        )
    assert lopub("campaign", "check", "campaign.json", "--id", whole)[2] == ""


def test_check_refuses_a_short_id_of_another_campaign(lopub: Lopub) -> None:
    whole = Campaign.load("campaign.json").id
    other = whole[:15] + ("0" if whole[15] != "0" else "1")
    said = refusal(lopub("campaign", "check", "campaign.json", "--id", other))
    assert said == f"campaign.json is campaign {whole}, whose id does not begin with {other}"


@pytest.mark.parametrize("short", ["abc", "", "not hexadecimal", "0" * 65])
def test_check_refuses_what_is_no_id_as_wrong_usage(lopub: Lopub, short: str) -> None:
    code, _, err = lopub("campaign", "check", "campaign.json", "--id", short)
    assert code == 2 and "64 hexadecimal digits" in err


def test_all_mistakes_of_a_draft_are_listed_on_the_command_line(lopub: Lopub) -> None:
    fields = [*DRAFT["schema"]["fields"], DRAFT["schema"]["fields"][0]]  # type: ignore[index]
    Path("draft.json").write_text(json.dumps({"name": "A B", "schema": {"fields": fields}}))
    said = refusal(lopub("campaign", "make", "draft.json", "-o", "out.json", "--epsilon", "4"))
    assert said.splitlines() == [
        "draft.json: the draft has 2 mistakes:",
        "- name must be 1 to 100 small letters, digits, dots, hyphens or underscores, the first a letter or digit",
        "- a domain lists the same attribute twice: 'gender'",
    ]


# ---- an epsilon that protects on paper only

WARNING = "warning: epsilon 20 is above 8: one report can make an observer nearly certain of the answers behind it\n"


def test_a_weak_epsilon_is_warned_of_wherever_it_is_chosen_or_shown(lopub: Lopub) -> None:
    weak = ("-o", "weak.json", "--epsilon", "20", "--force")
    assert WARNING in lopub("campaign", "make", "draft.json", *weak)[2]
    assert WARNING in lopub("campaign", "show", "weak.json")[2]
    assert WARNING in lopub("campaign", "infer", "people.csv", *weak)[2]
    assert WARNING in lopub("plan", "draft.json", "--people", "100", *weak)[2]
    assert json.loads(lopub("campaign", "show", "weak.json", "--json")[1])["warnings"] == [
        WARNING[9:-1]
    ]
    _, out, err = lopub("plan", "draft.json", "--people", "100", "--epsilon", "20", "--json")
    assert json.loads(out)["warnings"] == [WARNING[9:-1]] and WARNING in err


def test_an_epsilon_of_eight_is_not_warned_of(lopub: Lopub) -> None:
    assert (
        "warning"
        not in lopub("campaign", "make", "draft.json", "-o", "out.json", "--epsilon", "8")[2]
    )
    assert json.loads(lopub("campaign", "show", "out.json", "--json")[1])["warnings"] == []
