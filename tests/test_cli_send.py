"""`lopub send` and `lopub withdraw` as a person meets them: real processes, a real server on the loopback interface."""

import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lopub import Categorical, Domain, IntegerRange, Report, Terms, Wish, make_campaign
from lopub.report import unframed

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
CAMPAIGN = make_campaign(DOMAIN, TERMS, Wish(epsilon=2))


class Collector:
    """Just enough of one: the campaign, a first answer, and what came in."""

    def __init__(self) -> None:
        self.bodies: dict[str, list[bytes]] = {"reports": [], "withdrawals": []}
        self.verdict = {"received": 1, "refused": []}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/campaigns/{CAMPAIGN.id}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._say(200, CAMPAIGN.canonical_bytes)

            def do_POST(self) -> None:
                what = self.path.rpartition("/")[2]
                collector.bodies[what].append(self.rfile.read(int(self.headers["Content-Length"])))
                self._say(204) if what == "withdrawals" else self._say(200, json.dumps(collector.verdict).encode())

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


def lopub(*arguments: object, home: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lopub", *map(str, arguments)]
    environment = os.environ | {"HOME": str(home)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, input=given)


def refused(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 1 and "Traceback" not in result.stderr
    assert result.stderr.startswith("lopub: ") and result.stderr.count("\n") == 1
    assert SENTINEL not in result.stderr
    return result.stderr


def files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def test_a_record_is_shown_what_it_is_for_and_its_noisy_report_sent(collector, record, tmp_path):
    result = lopub("send", collector.url, record, "--yes", home=tmp_path)
    assert result.returncode == 0, result.stderr
    for words in ("Where do you live?", "You agree to this: that the crowd is described", "epsilon 2.000", "factor of 7.4"):
        assert words in result.stdout
    assert "deleted 30 days after the close; nothing is shown of fewer than 50" in result.stdout
    assert "counts it once" in result.stdout and "does not tell" in result.stdout
    (data,) = collector.reports
    assert Report.from_bytes(data, CAMPAIGN).to_bytes() == files(tmp_path / ".lopub")[0].read_bytes()


def test_a_campaigns_words_reach_the_terminal_without_control_characters(collector, record, tmp_path):
    shown = lopub("send", collector.url, record, "--yes", home=tmp_path).stdout
    assert "\x1b" not in shown and "Cities [bold]and [2J[/bold] children" in shown


def test_sending_again_sends_the_same_bytes_without_a_record(collector, record, tmp_path):
    lopub("send", collector.url, record, "--yes", home=tmp_path)
    again = lopub("send", collector.url, home=tmp_path)
    assert again.returncode == 0 and "made here before" in again.stdout
    assert len(collector.reports) == 2 and len(set(collector.reports)) == 1


def test_json_is_all_that_is_printed_where_it_is_asked_for(collector, record, tmp_path):
    result = lopub("send", collector.url, record, "--yes", "--json", "--store", tmp_path / "kept", home=tmp_path)
    assert json.loads(result.stdout) == {
        "campaign": CAMPAIGN.id,
        "epsilon": CAMPAIGN.epsilon,
        "made_before": False,
        "attempts": 1,
    }
    assert len(files(tmp_path / "kept")) == 1


def test_answers_can_come_from_standard_input(collector, tmp_path):
    given = json.dumps({"city": "Rome", "children": 0})
    assert lopub("send", collector.url, "-", "--yes", home=tmp_path, given=given).returncode == 0
    assert len(collector.reports) == 1


@pytest.mark.parametrize("options", [["--json"], []], ids=["json", "no terminal"])
def test_nothing_is_made_where_nobody_agreed(collector, record, tmp_path, options):
    result = lopub("send", collector.url, record, *options, home=tmp_path)
    assert result.returncode == 2 and "add --yes" in result.stderr
    assert collector.reports == [] and files(tmp_path) == [record]


def test_a_campaign_above_the_cap_is_refused_before_anything_is_made(collector, record, tmp_path):
    told = refused(lopub("send", collector.url, record, "--yes", "--epsilon-cap", "1.5", home=tmp_path))
    assert "epsilon 2.000000; this app allows 1.5" in told
    assert collector.reports == [] and files(tmp_path) == [record]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must be JSON in UTF-8"),
        (f'{{"city": "{SENTINEL}", "city": "Oslo"}}', "must be JSON in UTF-8, with an answer to every question once"),
        (f'["{SENTINEL}"]', "must be one JSON object"),
        (f'{{"city": "{SENTINEL}"}}', "children"),
    ],
)
def test_a_record_that_does_not_fit_is_told_without_its_answers(collector, record, tmp_path, text, words):
    record.write_text(text)
    result = lopub("send", collector.url, record, "--yes", "--json", home=tmp_path)
    assert words in refused(result)
    assert collector.reports == []


