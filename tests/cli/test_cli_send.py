"""`lopub send` and `lopub withdraw` as a person meets them, with a real server on the loopback interface."""

import json
import math
import os
import pty
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import typer
from commands import in_a_process, lopub

from lopub import (
    Binned,
    Boolean,
    Campaign,
    CampaignRequest,
    Categorical,
    Client,
    Domain,
    DomainError,
    EpsilonTooHigh,
    FileStore,
    IntegerRange,
    Report,
    Terms,
    make_campaign,
)
from lopub.campaign.report import base64url, unframed
from lopub.campaign.schedule import day_of
from lopub.cli.send import (
    agree,
    all_answers,
    candidates_of,
    odds,
    print_answers,
    print_questions,
    send,
)
from lopub.pages.wording import Wording

SENTINEL = "Kaluza-Klein-7f3a9c"
DOMAIN = Domain(
    (
        Categorical(name="city", values=(SENTINEL, "Oslo", "Rome"), question="Where do you live?"),
        IntegerRange(name="children", minimum=0, maximum=5),
    )
)
TERMS = Terms(
    name="survey",
    title="Cities [bold]and\x1b[2J[/bold] children",
    consent="that the crowd is described",
    retention_days=30,
    min_reports=50,
)
CAMPAIGN = make_campaign(DOMAIN, TERMS, CampaignRequest(epsilon=2))


class Collector:
    """Just enough of one: the campaign, a first answer, and what came in."""

    def __init__(self, campaign: Campaign = CAMPAIGN) -> None:
        self.campaign = campaign
        self.bodies: dict[str, list[bytes]] = {"reports": [], "withdrawals": []}
        self.verdict = {"received": 1, "refused": []}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/campaigns/{campaign.id}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._say(200, collector.campaign.canonical_bytes)

            def do_POST(self) -> None:
                what = self.path.rpartition("/")[2]
                collector.bodies[what].append(self.rfile.read(int(self.headers["Content-Length"])))
                self._say(204) if what == "withdrawals" else self._say(
                    200, json.dumps(collector.verdict).encode()
                )

            def _say(self, status: int, body: bytes = b"") -> None:
                self.send_response(status)
                if status != 204:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                return

        return Handler

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def reports(self) -> list[bytes]:
        return [report for body in self.bodies["reports"] for report in unframed(body)]


@pytest.fixture
def collector() -> Iterator[Collector]:
    served = Collector()
    yield served
    served.close()


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "record.json"
    path.write_text(json.dumps({"city": SENTINEL, "children": 3}))
    return path


