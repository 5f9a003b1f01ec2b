"""A device in rounds: never more reports than it drew rounds, never two for one, whatever is killed, lost or set back."""

import hashlib
import subprocess
import sys
import time
from datetime import date, timedelta
from pathlib import Path

import pytest

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
    Repeat,
    Report,
    ReportRejected,
    Schedule,
    StoreError,
    Terms,
    make_campaign,
)
from lopub.contract.schedule import EPOCH

DOMAIN = Domain((Categorical(name="city", values=("Bonn", "Oslo", "Rome")), Boolean(name="smoker")))
RECORD = {"city": "Oslo", "smoker": True}
OTHER = {"city": "Rome", "smoker": False}
OPENS = date(2026, 1, 5)
ROUNDS, TAKE_PART = 5, 3
VIEW = Listed.of(DOMAIN, [(("city",), 1), (("city", "smoker"), 1)])


def campaign_of(mode: str, *, take_part: int = TAKE_PART, rounds: int = ROUNDS, **wish: object) -> Campaign:
    repeat = Repeat(every_days=7, rounds=rounds, take_part=take_part, mode=mode)
    terms = Terms(name="rounds", min_reports=200, schedule=Schedule.in_rounds(OPENS, repeat))
    lifetime = {"lifetime_epsilon": "2"} if mode == "permanent" else {}
    asked = {"epsilon": "1", "mechanism": "direct", "view": VIEW, "jointly": True, **lifetime, **wish}
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


# ---- what it makes


@both_modes
def test_a_device_makes_one_report_in_each_round_that_it_drew_and_in_no_other(mode, clock, tmp_path):
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
    assert client.spent().epsilon == 0


def test_a_permanent_answer_goes_on_whatever_is_answered_later(clock, tmp_path):
    campaign = campaign_of("permanent", take_part=ROUNDS)
    store = FileStore(tmp_path)
    client = Client(campaign, store=store)
    client.encode(RECORD)
    kept = store.kept(client._key)
    clock(day_in(1))
    assert not client.needs_record
    later = Client(campaign, store=FileStore(tmp_path)).encode()
    made = walk(client, clock, OTHER)
    assert store.kept(client._key) == kept
    assert {report.mask for report in [later, *made]} == {kept[: campaign.mask_bytes]}


# ---- what it keeps


@both_modes
def test_the_first_report_counts_the_lifetime_epsilon_once(mode, clock, tmp_path):
    campaign = CAMPAIGNS[mode]
    client = Client(campaign, store=FileStore(tmp_path), lifetime_cap=campaign.lifetime_loss)
    client.rounds()
    assert client.spent().epsilon == 0  # a draw of rounds reveals nothing
    walk(client, clock)
    assert client.spent() == Client(campaign, store=FileStore(tmp_path)).spent()
    assert (client.spent().epsilon, client.spent().n_unknown) == (campaign.lifetime_loss, 0)


@both_modes
def test_a_lifetime_cap_is_held_before_the_first_report(mode, clock, tmp_path):
    campaign = campaign_of(mode, take_part=ROUNDS)
    below = campaign.lifetime_loss - type(campaign.lifetime_loss)("0.000001")
    with pytest.raises(EpsilonTooHigh, match="the lifetime_cap is"):
        Client(campaign, store=FileStore(tmp_path), lifetime_cap=below).encode(RECORD)
    with pytest.raises(EpsilonTooHigh, match="in all its rounds together"):
        Client(campaign, store=FileStore(tmp_path), epsilon_cap=below)
    assert Client(campaign, store=FileStore(tmp_path)).spent().epsilon == 0


def test_a_permanent_store_holds_noise_and_neither_answers_nor_bytes_that_would_undo_it(clock, tmp_path, monkeypatch):
    """All that is kept of the first round: which rounds, a view with its noisy cell, and a report; no more bytes than these."""
    campaign = campaign_of("permanent", take_part=ROUNDS)
    client = Client(campaign, store=FileStore(tmp_path))
    report = client.encode(RECORD)
    sizes = sorted(path.stat().st_size for path in tmp_path.iterdir() if path.name not in ("salt", "lock", "spent.json"))
    assert sizes == sorted([2 * ROUNDS, len(report.mask) + len(report.payload), len(report.to_bytes())])
    assert not any(b"Oslo" in path.read_bytes() for path in tmp_path.iterdir())


# ---- killed, lost, set back

