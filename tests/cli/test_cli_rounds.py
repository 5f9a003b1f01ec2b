"""A campaign that repeats, as a person and a steward meet it on the command line."""

import json
import math
import re
import time
from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest
from commands import done, lopub, refused
from test_cli_send import Collector
from typer.main import get_command

from lopub import (
    Boolean,
    Campaign,
    CampaignRequest,
    Categorical,
    Client,
    Dataset,
    Domain,
    FileStore,
    Repeat,
    Report,
    ReportBatch,
    Schedule,
    Terms,
    make_campaign,
    simulate_rounds,
)
from lopub.campaign.budget import decimal_up, exact_decimal
from lopub.campaign.report import unframed
from lopub.campaign.schedule import EPOCH
from lopub.cli import app, send
from lopub.cli.publish import WITH_ALL_ROUNDS
from lopub.planning.outlook import outlook_of
from lopub.queries.queries import MOST_TABLE_CELLS
from lopub.reports.origin import PLAIN

OPENS = date(2026, 11, 2)
RECORD = '{"smokes": true}'


def campaign_of(mode: str, take_part: int = 2) -> Campaign:
    repeat = Repeat(every_days=7, rounds=3, take_part=take_part, mode=mode)
    terms = Terms(name="weekly", min_reports=100, schedule=Schedule.in_rounds(OPENS, repeat))
    lifetime = {"lifetime_epsilon": 2} if mode == "permanent" else {}
    return make_campaign(
        Domain((Boolean(name="smokes"),)),
        terms,
        CampaignRequest(epsilon=1, mechanism="direct", **lifetime),
    )


@pytest.fixture
def clock(monkeypatch):
    def set_to(number: int) -> None:
        day = OPENS + timedelta(days=7 * number + 2)
        monkeypatch.setattr(time, "time", lambda: (day - EPOCH).days * 86_400.0)

    set_to(0)
    return set_to


def sent(collector: Collector) -> list[Report]:
    bodies = collector.bodies["reports"]
    return [
        Report.from_bytes(data, collector.campaign) for body in bodies for data in unframed(body)
    ]


def sent_at_least_once(collector: Collector) -> list[Report]:
    """Each report once, in the order in which they first came: somebody of little patience may send the same bytes twice."""
    return list({report.to_bytes(): report for report in sent(collector)}.values())


@pytest.mark.parametrize("mode", ["sampled", "permanent"])
def test_send_makes_a_report_wherever_one_is_due_and_says_so_where_none_is(mode, clock, tmp_path):
    collector = Collector(campaign_of(mode))
    told = []
    for number in range(3):
        clock(number)
        given = RECORD if mode == "sampled" or not any(told) else ""
        words = [
            "send",
            collector.url,
            *(["-"] if given else []),
            "--yes",
            "--allow-plain-http",
            "--store",
            tmp_path,
        ]
        result = lopub(*words, given=given)
        assert (result.returncode, result.stderr) == (0, "")
        told.append("have epsilon 2.000" in result.stdout)
        assert told[-1] or re.fullmatch(r"Nothing is due (today|any more): .*\.\n", result.stdout)
        if told[-1]:
            day = OPENS + timedelta(days=7 * number)
            assert (
                f"Sent: the collector has the randomized report of the round from {day}, and counts it once"
                in result.stdout
            )
    assert sum(told) == 2
    made = {report.slot: report for report in sent(collector)}
    assert (
        len(made) == len(sent(collector)) == 2 and len({report.id for report in made.values()}) == 2
    )


def test_a_day_on_which_nothing_is_due_is_a_good_day_for_programs_too(clock, tmp_path):
    collector = Collector(campaign_of("sampled", take_part=3))
    words = (
        "send",
        collector.url,
        "-",
        "--yes",
        "--allow-plain-http",
        "--store",
        tmp_path,
        "--json",
    )
    first = json.loads(done(lopub(*words, given=RECORD)).stdout)
    again = json.loads(done(lopub(*words, given=RECORD)).stdout)
    assert (first["sent"], first["outcome"], first["nothing_due"]) == (["2026-11-02"], "sent", None)
    nothing = "Nothing is due today: the next round of this device begins on 2026-11-09."
    assert (again["sent"], again["outcome"], again["nothing_due"]) == ([], None, nothing)
    assert first.keys() == again.keys() and len(sent(collector)) == 1


