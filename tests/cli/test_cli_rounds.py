"""A campaign that repeats, as a person and a steward meet it on the command line."""

import json
import re
import time
from datetime import date, timedelta

import pytest
from commands import done, lopub
from test_cli_send import Collector

from lopub import Boolean, Campaign, CampaignRequest, Domain, Repeat, Report, Schedule, Terms, make_campaign
from lopub.contract.report import unframed
from lopub.contract.schedule import EPOCH

OPENS = date(2026, 11, 2)
RECORD = '{"smokes": true}'


def campaign_of(mode: str, take_part: int = 2) -> Campaign:
    repeat = Repeat(every_days=7, rounds=3, take_part=take_part, mode=mode)
    terms = Terms(name="weekly", min_reports=100, schedule=Schedule.in_rounds(OPENS, repeat))
    lifetime = {"lifetime_epsilon": 2} if mode == "permanent" else {}
    return make_campaign(Domain((Boolean(name="smokes"),)), terms, CampaignRequest(epsilon=1, mechanism="direct", **lifetime))


@pytest.fixture
def clock(monkeypatch):
    def set_to(number: int) -> None:
        day = OPENS + timedelta(days=7 * number + 2)
        monkeypatch.setattr(time, "time", lambda: (day - EPOCH).days * 86_400.0)

    set_to(0)
    return set_to


def sent(collector: Collector) -> list[Report]:
    bodies = collector.bodies["reports"]
    return [Report.from_bytes(data, collector.campaign) for body in bodies for data in unframed(body)]


@pytest.mark.parametrize("mode", ["sampled", "permanent"])
def test_send_makes_a_report_wherever_one_is_due_and_says_so_where_none_is(mode, clock, tmp_path):
    collector = Collector(campaign_of(mode))
    told = []
    for number in range(3):
        clock(number)
        given = RECORD if mode == "sampled" or not any(told) else ""
        words = ["send", collector.url, *(["-"] if given else []), "--yes", "--allow-plain-http", "--store", tmp_path]
        result = lopub(*words, given=given)
        assert (result.returncode, result.stderr) == (0, "")
        told.append("have epsilon 2.000" in result.stdout)
        assert told[-1] or re.fullmatch(r"Nothing is due (today|any more): .*\.\n", result.stdout)
        if told[-1]:
            day = OPENS + timedelta(days=7 * number)
            assert f"Sent: the collector has the noisy report of the round from {day}, and counts it once" in result.stdout
    assert sum(told) == 2
    made = {report.slot: report for report in sent(collector)}
    assert len(made) == len(sent(collector)) == 2 and len({report.id for report in made.values()}) == 2


def test_a_day_on_which_nothing_is_due_is_a_good_day_for_programs_too(clock, tmp_path):
    collector = Collector(campaign_of("sampled", take_part=3))
    words = ("send", collector.url, "-", "--yes", "--allow-plain-http", "--store", tmp_path, "--json")
    first = json.loads(done(lopub(*words, given=RECORD)).stdout)
    again = json.loads(done(lopub(*words, given=RECORD)).stdout)
    assert (first["sent"], first["n_attempts"], first["nothing_due"]) == (["2026-11-02"], 1, None)
    nothing = "Nothing is due today: the next round of this device begins on 2026-11-09."
    assert (again["sent"], again["n_attempts"], again["nothing_due"]) == ([], 0, nothing)
    assert first.keys() == again.keys() and len(sent(collector)) == 1


def test_before_the_first_round_and_after_the_last_one_nothing_is_due(clock, tmp_path):
    collector = Collector(campaign_of("sampled", take_part=3))
    words = ("send", collector.url, "--yes", "--allow-plain-http", "--store", tmp_path)
    clock(-1)
    assert done(lopub(*words)).stdout == "Nothing is due today: the next round of this device begins on 2026-11-02.\n"
    clock(20)
    assert (
        done(lopub(*words)).stdout
        == "Nothing is due any more: this device takes part in no round after the one from 2026-11-16.\n"
    )


