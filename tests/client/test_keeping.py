"""What a device keeps: one draw per respondent and campaign whenever it is killed, an exact sum, and nothing that tells more."""

import errno
import hashlib
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Context, Decimal
from pathlib import Path
from threading import Barrier

import pytest

from every import every
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
    MemoryStore,
    Report,
    ReportRejected,
    StoreError,
    Terms,
    make_campaign,
)
from lopub.client.client import today
from lopub.client.keeping import keeps_totals
from lopub.files import write_whole

DOMAIN = Domain((Categorical(name="city", values=("Bonn", "Oslo", "Rome")), Boolean(name="smoker")))
RECORD = {"city": "Oslo", "smoker": True}
OTHER = {"city": "Rome", "smoker": False}
FINE = Context(prec=150)

STORES = {"files": FileStore, "memory": lambda directory: MemoryStore()}


def campaign_of(title: str, epsilon: str = "1") -> Campaign:
    return make_campaign(
        DOMAIN, Terms(name="survey", title=title), CampaignRequest(epsilon=epsilon)
    )


CAMPAIGN = campaign_of("one")


def draws_on(directory: Path) -> set[bytes]:
    """Every whole report in any file, whatever its name."""
    found = set()
    for path in directory.rglob("*"):
        try:
            found.add(Report.from_bytes(path.read_bytes(), CAMPAIGN).to_bytes())
        except (IsADirectoryError, ReportRejected):
            continue
    return found


def reports_on(directory: Path) -> list[Path]:
    return sorted(
        path for path in directory.iterdir() if path.name not in ("salt", "lock", "spent.json")
    )


def older_store(directory: Path, respondent: str = "self") -> bytes:
    """A store as version 0.1.0 left it: one file, named after the campaign and an unsalted hash."""
    report = Client(CAMPAIGN, store=MemoryStore()).encode(RECORD).to_bytes()
    directory.mkdir(mode=0o755)
    (
        directory / f"{CAMPAIGN.id}-{hashlib.sha256(respondent.encode()).hexdigest()[:32]}"
    ).write_bytes(report)
    return report


# ---- one draw, whenever it is killed