def test_a_report_that_another_program_sent_meanwhile_is_not_sent_again(
    clock, tmp_path, monkeypatch
):
    """It was due when this run began; the other one has made and sent it while this one read its record."""
    collector = Collector(campaign_of("sampled", take_part=3))
    words = ("send", collector.url, "-", "--yes", "--allow-plain-http", "--store", tmp_path)
    real = send.read_record

    def overtaken(*arguments: object, **options: object) -> dict[str, object]:
        monkeypatch.setattr(send, "read_record", real)
        Client(collector.campaign, store=FileStore(tmp_path)).encode({"smokes": False})
        Client(collector.campaign, store=FileStore(tmp_path)).send(
            collector.url, allow_plain_http=True
        )
        return real(*arguments, **options)

    monkeypatch.setattr(send, "read_record", overtaken)
    assert "Sent: the collector has the randomized" in done(lopub(*words, given=RECORD)).stdout
    assert len(sent(collector)) == 1


def test_before_the_first_round_and_after_the_last_one_nothing_is_due(clock, tmp_path):
    collector = Collector(campaign_of("sampled", take_part=3))
    words = ("send", collector.url, "--yes", "--allow-plain-http", "--store", tmp_path)
    clock(-1)
    assert (
        done(lopub(*words)).stdout
        == "Nothing is due today: the next round of this device begins on 2026-11-02.\n"
    )
    clock(20)
    assert (
        done(lopub(*words)).stdout
        == "Nothing is due any more: this device takes part in no round after the one from 2026-11-16.\n"
    )


def test_a_report_that_could_not_be_sent_goes_out_with_that_of_the_next_round(clock, tmp_path):
    collector = Collector(campaign_of("sampled", take_part=3))
    words = (
        "send",
        collector.url,
        "-",
        "--yes",
        "--allow-plain-http",
        "--store",
        tmp_path,
        "--patience",
        "0.2",
    )
    collector.verdict = {}  # which says nothing
    assert lopub(*words, given=RECORD).returncode == 1
    collector.verdict = {"received": 1, "refused": []}
    clock(1)
    collector.bodies["reports"].clear()
    told = done(lopub(*words, given=RECORD)).stdout
    assert "Sent, because it was waiting: what was made in the round from 2026-11-02." in told
    assert (
        "Sent: the collector has the randomized report of the round from 2026-11-09, and counts it once"
        in told
    )
    assert [report.slot for report in sent_at_least_once(collector)] == [
        (OPENS - EPOCH).days,
        (OPENS - EPOCH).days + 7,
    ]


@pytest.mark.parametrize("given", [None, "{}", "no JSON"])
def test_a_report_that_waits_is_not_held_back_by_the_record_of_the_next_round(
    given, clock, tmp_path
):
    collector = Collector(campaign_of("sampled", take_part=3))
    words = (
        "send",
        collector.url,
        "--yes",
        "--allow-plain-http",
        "--store",
        tmp_path,
        "--patience",
        "0.2",
    )
    collector.verdict = {}  # which says nothing
    assert lopub(*words, "-", given=RECORD).returncode == 1
    collector.verdict = {"received": 1, "refused": []}
    clock(1)
    collector.bodies["reports"].clear()
    result = lopub(*words, *([] if given is None else ["-"]), given=given or "")
    assert result.returncode == 1 and "what was made in the round from 2026-11-02" in result.stdout
    assert (
        given is not None
        or "lopub: a report of a new round is due, so RECORD is needed" in result.stderr
    )
    assert [report.slot for report in sent_at_least_once(collector)] == [(OPENS - EPOCH).days]


@pytest.mark.parametrize("when", ["early", "late"])
def test_an_earlier_report_that_is_refused_does_not_keep_back_that_of_the_present_round(
    when, clock, tmp_path
):
    """What a collector says of the first one decides whether it is tried again."""
    collector = Collector(campaign_of("sampled", take_part=3))
    words = (
        "send",
        collector.url,
        "-",
        "--yes",
        "--allow-plain-http",
        "--store",
        tmp_path,
        "--patience",
        "0.2",
    )
    collector.verdict = {}
    assert lopub(*words, given=RECORD).returncode == 1
    collector.verdict = {
        "received": 1,
        "refused": [{"index": 0, "reason": "slot", "detail": "no", "when": when}],
    }
    clock(1)
    result = lopub(*words, given=RECORD)
    assert result.returncode == 1 and "not take" in result.stderr
    collector.verdict = {"received": 1, "refused": []}
    collector.bodies["reports"].clear()
    done(lopub(*words, given=RECORD))
    expected = [0, 7] if when == "early" else [7]
    assert [
        report.slot - (OPENS - EPOCH).days for report in sent_at_least_once(collector)
    ] == expected


