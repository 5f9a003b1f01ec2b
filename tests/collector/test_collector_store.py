"""Stores keep each report once, for good, and nothing that tells who sent it or when."""

import hashlib
import os
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import sqlalchemy

import people
from load import withdraw
from lopub.campaign.report import Report
from lopub.collector.backup import backup, restore
from lopub.collector.batches import batch_of
from lopub.collector.campaigns import (
    all_campaigns,
    close_campaign,
    find_campaign,
    open_campaign,
    tally,
)
from lopub.collector.database import store_at
from lopub.collector.imports import import_reports
from lopub.collector.retention import erase
from lopub.collector.sqlite_store import SqliteStore
from lopub.collector.steward_log import actions, record
from lopub.collector.store import ReportStore, today
from lopub.collector.submissions import StoredReport, Submission
from lopub.collector.tokens import all_grants, grant_of, new_token, revoke
from lopub.collector.wire import row_of
from lopub.errors import (
    CampaignClosed,
    DomainError,
    NoCampaign,
    Reason,
    StorageFull,
    StoreError,
    StoreUnavailable,
    TooFewReports,
)
from lopub.reports.batch import ReportBatch
from servers import Postgres

CAMPAIGN = people.campaign()


@pytest.fixture
def store(database: str):
    opened = store_at(database)
    yield opened
    opened.close()


def rows(store: ReportStore, n: int) -> list[StoredReport]:
    number = find_campaign(store, CAMPAIGN.id).number
    return [
        row_of(Report.from_bytes(data, CAMPAIGN), number) for data in people.reports(CAMPAIGN, n)
    ]


def n_kept(store: ReportStore) -> int:
    return tally(store, find_campaign(store, CAMPAIGN.id)).n_reports


def opened(store: ReportStore) -> int:
    return open_campaign(store, CAMPAIGN)[0].number


def test_a_campaign_is_opened_once(store: ReportStore):
    assert open_campaign(store, CAMPAIGN)[1] is True
    assert open_campaign(store, CAMPAIGN)[1] is False
    assert [entry.campaign for entry in all_campaigns(store)] == [CAMPAIGN]


def test_an_unknown_campaign_is_told_as_such(store: ReportStore):
    with pytest.raises(NoCampaign, match="there is no campaign 0000000000000000… here"):
        find_campaign(store, "0" * 64)


def test_a_replay_is_success_and_counts_once(store: ReportStore):
    number = opened(store)
    kept = rows(store, 20)
    first = store.write([Submission(number, kept)])
    again = store.write([Submission(number, kept[5:] + rows(store, 1))])
    assert (first.n_accepted, first.n_replayed, again.n_accepted, again.n_replayed) == (
        20,
        0,
        1,
        15,
    )
    assert again.outcomes[0].refused == {}
    assert n_kept(store) == 21


def test_the_same_report_twice_in_one_commit_counts_once(store: ReportStore):
    number = opened(store)
    (row,) = rows(store, 1)
    written = store.write([Submission(number, [row, row]), Submission(number, [row])])
    assert (written.n_accepted, written.n_replayed, n_kept(store)) == (1, 2, 1)


@pytest.mark.parametrize("in_one_commit", [True, False])
def test_the_same_id_with_another_body_is_refused_and_the_first_kept(
    store: ReportStore, in_one_commit: bool
):
    number = opened(store)
    (row,) = rows(store, 1)
    others = [
        row._replace(slot=(row.slot or 0) + 1),
        row._replace(content=b"\x01" + (row.content or b"")[1:] + b"x"),
    ]
    groups = [[Submission(number, [row]), Submission(number, others)]]
    groups = groups if in_one_commit else [[group] for group in groups[0]]
    for group in groups:
        written = store.write(group)
    assert written.outcomes[-1].refused == {0: Reason.CONFLICT, 1: Reason.CONFLICT}
    with store.reading() as connection:
        ((kept,),) = store.rows(connection, number)
    assert kept == row[1:]
    assert tally(store, find_campaign(store, CAMPAIGN.id)).refused == {Reason.CONFLICT: 2}


