"""A device in rounds: never more reports than it drew rounds, never two for one, whatever is killed, lost or set back."""

import contextlib
import subprocess
import sys
import time
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import pytest
from store_files import asked, bytes_of

from laws import fits
from lopub import (
    Boolean,
    Campaign,
    CampaignError,
    CampaignRequest,
    Categorical,
    Client,
    Domain,
    DomainError,
    EpsilonTooHigh,
    FileStore,
    Listed,
    MemoryStore,
    Reason,
    Repeat,
    Report,
    ReportRejected,
    Schedule,
    StoreError,
    Terms,
    make_campaign,
)
from lopub.campaign.schedule import EPOCH, GRACE_DAYS

DOMAIN = Domain((Categorical(name="city", values=("Bonn", "Oslo", "Rome")), Boolean(name="smoker")))
RECORD = {"city": "Oslo", "smoker": True}
OTHER = {"city": "Rome", "smoker": False}
OPENS = date(2026, 1, 5)
ROUNDS, TAKE_PART = 5, 3
VIEW = Listed.of(DOMAIN, [(("city",), 1), (("city", "smoker"), 1)])


def campaign_of(
    mode: str, *, take_part: int = TAKE_PART, rounds: int = ROUNDS, **wish: object
) -> Campaign:
    repeat = Repeat(every_days=7, rounds=rounds, take_part=take_part, mode=mode)
    terms = Terms(name="rounds", min_reports=200, schedule=Schedule.in_rounds(OPENS, repeat))
    lifetime = {"lifetime_epsilon": "2"} if mode == "permanent" else {}
    asked = {
        "epsilon": "1",
        "mechanism": "direct",
        "view": VIEW,
        "jointly": True,
        **lifetime,
        **wish,
    }
    return make_campaign(DOMAIN, terms, CampaignRequest(**asked))


CAMPAIGNS = {mode: campaign_of(mode) for mode in ("sampled", "permanent")}
both_modes = pytest.mark.parametrize("mode", CAMPAIGNS)


@pytest.fixture
def clock(monkeypatch):
    def set_to(day: date) -> None:
        monkeypatch.setattr(time, "time", lambda: (day - EPOCH).days * 86_400.0 + 43_200)

    set_to(OPENS)
    return set_to


def day_in(number: int, offset: int = 3) -> date:
    return OPENS + timedelta(days=7 * number + offset)


def walk(client: Client, clock, record: dict[str, object] = RECORD) -> list[Report]:
    """Through all rounds, encoding wherever something is due."""
    made = []
    for number in range(ROUNDS):
        clock(day_in(number))
        if client.due() is not None:
            made.append(client.encode(record))
    return made


def slots_of(days: tuple[date, ...]) -> list[int]:
    return [(day - EPOCH).days for day in days]


def answer_in(directory: Path) -> bytes:
    """The permanent answer that is kept."""
    ((answer,),) = asked(directory, "SELECT answer FROM series")
    return answer


def collected(monkeypatch, refuse: dict[bytes, Reason] | None = None) -> list[bytes]:
    """What comes to a collector, which takes everything but what it is told to refuse."""
    came: list[bytes] = []

    def send_report(report: bytes, *_: object) -> int:
        if reason := (refuse or {}).get(report):
            raise ReportRejected(
                reason, f"refused ({reason})", when="late" if reason is Reason.SLOT else ""
            )
        came.append(report)
        return 1

    monkeypatch.setattr("lopub.client.client.send_report", send_report)
    return came


def send(client: Client, campaign: Campaign) -> int:
    return client.send(f"https://collector.example/campaigns/{campaign.id}")


# ---- what it makes


@both_modes
def test_a_device_makes_one_report_in_each_round_that_it_drew_and_in_no_other(
    mode, clock, tmp_path
):
    client = Client(CAMPAIGNS[mode], store=FileStore(tmp_path))
    made = walk(client, clock)
    assert len(client.rounds()) == TAKE_PART == len(made)
    assert [report.slot for report in made] == slots_of(client.rounds())
    assert len({report.id for report in made}) == TAKE_PART
    assert walk(client, clock, OTHER) == []
    assert client.kept() == made[-1]