def test_a_report_whose_grace_is_over_is_told_in_plain_words(clock, tmp_path):
    collector = Collector(campaign_of("sampled", take_part=3))
    words = (
        "send",
        collector.url,
        "-",
        "--yes",
        "--allow-plain-http",
        "--store",
        tmp_path,
        "--patience",
        "0.2",
    )
    collector.verdict = {}  # which says nothing
    assert lopub(*words, given=RECORD).returncode == 1
    clock(20)
    told = done(lopub(*words, given=RECORD))
    assert (
        "Too late to send what was made in the round from 2026-11-02: no collector had it in time."
        in told.stdout
    )
    assert "slot" not in told.stdout + told.stderr


def test_send_tells_programs_both_epsilons_and_the_rounds(clock, tmp_path):
    collector = Collector(campaign_of("sampled", take_part=3))
    words = (
        "send",
        collector.url,
        "-",
        "--yes",
        "--allow-plain-http",
        "--store",
        tmp_path,
        "--json",
    )
    told = json.loads(done(lopub(*words, given=RECORD)).stdout)
    assert (
        round(told["epsilon"], 6),
        round(told["lifetime_epsilon"], 6),
        round(told["spent"], 6),
    ) == (1, 3, 3)
    assert told["rounds"] == ["2026-11-02", "2026-11-09", "2026-11-16"]


def test_a_cap_is_compared_with_everything_that_is_ever_sent(clock, tmp_path):
    collector = Collector(campaign_of("sampled"))
    words = ("send", collector.url, "-", "--yes", "--allow-plain-http", "--store", tmp_path)
    said = refused(lopub(*words, "--epsilon-cap", "1.5", given=RECORD))
    assert "has epsilon 2.000000 in all its rounds together; this app allows 1.5" in said


def test_all_reports_of_a_series_are_withdrawn(clock, tmp_path):
    collector = Collector(campaign_of("permanent", take_part=3))
    for number in range(3):
        clock(number)
        done(
            lopub(
                "send",
                collector.url,
                "-",
                "--yes",
                "--allow-plain-http",
                "--store",
                tmp_path,
                given=RECORD,
            )
        )
    told = done(lopub("withdraw", collector.url, "--allow-plain-http", "--store", tmp_path)).stdout
    assert len(collector.bodies["withdrawals"]) == 3
    assert "what was sent in the rounds from 2026-11-02, 2026-11-09, 2026-11-16" in told
    assert "the epsilon of the whole series stays in what this store has spent" in told
    assert "still makes a report in a later round of this device" in told


def draft(tmp_path, mode: str, take_part: int = 2, more: dict[str, object] | None = None):
    repeat = {"every_days": 7, "rounds": 6, "take_part": take_part, "mode": mode}
    fields = [
        {"name": "smokes", "type": "boolean"},
        {"name": "mood", "type": "string", "categories": ["good", "fair", "bad"]},
    ]
    terms = {
        "name": "weekly",
        "min_reports": 100,
        "schedule": {"opens": str(OPENS), "repeat": repeat | (more or {})},
    }
    (tmp_path / "draft.json").write_text(json.dumps(terms | {"schema": {"fields": fields}}))
    return "draft.json"


@pytest.mark.parametrize(
    ("mode", "wish"),
    [
        ("sampled", ["--epsilon", "2"]),
        ("permanent", ["--epsilon", "1", "--lifetime-epsilon", "12"]),
    ],
)
def test_a_secret_sample_is_of_people_in_all_their_rounds(tmp_path, mode: str, wish: list[str]):
    """What it leaves to readers is reckoned from everything that a device ever sends, here epsilon 12."""
    done(
        lopub(
            "campaign",
            "make",
            draft(tmp_path, mode, take_part=6),
            "-o",
            "campaign.json",
            *wish,
            cwd=tmp_path,
        )
    )
    command = ("campaign", "show", "campaign.json", "--sample-rate", "0.1")
    told = json.loads(done(lopub(*command, "--json", cwd=tmp_path)).stdout)
    left = math.log(1 + 0.1 * (math.exp(12) - 1))
    assert told["lifetime_epsilon"] == pytest.approx(12) and told[
        "sampled_epsilon"
    ] == pytest.approx(left)
    shown = done(lopub(*command, cwd=tmp_path)).stdout
    assert f"epsilon {left:.3f}" in shown and "of all reports of one device for readers" in shown
    assert (
        "drawn at random and in secret, once for all rounds" in shown
        and "12.000000 for the collector" in shown
    )