def test_refused_reports_are_counted_by_reason_for_good(store: ReportStore, database: str):
    number = opened(store)
    for _ in range(3):
        store.write(
            [
                Submission(number, rows(store, 1), {Reason.RANGE: 2, Reason.JSON: 1}),
                Submission(number, [], {Reason.RANGE: 1}),
            ]
        )
    store.close()
    again = store_at(database)
    assert tally(again, find_campaign(again, CAMPAIGN.id)).refused == {
        Reason.JSON: 3,
        Reason.RANGE: 9,
    }
    again.close()


def test_a_closed_campaign_takes_nothing_more(store: ReportStore):
    number = opened(store)
    kept = rows(store, 3)
    store.write([Submission(number, kept[:2])])
    day = today()
    store.today = lambda: day
    entry = close_campaign(store, CAMPAIGN.id)
    assert entry.closed == day
    written = store.write([Submission(number, kept[2:], {Reason.JSON: 1})])
    assert written.outcomes[0].closed
    assert (written.n_accepted, n_kept(store)) == (0, 2)
    assert tally(store, entry).refused == {}
    with pytest.raises(CampaignClosed, match="is closed"):
        withdraw(store, entry, kept[0].hash)
    with pytest.raises(CampaignClosed, match="is closed"):
        open_campaign(store, CAMPAIGN)


def test_a_withdrawn_report_is_gone_and_stays_away(store: ReportStore):
    number = opened(store)
    kept = rows(store, 3)
    entry = find_campaign(store, CAMPAIGN.id)
    store.write([Submission(number, kept[:2])])
    withdraw(store, entry, kept[0].hash)
    withdraw(store, entry, kept[2].hash)  # before it comes
    written = store.write([Submission(number, kept)])
    assert written.outcomes[0].refused == {0: Reason.WITHDRAWN, 2: Reason.WITHDRAWN}
    found = tally(store, entry)
    assert (found.n_reports, found.n_withdrawn, found.refused) == (1, 1, {Reason.WITHDRAWN: 2})


def test_below_min_reports_no_count_is_shown(store: ReportStore):
    few = people.campaign(min_reports=5)
    entry, _ = open_campaign(store, few)
    made = [row_of(Report.from_bytes(data, few), entry.number) for data in people.reports(few, 5)]
    store.write([Submission(entry.number, made[:4])])
    with pytest.raises(TooFewReports, match="shows its counts from 5 reports on"):
        tally(store, entry)
    store.write([Submission(entry.number, made)])
    assert tally(store, entry).n_reports == 5


def test_reports_come_out_as_they_went_in_in_the_order_of_their_hashes(store: ReportStore):
    number = opened(store)
    data = people.reports(CAMPAIGN, 50)
    store.write(
        [Submission(number, [row_of(Report.from_bytes(each, CAMPAIGN), number) for each in data])]
    )
    batch = batch_of(store, find_campaign(store, CAMPAIGN.id))
    expected = sorted((hashlib.sha256(each[9:25]).digest(), each[25:]) for each in data)
    found = [
        (
            batch.ids[i].tobytes(),
            int(batch.slots[i]).to_bytes(4) + batch.masks[i].tobytes() + batch.payloads.string(i),
        )
        for i in range(len(batch))
    ]
    assert found == expected
    with pytest.raises(DomainError, match="keeps only the hashes of report ids"):
        batch.report(0)