@both_modes
def test_a_round_that_was_made_is_handed_out_again_and_others_are_refused(mode, clock):
    client = Client(CAMPAIGNS[mode], store=MemoryStore())
    for number in range(ROUNDS):
        clock(day_in(number))
        if day_in(number, 0) in client.rounds():
            assert client.encode(RECORD) == client.encode(OTHER)
            assert client.due() is None
        else:
            with pytest.raises(CampaignError, match="takes part in the rounds from"):
                client.encode(RECORD)


@both_modes
def test_outside_the_schedule_nothing_is_due_and_nothing_is_made(mode, clock):
    client = Client(CAMPAIGNS[mode], store=MemoryStore())
    for day in (OPENS - timedelta(days=1), OPENS + timedelta(days=7 * ROUNDS)):
        clock(day)
        assert client.due() is None
        with pytest.raises(CampaignError, match="takes reports from 2026-01-05 to 2026-02-08"):
            client.encode(RECORD)


def test_a_campaign_that_is_asked_once_is_due_until_its_report_is_made(clock):
    campaign = make_campaign(DOMAIN, Terms(name="once"), CampaignRequest(epsilon=1))
    client = Client(campaign, store=MemoryStore())
    assert (client.due(), client.rounds(), client.needs_record) == (OPENS, (), True)
    client.encode(RECORD)
    assert (client.due(), client.needs_record) == (None, False)


@both_modes
def test_a_record_that_does_not_fit_is_refused_before_anything_is_counted(mode, clock):
    campaign = campaign_of(mode, take_part=ROUNDS)
    client = Client(campaign, store=MemoryStore())
    for record in ({"city": "Paris", "smoker": True}, None):
        with pytest.raises(DomainError):
            client.encode(record)
    assert client.spent() == 0


def test_a_permanent_answer_goes_on_whatever_is_answered_later(clock, tmp_path):
    campaign = campaign_of("permanent", take_part=ROUNDS)
    client = Client(campaign, store=FileStore(tmp_path))
    client.encode(RECORD)
    kept = answer_in(tmp_path)
    clock(day_in(1))
    assert not client.needs_record
    later = Client(campaign, store=FileStore(tmp_path)).encode()
    made = walk(client, clock, OTHER)
    assert answer_in(tmp_path) == kept
    assert {report.mask for report in [later, *made]} == {kept[: campaign.mask_bytes]}


# ---- what it keeps


@both_modes
def test_the_first_report_counts_the_lifetime_epsilon_once(mode, clock, tmp_path):
    campaign = CAMPAIGNS[mode]
    client = Client(campaign, store=FileStore(tmp_path), lifetime_cap=campaign.lifetime_loss)
    client.rounds()
    assert client.spent() == 0  # a draw of rounds reveals nothing
    walk(client, clock)
    assert client.spent() == Client(campaign, store=FileStore(tmp_path)).spent()
    assert client.spent() == campaign.lifetime_loss


@both_modes
def test_a_lifetime_cap_is_held_before_the_first_report(mode, clock, tmp_path):
    campaign = campaign_of(mode, take_part=ROUNDS)
    below = campaign.lifetime_loss - type(campaign.lifetime_loss)("0.000001")
    with pytest.raises(EpsilonTooHigh, match="the lifetime_cap is"):
        Client(campaign, store=FileStore(tmp_path), lifetime_cap=below).encode(RECORD)
    with pytest.raises(EpsilonTooHigh, match="in all its rounds together"):
        Client(campaign, store=FileStore(tmp_path), epsilon_cap=below)
    unheard = Client(campaign, store=FileStore(tmp_path))
    assert (unheard.spent(), unheard.reports()) == (0, ())


