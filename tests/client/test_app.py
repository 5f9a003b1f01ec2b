"""The documented start of an app, as it stands on the page, on bad days: it says what is wrong, and never ends in a traceback."""

import re
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from lopub import (
    Boolean,
    Campaign,
    CampaignRequest,
    Categorical,
    Domain,
    Repeat,
    Schedule,
    Terms,
    TryLater,
    make_campaign,
)
from lopub.campaign.schedule import EPOCH

PAGE = Path(__file__).parents[2] / "docs" / "start" / "developer.md"
OPENS, CLOSES = date(2026, 5, 1), date(2026, 5, 31)
DOMAIN = Domain(
    (Categorical(name="theme", values=("light", "dark", "system")), Boolean(name="crashed"))
)
ANSWERS = {"theme": "dark", "crashed": False}
AtStart = Callable[[str, dict[str, object]], str]


def campaign_of(schedule: Schedule | None) -> Campaign:
    return make_campaign(
        DOMAIN, Terms(name="editor", schedule=schedule), CampaignRequest(epsilon="1")
    )


@pytest.fixture
def at_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AtStart:
    """The function of the page, in a directory of its own, for somebody who takes part; no collector ever answers."""
    monkeypatch.chdir(tmp_path)
    Path("taking-part").write_text("yes")
    campaign_of(Schedule(opens=OPENS, closes=CLOSES)).save("campaign.json")
    (code,) = re.findall(r"```python file=app\.py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, object] = {"__name__": "app"}
    exec(compile(code, "app.py", "exec"), names)

    def away(*_: object) -> int:
        raise TryLater("no answer")

    monkeypatch.setattr("lopub.client.client.send_report", away)
    on(monkeypatch, OPENS)
    return names["at_start"]  # type: ignore[return-value]


def on(monkeypatch: pytest.MonkeyPatch, day: date) -> None:
    monkeypatch.setattr(time, "time", lambda: (day - EPOCH).days * 86_400.0)


def url(name: str = "campaign.json") -> str:
    return f"https://collector.example/campaigns/{Campaign.load(name).id}"


def test_a_report_that_cannot_be_sent_waits(at_start):
    assert at_start(url(), ANSWERS) == "waiting no answer"
    assert at_start(url(), ANSWERS) == "no answer: the next start tries again"


@pytest.mark.parametrize("day", [OPENS - timedelta(days=1), CLOSES + timedelta(days=1)])
def test_before_and_after_the_schedule_nothing_is_due(at_start, day, monkeypatch):
    on(monkeypatch, day)
    assert at_start(url(), ANSWERS) == "nothing is due; the latest report: none"


def test_a_round_in_which_this_device_takes_no_part_is_nothing_to_do(at_start, monkeypatch):
    repeat = Repeat(every_days=7, rounds=10, take_part=1)
    campaign_of(Schedule.in_rounds(OPENS, repeat)).save("campaign.json", force=True)
    found = []
    for number in range(10):
        on(monkeypatch, OPENS + timedelta(days=7 * number))
        found.append(at_start(url(), ANSWERS))
    assert found.count("waiting no answer") == 1
    assert {one.partition(";")[0] for one in found} - {
        "waiting no answer",
        "no answer: the next start tries again",
    } == {"nothing is due"}


@pytest.mark.parametrize("address", ["", "collector.example", "http://collector.example/x", "é"])
def test_a_malformed_address_is_told(at_start, address):
    told = at_start(address, ANSWERS)
    assert told.startswith("this campaign cannot be answered: a campaign's address must ")


def test_the_address_of_another_campaign_is_told(at_start):
    told = at_start(f"https://collector.example/campaigns/{'0' * 64}", ANSWERS)
    assert told.startswith("this campaign cannot be answered: the address is that of another")


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff\xfe", b"[" * 100_000, b"null"])
def test_a_damaged_campaign_is_told(at_start, data):
    address = url()
    Path("campaign.json").write_bytes(data)
    assert at_start(address, ANSWERS).startswith("this campaign cannot be answered: ")


def test_a_campaign_that_is_not_there_is_told(at_start):
    address = url()
    Path("campaign.json").unlink()
    assert re.match(
        "(nothing could be kept|this campaign cannot be answered): ", at_start(address, ANSWERS)
    )


def test_a_choice_that_is_damaged_or_unreadable_is_no_consent(at_start):
    Path("taking-part").write_bytes(b"\xff\x00")
    assert at_start(url(), ANSWERS) == "not taking part"
    Path("taking-part").unlink()
    Path("taking-part").mkdir()
    assert at_start(url(), ANSWERS) == "the choice cannot be read or written"


@pytest.mark.parametrize("data", [b"", b"damaged", bytes(8192)])
def test_a_damaged_store_is_told_and_left_as_it_is(at_start, data):
    at_start(url(), ANSWERS)
    Path("reports/store.db").write_bytes(data)
    for choice in ("yes", "withdraw"):
        Path("taking-part").write_text(choice)
        told = at_start(url(), ANSWERS)
        assert told.startswith("nothing could be kept: ") and "restore it from a backup" in told
    assert Path("reports/store.db").read_bytes() == data
    assert Path("taking-part").read_text() == "withdraw"


def test_answers_that_do_not_fit_are_told_without_what_they_are(at_start):
    told = at_start(url(), {"theme": "mauve", "crashed": False})
    assert told == "the answers do not fit the questions"


def test_a_clock_that_is_far_off_is_told(at_start, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: -1.0)
    assert "the clock" in at_start(url(), ANSWERS) or "nothing is due" in at_start(url(), ANSWERS)
