"""`--json`: exactly one document on standard output, with the keys that docs/commands.md names."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any, NoReturn

import openpyxl
import pytest
import test_cli_send
import test_data
from commands import all_commands, done, lopub, options_of

from lopub import Campaign, ReportBatch
from lopub.reports.catalogue import ALUMNI
from lopub.reports.catalogue.originals import SOURCES

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
DRAFT = {
    "name": "alumni",
    "schema": {
        "fields": [
            {"name": "gender", "type": "string", "categories": ["F", "M"]},
            {"name": "married", "type": "boolean"},
        ]
    },
}
COLUMNS = ("--columns", "gender,income,donates", "--epsilon", "8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a file of each kind, and a database."""
    path = tmp_path_factory.mktemp("files")
    (path / "draft.json").write_text(json.dumps(DRAFT))
    ALUMNI.people(300, seed=1).save(path / "people.csv")
    done(lopub("campaign", "infer", "people.csv", "-o", "campaign.json", *COLUMNS, cwd=path))
    done(
        lopub(
            "encode",
            "campaign.json",
            "people.csv",
            "-o",
            "reports.parquet",
            "--seed",
            "1",
            cwd=path,
        )
    )
    batch = ReportBatch.load(path / "reports.parquet")
    ReportBatch.joined(iter([batch, batch[:7]])).save(path / "repeated.parquet")
    done(lopub("import", "campaign.json", "reports.parquet", cwd=path))
    return path


def documented() -> dict[str, set[str]]:
    """The keys of every command, by docs/commands.md."""
    keys: dict[str, set[str]] = {}
    for names, text in re.findall(
        r"^\| (`[a-z `,-]+`) \| (`.*|those of .*) \|$", PAGE, re.MULTILINE
    ):
        for name in re.findall(r"`([a-z -]+)`", names):
            keys[name] = set(re.findall(r"`(\w+)`", text.partition(": of each")[0]))
    for name in ("campaign make", "campaign infer"):
        keys[name] |= keys["campaign show"]
    return keys