@both_modes
@pytest.mark.parametrize("make", [MemoryStore, FileStore])
def test_a_lifetime_cap_is_held_in_every_later_round_too(mode, make, clock, tmp_path):
    """A report that is kept is handed out whatever the cap; one that is still to be made is not drawn above it."""
    campaign = campaign_of(mode, take_part=ROUNDS)
    store = make() if make is MemoryStore else make(tmp_path)
    first = Client(campaign, store=store).encode(RECORD)
    capped = Client(campaign, store=store, lifetime_cap=1)
    assert capped.encode(RECORD) == first
    clock(day_in(1))
    with pytest.raises(EpsilonTooHigh, match="the lifetime_cap is 1"):
        capped.encode(RECORD)
    assert capped.reports() == (first,)
    enough = Client(campaign, store=store, lifetime_cap=campaign.lifetime_loss)
    assert len(walk(enough, clock)) == ROUNDS - 1


def test_a_permanent_store_holds_noise_and_neither_answers_nor_bytes_that_would_undo_it(
    clock, tmp_path
):
    """All that is kept of the first round: which rounds, a view with its noisy cell, and a report; no more than these."""
    campaign = campaign_of("permanent", take_part=ROUNDS)
    report = Client(campaign, store=FileStore(tmp_path)).encode(RECORD)
    ((name, _, rounds, answer, loss, n_reports),) = asked(tmp_path, "SELECT * FROM series")
    assert rounds == b"".join(number.to_bytes(2) for number in range(ROUNDS))
    assert len(answer) == len(report.mask) + len(report.payload)
    assert (loss, n_reports) == (str(campaign.lifetime_loss), 1)
    ((series, _, kept, fate),) = asked(tmp_path, "SELECT * FROM reports")
    assert (series, kept, fate) == (name, report.to_bytes(), "waiting")
    assert b"Oslo" not in bytes_of(tmp_path)


def test_no_two_reports_of_a_device_share_bytes_of_their_ids(clock):
    """An id that is drawn from the report's own stream again, kept, counted up or cut short links the rounds of one device."""
    for mode in CAMPAIGNS:
        ids = []
        for _ in range(60):
            client = Client(campaign_of(mode, take_part=ROUNDS), store=MemoryStore())
            ids.append([report.id for report in walk(client, clock)])
        alike = sum(
            one[at] == other[at]
            for own in ids
            for i, one in enumerate(own)
            for other in own[:i]
            for at in range(16)
        )
        n = 60 * 10 * 16
        assert fits(alike, n, 1 / 256), (mode, alike)
        assert all(len({own[k][at] for own in ids for k in range(5)}) > 128 for at in range(16))


# ---- killed, lost, set back


@both_modes
def test_a_clock_that_goes_back_never_makes_a_second_report_of_a_round(mode, clock, tmp_path):
    client = Client(CAMPAIGNS[mode], store=FileStore(tmp_path))
    made = walk(client, clock) + walk(client, clock, OTHER) + walk(client, clock)
    assert len(made) == TAKE_PART
    for number in (4, 0, 2, 1, 3, 0):
        clock(day_in(number))
        if day_in(number, 0) in client.rounds():
            assert client.encode(OTHER) in made


@both_modes
def test_a_program_that_starts_again_keeps_the_rounds_that_were_drawn(mode, clock, tmp_path):
    drawn = {Client(CAMPAIGNS[mode], store=FileStore(tmp_path)).rounds() for _ in range(20)}
    assert len(drawn) == 1


LOSSES = [
    "DELETE FROM reports",
    "DELETE FROM series",
    "UPDATE series SET rounds = x''",
    "UPDATE series SET rounds = x'00010000000200030004'",
    "UPDATE series SET rounds = x'00000001000200030005'",
    "UPDATE series SET rounds = x'0000000100020003'",
    "UPDATE series SET answer = x'ff'",
    "UPDATE reports SET report = x'01'",
    "UPDATE reports SET fate = ''",
]


