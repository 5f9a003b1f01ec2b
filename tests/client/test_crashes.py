"""A device that is killed, at random moments and at every step: never a second draw, never one that is uncharged, no false alarm.

Programs are killed while their threads make reports, walk through rounds and send; others run at the same time. With LOPUB_FULL=1
a thousand are killed, in the gate a hundred.
"""

import json
import shutil
import subprocess
import sys
from collections import defaultdict
from datetime import date
from decimal import Context, Decimal
from pathlib import Path

import pytest
from store_files import reports_in

from lopub import (
    Boolean,
    Campaign,
    CampaignRequest,
    Client,
    Domain,
    FileStore,
    Repeat,
    Schedule,
    Terms,
    make_campaign,
)
from tiers import FULL

OPENS = date(2028, 2, 28)  # the next day is a leap day
ROUNDS, TAKE_PART = 3, 2
PEOPLE = ("ada", "bob")
FINE = Context(prec=400)
N_KILLS = 1_000 if FULL else 100


def campaign_of(mode: str) -> Campaign:
    if mode == "once":
        return make_campaign(
            Domain((Boolean(name="a"),)), Terms(name="once"), CampaignRequest(epsilon="1")
        )
    repeat = Repeat(every_days=1, rounds=ROUNDS, take_part=TAKE_PART, mode=mode)
    terms = Terms(name="crashes", min_reports=100, schedule=Schedule.in_rounds(OPENS, repeat))
    lifetime = {"lifetime_epsilon": "2"} if mode == "permanent" else {}
    return make_campaign(
        Domain((Boolean(name="a"),)),
        terms,
        CampaignRequest(epsilon="1", mechanism="direct", **lifetime),
    )


CAMPAIGNS = {mode: campaign_of(mode) for mode in ("once", "sampled", "permanent")}

LIVES = """
import json, os, random, signal, sys, threading, time, traceback
from pathlib import Path
from lopub import Campaign, Client, FileStore
from lopub.campaign.schedule import EPOCH
from lopub.client import client as module

base, n_kills, people = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split(",")
campaigns = {name: Campaign.load(base / f"{name}.json") for name in ("once", "sampled", "permanent")}
first = campaigns["sampled"].terms.schedule.slots[0]
rng, STORES = random.Random(40), 8

def live(number, seed, days):
    # one program: threads that make what is due and send what waits, on days in no order
    store, draws = FileStore(base / f"store{number}"), random.Random(seed)
    log = os.open(base / f"log{number}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    faults = []

    def note(verb, name, person, data):
        os.write(log, f"{verb} {name} {person} {data.hex()}\\n".encode())

    def arrives(name, person, client):
        def send_report(data, address, time_left):
            if client.spent() < campaigns[name].lifetime_loss or data not in [r.to_bytes() for r in client.reports()]:
                raise AssertionError("sent before it was charged and kept")
            note("sent", name, person, data)
            return 1
        return send_report

    def walk(person):
        try:
            names = draws.sample(list(campaigns), 3)
            for name in names:
                client = Client(campaigns[name], store=store, respondent=person)
                if client.due() is not None:
                    note("made", name, person, client.encode({"a": draws.random() < 0.5}).to_bytes())
                sending[threading.get_ident()] = arrives(name, person, client)
                if client.waiting():
                    client.send(f"https://collector.example/campaigns/{campaigns[name].id}")
        except BaseException:
            faults.append(traceback.format_exc())

    sending = {}
    module.send_report = lambda *arguments: sending[threading.get_ident()](*arguments)
    for day in days:
        time.time = lambda: (first + day) * 86_400.0 + 1
        threads = [threading.Thread(target=walk, args=(person,)) for person in people * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if faults:
        (base / f"fault {os.getpid()}").write_text("\\n".join(faults))
    os._exit(1 if faults else 0)

def started(number, seed, days):
    pid = os.fork()
    if pid == 0:
        live(number, seed, days)
    return pid

n_killed, round_ = 0, 0
while n_killed < n_kills:
    number = round_ % STORES + STORES * (round_ // (STORES * 6))  # fresh stores now and then: beginnings are killed, too
    round_ += 1
    pids = [started(number, rng.random(), rng.sample(range(3), 3)) for _ in range(2)]
    for pid in pids:
        time.sleep(rng.random() * 0.06)
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        n_killed += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
numbers = sorted({int(path.name[5:]) for path in base.glob("store*")})
for number in numbers:
    os.waitpid(started(number, 1, range(3)), 0)
print(json.dumps({"killed": n_killed, "stores": numbers}))
"""