KILLED = """
import errno, itertools, os, pathlib, signal, sys
from lopub import Campaign, Client, FileStore
base, links = pathlib.Path(sys.argv[1]), sys.argv[2] == "links"
campaign = Campaign.load(sys.argv[3])

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
    def no_link(*arguments, **options):
        raise OSError(errno.EPERM, "no links")
    if not links:
        os.link = no_link
    for name in ("open", "close", "mkdir", "fsync", "utime", "link", "replace", "unlink", "chmod"):
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


@pytest.mark.parametrize("links", ["links", pytest.param("no links", marks=pytest.mark.full)])
def test_a_client_that_is_killed_at_any_step_leaves_one_draw_and_one_count(tmp_path, links):
    """Killed before each call into the file system, and in the middle of every write; then asked again, with another record."""
    CAMPAIGN.save(tmp_path / "campaign.json")
    command = [sys.executable, "-c", KILLED, str(tmp_path), links, str(tmp_path / "campaign.json")]
    n_steps = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert n_steps > 30
    n_taken_over = 0
    for n in range(n_steps):
        store = tmp_path / str(n) / "store"
        before = draws_on(tmp_path / str(n))
        was_finished = store.exists() and any(len(path.name) == 64 for path in store.iterdir())
        client = Client(CAMPAIGN, store=FileStore(store), lifetime_cap=CAMPAIGN.loss)
        report = client.encode(OTHER).to_bytes()
        assert len(before) <= 1 and before <= {report}, n
        assert draws_on(tmp_path / str(n)) == {report}, n
        assert [path.read_bytes() for path in reports_on(store)] == [report], n
        assert client.spent().epsilon == CAMPAIGN.loss, n
        n_taken_over += bool(before) and not was_finished
    assert n_taken_over >= 3  # written, dated, synced; counted as finished


@pytest.mark.full
def test_a_whole_report_that_a_crash_left_is_found_without_a_record(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "os.link", lambda *arguments: (_ for _ in ()).throw(OSError(errno.EIO, "gone"))
    )
    with pytest.raises(StoreError, match="gone"):
        Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD)
    monkeypatch.undo()
    (left,) = draws_on(tmp_path)
    report = Client(CAMPAIGN, store=FileStore(tmp_path)).kept()
    assert report is not None and report.to_bytes() == left
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.full
@pytest.mark.parametrize(
    "torn",
    [
        lambda data: data[:-1],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: bytes(len(data)),
        lambda data: b"",
    ],
    ids=["cut", "a bit", "zeros", "empty"],
)
def test_a_report_that_was_cut_short_is_removed_and_drawn(tmp_path, torn):
    """After a power cut a file may have its length but not its bytes: only the digest in its name tells."""
    FileStore(tmp_path).charge("k", "p", Decimal(1))
    data = Client(CAMPAIGN, store=MemoryStore()).encode(RECORD).to_bytes()
    part = tmp_path / f".{'0' * 64}.{hashlib.sha256(data).hexdigest()}.part"
    part.write_bytes(torn(data))
    report = Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD)
    assert [path.read_bytes() for path in reports_on(tmp_path)] == [report.to_bytes()]


@pytest.mark.full
def test_a_leftover_of_an_earlier_version_does_not_stay_beside_a_new_draw(tmp_path):
    (tmp_path / ".0123456789abcdef.part").write_bytes(
        Client(CAMPAIGN, store=MemoryStore()).encode(RECORD).to_bytes()
    )
    report = Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD).to_bytes()
    assert draws_on(tmp_path) == {report}


AT_ONCE = """
import sys
from lopub import Campaign, Client, EpsilonTooHigh, FileStore
store, go = FileStore(sys.argv[1]), sys.stdin.readline()
for path in sys.argv[2:]:
    try:
        print(Client(Campaign.load(path), store=store, lifetime_cap=3).encode({"city": "Oslo", "smoker": True}).to_bytes().hex())
    except EpsilonTooHigh:
        print("refused")