def test_a_file_is_imported_once_with_its_refused_ones_counted(store: ReportStore, tmp_path: Path):
    entry, _ = open_campaign(store, CAMPAIGN)
    data = people.reports(CAMPAIGN, 30)
    batch = ReportBatch.from_reports([Report.from_bytes(each, CAMPAIGN) for each in data], CAMPAIGN)
    batch.save(tmp_path / "reports.parquet")
    told: list[tuple[str, int, int | None]] = []
    loaded = ReportBatch.load(tmp_path / "reports.parquet")
    first = import_reports(
        store, entry, [loaded[:20], loaded[20:]], progress=lambda *step: told.append(step)
    )
    again = import_reports(store, entry, [ReportBatch.load(tmp_path / "reports.parquet")])
    assert (first.n_accepted, first.n_replayed, again.n_accepted, again.n_replayed) == (
        30,
        0,
        0,
        30,
    )
    assert told == [("importing", 20, None), ("importing", 30, None)]
    close_campaign(store, CAMPAIGN.id)
    with pytest.raises(CampaignClosed, match="takes no more reports"):
        import_reports(store, entry, [batch])


def test_what_retention_deleted_is_in_no_file_any_more(tmp_path: Path):
    store = SqliteStore(tmp_path / "lopub.db")
    entry, _ = open_campaign(store, people.campaign("week", retention_days=7))
    marker = os.urandom(64)
    store.write(
        [
            Submission(
                entry.number,
                [
                    StoredReport(entry.number, os.urandom(32), 1, marker + bytes([i]))
                    for i in range(200)
                ],
            )
        ]
    )
    assert any(marker in path.read_bytes() for path in tmp_path.iterdir())
    erase(store, close_campaign(store, entry.campaign.id))
    assert not any(marker in path.read_bytes() for path in tmp_path.iterdir())
    store.close()


# ---- what is kept


def test_the_schema_has_no_place_for_a_sender_a_time_or_an_order(store: ReportStore):
    store.write([Submission(opened(store), rows(store, 1))])
    columns = {
        column["name"] for column in sqlalchemy.inspect(store._engine).get_columns("reports")
    }
    assert columns == {"campaign", "hash", "slot", "content"}


def test_sqlite_rows_have_no_number_of_arrival(tmp_path: Path):
    SqliteStore(tmp_path / "lopub.db").close()
    with (
        sqlite3.connect(tmp_path / "lopub.db") as connection,
        pytest.raises(sqlite3.OperationalError, match="rowid"),
    ):
        connection.execute("SELECT rowid FROM reports")
    connection.close()


def test_postgresql_rows_of_one_commit_lie_in_the_order_of_their_hashes(postgres: Postgres):
    store = store_at(postgres.new_database())
    number = opened(store)
    store.write([Submission(number, [row]) for row in rows(store, 40)])
    with store.reading() as connection:
        hashes = list(
            connection.execute(sqlalchemy.text("SELECT hash FROM reports ORDER BY ctid")).scalars()
        )
    assert hashes == sorted(hashes)
    store.close()


def test_only_its_owner_can_read_an_sqlite_file(tmp_path: Path):
    SqliteStore(tmp_path / "lopub.db").close()
    assert (tmp_path / "lopub.db").stat().st_mode & 0o077 == 0


# ---- tokens


def test_a_token_is_kept_as_a_hash_only(store: ReportStore):
    token = new_token(store, scope="read", days=3)
    grant = grant_of(store, token)
    assert grant and grant.scope == "read" and not grant.expired
    assert grant.allows("read") and not grant.allows("manage")
    assert grant_of(store, token + "x") is None
    with store.reading() as connection:
        stored = connection.execute(sqlalchemy.text("SELECT hash FROM tokens")).scalar()
    assert bytes(stored) == hashlib.sha256(token.encode()).digest()


def test_a_revoked_token_is_unknown(store: ReportStore):
    token = new_token(store, scope="manage", days=3)
    revoke(store, all_grants(store)[0].name)
    assert grant_of(store, token) is None
    with pytest.raises(DomainError, match="there is no token 'nothing'"):
        revoke(store, "nothing")


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ({"scope": "all", "days": 1}, "scope must be one of read, manage"),
        ({"scope": "read", "days": 0}, "days must lie in 1..3650"),
    ],
)
def test_a_token_that_cannot_be_is_refused(store: ReportStore, wish: dict, told: str):
    with pytest.raises(DomainError, match=told):
        new_token(store, **wish)