@pytest.mark.parametrize("make", [MemoryStore, FileStore])
@pytest.mark.parametrize(
    ("mode", "loss"),
    [
        (mode, loss)
        for mode in CAMPAIGNS
        for loss in LOSSES
        if mode == "permanent" or "answer" not in loss  # which the other mode does not keep
    ],
)
def test_a_series_of_which_something_is_lost_is_not_drawn_anew_and_not_counted_again(
    mode, make, loss, clock, tmp_path
):
    """A second draw would be a second report of a round, or one of another round."""
    campaign = campaign_of(mode, take_part=ROUNDS)
    store = make() if make is MemoryStore else make(tmp_path)
    client = Client(campaign, store=store)
    client.encode(RECORD)
    spent = client.spent()
    with store.writing() as rows:
        rows._execute(loss)
    for day in (day_in(0), day_in(1)):
        clock(day)
        again = Client(campaign, store=store)
        for ask in (
            again.due,
            again.kept,
            again.reports,
            again.waiting,
            partial(again.encode, RECORD),
            partial(send, again, campaign),
        ):
            with pytest.raises(StoreError, match="drawing it anew would reveal more than was"):
                ask()
    assert "DELETE FROM series" in loss or client.spent() == spent


def test_rounds_are_drawn_once_before_anything_is_made(clock, tmp_path):
    client = Client(CAMPAIGNS["sampled"], store=FileStore(tmp_path))
    drawn = client.rounds()
    assert client.spent() == 0 and not client.has_begun
    clock(drawn[0])
    client.encode(RECORD)
    assert client.rounds() == drawn


# ---- several at once


class Overtaken(MemoryStore):
    """A store of a process that another one overtakes whenever it has looked and found nothing."""

    def __init__(self, store: MemoryStore, overtake) -> None:
        self._store, self._overtake, self._n = store, overtake, 0

    def reading(self):
        return self._store.reading()

    def writing(self):
        overtake, self._overtake = self._overtake, lambda: None
        overtake()
        return self._store.writing()


@both_modes
@pytest.mark.parametrize("n_begun", [0, 1])
def test_a_process_that_is_overtaken_hands_out_what_the_other_one_kept(mode, n_begun, clock):
    campaign, store, made = campaign_of(mode, take_part=ROUNDS), MemoryStore(), []
    other = Client(campaign, store=store)
    if n_begun:
        other.encode(OTHER)
        clock(day_in(1))
    slow = Client(campaign, store=Overtaken(store, lambda: made.append(other.encode(OTHER))))
    assert [slow.encode(RECORD)] == made
    assert other.spent() == campaign.lifetime_loss
    assert len(other.reports()) == 1 + n_begun


TOGETHER = """
import sys, time
from lopub import Campaign, Client, FileStore
campaign, now = Campaign.load(sys.argv[2]), float(sys.argv[3])
time.time = lambda: now
client = Client(campaign, store=FileStore(sys.argv[1]))
sys.stdin.readline()
print(client.encode({"city": "Oslo", "smoker": True}).to_bytes().hex())
"""


@both_modes
def test_processes_that_begin_a_series_together_agree_and_none_takes_it_for_lost(
    mode, clock, tmp_path
):
    campaign = campaign_of(mode, take_part=ROUNDS)
    campaign.save(tmp_path / "campaign.json")
    words = [
        sys.executable,
        "-c",
        TOGETHER,
        str(tmp_path / "store"),
        str(tmp_path / "campaign.json"),
        str(time.time()),
    ]
    running = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate()[0].strip() for process in running]
    assert all(said) and len(set(said)) == 1
    client = Client(campaign, store=FileStore(tmp_path / "store"))
    assert client.spent() == campaign.lifetime_loss


# ---- clocks, calendars, sizes


def test_a_round_that_a_fast_clock_made_waits_until_it_begins(clock, tmp_path, monkeypatch):
    campaign = campaign_of("sampled", take_part=ROUNDS)
    client, came = Client(campaign, store=FileStore(tmp_path)), collected(monkeypatch)
    clock(day_in(3))
    early = client.encode(RECORD)
    clock(day_in(1))
    now = client.encode(RECORD)
    send(client, campaign)
    assert came == [now.to_bytes()]
    clock(day_in(3, -1))  # a day before, at the earliest
    send(client, campaign)
    assert came == [now.to_bytes(), early.to_bytes()]