def test_an_answer_that_is_not_listed_is_told_without_being_repeated(collector, record, tmp_path):
    record.write_text('{"city": "Bielefeld", "children": 1}')
    result = lopub("send", collector.url, record, "--yes", "--json", home=tmp_path)
    assert result.returncode == 1 and "attribute 'city' does not list this value" in result.stderr
    assert "Bielefeld" not in result.stderr + result.stdout and collector.reports == []


def test_a_record_that_is_not_there_is_told(collector, tmp_path):
    assert "cannot read" in refused(lopub("send", collector.url, tmp_path / "none", "--yes", "--json", home=tmp_path))
    assert "so RECORD is needed" in refused(lopub("send", collector.url, "--yes", "--json", home=tmp_path))


def test_a_refused_report_exits_with_1(collector, record, tmp_path):
    collector.verdict = {"received": 1, "refused": [{"index": 0, "reason": "slot", "detail": "too late"}]}
    assert "refuses the report (slot)" in refused(lopub("send", collector.url, record, "--yes", "--json", home=tmp_path))


def test_a_collector_that_is_away_is_told_and_the_report_stays_kept(collector, record, tmp_path):
    lopub("send", collector.url, record, "--yes", home=tmp_path)
    collector.close()
    result = lopub("send", collector.url, "--patience", "0.3", home=tmp_path)
    assert "try again later" in refused(result)
    assert len(files(tmp_path / ".lopub")) == 1


def test_withdrawing_tells_the_id_of_the_kept_report(collector, record, tmp_path):
    lopub("send", collector.url, record, "--yes", home=tmp_path)
    result = lopub("withdraw", collector.url, home=tmp_path)
    assert result.returncode == 0 and result.stdout.startswith("Withdrawn")
    assert set(json.loads(collector.bodies["withdrawals"][0])) == {"id"}
    assert json.loads(lopub("withdraw", collector.url, "--json", home=tmp_path).stdout)["attempts"] == 1


def test_withdrawing_what_was_never_made_is_refused(collector, tmp_path):
    assert "no report is kept" in refused(lopub("withdraw", collector.url, home=tmp_path))


def test_no_answer_is_in_what_is_printed(collector, record, tmp_path):
    """The candidates are; the answer that was chosen among them is not told apart."""
    record.write_text(json.dumps({"city": "Oslo", "children": 4}))
    one = lopub("send", collector.url, record, "--yes", "--store", tmp_path / "a", home=tmp_path)
    record.write_text(json.dumps({"city": "Rome", "children": 1}))
    other = lopub("send", collector.url, record, "--yes", "--store", tmp_path / "b", home=tmp_path)
    assert (one.stdout, one.stderr) == (other.stdout, other.stderr)


@pytest.mark.parametrize(("said", "code", "n_sent"), [("y", 0, 1), ("n", 1, 0), ("", 1, 0)])
def test_a_person_at_a_terminal_is_asked(collector, record, tmp_path, said, code, n_sent):
    ours, theirs = pty.openpty()
    os.write(ours, f"{said}\n".encode())
    command = [sys.executable, "-m", "lopub", "send", collector.url, str(record)]
    environment = os.environ | {"HOME": str(tmp_path)}
    result = subprocess.run(command, stdin=theirs, capture_output=True, text=True, check=False, env=environment, timeout=60)
    os.close(ours)
    os.close(theirs)
    assert result.returncode == code, result.stderr
    assert "Randomize these answers here, and send the noisy report?" in result.stderr
    assert ("nothing was made, nothing was sent" in result.stderr) == (n_sent == 0)
    assert len(collector.reports) == n_sent
    assert len(files(tmp_path)) == 1 + n_sent