def test_a_report_that_could_not_be_sent_goes_out_with_that_of_the_next_round(clock, tmp_path):
    collector = Collector(campaign_of("sampled", take_part=3))
    words = ("send", collector.url, "-", "--yes", "--allow-plain-http", "--store", tmp_path, "--patience", "0.2")
    collector.verdict = {}  # which says nothing
    assert lopub(*words, given=RECORD).returncode == 1
    collector.verdict = {"received": 1, "refused": []}
    clock(1)
    collector.bodies["reports"].clear()
    told = done(lopub(*words, given=RECORD)).stdout
    assert "the noisy report of the rounds from 2026-11-02, 2026-11-09" in told
    assert [report.slot for report in sent(collector)] == [(OPENS - EPOCH).days, (OPENS - EPOCH).days + 7]


def test_a_report_whose_grace_is_over_is_told_in_plain_words(clock, tmp_path):
    collector = Collector(campaign_of("sampled", take_part=3))
    words = ("send", collector.url, "-", "--yes", "--allow-plain-http", "--store", tmp_path, "--patience", "0.2")
    collector.verdict = {}  # which says nothing
    assert lopub(*words, given=RECORD).returncode == 1
    clock(20)
    told = done(lopub(*words, given=RECORD))
    assert "Too late to send what was made in the round from 2026-11-02: no collector had it in time." in told.stdout
    assert "slot" not in told.stdout + told.stderr


def test_send_tells_programs_both_epsilons_and_the_rounds(clock, tmp_path):
    collector = Collector(campaign_of("sampled", take_part=3))
    words = ("send", collector.url, "-", "--yes", "--allow-plain-http", "--store", tmp_path, "--json")
    told = json.loads(done(lopub(*words, given=RECORD)).stdout)
    assert (round(told["epsilon"], 6), round(told["lifetime_epsilon"], 6), round(told["spent"], 6)) == (1, 3, 3)
    assert told["rounds"] == ["2026-11-02", "2026-11-09", "2026-11-16"]


def test_a_cap_is_compared_with_everything_that_is_ever_sent(clock, tmp_path):
    collector = Collector(campaign_of("sampled"))
    words = ("send", collector.url, "-", "--yes", "--allow-plain-http", "--store", tmp_path)
    refused = lopub(*words, "--epsilon-cap", "1.5", given=RECORD)
    assert refused.returncode and "has epsilon 2.000000 in all its rounds together; this app allows 1.5" in refused.stderr


def test_all_reports_of_a_series_are_withdrawn(clock, tmp_path):
    collector = Collector(campaign_of("permanent", take_part=3))
    for number in range(3):
        clock(number)
        done(lopub("send", collector.url, "-", "--yes", "--allow-plain-http", "--store", tmp_path, given=RECORD))
    told = done(lopub("withdraw", collector.url, "--allow-plain-http", "--store", tmp_path)).stdout
    assert len(collector.bodies["withdrawals"]) == 3
    assert "what was sent in the rounds from 2026-11-02, 2026-11-09, 2026-11-16" in told
    assert "the epsilon of the whole series stays in what this store has spent" in told
    assert "still makes a report in a later round of this device" in told


def test_a_campaign_shows_both_epsilons_and_its_rounds(tmp_path):
    path = tmp_path / "campaign.json"
    campaign_of("permanent").save(path)
    shown = " ".join(done(lopub("campaign", "show", path)).stdout.split())
    assert "in however many rounds, have epsilon 2.000" in shown
    assert "every 7 days in 3 rounds; a device takes part in 2 (permanent)" in shown
    assert round(json.loads(done(lopub("campaign", "show", path, "--json")).stdout)["lifetime_epsilon"], 6) == 2


def test_a_round_of_a_campaign_that_has_none_is_refused(tmp_path):
    once = make_campaign(Domain((Boolean(name="smokes"),)), Terms(name="once"), CampaignRequest(epsilon=1))
    once.save(tmp_path / "campaign.json")
    (tmp_path / "people.csv").write_text("smokes\n" + "true\n" * 50)
    done(lopub("encode", "campaign.json", "people.csv", "-o", "reports.parquet", cwd=tmp_path))
    for option in (("--round", "2026-11"), ("--all-rounds",)):
        refused = lopub("publish", "campaign.json", "reports.parquet", "-o", "out", *option, cwd=tmp_path)
        assert refused.returncode and "campaign 'once' has no rounds" in refused.stderr