def refused(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 1 and "Traceback" not in result.stderr
    assert result.stderr.startswith("lopub: ") and result.stderr.count("\n") == 1
    assert SENTINEL not in result.stderr
    return result.stderr


def test_a_record_is_shown_what_it_is_for_and_its_noisy_report_sent(collector, record, tmp_path):
    result = in_a_process(
        "send", collector.url, record, "--yes", env=os.environ | {"HOME": str(tmp_path)}
    )
    assert result.returncode == 0, result.stderr
    for words in (
        "Where do you live?",
        "You agree to this:\n| that the crowd is described",
        "epsilon 2.000",
        "factor of 7.4",
    ):
        assert words in result.stdout
    assert "deleted 30 days after the close; nothing is shown of fewer than 50" in result.stdout
    assert "counts it once" in result.stdout and "does not tell" in result.stdout
    (data,) = collector.reports
    (report,) = Client(CAMPAIGN, store=FileStore(tmp_path / ".lopub")).sent()
    assert report.to_bytes() == data


def test_a_campaigns_words_reach_the_terminal_without_control_characters(
    collector, record, tmp_path
):
    shown = lopub("send", collector.url, record, "--yes", HOME=tmp_path).stdout
    assert "\x1b" not in shown and "Cities [bold]and�[2J[/bold] children" in shown


def test_a_report_that_waits_goes_out_as_the_same_bytes_without_a_record(
    collector, record, tmp_path
):
    verdict, collector.verdict = collector.verdict, {}  # which says nothing
    words = ("--patience", "0.3")
    result = lopub("send", collector.url, record, "--yes", *words, HOME=tmp_path)
    assert "the report is kept, and goes out when this is run again: " in refused(result)
    collector.verdict = verdict
    again = lopub("send", collector.url, HOME=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "Sent, because it was waiting: the report that was made before." in again.stdout
    assert len(collector.reports) >= 2 and len(set(collector.reports)) == 1
    n = len(collector.reports)
    third = lopub("send", collector.url, record, "--yes", HOME=tmp_path)
    assert "Nothing is due: the collector has the report of this device, and no" in third.stdout
    assert (third.returncode, len(collector.reports)) == (0, n)


def test_nothing_of_a_report_is_shown_before_the_collector_has_it(collector, record, tmp_path):
    """Whoever sees it first, and sends only what does not name the truth, tells the truth by not sending."""
    verdict, collector.verdict = collector.verdict, {}
    words = ("--patience", "0.3", "--show")
    result = lopub("send", collector.url, record, "--yes", *words, HOME=tmp_path)
    assert "Nothing is shown: a report is shown only once a collector has it." in result.stdout
    report = Report.from_bytes(collector.reports[0], CAMPAIGN)
    for part in (base64url(report.id), base64url(report.payload) + '"', report.payload.hex()):
        assert part not in result.stdout + result.stderr
    collector.verdict = verdict
    shown = lopub("send", collector.url, "--show", HOME=tmp_path).stdout
    sentence, _, twin = shown.partition("Whoever decides by it whether to withdraw it")[
        2
    ].partition("\n")
    assert "can reveal the true answers completely" in sentence and twin.strip() == report.to_json()
    assert report.to_json() not in lopub("send", collector.url, HOME=tmp_path).stdout


def test_json_is_all_that_is_printed_where_it_is_asked_for(collector, record, tmp_path):
    result = lopub(
        "send",
        collector.url,
        record,
        "--yes",
        "--json",
        "--store",
        tmp_path / "kept",
        HOME=tmp_path,
    )
    assert json.loads(result.stdout) == {
        "campaign": CAMPAIGN.id,
        "epsilon": CAMPAIGN.epsilon,
        "lifetime_epsilon": CAMPAIGN.epsilon,
        "spent": CAMPAIGN.epsilon,
        "rounds": [],
        "sent": [str(day_of(Report.from_bytes(collector.reports[0], CAMPAIGN).slot))],
        "nothing_due": None,
        "outcome": "sent",
    }
    assert sorted(os.listdir(tmp_path / "kept")) == ["store.db", "store.db-journal"]


def test_answers_can_come_from_standard_input(collector, tmp_path):
    given = json.dumps({"city": "Rome", "children": 0})
    assert lopub("send", collector.url, "-", "--yes", HOME=tmp_path, given=given).returncode == 0
    assert len(collector.reports) == 1


@pytest.mark.parametrize("options", [["--json"], []], ids=["json", "no terminal"])
def test_nothing_is_made_where_nobody_agreed(collector, record, tmp_path, options):
    result = lopub("send", collector.url, record, *options, HOME=tmp_path)
    assert result.returncode == 2 and "add --yes" in result.stderr
    assert collector.reports == [] and list(tmp_path.iterdir()) == [record]


def test_a_campaign_above_the_cap_is_refused_before_anything_is_made(collector, record, tmp_path):
    told = refused(
        lopub("send", collector.url, record, "--yes", "--epsilon-cap", "1.5", HOME=tmp_path)
    )
    assert "epsilon 2.000000; this app allows 1.5" in told
    assert collector.reports == [] and list(tmp_path.iterdir()) == [record]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must be JSON in UTF-8"),
        (
            f'{{"city": "{SENTINEL}", "city": "Oslo"}}',
            "must be JSON in UTF-8, with an answer to every question once",
        ),
        (f'["{SENTINEL}"]', "must be one JSON object"),
        (f'{{"city": "{SENTINEL}"}}', "children"),
    ],
)
def test_a_record_that_does_not_fit_is_told_without_its_answers(
    collector, record, tmp_path, text, words
):
    record.write_text(text)
    result = lopub("send", collector.url, record, "--yes", "--json", HOME=tmp_path)
    assert words in refused(result)
    assert collector.reports == []


def test_an_answer_that_is_not_listed_is_told_without_being_repeated(collector, record, tmp_path):
    record.write_text('{"city": "Bielefeld", "children": 1}')
    result = lopub("send", collector.url, record, "--yes", "--json", HOME=tmp_path)
    assert result.returncode == 1 and "attribute 'city' does not list this value" in result.stderr
    assert "Bielefeld" not in result.stderr + result.stdout and collector.reports == []