"""


def test_processes_that_start_together_draw_once_and_stay_within_the_cap(tmp_path):
    paths = []
    for i in range(5):
        paths.append(str(tmp_path / f"{i}.json"))
        campaign_of(f"number {i}").save(paths[-1])
    orders = [paths, paths[::-1], paths[2:] + paths[:2]]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", AT_ONCE, str(tmp_path / "store"), *order],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for order in orders
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate(timeout=300)[0].split() for process in started]
    made: dict[str, set[str]] = {path: set() for path in paths}
    for lines, order in zip(told, orders, strict=True):
        for line, path in zip(lines, order, strict=True):
            made[path].add(line)
    drawn = [path for path in paths if made[path] - {"refused"}]
    assert len(drawn) == 3
    assert all(len(made[path] - {"refused"}) == 1 for path in drawn)
    assert len(reports_on(tmp_path / "store")) == 3
    assert Client(CAMPAIGN, store=FileStore(tmp_path / "store")).spent().epsilon == FINE.multiply(
        CAMPAIGN.loss, 3
    )


def test_threads_that_open_a_store_for_the_first_time_agree_on_its_salt(tmp_path):
    n_clients = 8
    barrier = Barrier(n_clients)

    def encode(i: int) -> bytes:
        client = Client(CAMPAIGN, store=FileStore(tmp_path / "store"), respondent=str(i))
        barrier.wait(timeout=120)
        return client.encode(RECORD).to_bytes()

    with ThreadPoolExecutor(n_clients) as pool:
        made = list(pool.map(encode, range(n_clients)))
    again = [
        Client(CAMPAIGN, store=FileStore(tmp_path / "store"), respondent=str(i)).encode(OTHER)
        for i in range(n_clients)
    ]
    assert [report.to_bytes() for report in again] == made


def test_a_store_that_another_thread_makes_meanwhile_is_not_called_damaged(tmp_path, monkeypatch):
    """A look for the salt, then for files that need one, finds the second and not the first if both were made in between."""
    iterdir = Path.iterdir

    def made_meanwhile(path: Path) -> Iterator[Path]:
        monkeypatch.setattr(Path, "iterdir", iterdir)
        Client(CAMPAIGN, store=FileStore(tmp_path), respondent="other").encode(RECORD)
        return iterdir(path)

    monkeypatch.setattr(Path, "iterdir", made_meanwhile)
    assert FileStore(tmp_path).spent("self").epsilon == 0
    assert (tmp_path / "salt").exists(), "the other thread's store was not made in between"


@pytest.mark.parametrize("links", [True, pytest.param(False, marks=pytest.mark.full)])
def test_a_report_is_handed_out_after_its_name_has_reached_the_disk(tmp_path, monkeypatch, links):
    """A directory that is not synced can lose the name in a power cut, and the next draw would be a second one."""
    steps: list[str] = []
    sync, link, replace = os.fsync, os.link, os.replace
    directory = tmp_path.stat().st_ino

    def linked(source: Path, target: Path) -> None:
        if not links:
            raise OSError(errno.EPERM, "no links")
        link(source, target)
        steps.append("named")

    def replaced(source: Path, target: Path) -> None:
        replace(source, target)
        steps.extend(["named"] * (len(Path(target).name) == 64))

    def synced(descriptor: int) -> None:
        sync(descriptor)
        steps.append("directory" if os.fstat(descriptor).st_ino == directory else "file")

    monkeypatch.setattr("os.link", linked)
    monkeypatch.setattr("os.replace", replaced)
    monkeypatch.setattr("os.fsync", synced)
    Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD)
    named = steps.index("named")
    assert "file" in steps[:named] and steps[named + 1 :] == ["directory"]


def test_any_file_that_is_written_whole_has_its_name_synced_last(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("os.fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    write_whole(tmp_path / "a", b"new")
    assert synced == [(tmp_path / "a").stat().st_ino, tmp_path.stat().st_ino]


@pytest.mark.full
def test_the_directories_of_a_store_have_reached_the_disk_themselves(tmp_path, monkeypatch):
    synced = set()
    sync = os.fsync
    monkeypatch.setattr(
        "os.fsync", lambda descriptor: (synced.add(os.fstat(descriptor).st_ino), sync(descriptor))
    )
    Client(CAMPAIGN, store=FileStore(tmp_path / "a" / "b")).encode(RECORD)
    assert {
        path.stat().st_ino for path in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")
    } <= synced


# ---- respondents stay apart


def test_no_two_of_many_respondents_share_a_report():
    """A key that is cut to 8 bits lets the second of two people send the first one's report, and never a report of her own."""
    store = MemoryStore()
    ids = {
        Client(CAMPAIGN, store=store, respondent=f"person {i}").encode(RECORD).id
        for i in range(700)
    }
    assert len(ids) == 700


@pytest.mark.full
def test_no_two_of_many_keys_share_a_file(tmp_path):
    store = FileStore(tmp_path)
    store.keep("key 0", b"report")
    assert reports_on(tmp_path) == [store.path_of("key 0")]
    assert len({store.path_of(f"key {i}") for i in range(700)}) == 700


def test_the_totals_of_respondents_are_apart(tmp_path):
    store = FileStore(tmp_path)
    Client(CAMPAIGN, store=store, respondent="ada", lifetime_cap=1).encode(RECORD)
    assert Client(CAMPAIGN, store=store, respondent="bob").spent().epsilon == 0
    Client(CAMPAIGN, store=store, respondent="bob", lifetime_cap=1).encode(RECORD)
    with pytest.raises(EpsilonTooHigh):
        Client(campaign_of("two"), store=store, respondent="ada", lifetime_cap=1).encode(RECORD)


# ---- the sum