def test_programs_that_are_killed_at_random_moments_draw_once_charge_it_and_raise_no_alarm(
    tmp_path,
):
    for name, campaign in CAMPAIGNS.items():
        campaign.save(tmp_path / f"{name}.json")
    command = [sys.executable, "-c", LIVES, str(tmp_path), str(N_KILLS), ",".join(PEOPLE)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["killed"] >= N_KILLS
    assert [path.read_text() for path in tmp_path.glob("fault *")] == []
    n_reports = 0
    for number in told["stores"]:
        drawn = defaultdict(set)
        for line in (tmp_path / f"log{number}").read_text().splitlines():
            _, name, person, data = line.split()
            report = bytes.fromhex(data)
            drawn[name, person, report[25:29] if name != "once" else b""].add(report)
        assert all(len(reports) == 1 for reports in drawn.values()), drawn
        store = FileStore(tmp_path / f"store{number}")
        kept = {report for own in drawn.values() for report in own}
        assert kept == set(reports_in(tmp_path / f"store{number}"))
        for person in PEOPLE:
            clients = [Client(one, store=store, respondent=person) for one in CAMPAIGNS.values()]
            total = Decimal(0)
            for one in CAMPAIGNS.values():
                total = FINE.add(total, one.lifetime_loss)
            assert clients[0].spent() == total
            assert [len(client.reports()) for client in clients] == [1, TAKE_PART, TAKE_PART]
            assert [client.sent() for client in clients] == [c.reports() for c in clients]
        n_reports += len(kept)
    assert n_reports == len(told["stores"]) * len(PEOPLE) * (1 + 2 * TAKE_PART)


# ---- at every step

ENCODE = """
import sys, time
from lopub import Campaign, Client, FileStore
campaign, n_days = Campaign.load(sys.argv[2]), int(sys.argv[4])
client = Client(campaign, store=FileStore(sys.argv[1]), lifetime_cap=campaign.lifetime_loss)
for day in range(n_days):
    if campaign.terms.schedule:
        time.time = lambda: (campaign.terms.schedule.slots[0] + day) * 86_400.0 + 1
    if client.due() is not None:
        print(client.encode({"a": sys.argv[3] == "yes"}).to_bytes().hex(), flush=True)
"""
WRITING = "mkdir,chmod,fchmod,link,linkat,rename,unlink,ftruncate,fsync,fdatasync,pwrite64"
"""The system's calls by which a disk changes."""


def encoding(store: Path, campaign: Path, answer: str, n_days: int) -> list[str]:
    return [sys.executable, "-B", "-c", ENCODE, *map(str, (store, campaign, answer, n_days))]


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace")
@pytest.mark.parametrize(
    "name", ["once", *(pytest.param(mode, marks=pytest.mark.full) for mode in list(CAMPAIGNS)[1:])]
)
def test_a_program_that_is_killed_at_any_step_leaves_one_draw_and_one_count(name, tmp_path):
    """Killed before each call that changes the disk; then asked again, with another record."""
    campaign = CAMPAIGNS[name]
    campaign.save(tmp_path / "campaign.json")
    n_days, n = 1 if name == "once" else ROUNDS, 0
    n_left = 0
    while True:
        n += 1
        store = tmp_path / str(n)
        inject = f"inject={WRITING}:signal=KILL:when={n}"
        command = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={WRITING}", "-e", inject]
        words = encoding(store, tmp_path / "campaign.json", "yes", n_days)
        done = subprocess.run([*command, *words], capture_output=True, text=True)
        shown = done.stdout.split()
        if done.returncode == 0:
            break
        assert done.returncode in (-9, 137), done.stderr
        n_left += (store / "store.db").exists()
        words = encoding(store, tmp_path / "campaign.json", "no", n_days)
        again = subprocess.run(words, capture_output=True, text=True)
        assert again.returncode == 0, (n, again.stderr)
        kept = {report.hex() for report in reports_in(store)}
        assert set(shown) | set(again.stdout.split()) == kept | set(shown)
        assert set(shown) <= kept, n
        assert len(kept) == (1 if name == "once" else TAKE_PART), n
        client = Client(campaign, store=FileStore(store))
        assert client.spent() == campaign.lifetime_loss
        left = b"".join(path.read_bytes() for path in store.glob(".*.part*"))
        assert not any(bytes.fromhex(report) in left for report in [*shown, *kept])
    assert n > 15 and n_left > 8  # steps, there are so many