# ---- files and versions


@pytest.mark.parametrize(
    ("address", "told"),
    [
        (
            "mysql://x/y",
            "database must be sqlite:///FILE or postgresql://USER@HOST/NAME, got one of kind 'mysql'",
        ),
        ("nonsense", "database must be sqlite:///FILE or postgresql"),
        ("sqlite://", "needs a file"),
    ],
)
def test_an_address_of_another_kind_is_refused(address: str, told: str):
    with pytest.raises(DomainError, match=told):
        store_at(address)


def test_a_password_is_in_no_message():
    with pytest.raises(StoreUnavailable, match=r"is out of reach") as told:
        store_at("postgresql://lopub:secret@127.0.0.1:1/x")
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        (
            "postgresql://lopub:x@127.0.0.1:port/lopub",
            "database must be sqlite:///FILE or postgres",
        ),
        ("postgresql://lopub:se@cret@127.0.0.1:1/lopub", "write @ as %40, / as %2F, # as %23"),
        ("postgresql://lo/pub:secret@127.0.0.1:1/lopub", "write @ as %40, / as %2F, # as %23"),
    ],
)
def test_an_address_that_is_misread_is_refused_without_being_shown(address: str, told: str):
    """Forbids to show what a parser takes for the host: it may be the end of a password."""
    with pytest.raises(DomainError, match=re.escape(told)) as refused:
        store_at(address)
    assert "cret" not in str(refused.value) and "127.0.0.1" not in str(refused.value)


def test_an_at_sign_in_the_name_of_a_file_is_no_mistake(tmp_path: Path):
    store_at(f"sqlite:///{tmp_path}/one@two@three.db").close()
    assert (tmp_path / "one@two@three.db").exists()


def test_a_password_in_the_options_of_an_address_is_in_no_message():
    with pytest.raises(StoreUnavailable) as told:
        store_at("postgresql://lopub@127.0.0.1:1/x?password=secret")
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        (":99999/x", "names a port that there is not; a port is a number from 1 to 65535"),
        (":1/x?sslmode=perhaps", "has an sslmode that PostgreSQL does not know"),
        (":1/x?colour=red", "has an option that PostgreSQL does not know"),
    ],
)
def test_an_address_that_can_never_work_is_refused_for_good(rest: str, told: str):
    with pytest.raises(StoreError, match=told) as refused:
        store_at(f"postgresql://lopub:secret@127.0.0.1{rest}")
    assert not isinstance(refused.value, StoreUnavailable)
    assert "secret" not in str(refused.value) and "Error" not in str(refused.value)


@pytest.mark.parametrize("mode", ["prefer", "disable"])
def test_a_port_of_another_program_is_refused_for_good(mode: str):
    with socket.create_server(("127.0.0.1", 0)) as other:
        threading.Thread(target=answer_as_a_web_server, args=(other,), daemon=True).start()
        address = f"postgresql://lopub@127.0.0.1:{other.getsockname()[1]}/x?sslmode={mode}"
        with pytest.raises(StoreError, match="is not PostgreSQL: another program answers"):
            store_at(address)


def answer_as_a_web_server(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def test_a_server_that_is_down_may_be_asked_again():
    told = r"is out of reach \(nothing listens at this port\); try again later"
    with pytest.raises(StoreUnavailable, match=told):
        store_at("postgresql://lopub@127.0.0.1:1/x")


@pytest.mark.parametrize("create", [True, False])
def test_a_file_that_is_no_database_is_refused_for_good_and_left_alone(
    tmp_path: Path, create: bool
):
    content = b"not a database, but long enough to be looked at" * 100
    (tmp_path / "people.csv").write_bytes(content)
    with pytest.raises(
        StoreError, match=r"people\.csv is not an SQLite database; choose another file"
    ) as told:
        store_at(f"sqlite:///{tmp_path}/people.csv", create=create)
    assert not isinstance(told.value, StoreUnavailable)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [content]


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path):
    with sqlite3.connect(tmp_path / "bookmarks.db") as connection:
        connection.execute("CREATE TABLE bookmarks (address TEXT)")
    connection.close()
    content = (tmp_path / "bookmarks.db").read_bytes()
    with pytest.raises(
        StoreError, match=r"bookmarks\.db belongs to another program; choose another"
    ):
        store_at(f"sqlite:///{tmp_path}/bookmarks.db")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [content]


