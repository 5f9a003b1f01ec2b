"""The commands of a collector: what a steward does without HTTP."""

import json
import os
import re
import signal
import socket
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import commands
import pytest

import people
from lopub import CampaignRequest, Schedule, Terms, make_campaign
from lopub.campaign.report import FRAMED_TYPE, Report, framed
from lopub.cli.settings import SETTINGS
from lopub.collector import server
from lopub.collector.campaigns import all_campaigns
from lopub.collector.collector import CollectorSettings
from lopub.collector.database import store_at
from lopub.collector.drafts import goal_of
from lopub.collector.steward_log import actions
from lopub.errors import DomainError
from lopub.reports.batch import ReportBatch
from servers import Postgres, running_collector, start_collector

CAMPAIGN = people.campaign(min_reports=20)


def lopub(*arguments: object, directory: Path, code: int = 0, **environment: str) -> str:
    """What a command prints, where it exits as expected; standard error if it refuses."""
    if arguments[0] == "serve":  # which takes hold of its process
        done = commands.in_a_process(*arguments, cwd=directory, env={**os.environ, **environment})
    else:
        done = commands.lopub(*arguments, cwd=directory, **environment)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A directory with a campaign and a file of its reports, two of them damaged."""
    CAMPAIGN.save(tmp_path / "campaign.json")
    data = people.reports(CAMPAIGN, 60)
    ReportBatch.from_reports([Report.from_bytes(each, CAMPAIGN) for each in data], CAMPAIGN).save(
        tmp_path / "reports.parquet"
    )
    (tmp_path / "reports.bin").write_bytes(framed([*data, b"short", data[0][:-1] + b"\xff"]))
    return tmp_path


def test_a_campaign_is_opened_listed_and_closed_without_http(database: str, files: Path):
    opened = lopub("collect", "open", "campaign.json", "--database", database, directory=files)
    page = f"people take part at /c/{CAMPAIGN.id} of the collector"
    assert opened == f"campaign survey is open: /campaigns/{CAMPAIGN.id}\n{page}\n"
    again = lopub("collect", "open", "campaign.json", directory=files, LOPUB_DATABASE=database)
    assert "(it was already)" in again
    listed = lopub("collect", "list", "--database", database, directory=files)
    assert listed == f"{CAMPAIGN.id}  survey: open, below 20 reports\n"
    assert "is closed since" in lopub(
        "collect", "close", CAMPAIGN.id[:12], "--database", database, directory=files
    )
    told = lopub(
        "collect", "open", "campaign.json", "--database", database, directory=files, code=1
    )
    assert "is closed" in told


def test_the_number_of_people_that_a_campaign_was_planned_for_goes_along(
    database: str, files: Path
):
    """It was lost on the way from `plan` to the console, which then had no goal to show."""
    (files / "draft.json").write_text(
        '{"name": "tea", "schema": {"fields": [{"name": "tea", "type": "boolean"}]}}'
    )
    said = lopub(
        "campaign",
        "make",
        "draft.json",
        "-o",
        "tea.json",
        "--epsilon",
        "4",
        "--people",
        "700",
        directory=files,
    )
    assert "lopub collect open tea.json --people 700" in said
    said = lopub(
        "plan",
        "draft.json",
        "-o",
        "planned.json",
        "--epsilon",
        "4",
        "--people",
        "700",
        directory=files,
    )
    assert "lopub collect open planned.json --people 700" in said
    opened = lopub(
        "collect", "open", "tea.json", "--people", "700", "--database", database, directory=files
    )
    assert "planned for 700 people" in opened
    again = lopub("collect", "open", "tea.json", "--database", database, "--json", directory=files)
    assert json.loads(again)["planned_for"] == 700
    store = store_at(database)
    (entry,) = all_campaigns(store)
    assert goal_of(store, entry.number) == 700
    store.close()


@pytest.mark.parametrize(
    ("first", "last", "said"), [(3, 9, "begins on"), (-9, -3, "is over since")]
)
def test_a_campaign_is_not_said_to_be_open_before_it_begins_or_after_its_end(
    database: str, files: Path, first: int, last: int, said: str
):
    day = datetime.now(UTC).date()
    schedule = Schedule(opens=day + timedelta(days=first), closes=day + timedelta(days=last))
    make_campaign(
        people.DOMAIN, Terms(name="days", schedule=schedule), CampaignRequest(epsilon=2)
    ).save(files / "days.json")
    told = lopub("collect", "open", "days.json", "--database", database, directory=files)
    assert told.startswith(
        f"campaign days {said} {schedule.opens if first > 0 else schedule.closes}"
    )


def test_a_file_is_imported_with_the_same_checks_and_once(database: str, files: Path):
    first = lopub("import", "campaign.json", "reports.bin", "--database", database, directory=files)
    assert f"60 reports of campaign {CAMPAIGN.id[:16]}… accepted, 0 were there already" in first
    again = lopub(
        "import", "campaign.json", "reports.parquet", "--database", database, directory=files
    )
    assert "0 reports" in again and "60 were there already" in again
    assert "60 reports" in lopub("collect", "list", "--database", database, directory=files)


@pytest.mark.parametrize("bloom", [True, pytest.param(False, marks=pytest.mark.full)])
def test_publications_are_the_same_bytes_from_either_store_and_from_a_file(
    files: Path, postgres: Postgres, bloom: bool
):
    """With bloom the order of the reports, and the folds they fall into, reach the result; the store knows hashes of ids only."""
    target = people.campaign(bloom=bloom)
    target.save(files / "campaign.json", force=True)
    batch = ReportBatch.from_reports(
        [Report.from_bytes(each, target) for each in people.reports(target, 200)], target
    )
    batch.save(files / "reports.parquet", force=True)
    sources = [f"sqlite:///{files}/lopub.db", postgres.new_database()]
    for address in sources:
        lopub("import", "campaign.json", "reports.parquet", "--database", address, directory=files)
    lopub("publish", "campaign.json", "reports.parquet", "-o", "0", directory=files)
    lopub("publish", "campaign.json", sources[0], "-o", "1", directory=files)
    lopub("publish", sources[1], "--campaign", target.id, "-o", "2", directory=files)
    contents = [
        {
            str(path.relative_to(files / name)): path.read_bytes()
            for path in sorted((files / name).rglob("*"))
            if path.is_file()
        }
        for name in ("0", "1", "2")
    ]
    assert len(contents[0]) > 5
    assert contents[0] == contents[1] == contents[2]


def test_below_min_reports_nothing_is_published(files: Path):
    few = people.campaign("few", min_reports=61)
    few.save(files / "few.json")
    data = [Report.from_bytes(each, few) for each in people.reports(few, 60)]
    ReportBatch.from_reports(data, few).save(files / "few.parquet")
    lopub("import", "few.json", "few.parquet", directory=files)
    told = lopub("publish", "few.json", "sqlite:///lopub.db", "-o", "out", directory=files, code=1)
    assert re.search(r"61", told)
    assert not (files / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("publish", "campaign.json", "sqlite:///nothing.db", "-o", "out"),
            "there is no database nothing.db",
        ),
        (("collect", "list"), "there is no database lopub.db"),
        (("collect", "list", "--database", "mysql://x"), "got one of kind 'mysql'"),
        (("backup", "-o", "b"), "there is no database lopub.db"),
        (("restore", "nothing"), "there is no backup nothing"),
        (("token", "new", "--scope", "all"), "scope must be one of read, manage, got 'all'"),
        (
            ("serve", "--alone", "--port", "0", "--database", "sqlite:///campaign.json"),
            "database campaign.json is not an SQLite database",
        ),
        (
            ("collect", "list", "--database", "sqlite:///campaign.json"),
            "database campaign.json is not an SQLite database",
        ),
        (
            ("serve", "--alone", "--port", "0", "--database", "sqlite:////"),
            "database / is a directory; name a file in it, as in sqlite:////lopub.db",
        ),
        (("serve", "--host", "203.0.113.1", "--port", "1"), "cannot listen on 203.0.113.1 port 1"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(files: Path, arguments: tuple[str, ...], told: str):
    said = lopub(*arguments, directory=files, code=1)
    refusals = [line for line in said.splitlines() if line.startswith("lopub: ")]
    assert len(refusals) == 1
    assert told in refusals[0]


def test_a_database_is_backed_up_while_its_collector_goes_on_and_restored(
    database: str, files: Path
):
    lopub("import", "campaign.json", "reports.parquet", "--database", database, directory=files)
    with running_collector(database) as collector:
        assert "60 reports backed up" in lopub(
            "backup", "--database", database, "-o", "b", directory=files
        )
        more = framed(people.reports(CAMPAIGN, 1))
        assert (
            collector.ask(
                "POST", f"/campaigns/{CAMPAIGN.id}/reports", more, Content_Type=FRAMED_TYPE
            ).status
            == 200
        )
    assert "b exists already" in lopub(
        "backup", "--database", database, "-o", "b", directory=files, code=1
    )
    assert "60 reports restored" in lopub(
        "restore", "b", "--database", "sqlite:///restored.db", directory=files
    )
    assert (files / "b").stat().st_mode & 0o077 == 0


def test_an_import_into_a_file_that_a_collector_uses_is_refused(files: Path):
    with running_collector(f"sqlite:///{files}/lopub.db"):
        told = lopub("import", "campaign.json", "reports.parquet", directory=files, code=1)
        assert (
            "is in use by another collector; stop that one first, or send the reports to it" in told
        )


def test_a_token_made_beside_a_running_collector_is_good_at_once(database: str, files: Path):
    with running_collector(database) as collector:
        token = lopub(
            "token", "new", "--database", database, "--days", "2", directory=files
        ).strip()
        headers = {"Authorization": f"Bearer {token}"}
        assert collector.ask("GET", "/campaigns", **headers).status == 200
        name = (
            lopub("token", "list", "--database", database, directory=files)
            .splitlines()[1]
            .split()[0]
        )
        lopub("token", "revoke", name, "--database", database, directory=files)
        assert collector.ask("GET", "/campaigns", **headers).status == 401


def test_a_first_start_says_how_to_make_a_token(files: Path):
    address = f"sqlite:///{files}/lopub.db"
    collector = start_collector(address)
    assert collector.stop() == 0
    assert any(f"lopub token new --database {address}" in line for line in collector.errors)
    assert [json.loads(line)["event"] for line in collector.errors if line.startswith("{")] == [
        "started",
        "stopped",
    ]


# ---- settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"embed": "town.example"},
            "--embed (LOPUB_EMBED) must be sites such as https://town.example",
        ),
        ({"grace_days": -1}, "--grace-days (LOPUB_GRACE_DAYS) must lie in 0..14, got -1"),
    ],
)
def test_settings_that_cannot_be_are_refused(given: dict[str, Any], message: str):
    with pytest.raises(DomainError, match=re.escape(message)):
        CollectorSettings(**given)


@pytest.mark.parametrize(
    "given",
    [
        "collector.example",
        "ftp://collector.example",
        "https://collector.example/?a=1",
        "https://collector.example/#top",
        "https://",
        "https://collector.example:port",
        "https://somebody@collector.example",
        "https://two words",
    ],
)
@pytest.mark.parametrize("command", ["console", "serve"])
def test_an_address_for_people_that_leads_nowhere_is_refused(
    tmp_path: Path, command: str, given: str
):
    told = commands.refused(commands.lopub(command, cwd=tmp_path, LOPUB_PUBLIC=given))
    assert "--public (LOPUB_PUBLIC) must be an address such as https://collector.example" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["worker", "console"])
@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("campaign.json", "--files (LOPUB_FILES) must be a directory, and"),
        ("no/such/files", "/no/such; make it first"),
    ],
)
def test_results_that_can_lie_nowhere_are_refused(files: Path, command: str, place: str, said: str):
    lopub("collect", "open", "campaign.json", directory=files)
    told = commands.refused(commands.in_a_process(command, "--files", place, cwd=files))
    assert said in told and not (files / "no").exists()


def test_a_variable_that_no_command_knows_is_named(tmp_path: Path):
    told = lopub("worker", directory=tmp_path, code=1, LOPUB_DATABSE="sqlite:///x.db")
    assert "no command knows the variable LOPUB_DATABSE; did you mean LOPUB_DATABASE?" in told
    told = lopub("worker", directory=tmp_path, code=1, LOPUB_DATA="/x", LOPUB_FULL="1")
    assert "no command knows" not in told


def test_every_variable_of_an_option_is_known():
    options = [option for command in commands.all_commands().values() for option in command.params]
    named = {option.envvar for option in options if option.envvar}
    assert named | {"LOPUB_DATA", "LOPUB_FULL", "LOPUB_GATE"} == set(SETTINGS)


def test_a_database_that_nobody_named_is_said_to_be(tmp_path: Path, monkeypatch):
    monkeypatch.delenv("LOPUB_DATABASE", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "serve", lambda _, bound: bound.close())
    monkeypatch.setattr("lopub.collector.logs.log_to_standard_error", lambda: None)
    said = commands.done(commands.lopub("serve", "--alone", "--port", "0")).stdout
    assert said.endswith(", database sqlite:///lopub.db (none was named)\n")
    named = commands.lopub("serve", "--alone", "--port", "0", "--database", "sqlite:///lopub.db")
    assert commands.done(named).stdout.endswith(", database sqlite:///lopub.db\n")


def test_a_first_start_repeats_no_password(postgres: Postgres, monkeypatch):
    """Forbids the masked address, with which the command does not work."""
    address = postgres.new_database().replace("lopub@", "lopub:secret@")
    monkeypatch.setattr(server, "serve", lambda _, bound: bound.close())
    monkeypatch.setattr("lopub.collector.logs.log_to_standard_error", lambda: None)
    serve = ("serve", "--alone", "--port", "0")
    told = commands.lopub(*serve, LOPUB_DATABASE=address).stderr
    assert "to manage campaigns: lopub token new\n" in told and "***" not in told
    told = commands.lopub(*serve, "--database", address).stderr
    assert "lopub token new with the same --database\n" in told and "***" not in told


def test_closing_a_closed_campaign_is_not_logged_again(database: str, files: Path):
    lopub("collect", "open", "campaign.json", "--database", database, directory=files)
    for _ in range(2):
        lopub("collect", "close", CAMPAIGN.id, "--database", database, directory=files)
    store = store_at(database)
    assert [one.what for one in actions(store)] == ["campaign closed", "campaign opened"]
    store.close()


def test_a_single_report_is_not_called_reports(tmp_path: Path):
    CAMPAIGN.save(tmp_path / "campaign.json")
    (tmp_path / "one.bin").write_bytes(framed(people.reports(CAMPAIGN, 1)))
    lopub("import", "campaign.json", "one.bin", directory=tmp_path)
    said = lopub("backup", "-o", "lopub.backup", directory=tmp_path)
    assert said.startswith("1 report backed up\n")
    said = lopub("restore", "lopub.backup", "--database", "sqlite:///2.db", directory=tmp_path)
    assert said == "1 report restored into sqlite:///2.db\n"


def test_reports_without_a_day_are_not_mixed_with_those_of_people(files: Path):
    (files / "people.csv").write_text("smoker,colour\ntrue,blue\n")
    lopub("import", "campaign.json", "reports.bin", directory=files)
    lopub("encode", "campaign.json", "people.csv", "-o", "made_up.parquet", directory=files)
    mixed = ("import", "campaign.json", "made_up.parquet")
    told = lopub(*mixed, directory=files, code=1)
    assert "reports without a day" in told and "use --undated" in told
    assert "1 report of campaign" in lopub(*mixed, "--undated", directory=files)


def test_a_taken_port_is_told_before_a_database_is_made(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = lopub("serve", "--alone", "--port", port, directory=tmp_path, code=1)
    assert f"cannot listen on 127.0.0.1 port {port}" in told
    assert list(tmp_path.iterdir()) == []


def is_listening(port: int) -> bool:
    with socket.socket() as visitor:
        return visitor.connect_ex(("127.0.0.1", port)) == 0


def test_told_twice_to_stop_it_stops_as_if_told_once(tmp_path: Path):
    """People press Ctrl-C again. What was being finished was cut then, and a traceback was in the log."""
    collector = start_collector(f"sqlite:///{tmp_path / 'lopub.db'}")
    with socket.create_connection(("127.0.0.1", collector.port)) as unfinished:
        unfinished.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert unfinished.recv(4096).startswith(b"HTTP/1.1 200")  # the collector has the connection
        unfinished.sendall(b"POST /campaigns/")
        collector.process.send_signal(signal.SIGINT)
        until = time.monotonic() + 60
        while is_listening(collector.port):  # once nobody can come any more, it finishes
            assert time.monotonic() < until
        assert collector.stop(signal.SIGINT) == 0
    assert not [line for line in collector.errors if '"error"' in line or "Traceback" in line]


@pytest.mark.parametrize(
    "command",
    [
        "restore broken --database sqlite:///new.db",
        "import campaign.json broken --database sqlite:///new.db",
    ],
)
def test_a_refused_command_leaves_no_database(tmp_path: Path, command: str):
    make_campaign(people.DOMAIN, Terms(name="people"), CampaignRequest(epsilon=4)).save(
        tmp_path / "campaign.json"
    )
    (tmp_path / "broken").write_bytes(b"no backup, and no reports")
    before = sorted(tmp_path.iterdir())
    commands.refused(commands.lopub(*command.split(), cwd=tmp_path))
    assert sorted(tmp_path.iterdir()) == before


def test_a_refused_command_leaves_a_database_that_was_there(tmp_path: Path):
    store_at(f"sqlite:///{tmp_path / 'old.db'}").close()
    (tmp_path / "broken").write_bytes(b"no backup")
    commands.refused(
        commands.lopub("restore", "broken", "--database", "sqlite:///old.db", cwd=tmp_path)
    )
    assert (tmp_path / "old.db").stat().st_size