def test_a_record_that_is_not_there_is_told(collector, tmp_path):
    assert "cannot read" in refused(
        lopub("send", collector.url, tmp_path / "none", "--yes", "--json", HOME=tmp_path)
    )
    assert "so RECORD is needed" in refused(
        lopub("send", collector.url, "--yes", "--json", HOME=tmp_path)
    )


def test_a_refused_report_exits_with_1(collector, record, tmp_path):
    collector.verdict = {
        "received": 1,
        "refused": [{"index": 0, "reason": "slot", "detail": "too late"}],
    }
    assert "refuses the report (slot)" in refused(
        lopub("send", collector.url, record, "--yes", "--json", HOME=tmp_path)
    )


def test_a_collector_that_is_away_is_told_and_the_report_stays_kept(collector, record, tmp_path):
    collector.verdict = {}
    lopub("send", collector.url, record, "--yes", "--patience", "0.3", HOME=tmp_path)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{nobody.getsockname()[1]}/campaigns/{CAMPAIGN.id}"
        result = lopub("send", away, "--patience", "0.3", HOME=tmp_path)
    assert "try again later" in refused(result)
    assert len(Client(CAMPAIGN, store=FileStore(tmp_path / ".lopub")).waiting()) == 1


def test_withdrawing_tells_the_id_of_the_kept_report(collector, record, tmp_path):
    lopub("send", collector.url, record, "--yes", HOME=tmp_path)
    result = lopub("withdraw", collector.url, HOME=tmp_path)
    assert result.returncode == 0 and result.stdout.startswith("Withdrawn")
    assert set(json.loads(collector.bodies["withdrawals"][0])) == {"id"}
    assert (
        json.loads(lopub("withdraw", collector.url, "--json", HOME=tmp_path).stdout)["n_attempts"]
        == 1
    )


def test_what_was_withdrawn_is_not_sent_again(collector, record, tmp_path):
    lopub("send", collector.url, record, "--yes", HOME=tmp_path)
    lopub("withdraw", collector.url, HOME=tmp_path)
    result = lopub("send", collector.url, record, "--yes", HOME=tmp_path)
    assert (result.returncode, len(collector.bodies["reports"])) == (0, 1)
    assert result.stdout == "Nothing is due: the report was withdrawn, and no second one is made.\n"


def test_withdrawing_what_was_never_made_is_refused(collector, tmp_path):
    assert "no report is kept" in refused(lopub("withdraw", collector.url, HOME=tmp_path))


def test_no_answer_is_in_what_is_printed(collector, record, tmp_path):
    """The candidates are; the answer that was chosen among them is not told apart."""
    record.write_text(json.dumps({"city": "Oslo", "children": 4}))
    one = lopub("send", collector.url, record, "--yes", "--store", tmp_path / "a", HOME=tmp_path)
    record.write_text(json.dumps({"city": "Rome", "children": 1}))
    other = lopub("send", collector.url, record, "--yes", "--store", tmp_path / "b", HOME=tmp_path)
    assert (one.stdout, one.stderr) == (other.stdout, other.stderr)


@pytest.mark.parametrize(("said", "code", "n_sent"), [("y", 0, 1), ("n", 1, 0), ("", 1, 0)])
def test_a_person_at_a_terminal_is_asked(collector, record, tmp_path, said, code, n_sent):
    ours, theirs = pty.openpty()
    os.write(ours, f"{said}\n".encode())
    command = [sys.executable, "-m", "lopub", "send", collector.url, str(record)]
    environment = os.environ | {"HOME": str(tmp_path)}
    result = subprocess.run(
        command,
        stdin=theirs,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=60,
    )
    os.close(ours)
    os.close(theirs)
    assert result.returncode == code, result.stderr
    assert (
        "Randomize these answers here, and send the report? It is not shown before" in result.stderr
    )
    assert ("nothing was made, nothing was sent" in result.stderr) == (n_sent == 0)
    assert len(collector.reports) == n_sent
    assert (tmp_path / ".lopub").exists() == bool(n_sent)


# ---- what a person sees

LABELS = {"1": "married", "2": "not married"}
WORDY = Domain(
    (
        Categorical(
            name="marital",
            values=("1", "2"),
            labels=LABELS,
            question="Are you married?",
            missing=True,
        ),
        Categorical(
            name="place",
            values=tuple(f"municipality-{i}" for i in range(120)),
            title="Where you live",
        ),
        Boolean(name="smoker"),
        Binned(name="income", edges=tuple(str(1000 * i) for i in range(9))),
        IntegerRange(name="age", minimum=0, maximum=120, missing=True),
    )
)
WORDY_RECORD = {
    "marital": "2",
    "place": "municipality-77",
    "smoker": True,
    "income": 4500,
    "age": None,
}