def test_a_table_under_a_name_of_ours_is_refused(postgres: Postgres):
    address = postgres.new_database()
    engine = sqlalchemy.create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE tokens (x INTEGER)"))
    engine.dispose()
    with pytest.raises(StoreError, match="belongs to another program; choose another one"):
        store_at(address)


def test_a_store_that_is_opened_once_more_stays_locked_for_other_processes(tmp_path: Path):
    """To open and close the file, were it only to look, would give up the locks of the first connection: another process would
    then take the database for unused when it closes it, and remove its log."""
    address = f"sqlite:///{tmp_path}/lopub.db"
    first = store_at(address)
    new_token(first, scope="manage", days=1)
    store_at(address, create=False).close()
    code = f"from lopub.collector.database import store_at; store_at({address!r}).close()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
    assert (tmp_path / "lopub.db-wal").exists(), "the log of a database in use was removed"
    new_token(first, scope="read", days=1)
    assert len(all_grants(first)) == 2
    first.close()


def test_a_directory_is_refused_as_such(tmp_path: Path):
    with pytest.raises(
        StoreError, match=r"is a directory; name a file in it, as in sqlite:///.*/lopub\.db"
    ):
        store_at(f"sqlite:///{tmp_path}")
    with pytest.raises(StoreError, match="there is no directory"):
        store_at(f"sqlite:///{tmp_path}/nowhere/lopub.db")
    with pytest.raises(StoreError, match="there is no database"):
        store_at(f"sqlite:///{tmp_path}/lopub.db", create=False)


@pytest.mark.parametrize("mode", [0o000, 0o400])
@pytest.mark.parametrize("create", [True, False])
def test_a_file_without_permission_is_told_as_such(tmp_path: Path, mode: int, create: bool):
    SqliteStore(tmp_path / "lopub.db").close()
    (tmp_path / "lopub.db").chmod(mode)
    with (
        as_somebody_else(),
        pytest.raises(
            StoreError, match="may not be read and written by this user; change its permissions"
        ),
    ):
        store_at(f"sqlite:///{tmp_path}/lopub.db", create=create)


def test_a_directory_in_which_nothing_may_be_made_is_told_as_such():
    folder = Path(tempfile.mkdtemp(prefix="lopub-"))  # whose parents anybody may enter
    folder.chmod(0o555)
    try:
        with as_somebody_else(), pytest.raises(StoreError, match="may not be made by this user"):
            store_at(f"sqlite:///{folder}/lopub.db")
    finally:
        folder.rmdir()


