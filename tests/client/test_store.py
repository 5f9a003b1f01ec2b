"""What a device keeps: one draw per respondent and campaign, an exact sum, nothing that tells more; no loss goes unnoticed."""

import hashlib
import os
import random
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Context, Decimal
from pathlib import Path
from threading import Barrier

import pytest
from store_files import asked, bytes_of, reports_in

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
    StoreError,
    Terms,
    make_campaign,
)
from lopub.client.client import today
from lopub.client.store import Store
from tiers import FULL

DOMAIN = Domain((Categorical(name="city", values=("Bonn", "Oslo", "Rome")), Boolean(name="smoker")))
RECORD = {"city": "Oslo", "smoker": True}
OTHER = {"city": "Rome", "smoker": False}
FINE = Context(prec=150)
STORES = {"file": FileStore, "memory": lambda directory: MemoryStore()}
both_stores = pytest.mark.parametrize("make", STORES.values(), ids=STORES)


def campaign_of(title: str, epsilon: str = "1") -> Campaign:
    terms = Terms(name="survey", title=title)
    return make_campaign(DOMAIN, terms, CampaignRequest(epsilon=epsilon))


CAMPAIGN = campaign_of("one")
RESTORE = "restore it from a backup, because"


# ---- several at once


def test_threads_that_open_a_store_for_the_first_time_agree_on_it(tmp_path):
    """The race of a salt, a lock and a list of files: one of 8 threads was told that the store had lost its salt."""
    n_clients = 8
    for attempt in range(40 if FULL else 8):
        barrier = Barrier(n_clients)

        def encode(i: int, attempt: int = attempt, barrier: Barrier = barrier) -> bytes:
            store = FileStore(tmp_path / str(attempt))
            client = Client(CAMPAIGN, store=store, respondent=str(i % 4))
            barrier.wait(timeout=120)
            return client.encode(RECORD).to_bytes()

        with ThreadPoolExecutor(n_clients) as pool:
            made = list(pool.map(encode, range(n_clients)))
        assert made[:4] == made[4:] and sorted(set(made)) == sorted(
            reports_in(tmp_path / str(attempt))
        )


def test_threads_that_share_a_store_in_memory_draw_once():
    store, barrier = MemoryStore(), Barrier(8)

    def encode(i: int) -> bytes:
        barrier.wait(timeout=120)
        return Client(CAMPAIGN, store=store, lifetime_cap=1).encode(RECORD).to_bytes()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(encode, range(8)))) == 1


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
    """And none is refused wrongly, though the others write while its total is read."""
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
    lines = [process.communicate(timeout=300)[0].split() for process in started]
    made: dict[str, set[str]] = {path: set() for path in paths}
    for own, order in zip(lines, orders, strict=True):
        for line, path in zip(own, order, strict=True):
            made[path].add(line)
    drawn = [path for path in paths if made[path] - {"refused"}]
    assert len(drawn) == len(reports_in(tmp_path / "store")) == 3
    assert all(len(made[path] - {"refused"}) == 1 for path in drawn)
    spent = Client(CAMPAIGN, store=FileStore(tmp_path / "store")).spent()
    assert spent == FINE.multiply(CAMPAIGN.loss, 3)


def test_a_cap_refuses_nothing_wrongly_while_others_write(tmp_path):
    """The old totals were read first and the reports listed later: what another thread made in between was not counted, and so
    the cap was refused."""
    store, n = FileStore(tmp_path), 12

    def encode(i: int) -> bytes:
        client = Client(campaign_of(f"{i}"), store=store, lifetime_cap=n, respondent=str(i % 2))
        return client.encode(RECORD).to_bytes()

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(encode, range(n)))) == n


def test_a_program_that_waits_too_long_for_another_is_told_so(tmp_path, monkeypatch):
    store = FileStore(tmp_path)
    Client(CAMPAIGN, store=store).encode(RECORD)
    monkeypatch.setattr("lopub.client.store.BUSY_SECONDS", 0.05)
    with store.writing(), pytest.raises(StoreError, match="in use by another program"):
        Client(campaign_of("two"), store=store).encode(RECORD)
    assert len(reports_in(tmp_path)) == 1