@pytest.mark.parametrize("make", STORES.values(), ids=STORES)
def test_campaigns_that_differ_in_a_dot_share_one_lifetime(tmp_path, make):
    store = make(tmp_path)
    clients = [
        Client(campaign_of("one" + "." * i), epsilon_cap=1, lifetime_cap=5, store=store)
        for i in range(8)
    ]
    for client in clients[:5]:
        client.encode(RECORD)
    for client in clients[5:]:
        with pytest.raises(
            EpsilonTooHigh, match=r"everything sent from this store to 6; the lifetime_cap is 5$"
        ):
            client.encode(RECORD)
    assert clients[0].spent().epsilon == FINE.multiply(CAMPAIGN.loss, 5)


@pytest.mark.parametrize("make", STORES.values(), ids=STORES)
def test_a_lifetime_ends_exactly_at_its_cap(tmp_path, make):
    """Not a tolerance above it: sums of reports that pass a cap by a hair each would pass it by any amount."""
    store = make(tmp_path)
    Client(CAMPAIGN, store=store).encode(RECORD)
    second = campaign_of("two", "0.7")
    total = FINE.add(CAMPAIGN.loss, second.loss)
    below = FINE.subtract(total, Decimal("1e-100"))
    with pytest.raises(EpsilonTooHigh):
        Client(second, store=store, lifetime_cap=below).encode(RECORD)
    assert Client(second, store=store, lifetime_cap=total).encode(RECORD)


def test_a_campaign_is_refused_exactly_above_its_cap():
    below = FINE.subtract(CAMPAIGN.loss, Decimal("1e-100"))
    assert Client(CAMPAIGN, epsilon_cap=CAMPAIGN.loss, store=MemoryStore())
    with pytest.raises(EpsilonTooHigh):
        Client(CAMPAIGN, epsilon_cap=below, store=MemoryStore())


def test_a_refused_report_is_neither_drawn_nor_counted(tmp_path, monkeypatch):
    store = FileStore(tmp_path)
    monkeypatch.setattr(
        "lopub.client.client.randomized",
        lambda *arguments, **options: pytest.fail("noise was drawn"),
    )
    with pytest.raises(EpsilonTooHigh):
        Client(CAMPAIGN, store=store, lifetime_cap="0.5").encode(RECORD)
    assert reports_on(tmp_path) == [] and Client(CAMPAIGN, store=store).spent().epsilon == 0


@pytest.mark.parametrize("make", STORES.values(), ids=STORES)
def test_a_report_that_is_made_already_is_handed_out_whatever_the_cap(tmp_path, make):
    store = make(tmp_path)
    first = Client(CAMPAIGN, store=store).encode(RECORD)
    client = Client(CAMPAIGN, store=store, lifetime_cap="0.1")
    assert client.encode(OTHER) == first and client.spent().epsilon == CAMPAIGN.loss


def test_a_record_that_does_not_fit_is_not_counted(tmp_path):
    client = Client(CAMPAIGN, store=FileStore(tmp_path / "store"))
    with pytest.raises(DomainError):
        client.encode({})
    assert client.spent().epsilon == 0 and list(tmp_path.iterdir()) == []


def test_a_report_that_was_deleted_counts_on_and_its_second_draw_counts_too(tmp_path):
    client = Client(CAMPAIGN, store=FileStore(tmp_path))
    client.encode(RECORD)
    (path,) = reports_on(tmp_path)
    path.unlink()
    assert client.spent().epsilon == CAMPAIGN.loss
    with pytest.raises(EpsilonTooHigh):
        Client(CAMPAIGN, store=FileStore(tmp_path), lifetime_cap="1.5").encode(RECORD)
    client.encode(RECORD)
    assert client.spent().epsilon == FINE.multiply(CAMPAIGN.loss, 2)