@contextmanager
def collecting(campaign: Campaign) -> Iterator[Collector]:
    served = Collector(campaign)
    try:
        yield served
    finally:
        served.close()


def wordy(epsilon: float = 2) -> Campaign:
    return make_campaign(WORDY, Terms(name="wordy"), CampaignRequest(epsilon=epsilon))


def test_no_list_of_answers_is_cut(capsys):
    print_questions(Wording.of(wordy()))
    shown = capsys.readouterr().out
    flat = "".join(shown.split())
    assert "…" not in shown.partition("attribute")[2]
    for answer in (
        *(f"municipality-{i}" for i in range(120)),
        "1=married",
        "2=notmarried",
        "false,true",
        "0to120",
        "7000",
    ):
        assert answer in flat, answer


def test_answers_are_shown_as_they_read_and_as_they_stand_in_a_record():
    shown = {
        attribute.name: all_answers(Wording.of(wordy()), attribute)
        for attribute in WORDY.attributes
    }
    assert shown["marital"] == "1 = married, 2 = not married, or none: null"
    assert shown["smoker"] == "false, true" and shown["age"] == "0 to 120, or none: null"


def test_a_persons_own_answers_are_shown_with_their_labels(capsys):
    print_answers(Wording.of(wordy()), WORDY.indices(WORDY_RECORD))
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[1:] == [
        ["Are", "you", "married?", "not", "married"],
        ["Where", "you", "live", "municipality-77"],
        ["smoker", "true"],
        ["income", *WORDY["income"].texts[4].split()],
        ["age", "(no", "answer)"],
    ]


def test_a_missing_answer_is_told_in_the_words_of_json():
    """A person writes null into a record; None is Python's word."""
    with pytest.raises(DomainError) as refusal:
        candidates_of(
            wordy(), {name: value for name, value in WORDY_RECORD.items() if name != "age"}
        )
    assert "age" in str(refusal.value) and "None" not in str(refusal.value)


@pytest.mark.parametrize(
    ("epsilon", "factor"),
    [
        ("1", "2.8"),
        ("0.04", "1.1"),
        ("2", "7.4"),
        ("0.0001", "1.1"),
        ("8", "2,981.0"),
        ("14", "1,202,604.3"),
        ("14.1", "10^7"),
    ],
)
def test_odds_are_rounded_up(epsilon, factor):
    told = odds(Decimal(epsilon))
    assert f"by a factor of {factor} at most" in told
    assert float(factor.replace(",", "").replace("10^", "1e")) >= math.exp(float(epsilon))


HOSTILE = "\x9b2J\u202eevil\u2066\u2028\x07\r[bold red]x[/] :warning:"


def test_nothing_of_a_campaign_can_move_the_cursor_or_turn_the_writing_around(capsys, monkeypatch):
    """What a campaign may say is decided elsewhere; a terminal must be safe whatever that is."""
    monkeypatch.setattr("lopub.campaign.attribute.check_text", lambda text, *arguments: text)
    monkeypatch.setattr(
        "lopub.campaign.attribute.check_texts", lambda texts, *arguments: tuple(texts)
    )
    attribute = Categorical(
        name="a\u202eb",
        values=("v" + HOSTILE, "w"),
        labels={"w": "label" + HOSTILE},
        question=HOSTILE,
    )
    terms = Terms(
        name="t",
        title=HOSTILE,
        description="one\nepsilon 0.001: harmless" + HOSTILE,
        consent=HOSTILE,
    )
    campaign = make_campaign(Domain((attribute,)), terms, CampaignRequest(epsilon=1))
    print_questions(Wording.of(campaign))
    print_answers(Wording.of(campaign), (1,))
    shown = capsys.readouterr().out
    assert all(sign.isprintable() or sign == "\n" for sign in shown)
    assert "[bold red]x[/] :warning:" in shown
    assert "\n| epsilon 0.001: harmless" in shown and "\nepsilon 0.001" not in shown


# ---- a weak epsilon