KILLED = """
import itertools, os, pathlib, signal, sys, time
from lopub import Campaign, Client, FileStore
base, now = pathlib.Path(sys.argv[1]), float(sys.argv[3])
campaign = Campaign.load(sys.argv[2])
time.time = lambda: now

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def child(n):
    calls = itertools.count()
    def deadly(real):
        def call(*arguments, **options):
            if next(calls) == n:
                die()
            return real(*arguments, **options)
        return call
    def write_bytes(path, data):
        with open(path, "wb", buffering=0) as file:
            file.write(data[: len(data) // 2])
            if next(calls) == n:
                die()
            file.write(data[len(data) // 2 :])
    os.fsync = lambda descriptor: None  # a kill, unlike a power cut, loses nothing that was written
    for name in ("open", "fsync", "link", "replace", "unlink"):
        setattr(os, name, deadly(getattr(os, name)))
    pathlib.Path.write_bytes = write_bytes
    Client(campaign, store=FileStore(base / str(n) / "store")).encode({"city": "Oslo", "smoker": True})
    os._exit(0)

for n in itertools.count():
    (base / str(n)).mkdir()
    pid = os.fork()
    if pid == 0:
        child(n)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code == 0:
        break
    assert code == -signal.SIGKILL, code
print(n)
"""


def whole_files(directory: Path) -> dict[str, bytes]:
    """What was kept for good, or is whole and will be taken over: by name."""
    found = {}
    for path in directory.rglob("*"):
        name, data = path.name, path.read_bytes() if path.is_file() else b""
        if name.endswith(".part"):
            digest = name.rsplit(".", 2)[-2]
            if digest != hashlib.sha256(data).hexdigest():
                continue
            name = name[1:].rsplit(".", 2)[0]
        if path.is_file() and len(name) >= 64:
            found[name] = data
    return found


@both_modes
def test_a_device_that_is_killed_at_any_step_keeps_its_rounds_its_answer_and_its_reports(mode, clock, tmp_path, monkeypatch):
    """Killed before each call into the file system and in the middle of every write of its first round; then asked again, with
    another record, through all rounds."""
    campaign = campaign_of(mode, take_part=2, rounds=2)
    campaign.save(tmp_path / "campaign.json")
    now = str(time.time())
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(tmp_path / "campaign.json"), now]
    n_steps = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert n_steps > 40
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    for n in range(n_steps):
        store = tmp_path / str(n) / "store"
        before = whole_files(tmp_path / str(n))
        client = Client(campaign, store=FileStore(store), lifetime_cap=campaign.lifetime_loss)
        made = walk(client, clock, OTHER)
        after = whole_files(store)
        assert before.items() <= after.items(), n
        assert len(after) == 4, n  # rounds, start, and one report each
        assert client.spent().epsilon == campaign.lifetime_loss, n
        assert len(made) + len([one for one in before.values() if is_report(one, campaign)]) == 2, n


def is_report(data: bytes, campaign: Campaign) -> bool:
    try:
        return bool(Report.from_bytes(data, campaign))
    except ReportRejected:
        return False


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


@both_modes
def test_rounds_that_are_lost_after_the_start_are_not_drawn_anew(mode, clock, tmp_path):
    campaign = campaign_of(mode, take_part=ROUNDS)
    store = FileStore(tmp_path)
    client = Client(campaign, store=store)
    client.encode(RECORD)
    path = store.path_of(f"{client._key}:rounds")
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[:2] * ROUNDS, whole[:-2] + b"\x00\x05"):
        path.write_bytes(damaged)
        with pytest.raises(StoreError, match="lost or damaged the rounds that were drawn"):
            Client(campaign, store=store).encode(RECORD)
    path.unlink()
    with pytest.raises(StoreError, match="would reveal more than was agreed to"):
        Client(campaign, store=store).due()


@both_modes
def test_a_start_that_is_lost_after_a_report_is_not_made_anew(mode, clock, tmp_path):
    campaign = campaign_of(mode, take_part=ROUNDS)
    store = FileStore(tmp_path)
    client = Client(campaign, store=store)
    client.encode(RECORD)
    store.path_of(client._key).unlink()
    clock(day_in(1))
    with pytest.raises(StoreError, match="has lost or damaged what was kept at its start"):
        Client(campaign, store=store).encode(RECORD)


def test_a_permanent_answer_that_is_damaged_is_refused(clock, tmp_path):
    campaign = campaign_of("permanent", take_part=ROUNDS)
    store = FileStore(tmp_path)
    Client(campaign, store=store).encode(RECORD)
    path = store.path_of(Client(campaign, store=store)._key)
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    clock(day_in(1))
    with pytest.raises(StoreError, match="lost or damaged its permanent answer"):
        Client(campaign, store=store).encode(RECORD)


@both_modes
def test_two_respondents_of_a_store_have_rounds_and_answers_of_their_own(mode, clock, tmp_path):
    clients = [Client(CAMPAIGNS[mode], store=FileStore(tmp_path), respondent=str(i)) for i in range(8)]
    assert len({client.rounds() for client in clients}) > 1
    made = [report.id for client in clients for report in walk(client, clock)]
    assert len(set(made)) == len(made) == 8 * TAKE_PART