@pytest.mark.full
def test_a_draw_that_was_counted_before_a_crash_obeys_a_cap_that_was_lowered_since(tmp_path):
    store = FileStore(tmp_path)
    store.charge("key", "person", Decimal(2))
    store.charge("key", "person", Decimal(2), Decimal(2))
    with pytest.raises(EpsilonTooHigh):
        store.charge("key", "person", Decimal(2), Decimal(1))
    assert store.spent("person").epsilon == 2


class Custom:
    def kept(self, key: str) -> bytes | None:
        return None

    def keep(self, key: str, report: bytes) -> bytes:
        return report


def test_a_store_that_keeps_no_totals_serves_unless_a_lifetime_is_asked_for():
    assert Client(CAMPAIGN, store=Custom()).encode(RECORD)
    with pytest.raises(
        CampaignError, match="lifetime_cap needs a store that keeps totals, as FileStore does"
    ):
        Client(CAMPAIGN, store=Custom(), lifetime_cap=5)
    with pytest.raises(CampaignError, match="this store keeps no totals"):
        Client(CAMPAIGN, store=Custom()).spent()
    assert all(keeps_totals(store) is store for store in (FileStore(), MemoryStore()))


@every([0, -1, float("nan"), "much", True])
def test_a_lifetime_cap_that_is_no_budget_is_refused(cap):
    with pytest.raises(CampaignError, match="lifetime_cap must be"):
        Client(CAMPAIGN, lifetime_cap=cap, store=MemoryStore())


def totals(**changed: object) -> str:
    draw: dict[str, object] = {
        "report": "a" * 64,
        "person": "b" * 64,
        "epsilon": "1",
        "finished": True,
    }
    return json.dumps({"format": 1, "draws": [draw | changed]})


DAMAGED = [
    *(
        "",
        "{}",
        "[]",
        '{"draws": [{}]}',
        "[" * 60_000,
        '{"draws": {}, "format": 1}',
        '{"draws": [], "format": 2}',
    ),
    *(
        totals(epsilon=epsilon)
        for epsilon in ("-1", "0", "1E+300", "1E+99999999999", "1." + "0" * 3000, "NaN", 1)
    ),
    *(totals(report=["x"]), totals(person=None), totals(finished="yes")),
]


def test_totals_that_are_damaged_are_told_and_not_begun_anew(tmp_path):
    Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD)
    other, begun = campaign_of("two"), []
    for text in DAMAGED:
        (tmp_path / "spent.json").write_text(text)
        try:
            Client(other, store=FileStore(tmp_path)).encode(RECORD)
            begun.append(text[:200])
        except StoreError as told:
            if not re.search(r"the totals .*/spent\.json are damaged; restore them", str(told)):
                begun.append(f"{text[:200]}: {told}")
    assert begun == []


def test_reports_whose_totals_were_deleted_are_not_taken_for_nothing(tmp_path):
    Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD)
    (tmp_path / "spent.json").unlink()
    with pytest.raises(
        StoreError,
        match="keeps 1 report from before totals were kept, so a lifetime_cap cannot be held to",
    ):
        Client(campaign_of("two"), store=FileStore(tmp_path), lifetime_cap=100).encode(RECORD)


# ---- what a store tells


def test_no_name_or_file_of_a_store_has_an_unsalted_hash_of_the_respondent(tmp_path):
    digest = hashlib.sha256(b"ada@example.org").hexdigest()
    for store in ("a", "b"):
        Client(CAMPAIGN, store=FileStore(tmp_path / store), respondent="ada@example.org").encode(
            RECORD
        )
    for path in [path for path in tmp_path.rglob("*") if path.is_file()]:
        assert digest[:8] not in path.name and digest[:8].encode() not in path.read_bytes()
        assert CAMPAIGN.id[:8] not in path.name
    assert not {p.name for p in reports_on(tmp_path / "a")} & {
        p.name for p in reports_on(tmp_path / "b")
    }
    assert (tmp_path / "a" / "salt").read_bytes() != (tmp_path / "b" / "salt").read_bytes()