@contextmanager
def as_somebody_else():
    """Root may read everything, so it becomes nobody for a while."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65_534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


def test_a_damaged_database_is_told_as_such(tmp_path: Path):
    store = SqliteStore(tmp_path / "lopub.db")
    number = opened(store)
    store.write(
        [
            Submission(
                number,
                [StoredReport(number, os.urandom(32), 1, os.urandom(2000)) for _ in range(50)],
            )
        ]
    )
    store.scrub()
    store.close()
    content = bytearray((tmp_path / "lopub.db").read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    (tmp_path / "lopub.db").write_bytes(content)
    with pytest.raises(StoreError, match="is damaged; restore a backup into a new file"):
        store_at(f"sqlite:///{tmp_path}/lopub.db")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "guarded:wrong@127.0.0.1:{port}/{name}",
            "refuses this user's password; give the right one",
        ),
        ("guarded@127.0.0.1:{port}/{name}", "asks for a password; give one"),
        (
            "rejected@127.0.0.1:{port}/{name}",
            "does not let this user in from here; see the server's pg_hba.conf",
        ),
        (
            "lopub@127.0.0.1:{port}/nothing",
            "nothing is not on this server; make it with createdb",
        ),
        (
            "stranger@127.0.0.1:{port}/{name}",
            "does not let this user log in; check the name",
        ),
        (
            "powerless@127.0.0.1:{port}/{name}",
            "does not let this user make or use the collector's tables",
        ),
        pytest.param(
            "lopub@nowhere.invalid/{name}",
            "names a host that is not known; check the address",
            marks=pytest.mark.full,  # asks the network
        ),
    ],
)
def test_a_postgresql_that_refuses_for_good_is_told_as_such(
    guarded: tuple[int, str], name: str, told: str
):
    port, database = guarded
    with pytest.raises(StoreError, match=told) as refusal:
        store_at(f"postgresql://{name.format(port=port, name=database)}")
    assert not isinstance(refusal.value, StoreUnavailable)
    assert "wrong" not in str(refusal.value)


@pytest.fixture(scope="module")
def guarded(postgres: Postgres) -> tuple[int, str]:
    """A port and a database where not everybody may do everything."""
    name = postgres.new_database().rpartition("/")[2]
    for role in (
        "guarded LOGIN PASSWORD 'right'",
        "powerless LOGIN",
    ):  # unless another worker of the tests was here before
        postgres.sql(
            f"DO $$ BEGIN CREATE ROLE {role}; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
    rules = postgres.directory / "data" / "pg_hba.conf"
    own = "host all guarded 127.0.0.1/32 scram-sha-256\nhost all rejected 127.0.0.1/32 reject\n"
    rules.write_text(own + rules.read_text())
    postgres.reload()
    return postgres.port, name


def test_a_deleted_sqlite_file_is_told_instead_of_written_to(tmp_path: Path):
    """SQLite itself would acknowledge reports into a file that nobody can open any more."""
    store = SqliteStore(tmp_path / "lopub.db")
    number = opened(store)
    (tmp_path / "lopub.db").rename(tmp_path / "away.db")
    with pytest.raises(StoreUnavailable, match="is gone; put it back"):
        store.write([Submission(number, [])])
    (tmp_path / "away.db").rename(tmp_path / "lopub.db")
    assert store.write([Submission(number, rows(store, 1))]).n_accepted == 1
    store.close()


def test_a_full_sqlite_file_is_told_and_takes_reports_again_later(tmp_path: Path):
    store = SqliteStore(tmp_path / "lopub.db")
    number = opened(store)
    kept = [StoredReport(number, os.urandom(32), 1, os.urandom(2000)) for _ in range(400)]
    with store.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 20}")
    with pytest.raises(StorageFull, match="has no space left"):
        store.write([Submission(number, kept)])
    with store.writing() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 100000")
    assert store.write([Submission(number, kept)]).n_accepted == 400
    store.close()


# ---- backup


def test_a_backup_is_the_same_whatever_store_it_comes_from(tmp_path: Path, postgres: Postgres):
    data = people.reports(CAMPAIGN, 20)
    files = []
    for name, address in (("s", f"sqlite:///{tmp_path}/lopub.db"), ("p", postgres.new_database())):
        store = store_at(address)
        entry, _ = open_campaign(store, CAMPAIGN)
        for each in data if name == "s" else reversed(data):
            store.write(
                [
                    Submission(
                        entry.number,
                        [row_of(Report.from_bytes(each, CAMPAIGN), entry.number)],
                        {Reason.JSON: 1},
                    )
                ]
            )
        files.append(tmp_path / name)
        assert backup(store, files[-1]) == 20
        store.close()
    contents = [Counter("\n".join(sqlite3.connect(file).iterdump()).splitlines()) for file in files]
    assert contents[0] == contents[1]


def test_a_backup_restores_into_either_kind(store: ReportStore, tmp_path: Path):
    source = SqliteStore(tmp_path / "source.db")
    entry, _ = open_campaign(source, CAMPAIGN)
    kept = rows(source, 25)
    source.write([Submission(entry.number, kept, {Reason.JSON: 3})])
    withdraw(source, entry, kept[0].hash)
    token = new_token(source, scope="read", days=2)
    record(source, "somebody", "sign-in")
    backup(source, tmp_path / "backup")
    source.close()
    before = (tmp_path / "backup").read_bytes()
    told: list[tuple[str, int, int | None]] = []
    assert restore(tmp_path / "backup", store, progress=lambda *step: told.append(step)) == 24
    copied = {
        "retention": 1,
        "campaigns": 1,
        "reports": 25,
        "tallies": 2,
        "refusals": 1,
        "tokens": 1,
        "audit": 1,
    }
    assert told == [(f"copying {name}", n, None) for name, n in copied.items()]
    assert (tmp_path / "backup").read_bytes() == before
    found = find_campaign(store, CAMPAIGN.id)
    counted = tally(store, found)
    assert (counted.n_reports, counted.n_withdrawn, counted.refused) == (24, 1, {Reason.JSON: 3})
    assert grant_of(store, token)
    assert open_campaign(store, people.campaign("another"))[1]
    record(store, "somebody", "sign-in")
    assert len(actions(store)) == 2
    with pytest.raises(StoreError, match="has been used already; restore into a new one"):
        restore(tmp_path / "backup", store)


@pytest.mark.parametrize("name", ["x#1.bak", "x?mode=rw.bak", "x%41.bak", "x y.bak"])
def test_a_backup_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.chdir(tmp_path)
    source, sink = SqliteStore(tmp_path / "source.db"), SqliteStore(tmp_path / "sink.db")
    open_campaign(source, CAMPAIGN)
    backup(source, Path(name))
    assert restore(Path(name), sink) == 0 and find_campaign(sink, CAMPAIGN.id)
    source.close()
    sink.close()
    assert {
        path.name for path in tmp_path.iterdir() if not path.name.startswith(("source", "sink"))
    } == {name}


def test_a_restore_reads_the_backup_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A copy in $TMPDIR, with every report, outlasted a restore that was killed."""
    source, sink = SqliteStore(tmp_path / "source.db"), SqliteStore(tmp_path / "sink.db")
    open_campaign(source, CAMPAIGN)
    directory, elsewhere = tmp_path / "backups", tmp_path / "elsewhere"
    directory.mkdir()
    elsewhere.mkdir()
    backup(source, directory / "copy")
    (directory / "copy").chmod(0o400)
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    seen = []

    def look(*_) -> None:
        seen.append([path.name for path in [*directory.iterdir(), *elsewhere.iterdir()]])

    restore(directory / "copy", sink, progress=look)
    assert seen and all(names == ["copy"] for names in seen)
    source.close()
    sink.close()


def test_a_file_that_is_no_backup_is_refused(tmp_path: Path):
    store = SqliteStore(tmp_path / "lopub.db")
    (tmp_path / "broken").write_bytes(b"nothing of the kind")
    with pytest.raises(StoreError, match="is not a backup of a collector, or is damaged"):
        restore(tmp_path / "broken", store)
    with pytest.raises(StoreError, match="there is no backup"):
        restore(tmp_path / "nothing", store)
    store.close()


def test_one_connection_of_its_own_writes(tmp_path: Path):
    """Forbids to let readers and the writer share connections: each commit made the page caches of all others worthless, and the
    process grew by one more cache whenever two of them met."""
    store, writing, reading = SqliteStore(tmp_path / "lopub.db"), set[int](), set[int]()
    for _ in range(3):
        with store.writing() as connection:
            writing.add(id(connection.connection.driver_connection))
            with store.reading() as beside:
                reading.add(id(beside.connection.driver_connection))
    assert len(writing) == 1 and not writing & reading
    store.close()