def one_document(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What a program reads; NaN and the like are no JSON."""

    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is not JSON")

    done(result)
    document = json.loads(result.stdout, parse_constant=refuse)
    assert isinstance(document, dict)
    return document


def shown(folder: Path, command: str, *arguments: object) -> dict[str, Any]:
    """The document that a command prints, with the documented keys."""
    document = one_document(lopub(*command.split(), *arguments, "--json", cwd=folder))
    assert set(document) == documented()[command]
    return document


def test_every_command_with_json_is_documented():
    assert set(documented()) == {
        name for name, body in all_commands().items() if "--json" in options_of(body)
    }


# ---- drafts, campaigns and plans


def test_a_new_draft_is_written_and_checked(tmp_path: Path):
    made = shown(tmp_path, "draft new", "-o", "survey.json")
    assert made == {"name": "survey", "output": "survey.json"}
    assert shown(tmp_path, "draft check", "survey.json") == {"mistakes": [], "advice": []}


def test_a_form_becomes_a_draft(tmp_path: Path):
    book = openpyxl.Workbook()
    book.active.title = "survey"  # type: ignore[union-attr]
    for row in (
        ("type", "name", "label"),
        ("time", "wakes", "When?"),
        ("text", "remarks", "More?"),
    ):
        book.active.append(row)  # type: ignore[union-attr]
    book.save(tmp_path / "form.xlsx")
    made = shown(tmp_path, "draft from-xlsform", "form.xlsx", "-o", "draft.json")
    assert (made["n_questions"], made["left_out"][0][:30]) == (1, "row 3: text 'remarks' is left ")
    assert shown(tmp_path, "draft check", "draft.json")["mistakes"] == []


def test_a_new_campaign_is_shown_with_its_path(folder: Path, tmp_path: Path):
    made = shown(folder, "campaign make", "draft.json", "-o", tmp_path / "c.json", "--epsilon", "4")
    assert (made["campaign"], made["output"]) == (
        Campaign.load(tmp_path / "c.json").id,
        str(tmp_path / "c.json"),
    )


def test_a_learnt_campaign_is_shown_with_its_path(folder: Path, tmp_path: Path):
    made = shown(folder, "campaign infer", "people.csv", "-o", tmp_path / "c.json", *COLUMNS)
    assert [attribute["name"] for attribute in made["attributes"]] == [
        "gender",
        "income",
        "donates",
    ]


def test_a_campaign_is_shown(folder: Path):
    assert (
        shown(folder, "campaign show", "campaign.json")["campaign"]
        == Campaign.load(folder / "campaign.json").id
    )


@pytest.mark.parametrize(("digits", "proven"), [(64, True), (16, False)])
def test_a_check_says_how_much_it_proves(folder: Path, digits: int, proven: bool):
    whole = Campaign.load(folder / "campaign.json").id
    checked = shown(folder, "campaign check", "campaign.json", "--id", whole[:digits])
    assert checked == {"campaign": whole, "n_digits_compared": digits, "proven": proven}


def test_a_plan_names_its_campaign(folder: Path, tmp_path: Path):
    plan = shown(
        folder, "plan", "draft.json", "--people", "500", "--epsilon", "2", "-o", tmp_path / "c.json"
    )
    assert plan["campaign"] == Campaign.load(tmp_path / "c.json").id


def test_a_prepared_table_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(SOURCES, "retail", test_data.RETAIL)
    (tmp_path / "retail.dat").write_bytes(test_data.LARGE)
    assert (
        shown(tmp_path, "data", "retail", "--from", "retail.dat", "-o", "tables")["output"]
        == "tables"
    )


# ---- reports


def test_simulated_reports_are_counted(folder: Path, tmp_path: Path):
    encoded = shown(
        folder, "encode", "campaign.json", "people.csv", "-o", tmp_path / "r.parquet", "--seed", "3"
    )
    assert (encoded["n_reports"], encoded["seed"]) == (300, 3)


def test_counts_tell_what_was_repeated(folder: Path, tmp_path: Path):
    counted = shown(folder, "count", "repeated.parquet", "-o", tmp_path / "c.parquet")
    assert (counted["n_reports"], counted["n_repeated"], counted["refused"]) == (300, 7, {})


def test_an_estimate_has_all_cells(folder: Path):
    joint = shown(folder, "estimate", "repeated.parquet", "-a", "gender,donates")
    assert (joint["n_reports"], joint["n_repeated"], len(joint["cells"]), joint["output"]) == (
        300,
        7,
        4,
        None,
    )


def test_an_answer_says_how_it_came_about(folder: Path):
    answer = shown(folder, "query", "repeated.parquet", "donates", "--given", "gender == 'F'")
    assert (answer["n_reports"], answer["n_repeated"], answer["how"], answer["reason"]) == (
        300,
        7,
        "direct",
        None,
    )
    assert answer["low"] < answer["estimate"] < answer["high"]


def test_an_export_tells_how_many_reports(folder: Path, tmp_path: Path):
    exported = shown(folder, "export", "--from", "sqlite:///lopub.db", "-o", tmp_path / "r.parquet")
    assert (exported["n_reports"], exported["output"]) == (300, str(tmp_path / "r.parquet"))


def test_a_publication_is_summed_up(folder: Path, tmp_path: Path):
    published = shown(
        folder,
        "publish",
        "campaign.json",
        "sqlite:///lopub.db",
        "-o",
        tmp_path / "out",
        "--rows",
        "20",
    )
    assert (published["n_reports"], published["n_rows"], published["output"]) == (
        300,
        20,
        str(tmp_path / "out"),
    )


def test_scores_are_what_a_file_of_scores_holds(folder: Path, tmp_path: Path):
    options = (
        "people.csv",
        "people.csv",
        "--no-classifiers",
        "--most-sets",
        "2",
        "-o",
        tmp_path / "s.json",
    )
    assert shown(folder, "evaluate", *options) == json.loads((tmp_path / "s.json").read_text())


# ---- the collector


def test_a_campaign_is_opened_listed_and_closed(folder: Path, tmp_path: Path):
    named, database = folder / "campaign.json", ("--database", f"sqlite:///{tmp_path}/new.db")
    whole = Campaign.load(named).id
    opened = shown(folder, "collect open", named, *database)
    assert (opened["state"], opened["is_new"], opened["address"]) == (
        "open",
        True,
        f"/campaigns/{whole}",
    )
    assert not shown(folder, "collect open", named, *database)["is_new"]
    (listed,) = shown(folder, "collect list", *database)["campaigns"]
    assert (listed["campaign"], listed["n_reports"]) == (whole, None)
    closed = shown(folder, "collect close", whole[:12], *database)
    assert closed["state"] == "closed" and re.fullmatch(r"\d{4}-\d\d-\d\d", closed["closed_on"])


def test_a_token_is_made_listed_and_revoked(folder: Path, tmp_path: Path):
    database = ("--database", f"sqlite:///{tmp_path}/new.db")
    made = shown(folder, "token new", *database, "--scope", "read", "--days", "3")
    assert made["token"].startswith("lopub_") and made["scope"] == "read"
    (listed,) = shown(folder, "token list", *database)["tokens"]
    assert listed == {key: value for key, value in made.items() if key != "token"}
    assert shown(folder, "token revoke", made["name"], *database) == {"revoked": made["name"]}
    assert shown(folder, "token list", *database) == {"tokens": []}


def test_an_import_tells_what_was_there_already(folder: Path, tmp_path: Path):
    imported = shown(
        folder, "import", "repeated.parquet", "--database", f"sqlite:///{tmp_path}/new.db"
    )
    assert (imported["n_accepted"], imported["n_repeated"], imported["refused"]) == (300, 7, {})


def test_a_backup_and_its_restoration_tell_how_many_reports(folder: Path, tmp_path: Path):
    assert shown(folder, "backup", "-o", tmp_path / "b")["n_reports"] == 300
    assert (
        shown(folder, "restore", tmp_path / "b", "--database", f"sqlite:///{tmp_path}/new.db")[
            "n_reports"
        ]
        == 300
    )


def test_sending_and_withdrawing_tell_the_campaign(tmp_path: Path):
    collector = test_cli_send.Collector()
    try:
        (tmp_path / "record.json").write_text(json.dumps({"city": "Rome", "children": 3}))
        store = ("--store", tmp_path / "kept")
        assert (
            shown(tmp_path, "send", collector.url, "record.json", "--yes", *store)["campaign"]
            == test_cli_send.CAMPAIGN.id
        )
        assert (
            shown(tmp_path, "withdraw", collector.url, *store)["campaign"]
            == test_cli_send.CAMPAIGN.id
        )
    finally:
        collector.close()


def test_a_refusal_prints_no_document(folder: Path):
    result = lopub("estimate", "nothing.parquet", "-a", "gender", "--json", cwd=folder)
    assert (result.returncode, result.stdout) == (1, "")