def test_no_file_tells_when_it_was_written(tmp_path):
    store = tmp_path / "store"
    for title in ("one", "two"):
        Client(campaign_of(title), store=FileStore(store)).encode(RECORD)
    times = {path.name: path.stat().st_mtime_ns for path in (store, *store.iterdir())}
    assert set(times.values()) == {946_684_800 * 10**9}, times


def test_the_totals_do_not_tell_in_which_order_reports_were_made(tmp_path):
    for i in range(8):
        Client(campaign_of(f"number {i}"), store=FileStore(tmp_path)).encode(RECORD)
    names = [draw["report"] for draw in json.loads((tmp_path / "spent.json").read_text())["draws"]]
    assert names == sorted(names)


def test_every_file_and_directory_of_a_store_is_its_owners_alone(tmp_path):
    umask = os.umask(0)
    try:
        Client(CAMPAIGN, store=FileStore(tmp_path / "home" / ".lopub" / "reports")).encode(RECORD)
    finally:
        os.umask(umask)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "home").rglob("*")}
    assert modes == {0o700, 0o600} and stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700


def test_a_loose_directory_is_closed_to_others(tmp_path):
    left = {}
    for mode in (0o755, 0o750, 0o701, 0o777, 0o1777):
        store = tmp_path / oct(mode)
        store.mkdir()
        store.chmod(mode)
        Client(CAMPAIGN, store=FileStore(store)).encode(RECORD)
        left[oct(mode)] = oct(stat.S_IMODE(store.stat().st_mode))
    assert set(left.values()) == {"0o700"}, left


@pytest.mark.full
def test_a_store_that_was_loosened_is_closed_when_it_is_next_read(tmp_path):
    store = tmp_path / "store"
    first = Client(CAMPAIGN, store=FileStore(store)).encode(RECORD)
    store.chmod(0o755)
    assert Client(CAMPAIGN, store=FileStore(store)).kept() == first
    assert stat.S_IMODE(store.stat().st_mode) == 0o700


def test_a_loose_directory_with_other_files_is_refused_and_left_as_it_is(tmp_path):
    """`--store /tmp` must not close /tmp to everybody else."""
    store = tmp_path / "store"
    store.mkdir()
    (store / "theirs").write_bytes(b"")
    store.chmod(0o1777)
    with pytest.raises(
        StoreError, match=r"the store .* is open to other users and holds other files, too"
    ):
        Client(CAMPAIGN, store=FileStore(store)).encode(RECORD)
    assert stat.S_IMODE(store.stat().st_mode) == 0o1777 and [
        path.name for path in store.iterdir()
    ] == ["theirs"]


@pytest.mark.full
@pytest.mark.parametrize(
    "error", [PermissionError(errno.EPERM, "no"), None], ids=["refused", "ignored"]
)
def test_a_loose_directory_that_cannot_be_closed_is_refused(tmp_path, monkeypatch, error):
    """Some file systems refuse to change a mode, and some only say that they did."""

    def chmod(path: Path, mode: int) -> None:
        if error:
            raise error

    (tmp_path / "store").mkdir(mode=0o755)
    monkeypatch.setattr(Path, "chmod", chmod)
    with pytest.raises(
        StoreError, match=r"is open to other users and cannot be closed to them; choose another"
    ):
        Client(CAMPAIGN, store=FileStore(tmp_path / "store")).encode(RECORD)
    assert list((tmp_path / "store").iterdir()) == []


@pytest.mark.full
def test_a_private_directory_may_hold_other_files(tmp_path):
    (tmp_path / "notes").write_bytes(b"mine")
    assert Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD)


@pytest.mark.full
def test_a_store_may_be_a_link_to_a_directory(tmp_path):
    (tmp_path / "real").mkdir(mode=0o755)
    (tmp_path / "store").symlink_to(tmp_path / "real")
    Client(CAMPAIGN, store=FileStore(tmp_path / "store")).encode(RECORD)
    assert (
        stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o700
        and len(reports_on(tmp_path / "real")) == 1
    )


def flip_one_bit(path: Path) -> None:
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])