def test_reading_opens_the_file_for_reading_alone(tmp_path, monkeypatch):
    client = Client(CAMPAIGN, store=FileStore(tmp_path))
    client.encode(RECORD)
    opened: list[str] = []
    real = sqlite3.connect

    def watched(path, **options):
        opened.append(str(path))
        return real(path, **options)

    monkeypatch.setattr("lopub.client.store.sqlite3.connect", watched)
    for ask in (client.kept, client.reports, client.waiting, client.sent, client.spent, client.due):
        ask()
    client.encode(OTHER)
    assert opened and all(path.endswith("/store.db?mode=ro") for path in opened)


# ---- respondents stay apart


def test_no_two_of_many_respondents_share_a_report():
    """A key that is cut to 8 bits lets the second of two people send the first one's report, and never a report of her own."""
    store = MemoryStore()
    ids = {
        Client(CAMPAIGN, store=store, respondent=f"person {i}").encode(RECORD).id
        for i in range(700)
    }
    assert len(ids) == 700


def test_the_totals_of_respondents_are_apart(tmp_path):
    store = FileStore(tmp_path)
    Client(CAMPAIGN, store=store, respondent="ada", lifetime_cap=1).encode(RECORD)
    assert Client(CAMPAIGN, store=store, respondent="bob").spent() == 0
    Client(CAMPAIGN, store=store, respondent="bob", lifetime_cap=1).encode(RECORD)
    with pytest.raises(EpsilonTooHigh):
        Client(campaign_of("two"), store=store, respondent="ada", lifetime_cap=1).encode(RECORD)


# ---- the sum


@both_stores
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
    assert clients[0].spent() == FINE.multiply(CAMPAIGN.loss, 5)


@both_stores
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


@both_stores
def test_a_lifetime_is_held_from_the_first_draw_to_the_tenth(tmp_path, make):
    """A check that looks at the first draws only, or at the last total, passes with two campaigns."""
    for n_before in range(10):
        store = make(tmp_path / str(n_before))
        for i in range(n_before):
            Client(campaign_of(str(i), "0.5"), store=store, lifetime_cap="4.9").encode(RECORD)
        cap = FINE.multiply(campaign_of("0", "0.5").loss, n_before + 1)
        new = campaign_of("new", "0.5")
        below = FINE.subtract(cap, Decimal("1e-90"))
        with pytest.raises(EpsilonTooHigh):
            Client(new, store=store, lifetime_cap=below).encode(RECORD)
        assert Client(new, store=store, lifetime_cap=cap).encode(RECORD)


def test_a_campaign_is_refused_exactly_above_its_cap():
    below = FINE.subtract(CAMPAIGN.loss, Decimal("1e-100"))
    assert Client(CAMPAIGN, epsilon_cap=CAMPAIGN.loss, store=MemoryStore())
    with pytest.raises(EpsilonTooHigh):
        Client(CAMPAIGN, epsilon_cap=below, store=MemoryStore())


@both_stores
def test_a_refused_report_is_neither_drawn_nor_counted(tmp_path, monkeypatch, make):
    store = make(tmp_path)
    monkeypatch.setattr(
        "lopub.client.client.randomized",
        lambda *arguments, **options: pytest.fail("noise was drawn"),
    )
    with pytest.raises(EpsilonTooHigh):
        Client(CAMPAIGN, store=store, lifetime_cap="0.5").encode(RECORD)
    client = Client(CAMPAIGN, store=store)
    assert (client.reports(), client.spent()) == ((), 0)


@both_stores
def test_noise_is_drawn_only_after_it_was_charged(tmp_path, monkeypatch, make):
    statements: list[str] = []
    real = sqlite3.connect

    def watched(*arguments, **options):
        connection = real(*arguments, **options)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr("lopub.client.store.sqlite3.connect", watched)
    monkeypatch.setattr(
        "lopub.client.client.randomized",
        lambda *arguments, **options: statements.append("noise") or 1 / 0,
    )
    client = Client(CAMPAIGN, store=make(tmp_path))
    with pytest.raises(ZeroDivisionError):
        client.encode(RECORD)
    charged = [i for i, one in enumerate(statements) if one.startswith("UPDATE series SET loss")]
    assert charged and charged[0] < statements.index("noise")