def test_a_plan_in_rounds_is_for_the_people_of_a_round(tmp_path):
    draft(tmp_path, "sampled")
    words = ("plan", "draft.json", "--epsilon", "2", "--try", "0", "--json")
    told = json.loads(done(lopub(*words, "--people", "6000", cwd=tmp_path)).stdout)
    assert (told["people"], told["reports_a_round"]) == (6000, 2000)
    assert [(one["mode"], one["take_part"]) for one in told["rounds"] if one["is_own"]] == [
        ("sampled", 2)
    ]
    repeat = '"repeat": "once", "closes": "2027-01-01"'
    text = re.sub(r'"repeat": \{.*?\}', repeat, (tmp_path / "draft.json").read_text())
    (tmp_path / "once.json").write_text(text)
    once = json.loads(
        done(lopub("plan", "once.json", *words[2:], "--people", "2000", cwd=tmp_path)).stdout
    )
    assert once["expected"] == told["expected"] and "reports_a_round" not in once
    other_way = json.loads(done(lopub(*words, "--error", str(told["error"]), cwd=tmp_path)).stdout)
    assert other_way["people"] == pytest.approx(6000, rel=0.05)
    shown = done(lopub(*words[:-1], "--people", "6000", cwd=tmp_path)).stdout
    assert "6,000 people take part in 2 of 6 rounds: 2,000 reports a round." in shown
    assert "sampled 2 (yours)" in " ".join(shown.split())
    assert "--people 6000 -o campaign.json" in shown


def test_the_page_of_a_plan_and_its_warnings_go_by_everything_that_a_device_sends(tmp_path):
    draft(tmp_path, "sampled")
    words = (
        "plan",
        "draft.json",
        "--epsilon",
        "5",
        "--people",
        "6000",
        "--try",
        "0",
        "--html",
        "plan.html",
        "--json",
    )
    told = json.loads(done(lopub(*words, cwd=tmp_path)).stdout)
    assert round(told["lifetime_epsilon"], 6) == 10
    assert told["warnings"] and told["warnings"][0].startswith(
        "epsilon 10 is above 8: all reports of one device"
    )
    page = (tmp_path / "plan.html").read_text()
    assert re.search(r"lifetime epsilon</dt><dd><data value=\"[\d.]+\">10\.000</data>", page)
    assert (
        len(re.findall(r">(sampled|permanent)( \(yours\))?</th>", page)) == len(told["rounds"]) > 3
    )


def test_a_plan_refuses_too_few_people_for_a_round(tmp_path):
    draft(tmp_path, "sampled")
    said = refused(lopub("plan", "draft.json", "--people", "299", "--epsilon", "2", cwd=tmp_path))
    assert (
        "asks for at least 100 reports before anything is estimated; 99 reports a round are too few"
        in said
    )


def test_a_permanent_draft_is_planned_and_written(tmp_path):
    draft(tmp_path, "permanent", 6)
    words = (
        "plan",
        "draft.json",
        "--people",
        "6000",
        "--epsilon",
        "1.2",
        "--lifetime-epsilon",
        "3",
    )
    told = json.loads(done(lopub(*words, "-o", "campaign.json", "--json", cwd=tmp_path)).stdout)
    campaign = Campaign.load(tmp_path / "campaign.json")
    assert told["campaign"] == campaign.id and round(campaign.lifetime_epsilon, 6) == 3
    assert told["reports_a_round"] == 6000 and told["options"][0]["expected"] == told["expected"]
    shown = " ".join(done(lopub(*words, cwd=tmp_path)).stdout.split())
    assert "one noisy answer is kept for all rounds, so that a later answer is never heard" in shown
    rounded_up = {
        decimal_up(exact_decimal(one["epsilon"], "epsilon"), 3) for one in told["options"]
    }
    assert rounded_up <= set(re.findall(r"[0-9.]+", shown))
    assert any(
        f"{one['epsilon']:.3f}" not in rounded_up for one in told["options"]
    )  # to the nearest, one would be told lower
    assert "permanent 6 (yours)" in shown and "in however many rounds, have epsilon 3.000" in shown