def test_everything_that_waits_is_sent_and_nothing_twice(clock, tmp_path, monkeypatch):
    """The report of the highest slot is not the only one: an earlier one may wait, too."""
    campaign = campaign_of("sampled", take_part=ROUNDS)
    client, came = Client(campaign, store=FileStore(tmp_path)), collected(monkeypatch)
    made = []
    for number in (2, 0, 1):
        clock(day_in(number))
        made.append(client.encode(RECORD))
    clock(day_in(2))
    assert client.waiting() == (made[1], made[2], made[0])
    assert send(client, campaign) == 3
    assert came == [report.to_bytes() for report in client.reports()]
    assert (send(client, campaign), client.waiting(), client.missed()) == (0, (), ())
    assert len(came) == 3


def test_what_another_program_cancels_while_others_are_sent_is_not_sent(
    clock, tmp_path, monkeypatch
):
    campaign = campaign_of("sampled", take_part=ROUNDS)
    client, came = Client(campaign, store=FileStore(tmp_path)), []
    for number in (0, 1):
        clock(day_in(number))
        client.encode(RECORD)

    def send_report(report: bytes, *_: object) -> int:
        came.append(report)
        Client(campaign, store=FileStore(tmp_path)).cancel()
        return 1

    monkeypatch.setattr("lopub.client.client.send_report", send_report)
    assert send(client, campaign) == len(came) == 1
    assert (client.waiting(), len(client.sent())) == ((), 1)


def test_a_report_is_sent_until_the_days_of_grace_are_over_and_then_told_to_be_missed(
    clock, tmp_path, monkeypatch
):
    campaign = campaign_of("sampled", take_part=ROUNDS)
    client, came = Client(campaign, store=FileStore(tmp_path)), collected(monkeypatch)
    made = client.encode(RECORD)
    clock(day_in(1, -1 + GRACE_DAYS))
    assert (client.waiting(), client.missed()) == ((made,), ())
    clock(day_in(1, GRACE_DAYS))
    assert (client.waiting(), client.missed()) == ((), (OPENS,))
    assert (send(client, campaign), came) == (0, [])


@pytest.mark.parametrize("reason", [Reason.SLOT, Reason.WITHDRAWN])
def test_a_refusal_of_one_report_does_not_keep_the_others_back(
    reason, clock, tmp_path, monkeypatch
):
    campaign = campaign_of("sampled", take_part=ROUNDS)
    client = Client(campaign, store=FileStore(tmp_path))
    first = client.encode(RECORD)
    clock(day_in(1))
    second = client.encode(RECORD)
    came = collected(monkeypatch, refuse={first.to_bytes(): reason})
    with pytest.raises(ReportRejected) as refused:
        send(client, campaign)
    assert refused.value.reason is reason
    assert (reason is Reason.SLOT) is ("round from 2026-01-05 came too late" in str(refused.value))
    assert came == [second.to_bytes()]
    assert str(refused.value).endswith("; whatever else was waiting has been sent")
    assert client.waiting() == ()  # and it is not tried again


def test_a_collector_that_disagrees_about_the_day_is_tried_again(clock, tmp_path, monkeypatch):
    campaign = campaign_of("sampled", take_part=ROUNDS)
    client = Client(campaign, store=FileStore(tmp_path))
    made = client.encode(RECORD)
    collected(monkeypatch, refuse={made.to_bytes(): Reason.SLOT})
    with pytest.raises(
        ReportRejected, match=r"though it is in time by this device's clock; set the clock"
    ):
        send(client, campaign)
    assert client.waiting() == (made,)


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("early", "yet: it is too early by its clock; set the clock"),
        ("", "does not say that it came too late; set"),
    ],
)
def test_a_report_is_given_up_only_where_its_round_can_be_over_by_both_clocks(
    when, said, clock, tmp_path, monkeypatch
):
    """The round is over by a clock that is ahead; the collector says that it has not begun, or not why it refuses."""
    campaign = campaign_of("sampled", take_part=ROUNDS)
    client = Client(campaign, store=FileStore(tmp_path))
    made = client.encode(RECORD)
    clock(day_in(1))

    def refuse(*_: object) -> int:
        raise ReportRejected(Reason.SLOT, "refused", when=when)

    monkeypatch.setattr("lopub.client.client.send_report", refuse)
    with pytest.raises(ReportRejected, match=said):
        send(client, campaign)
    assert client.waiting() == (made,)
    clock(day_in(1, GRACE_DAYS))
    assert client.missed() == (
        OPENS,
    )  # as far as this device can know; its clock set right, the report is sent
    clock(OPENS)
    came = collected(monkeypatch)
    send(client, campaign)
    assert came == [made.to_bytes()]