@both_stores
def test_what_was_charged_is_never_charged_less(tmp_path, make):
    with make(tmp_path).writing() as rows:
        rows.begin("key", "person")
        assert rows.spent("person") == 0
        for loss in ("2", "1"):
            rows.charge("key", Decimal(loss))
        assert rows.spent("person") == 2


@both_stores
def test_a_report_is_not_kept_uncharged(tmp_path, make):
    store = make(tmp_path)
    with pytest.raises((sqlite3.IntegrityError, StoreError)), store.writing() as rows:  # noqa: PT012
        rows.begin("key", "person")
        rows.keep_report("key", 0, b"report")
    with store.reading() as rows:
        assert rows.series("key") is None and rows.n_reports() == 0


@both_stores
def test_a_report_that_is_made_already_is_handed_out_whatever_the_cap(tmp_path, make):
    store = make(tmp_path)
    first = Client(CAMPAIGN, store=store).encode(RECORD)
    client = Client(CAMPAIGN, store=store, lifetime_cap="0.1")
    assert client.encode(OTHER) == first and client.spent() == CAMPAIGN.loss


def test_a_record_that_does_not_fit_is_not_counted(tmp_path):
    client = Client(CAMPAIGN, store=FileStore(tmp_path / "store"))
    with pytest.raises(DomainError):
        client.encode({})
    assert client.spent() == 0 and list(tmp_path.iterdir()) == []


@every([0, -1, float("nan"), "much", True])
def test_a_lifetime_cap_that_is_no_budget_is_refused(cap):
    with pytest.raises(CampaignError, match="lifetime_cap must be"):
        Client(CAMPAIGN, lifetime_cap=cap, store=MemoryStore())


# ---- what was kept and is gone


def in_memory(store: Store, query: str) -> None:
    with store.writing() as rows:
        rows._execute(query)


def in_file(store: Store, query: str) -> None:
    assert isinstance(store, FileStore)
    asked(store.path.parent, query)


@both_stores
@pytest.mark.parametrize(
    "loss",
    [
        "DELETE FROM reports",
        "DELETE FROM series",
        "UPDATE series SET name = x'00'",
        "UPDATE reports SET series = x'00'",
        "UPDATE reports SET fate = 'eaten'",
        "UPDATE series SET n_reports = 2",
        "UPDATE series SET n_reports = 0",
        "UPDATE series SET loss = 'much'",
        "UPDATE series SET loss = '-1'",
        "UPDATE series SET loss = '1E+99999'",
        "UPDATE series SET loss = 'NaN'",
        "UPDATE series SET rounds = 7, answer = 'text'",
        "DELETE FROM facts",
        "UPDATE facts SET value = randomblob(32) WHERE name = 'salt'",
        "UPDATE facts SET value = 'text' WHERE name = 'salt'",
    ],
)
def test_a_row_that_is_lost_or_damaged_is_refused_and_nothing_is_drawn_anew(tmp_path, make, loss):
    """A lost file of a report meant a silent second draw; `MemoryStore` has the same contract."""
    store = make(tmp_path)
    client = Client(CAMPAIGN, store=store, lifetime_cap=5)
    made = client.encode(RECORD)
    (in_file if isinstance(store, FileStore) else in_memory)(store, loss)
    refusals, first = [], made
    for ask in (
        lambda: client.encode(OTHER),
        client.spent,
        lambda: Client(campaign_of("two"), store=store, lifetime_cap=5).encode(OTHER),
    ):
        try:
            found = ask()
        except StoreError as error:
            refusals.append(str(error))
        else:
            assert (
                not isinstance(found, Report) or found == first or found.campaign != first.campaign
            )
    assert refusals and all(RESTORE in one for one in refusals)