def test_yes_alone_does_not_agree_to_a_weak_epsilon(tmp_path, record):
    record.write_text(json.dumps(WORDY_RECORD))
    with collecting(wordy(20)) as served:
        with pytest.raises(
            EpsilonTooHigh,
            match=r"epsilon 20 is above 8: one report .* add an --epsilon-cap that allows it",
        ):
            send(served.url, record, store=tmp_path / "kept", agreed=True)
        assert served.reports == [] and not (tmp_path / "kept").exists()


def test_a_cap_that_was_chosen_agrees_to_a_weak_epsilon(tmp_path, record, capsys):
    record.write_text(json.dumps(WORDY_RECORD))
    with collecting(wordy(20)) as served:
        send(served.url, record, store=tmp_path / "kept", agreed=True, epsilon_cap="20")
        assert len(served.reports) == 1
        send(served.url, store=tmp_path / "kept", agreed=True)
        assert len(set(served.reports)) == 1
    assert "warning: epsilon 20 is above 8" in capsys.readouterr().err


def test_an_epsilon_of_8_needs_no_more_than_yes(tmp_path, record, capsys):
    record.write_text(json.dumps(WORDY_RECORD))
    with collecting(wordy(8)) as served:
        send(served.url, record, store=tmp_path / "kept", agreed=True)
        assert len(served.reports) == 1
    assert "warning" not in capsys.readouterr().err


@pytest.mark.parametrize("said", [True, False])
def test_a_person_is_asked_about_a_weak_epsilon_in_plain_words(monkeypatch, said):
    asked = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda text, **options: asked.append(text) or said)
    if said:
        agree(Wording.of(wordy(20)), WORDY_RECORD, agreed=False, capped=False)
    else:
        with pytest.raises(typer.Exit):
            agree(Wording.of(wordy(20)), WORDY_RECORD, agreed=False, capped=False)
    assert asked[0].startswith(
        "Beware: epsilon 20 is above 8: one report can make an observer nearly certain of the answers"
    )


def test_answers_are_not_printed_where_output_is_piped(monkeypatch, capsys):
    """What is piped may be kept: a log is no place for answers."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda text, **options: True)
    agree(Wording.of(wordy()), WORDY_RECORD, agreed=False, capped=False)
    assert "municipality" not in capsys.readouterr().out


def test_answers_are_shown_to_a_person_at_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda text, **options: True)
    monkeypatch.setattr("lopub.cli.send.out._force_terminal", True)
    agree(Wording.of(wordy()), WORDY_RECORD, agreed=False, capped=False)
    assert "municipality-77" in capsys.readouterr().out


# ---- all campaigns together


def test_what_a_store_has_spent_is_shown_and_capped(tmp_path, record, capsys):
    record.write_text(json.dumps(WORDY_RECORD))
    Client(CAMPAIGN, store=FileStore(tmp_path / "kept")).encode({"city": "Oslo", "children": 1})
    with collecting(wordy()) as served:
        with pytest.raises(
            EpsilonTooHigh, match=r"everything sent from this store to 4; the lifetime_cap is 3.9"
        ):
            send(served.url, record, store=tmp_path / "kept", agreed=True, lifetime_cap="3.9")
        assert served.reports == []
        send(served.url, record, store=tmp_path / "kept", agreed=True, lifetime_cap="4")
        assert len(served.reports) == 1
        assert (
            "This store has spent epsilon 2.000 of yours so far, 4.000 after this.\n"
            in capsys.readouterr().out
        )


# ---- everything that is kept


def test_everything_that_a_device_keeps_is_deleted_where_that_is_agreed_to(
    collector, record, tmp_path
):
    lopub("send", collector.url, record, "--yes", HOME=tmp_path)
    lopub("send", collector.url, record, "--yes", "--respondent", "ada", HOME=tmp_path)
    unasked = lopub("forget", HOME=tmp_path)
    assert unasked.returncode == 2 and "add --yes to delete everything" in unasked.stderr
    store = FileStore(tmp_path / ".lopub")
    assert Client(CAMPAIGN, store=store, respondent="ada").spent() == CAMPAIGN.loss
    done = lopub("forget", "--yes", HOME=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("Deleted: 2 reports, and all totals.")
    assert "sends a second, independent report" in done.stdout
    for name in ("self", "ada"):
        assert Client(CAMPAIGN, store=store, respondent=name).spent() == 0
    assert json.loads(lopub("forget", "--yes", "--json", HOME=tmp_path).stdout) == {"deleted": 0}