@pytest.mark.parametrize(
    "option", [("--error", "0.1"), ("--try", "2"), ("--html", "x.html"), ("--weight", "mood=2")]
)
def test_a_plan_of_a_permanent_draft_refuses_what_it_does_not_go_by(option, tmp_path):
    draft(tmp_path, "permanent", 6)
    people = () if option[0] == "--error" else ("--people", "6000")
    result = lopub("plan", "draft.json", *people, "--epsilon", "1", *option, cwd=tmp_path)
    assert result.returncode == 2 and f"{option[0]} does not go with mode permanent" in " ".join(
        result.stderr.split()
    )


def test_a_lifetime_epsilon_of_a_sampled_draft_is_refused_by_a_plan(tmp_path):
    draft(tmp_path, "sampled")
    result = lopub(
        "plan",
        "draft.json",
        "--people",
        "6000",
        "--epsilon",
        "1",
        "--lifetime-epsilon",
        "2",
        cwd=tmp_path,
    )
    assert result.returncode == 2 and "--lifetime-epsilon belongs to drafts" in " ".join(
        result.stderr.split()
    )


@pytest.mark.parametrize("mode", ["sampled", "permanent"])
def test_a_campaign_is_shown_with_errors_of_a_round_and_both_epsilons_of_every_attribute(
    mode, tmp_path
):
    draft(tmp_path, mode)
    lifetime = ("--lifetime-epsilon", "4") if mode == "permanent" else ()
    done(
        lopub(
            "campaign",
            "make",
            "draft.json",
            "-o",
            "campaign.json",
            "--epsilon",
            "2",
            *lifetime,
            cwd=tmp_path,
        )
    )
    campaign = Campaign.load(tmp_path / "campaign.json")
    shown = " ".join(
        done(
            lopub("campaign", "show", "campaign.json", "--people", "6000", cwd=tmp_path)
        ).stdout.split()
    )
    assert "with 6,000 people, 2,000 of them in a round" in shown
    assert f"off by {outlook_of(campaign).at(2000).shares:.3f} on average" in shown
    attributes = json.loads(
        done(lopub("campaign", "show", "campaign.json", "--json", cwd=tmp_path)).stdout
    )["attributes"]
    for one in attributes:
        whole = 2 if mode == "sampled" else one["lifetime_epsilon"] / one["epsilon"]
        assert one["lifetime_epsilon"] == pytest.approx(whole * one["epsilon"]) and whole > 1
    assert max(one["lifetime_epsilon"] for one in attributes) <= campaign.lifetime_epsilon * (
        1 + 1e-9
    )
    if not campaign.jointly:
        assert sum(one["lifetime_epsilon"] for one in attributes) == pytest.approx(
            campaign.lifetime_epsilon
        )


def test_a_permanent_report_below_the_epsilon_that_was_asked_for_is_noted(tmp_path):
    """Two layers of `direct` hide more, the more answers a question has: with 2 and 3, the larger question gets less."""
    draft(tmp_path, "permanent")
    words = (
        "campaign",
        "make",
        "draft.json",
        "-o",
        "campaign.json",
        "--epsilon",
        "2",
        "--lifetime-epsilon",
        "4",
        "--force",
    )
    assert "; the choice is for 50,000 reports a round" in " ".join(
        done(lopub(*words, cwd=tmp_path)).stdout.split()
    )
    assert (
        "note: one report has epsilon 1.949, not the 2 that was asked for"
        in done(lopub(*words, cwd=tmp_path)).stderr
    )
    assert "note" not in done(lopub(*words, "--mechanism", "unary", cwd=tmp_path)).stderr


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        (
            {"take_part": 7},
            "schedule.repeat.take_part must lie in 1..6, the number of rounds, got 7",
        ),
        ({"every_days": 0}, "schedule.repeat.every_days must lie in 1..366, got 0"),
        ({"mode": "often"}, "schedule.repeat.mode must be sampled or permanent, got 'often'"),
    ],
)
def test_a_repeat_that_cannot_be_is_one_mistake_of_a_draft(change, mistake, tmp_path):
    draft(tmp_path, "sampled", more=change)
    assert (
        f"mistake: line 1: {mistake}\n"
        == lopub("draft", "check", "draft.json", cwd=tmp_path).stdout
    )
    said = refused(
        lopub(
            "campaign", "make", "draft.json", "-o", "campaign.json", "--epsilon", "1", cwd=tmp_path
        )
    )
    assert said == f"lopub: draft.json: {mistake}\n"