@pytest.mark.parametrize(
    "change", [Path.unlink, lambda path: path.write_bytes(b"short"), flip_one_bit]
)
def test_a_store_without_its_salt_draws_nothing(tmp_path, change):
    """Under a new salt no report would be found, and every one would be drawn a second time."""
    Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD)
    before = reports_on(tmp_path)
    change(tmp_path / "salt")
    for title in ("one", "two"):
        client = Client(campaign_of(title), store=FileStore(tmp_path))
        for ask in (client.kept, client.spent, lambda client=client: client.encode(RECORD)):
            with pytest.raises(
                StoreError,
                match=r"has lost or damaged its file salt, without which no report is found; restore",
            ):
                ask()
    assert reports_on(tmp_path) == before


@pytest.mark.full
def test_totals_of_an_earlier_version_learn_by_which_hash_the_salt_is_known(tmp_path):
    """They are taken as they are; from the next count on, a damaged salt is noticed."""
    made, path = Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD), tmp_path / "spent.json"
    kept = json.loads(path.read_bytes())
    path.write_text(json.dumps({name: kept[name] for name in ("draws", "format")}))
    assert Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD) == made
    assert json.loads(path.read_bytes()) == kept


@pytest.mark.full
def test_asking_a_store_that_is_not_there_makes_nothing(tmp_path):
    client = Client(CAMPAIGN, store=FileStore(tmp_path / "store"))
    assert client.kept() is None and client.spent().epsilon == 0
    assert list(tmp_path.iterdir()) == []


# ---- stores of earlier versions


def test_a_report_of_an_earlier_version_is_found_under_its_older_name(tmp_path):
    first = older_store(tmp_path / "store")
    report = Client(CAMPAIGN, store=FileStore(tmp_path / "store")).encode(OTHER)
    assert report.to_bytes() == first and draws_on(tmp_path) == {first}


@pytest.mark.full
def test_a_report_of_an_earlier_version_is_counted_when_it_is_met_again(tmp_path):
    older_store(tmp_path / "store")
    client = Client(CAMPAIGN, store=FileStore(tmp_path / "store"))
    assert (client.spent().epsilon, client.spent().n_unknown) == (0, 1)
    client.encode(OTHER)
    assert (client.spent().epsilon, client.spent().n_unknown) == (CAMPAIGN.loss, 0)


@pytest.mark.full
def test_a_lifetime_is_not_promised_over_reports_of_unknown_epsilon(tmp_path):
    older_store(tmp_path / "store")
    client = Client(campaign_of("two"), store=FileStore(tmp_path / "store"), lifetime_cap=100)
    with pytest.raises(
        StoreError, match="send them once more, which counts them, or move them elsewhere"
    ):
        client.encode(RECORD)
    Client(CAMPAIGN, store=FileStore(tmp_path / "store")).encode(RECORD)
    assert client.encode(RECORD)


@pytest.mark.full
def test_a_report_of_an_earlier_version_by_somebody_else_is_somebody_elses(tmp_path):
    older_store(tmp_path / "store", respondent="bob")
    assert Client(campaign_of("two"), store=FileStore(tmp_path / "store"), lifetime_cap=1).encode(
        RECORD
    )


# ---- the clock


@pytest.mark.parametrize("second", [-1.0, -86_400.0 * 365 * 3000, 1e18])
def test_a_clock_that_is_far_off_is_told(monkeypatch, second):
    monkeypatch.setattr("time.time", lambda: second)
    with pytest.raises(
        CampaignError,
        match=r"the clock of this device is not between 1970-01-01 and 9999-12-31; set it",
    ):
        Client(CAMPAIGN, store=MemoryStore()).encode(RECORD)


@pytest.mark.parametrize("slot", [0, 2_932_896])
def test_the_first_and_the_last_day_of_the_clock_are_days(monkeypatch, slot):
    monkeypatch.setattr("time.time", lambda: slot * 86_400.0)
    assert today(CAMPAIGN) == slot