@pytest.mark.parametrize("ahead", range(1, 5))
def test_no_report_of_daily_rounds_is_lost_to_a_clock_that_is_some_days_ahead(
    ahead, clock, monkeypatch
):
    repeat = Repeat(every_days=1, rounds=30, take_part=30)
    terms = Terms(name="daily", schedule=Schedule.in_rounds(OPENS, repeat))
    campaign = make_campaign(DOMAIN, terms, CampaignRequest(epsilon="1", mechanism="direct"))
    client, came, today = Client(campaign, store=MemoryStore()), [], OPENS

    def send_report(data: bytes, *_: object) -> int:
        slot = Report.from_bytes(data, campaign).slot
        if when := terms.schedule.untimely(slot, (today - EPOCH).days):
            raise ReportRejected(Reason.SLOT, "refused", when=when)
        came.append(slot)
        return 1

    monkeypatch.setattr("lopub.client.client.send_report", send_report)
    for number in range(12):
        today = OPENS + timedelta(days=number)
        clock(today + timedelta(days=ahead))
        client.encode(RECORD)
        with contextlib.suppress(ReportRejected):
            send(client, campaign)
    first = (OPENS - EPOCH).days + ahead
    assert came == list(range(first, first + 13 - ahead))
    assert len(client.waiting()) + len(came) == 12 and client.missed() == ()


def test_what_was_withdrawn_is_not_sent_again_and_a_later_round_goes_on(
    clock, tmp_path, monkeypatch
):
    campaign = campaign_of("sampled", take_part=ROUNDS)
    client, came = Client(campaign, store=FileStore(tmp_path)), collected(monkeypatch)
    withdrawn = []
    monkeypatch.setattr(
        "lopub.client.client.withdraw_report",
        lambda report_id, *_: withdrawn.append(report_id) or 1,
    )
    first = client.encode(RECORD)
    assert client.withdraw(f"https://collector.example/campaigns/{campaign.id}") == 1
    assert (withdrawn, client.waiting()) == ([first.id], ())
    clock(day_in(1))
    second = client.encode(RECORD)
    send(client, campaign)
    assert came == [second.to_bytes()]


@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("take_part", [1, 1000])
def test_a_thousand_rounds_over_leap_days_are_each_made_once(every, take_part, clock):
    """The slots are days in UTC, which know neither summer time nor leap seconds; 2028 has a leap day."""
    repeat = Repeat(every_days=every, rounds=1000, take_part=take_part)
    terms = Terms(name="many", schedule=Schedule.in_rounds(date(2028, 2, 27), repeat))
    campaign = make_campaign(DOMAIN, terms, CampaignRequest(epsilon="1", mechanism="direct"))
    client = Client(campaign, store=MemoryStore())
    assert len(client.rounds()) == take_part
    days = client.rounds()[:6]
    for day in days:
        for offset in {0, every - 1}:
            clock(day + timedelta(days=offset))
            assert (client.due() == day) is (offset == 0)
            client.encode(RECORD)
    assert [report.slot for report in client.reports()] == slots_of(days)
    assert client.next_round() == (client.rounds()[6] if take_part > 6 else None)


@both_modes
def test_two_respondents_of_a_store_have_rounds_and_answers_of_their_own(mode, clock, tmp_path):
    clients = [
        Client(CAMPAIGNS[mode], store=FileStore(tmp_path), respondent=str(i)) for i in range(8)
    ]
    assert len({client.rounds() for client in clients}) > 1
    made = [report.id for client in clients for report in walk(client, clock)]
    assert len(set(made)) == len(made) == 8 * TAKE_PART