@pytest.mark.parametrize("repeat", ["weekly", 7, []])
def test_a_repeat_that_is_no_object_is_told_so(repeat, tmp_path):
    draft(tmp_path, "sampled")
    terms = json.loads((tmp_path / "draft.json").read_text())
    terms["schedule"]["repeat"] = repeat
    (tmp_path / "draft.json").write_text(json.dumps(terms))
    said = refused(
        lopub(
            "campaign", "make", "draft.json", "-o", "campaign.json", "--epsilon", "1", cwd=tmp_path
        )
    )
    assert (
        said
        == "lopub: draft.json: schedule.repeat must be once, or an object that says in which rounds\n"
    )


def test_a_campaign_shows_both_epsilons_and_its_rounds(tmp_path):
    path = tmp_path / "campaign.json"
    campaign_of("permanent").save(path)
    shown = " ".join(done(lopub("campaign", "show", path)).stdout.split())
    assert "in however many rounds, have epsilon 2.000" in shown
    assert "every 7 days in 3 rounds; a device takes part in 2 (permanent)" in shown
    assert (
        round(
            json.loads(done(lopub("campaign", "show", path, "--json")).stdout)["lifetime_epsilon"],
            6,
        )
        == 2
    )


def test_simulated_reports_are_told_with_both_epsilons(tmp_path):
    campaign_of("sampled").save(tmp_path / "campaign.json")
    (tmp_path / "people.csv").write_text("smokes\ntrue\nfalse\n")
    words = (
        "encode",
        tmp_path / "campaign.json",
        tmp_path / "people.csv",
        "-o",
        tmp_path / "reports.parquet",
        "--force",
    )
    assert "at most 2 in 3 rounds, have epsilon 2.000" in done(lopub(*words)).stdout
    assert round(json.loads(done(lopub(*words, "--json")).stdout)["lifetime_epsilon"], 6) == 2


# ---- analysing