def test_a_store_whose_file_alone_was_lost_is_not_begun_anew(tmp_path):
    """The journal lies beside it for good, and tells that it was there."""
    client = Client(CAMPAIGN, store=FileStore(tmp_path))
    client.encode(RECORD)
    (tmp_path / "store.db").unlink()
    for ask in (client.kept, client.spent, lambda: client.encode(RECORD)):
        with pytest.raises(StoreError, match=RESTORE):
            ask()


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "cut by a byte": lambda data: data[:-1],
    "its first page alone": lambda data: data[:4096],
    "zeros": lambda data: bytes(len(data)),
    "its header": lambda data: bytes(100) + data[100:],
    "text": lambda data: b"no store",
    "random": lambda data: random.Random(1).randbytes(len(data)),
}


def test_a_damaged_file_is_told_as_such_and_never_replaced(tmp_path):
    Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD)
    path, begun = tmp_path / "store.db", []
    whole = path.read_bytes()
    pages = {
        f"page {at // 4096}": lambda data, at=at: data[:at] + bytes(4096) + data[at + 4096 :]
        for at in range(0, len(whole), 4096)
    }
    for name, damage in (DAMAGES | pages).items():
        path.write_bytes(damaged := damage(whole))
        client = Client(CAMPAIGN, store=FileStore(tmp_path))
        for ask in (lambda client=client: client.encode(OTHER), client.kept):
            try:
                ask()
                begun.append(name)
            except StoreError as error:
                if not (RESTORE in str(error) and "delete" not in str(error)):
                    begun.append(f"{name}: {error}")
        if path.read_bytes() != damaged:
            begun.append(f"{name}: replaced")
    assert begun == []


def test_no_byte_that_is_damaged_leads_to_a_second_draw(tmp_path):
    """A bit anywhere: either it is told, or the same report is handed out, or one that was kept by somebody else is untouched."""
    made = Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD)
    path, rng, drawn = tmp_path / "store.db", random.Random(5), []
    whole = path.read_bytes()
    used = [at for at, byte in enumerate(whole) if byte]
    for at in rng.sample(used, len(used) if FULL else 150):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
        try:
            report = Client(CAMPAIGN, store=FileStore(tmp_path)).encode(OTHER)
        except StoreError:
            continue
        if report.id != made.id and (report.view(CAMPAIGN), report.payload) != (
            made.view(CAMPAIGN),
            made.payload,
        ):
            drawn.append(at)
    assert drawn == []


# ---- what a store tells


def test_a_store_has_no_unsalted_hash_of_anybody(tmp_path):
    digest = hashlib.sha256(b"ada@example.org").digest()
    for name in ("a", "b"):
        store = FileStore(tmp_path / name)
        Client(CAMPAIGN, store=store, respondent="ada@example.org").encode(RECORD)
        for secret in (digest[:4], digest.hex()[:8].encode(), bytes.fromhex(CAMPAIGN.id)[8:12]):
            assert secret not in bytes_of(tmp_path / name)
        assert CAMPAIGN.id[:8].encode() not in bytes_of(tmp_path / name)
    names = [{name for (name,) in asked(tmp_path / one, "SELECT name FROM series")} for one in "ab"]
    assert not names[0] & names[1]


def test_rows_have_no_time_and_lie_in_no_order_of_time(tmp_path):
    for i in range(12):
        Client(campaign_of(f"number {i}"), store=FileStore(tmp_path)).encode(RECORD)
    columns = {name for table in ("facts", "series", "reports") for _, name, *_ in
               asked(tmp_path, f"PRAGMA table_info({table})")}  # fmt: skip
    assert columns == {
        *("name", "value", "person", "rounds", "answer", "loss", "n_reports"),
        *("series", "report", "fate"),
    }
    for table in ("facts", "series", "reports"):
        with pytest.raises(sqlite3.OperationalError, match="no such column: rowid"):
            asked(tmp_path, f"SELECT rowid FROM {table}")
    names = [name for (name,) in asked(tmp_path, "SELECT name FROM series")]
    assert names == sorted(names) and len(names) == 12


def test_every_file_and_directory_of_a_store_is_its_owners_alone(tmp_path):
    umask = os.umask(0)
    try:
        Client(CAMPAIGN, store=FileStore(tmp_path / "home" / ".lopub")).encode(RECORD)
    finally:
        os.umask(umask)
    found = {
        path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in (tmp_path / "home").rglob("*")
    }
    assert found == {".lopub": "0o700", "store.db": "0o600", "store.db-journal": "0o600"}
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700


@both_stores
def test_after_everything_was_deleted_no_file_holds_anything_of_it(tmp_path, make):
    store = make(tmp_path)
    clients = [Client(campaign_of(str(i)), store=store, respondent=str(i % 3)) for i in range(40)]
    made = [client.encode(RECORD) for client in clients]
    if isinstance(store, FileStore):
        rows = asked(tmp_path, "SELECT name, person FROM series")
        (salt,) = asked(tmp_path, "SELECT value FROM facts WHERE name = 'salt'")
    store.delete_everything()
    assert all((client.reports(), client.spent()) == ((), 0) for client in clients)
    if isinstance(store, FileStore):
        left = bytes_of(tmp_path)
        names = [name for row in rows for name in row]
        for secret in [*salt, *names, *(one.id for one in made), *(m.to_bytes() for m in made)]:
            assert secret not in left
    assert clients[0].encode(RECORD).id != made[0].id  # which PRIVACY.md says is a second report


def test_deleting_everything_where_nothing_is_makes_nothing(tmp_path):
    FileStore(tmp_path / "store").delete_everything()
    assert list(tmp_path.iterdir()) == []


def test_what_becomes_of_a_report_leaves_nothing_of_what_was_before(tmp_path):
    client = Client(CAMPAIGN, store=FileStore(tmp_path))
    client.encode(RECORD)
    assert b"waiting" in bytes_of(tmp_path)
    client.cancel()
    assert b"waiting" not in bytes_of(tmp_path) and b"cancelled" in bytes_of(tmp_path)


# ---- its directory


def test_a_loose_directory_is_closed_to_others(tmp_path):
    left = {}
    for mode in (0o755, 0o750, 0o701, 0o777, 0o1777):
        store = tmp_path / oct(mode)
        store.mkdir()
        store.chmod(mode)
        Client(CAMPAIGN, store=FileStore(store)).encode(RECORD)
        left[oct(mode)] = oct(stat.S_IMODE(store.stat().st_mode))
    assert set(left.values()) == {"0o700"}, left


def test_a_store_that_was_loosened_is_closed_when_it_is_next_written_to(tmp_path):
    store = tmp_path / "store"
    Client(CAMPAIGN, store=FileStore(store)).encode(RECORD)
    store.chmod(0o755)
    Client(campaign_of("two"), store=FileStore(store)).encode(RECORD)
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
    assert stat.S_IMODE(store.stat().st_mode) == 0o1777 and os.listdir(store) == ["theirs"]


@pytest.mark.parametrize("error", [PermissionError(1, "no"), None], ids=["refused", "ignored"])
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


def test_a_private_directory_may_hold_other_files(tmp_path):
    (tmp_path / "notes").write_bytes(b"mine")
    assert Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD)


def test_a_store_may_be_a_link_to_a_directory_with_an_odd_name(tmp_path):
    (tmp_path / "a?b%20#c d").mkdir(mode=0o755)
    (tmp_path / "store").symlink_to(tmp_path / "a?b%20#c d")
    for directory in ("store", "a?b%20#c d"):
        Client(CAMPAIGN, store=FileStore(tmp_path / directory)).encode(RECORD)
    assert len(reports_in(tmp_path / "store")) == 1


def test_asking_a_store_that_is_not_there_makes_nothing(tmp_path):
    client = Client(CAMPAIGN, store=FileStore(tmp_path / "store"))
    assert client.kept() is None and client.spent() == 0 and client.waiting() == ()
    assert client.due() is not None and not client.has_begun
    assert list(tmp_path.iterdir()) == []


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


def test_a_store_stays_where_it_was_named_whatever_directory_the_program_goes_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Forbids a second draw by a program that has changed its directory."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    store = FileStore("reports")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert store.path == tmp_path / "reports" / "store.db"