READING = {
    "publish": ("publish", "reports.parquet", "-o", "out", "--rows", "20"),
    "estimate": ("estimate", "reports.parquet", "--attributes", "smokes"),
    "query": ("query", "reports.parquet", "smokes == 'true'"),
    "count": ("count", "reports.parquet", "-o", "counts.parquet"),
    "export": ("export", "reports.parquet", "-o", "round.parquet"),
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """300 people in three rounds, of whom some are missing in the last one, which has too few."""
    folder = tmp_path_factory.mktemp("reports")
    campaign = campaign_of("sampled", take_part=3)
    tables = [
        Dataset(campaign.domain, np.full((300, 1), number % 2, dtype=np.uint16))
        for number in range(3)
    ]
    batch = simulate_rounds(tables, campaign, seed=1)
    last = batch.slots == campaign.terms.schedule.slots[2]
    batch[~last | (np.cumsum(last) <= N_HIDDEN)].save(folder / "reports.parquet")
    return folder


N_HIDDEN = 37


def readable(folder, tmp_path):
    (tmp_path / "reports.parquet").write_bytes((folder / "reports.parquet").read_bytes())
    return tmp_path


@pytest.mark.parametrize("name", READING)
def test_every_command_that_reads_reports_takes_one_round_of_them(name, reports, tmp_path):
    told = json.loads(
        done(
            lopub(
                *READING[name], "--round", "2026-11-09", "--json", cwd=readable(reports, tmp_path)
            )
        ).stdout
    )
    assert told["n_reports"] == 300
    assert told.get("n_informative", 300) == 300


def test_the_figures_of_a_round_are_those_of_its_own_reports(reports, tmp_path):
    folder = readable(reports, tmp_path)
    done(lopub(*READING["export"], "--round", "2026-11-09", cwd=folder))
    done(lopub(*READING["count"], "--round", "2026-11-09", cwd=folder))
    asked = [
        ("reports.parquet", "--round", "2026-11-09"),
        ("round.parquet",),
        ("counts.parquet",),
        ("counts.parquet", "--round", "2026-11-09"),
    ]
    told = [
        json.loads(
            done(lopub("query", one[0], "smokes == 'true'", *one[1:], "--json", cwd=folder)).stdout
        )
        for one in asked
    ]
    assert {round(one["estimate"], 9) for one in told} == {round(told[0]["estimate"], 9)}
    wrong = lopub(
        "query", "counts.parquet", "smokes == 'true'", "--round", "2026-11-02", cwd=folder
    )
    assert (
        "counts that are not of the round from 2026-11-02 alone; --round needs the reports"
        in refused(wrong)
    )


@pytest.mark.parametrize("name", [name for name in READING if name != "export"])
def test_reports_of_several_rounds_are_refused_where_none_is_chosen(name, reports, tmp_path):
    said = refused(lopub(*READING[name], cwd=readable(reports, tmp_path)))
    assert "these are reports of several rounds" in said and "choose one with --round" in said


def test_an_export_without_a_round_holds_all_of_them(reports, tmp_path):
    told = json.loads(
        done(lopub(*READING["export"], "--json", cwd=readable(reports, tmp_path))).stdout
    )
    assert told["n_reports"] == 600 + N_HIDDEN


@pytest.mark.parametrize("name", READING)
def test_a_round_with_too_few_reports_is_not_told_about(name, reports, tmp_path):
    result = lopub(*READING[name], "--round", "2026-11-16", cwd=readable(reports, tmp_path))
    if name not in (
        "count",
        "export",
    ):  # which hand on reports, or what they add up to, and estimate nothing
        assert "at least 100 reports before anything is estimated; there are fewer" in refused(
            result
        )
        assert str(N_HIDDEN) not in result.stdout + result.stderr


def test_a_round_that_nobody_took_part_in_is_told_like_one_with_too_few_reports(tmp_path):
    """Else whoever is not named would be known to have none."""
    campaign = campaign_of("sampled", take_part=3)
    tables = [
        Dataset(campaign.domain, np.full((300, 1), number % 2, dtype=np.uint16))
        for number in range(3)
    ]
    batch = simulate_rounds(tables, campaign, seed=1)
    said = []
    for n_hidden in (0, N_HIDDEN):
        last = batch.slots == campaign.terms.schedule.slots[2]
        batch[~last | (np.cumsum(last) <= n_hidden)].save(tmp_path / f"{n_hidden}.parquet")
        result = done(
            lopub(
                "publish",
                f"{n_hidden}.parquet",
                "-o",
                f"out{n_hidden}",
                "--all-rounds",
                cwd=tmp_path,
            )
        )
        assert (
            "note: fewer than 100 reports, and left out: the round from 2026-11-16" in result.stderr
        )
        few = refused(
            lopub(
                "estimate",
                f"{n_hidden}.parquet",
                "--attributes",
                "smokes",
                "--round",
                "2026-11-16",
                cwd=tmp_path,
            )
        )
        said.append((result.stdout.replace(f"out{n_hidden}", ""), result.stderr, few))
        assert json.loads((tmp_path / f"out{n_hidden}" / "rounds.json").read_text())[
            "too_few_reports"
        ] == ["2026-11-16"]
    assert said[0] == said[1]


@pytest.mark.parametrize("words", [("--all-rounds",), ("--round", "2026-11-09", "--rows", "20")])
def test_a_round_that_still_takes_reports_is_published_with_a_warning(
    words, clock, reports, tmp_path
):
    batch = ReportBatch.load(reports / "reports.parquet")
    replace(batch, origin=PLAIN).save(
        tmp_path / "reports.parquet"
    )  # simulated ones have no days of their own
    for number, is_told in (
        (1, True),
        (3, True),
        (4, False),
    ):  # the second one, its grace, and after that
        clock(number)
        result = done(
            lopub("publish", "reports.parquet", "-o", "out", "--force", *words, cwd=tmp_path)
        )
        assert ("warning: more reports may come" in result.stderr) is is_told
        assert is_told is bool(
            re.search(r"grace after it: the rounds? from [0-9-, ]*2026-11-09", result.stderr)
        )


def test_a_list_of_campaigns_says_that_it_counts_the_rounds_that_can_be_shown(
    clock, reports, tmp_path
):
    campaign, database = campaign_of("sampled", take_part=3), f"sqlite:///{tmp_path}/lopub.db"
    campaign.save(tmp_path / "campaign.json")
    done(lopub("collect", "open", tmp_path / "campaign.json", "--database", database))
    clock(2)
    done(lopub("import", reports / "reports.parquet", "--database", database))
    assert (
        ", 600 reports in the rounds that can be shown\n"
        in done(lopub("collect", "list", "--database", database)).stdout
    )


def test_the_card_of_a_round_names_its_days_and_says_whose_refusals_it_counts(reports, tmp_path):
    told = done(
        lopub(*READING["publish"], "--round", "2026-11-09", cwd=readable(reports, tmp_path))
    ).stdout
    assert "All reports of one device together, at most" in told
    card = (tmp_path / "out" / "MODEL_CARD.md").read_text()
    assert "300 reports were used, 0 refused in all rounds of the campaign together." in card
    assert (
        "those of the round from 2026-11-09 to 2026-11-15; late ones may come in the 14 days after it."
        in card
    )
    assert "2026-11-09 – 2026-11-15" in (tmp_path / "out" / "report.html").read_text()


def test_all_rounds_say_why_there_is_nothing_to_show(tmp_path):
    repeat = Repeat(every_days=7, rounds=2, take_part=2)
    terms = Terms(name="many", min_reports=100, schedule=Schedule.in_rounds(OPENS, repeat))
    domain = Domain(
        (Categorical(name="place", values=tuple(map(str, range(MOST_TABLE_CELLS + 1)))),)
    )
    campaign = make_campaign(domain, terms, CampaignRequest(epsilon=1, mechanism="direct"))
    simulate_rounds(
        [Dataset(domain, np.zeros((200, 1), dtype=np.uint16))] * 2, campaign, seed=1
    ).save(tmp_path / "r.parquet")
    result = done(lopub("publish", "r.parquet", "-o", "out", "--all-rounds", cwd=tmp_path))
    assert (
        f"nothing to show: every question has more than {MOST_TABLE_CELLS:,} answers; publish one round"
        in result.stderr
    )


def test_nothing_that_all_rounds_print_tells_how_many_reports_a_hidden_round_has(reports, tmp_path):
    words = ("publish", "reports.parquet", "-o", "out", "--all-rounds", "--json")
    result = done(lopub(*words, cwd=readable(reports, tmp_path)))
    told = json.loads(result.stdout)
    assert (told["n_reports"], told["n_rounds"]) == (600, 2)
    written = b"".join(
        path.read_bytes() for path in (tmp_path / "out").iterdir() if path.suffix != ".html"
    ).decode()
    for number in (N_HIDDEN, 600 + N_HIDDEN):
        assert not re.search(
            rf"(?<![0-9a-f.]){number}(?![0-9a-f])", result.stdout + result.stderr + written
        )


OTHERS = [
    *(
        ("--round", "2026-11"),
        ("--structure", "paper"),
        ("--method", "em"),
        ("--phi", "0.1"),
        ("--prune", "dependence"),
    ),
    *(
        ("--most-cells", "9"),
        ("--rows", "9"),
        ("--copies", "2"),
        ("--numbers", "draw"),
        ("--margin", "x.csv"),
        ("--seed", "0"),
    ),
    *(
        ("--prune-by", "entropy"),
        ("--stop", "paper"),
        ("--no-counts",),
        ("--leave-out", "2026-11-02"),
    ),
]


@pytest.mark.parametrize("option", OTHERS, ids=lambda option: option[0])
def test_all_rounds_refuse_every_option_that_they_have_no_use_for(option, reports, tmp_path):
    result = lopub(
        "publish",
        "reports.parquet",
        "-o",
        "out",
        "--all-rounds",
        *option,
        cwd=readable(reports, tmp_path),
    )
    assert result.returncode == 2 and f"{option[0]} does not go with --all-rounds" in " ".join(
        result.stderr.split()
    )
    assert not (tmp_path / "out").exists()


def test_every_option_of_publish_is_honoured_or_refused_with_all_rounds():
    options = {
        parameter.name: parameter.opts[0]
        for parameter in get_command(app).commands["publish"].params
    }
    refused_ones = {option for name, option in options.items() if name not in WITH_ALL_ROUNDS}
    assert refused_ones == {option[0] for option in OTHERS}


def test_a_round_of_a_campaign_that_has_none_is_refused(tmp_path):
    once = make_campaign(
        Domain((Boolean(name="smokes"),)), Terms(name="once"), CampaignRequest(epsilon=1)
    )
    once.save(tmp_path / "campaign.json")
    (tmp_path / "people.csv").write_text("smokes\n" + "true\n" * 50)
    done(lopub("encode", "campaign.json", "people.csv", "-o", "reports.parquet", cwd=tmp_path))
    for words in (
        *((*command, "--round", "2026-11") for command in READING.values()),
        (*READING["publish"][:4], "--all-rounds"),
    ):
        assert "campaign 'once' has no rounds; leave out --round" in refused(
            lopub(*words, cwd=tmp_path)
        )
