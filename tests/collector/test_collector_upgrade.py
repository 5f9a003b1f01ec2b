"""Databases of other revisions are refused, days end when they end, and a damaged backup is noticed."""

import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import sqlalchemy
from test_collector_agreement import published_files
from test_collector_cli import lopub

import load
from load import Uploaders, kind_of, lost_and_doubled, note_figures
from lopub import Campaign, CampaignRequest, Schedule, StoreError, Terms, make_campaign
from lopub.campaign.schedule import EPOCH
from lopub.collector import store as clock
from lopub.collector.backup import SEAL_BYTES, _seal, backup, restore
from lopub.collector.batches import batch_of
from lopub.collector.campaigns import (
    _read,
    all_campaigns,
    close_campaign,
    find_campaign,
    open_campaign,
)
from lopub.collector.database import store_at
from lopub.collector.imports import import_reports
from lopub.collector.retention import sweep
from lopub.collector.rows import campaigns, metadata
from lopub.collector.schema import SCHEMA, revision_of
from lopub.collector.sqlite_store import SqliteStore
from lopub.errors import StoreUnavailable
from servers import Postgres, running_collector
from tiers import FULL

CAMPAIGN = load.campaign()


# ---- revisions


def move(address: str, revision: int) -> None:
    """Give a database another revision, as another version of the program would."""
    store = store_at(address)
    with store._writer().begin() as connection:
        connection.exec_driver_sql(f"UPDATE lopub_schema SET revision = {revision}")
    store.close()


@contextmanager
def moved(address: str) -> Iterator[None]:
    """While a newer program has moved the schema; at the end it is moved back, as if newer collectors had started."""
    store = store_at(address)
    move(address, 9999)
    yield
    with store._writer().begin() as connection:
        connection.exec_driver_sql(f"UPDATE lopub_schema SET revision = {SCHEMA}")
    store.close()


@pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.full)], indirect=True
)
def test_a_collector_writes_nothing_once_the_schema_has_moved(database: str):
    """Forbids to go on writing beside a newer collector: what the newer one keeps exact, the older would not."""
    load.opened(database, CAMPAIGN)
    bodies = load.bodies_of(load.population(CAMPAIGN, 4_000, seed=21), 20)
    with running_collector(database) as collector:
        load.uploaded(collector.port, CAMPAIGN, bodies[:20])
        with moved(database):
            uploaders = Uploaders(collector.port, CAMPAIGN, bodies[20:])
            until = time.monotonic() + 120
            while uploaders.statuses[503] < 50 and time.monotonic() < until:
                time.sleep(0.01)
            assert uploaders.statuses[503] >= 50 and not uploaders.acknowledged
            assert collector.ask("GET", "/ready").status == 503
            n_refused = uploaders.statuses[503]
        uploaders.join()
    lost, doubled = lost_and_doubled(database, CAMPAIGN, bodies)
    note_figures(
        "schema-moved",
        kind_of(database),
        answers_503=n_refused,
        answers_200=0,
        lost=lost,
        doubled=doubled,
    )
    assert (lost, doubled) == (0, 0)


@pytest.mark.full
def test_two_collectors_are_restarted_in_turn_under_load(postgres: Postgres):
    database = postgres.new_database()
    load.opened(database, CAMPAIGN)
    bodies = load.bodies_of(load.population(CAMPAIGN, 40_000, seed=22), 20)
    with running_collector(database) as first, running_collector(database) as second:
        half = len(bodies) // 2
        senders = [
            Uploaders(first.port, CAMPAIGN, bodies[:half]),
            Uploaders(second.port, CAMPAIGN, bodies[half:]),
        ]
        for each in senders:
            each.wait_for(10)
        for each in (first, second):
            each.stop()
        for sender in senders:
            with running_collector(database) as new:
                sender.port = new.port
                sender.join()
    lost, doubled = lost_and_doubled(database, CAMPAIGN, bodies)
    note_figures(
        "rolling-restart", "postgresql", acknowledged=20 * len(bodies), lost=lost, doubled=doubled
    )
    assert (lost, doubled) == (0, 0)


def test_an_older_program_refuses_a_newer_revision_in_one_sentence(tmp_path: Path):
    database = f"sqlite:///{tmp_path}/lopub.db"
    load.opened(database, CAMPAIGN)
    move(database, 9999)
    options = ("--alone", "--database", database, "--port", "0")
    refused = lopub("serve", *options, directory=tmp_path, code=1)
    assert refused.count("\n") <= 1
    assert (
        f"was made by a newer LoPub (revision 9999, and this one knows {SCHEMA}); install the newer"
        in refused
    )


OLDER = "was made by an older LoPub, and this one reads only its own; finish its campaigns with"


def with_tables_of(version: str, address: str) -> None:
    """Give an empty database the tables of an older version, which Alembic had made, or of another program."""
    names = ["alembic_version"]
    if version == "older":
        names += ["campaigns", "reports", "refusals", "tokens"]
    engine = sqlalchemy.create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        for name in names:
            connection.exec_driver_sql(f"CREATE TABLE {name} (version_num VARCHAR(32))")
    engine.dispose()


def test_a_database_that_alembic_migrated_is_refused_in_one_sentence(database: str):
    with_tables_of("older", database)
    with pytest.raises(StoreError, match=OLDER) as refusal:
        store_at(database)
    assert "\n" not in str(refusal.value)


def test_an_older_revision_is_refused_in_one_sentence(database: str):
    store_at(database).close()
    move(database, SCHEMA - 1)
    with pytest.raises(StoreError, match=OLDER):
        store_at(database)


def test_another_program_that_uses_alembic_is_not_taken_for_an_older_lopub(tmp_path: Path):
    database = f"sqlite:///{tmp_path}/lopub.db"
    with_tables_of("another program's", database)
    with pytest.raises(StoreError, match="belongs to another program; choose another one"):
        store_at(database)


def test_a_database_has_the_tables_that_the_program_uses(database: str):
    store = store_at(database)
    with store.reading() as connection:
        assert set(sqlalchemy.inspect(connection).get_table_names()) == set(metadata.tables)
        assert revision_of(connection) == SCHEMA
    store.close()


def test_what_only_reads_makes_no_tables_in_an_empty_database(postgres: Postgres):
    """`lopub collect list` with a slip in the address must not turn somebody's database into a collector's."""
    address = postgres.new_database()
    with pytest.raises(StoreError, match="has no tables of a collector; `lopub serve` makes them"):
        store_at(address, create=False)
    engine = sqlalchemy.create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
    assert sqlalchemy.inspect(engine).get_table_names() == []
    engine.dispose()


@pytest.mark.parametrize(
    "command",
    [
        *(["collect", "list"], ["collect", "close", "0" * 64], ["token", "list"]),
        *(["backup", "-o", "copy"], ["collect", "confirm-date", "2026-11-18"]),
        *(["export", "-o", "reports.parquet", "--from"], ["query", "n()", "--from"]),
    ],
    ids=" ".join,
)
def test_a_command_on_a_file_that_is_not_there_makes_none(tmp_path: Path, command: list[str]):
    address = [f"sqlite:///{tmp_path}/nothing.db"]
    given = address if command[-1] == "--from" else ["--database", *address]
    refused = lopub(*command, *given, directory=tmp_path, code=1)
    assert "there is no database" in refused
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("used_for", ["tokens", "audit", "drafts"])
def test_a_database_that_has_been_used_is_not_restored_into(
    database: str, backed_up: Path, used_for: str
):
    """Where it had no campaigns, the first number or token that both have ended in an IntegrityError."""
    store = store_at(database)
    with store.writing() as connection:
        connection.execute(sqlalchemy.insert(metadata.tables[used_for]).values(ROWS[used_for]))
    with pytest.raises(StoreError, match="has been used already; restore into a new one"):
        restore(backed_up, store)
    store.close()


ROWS = {
    "tokens": {"hash": bytes(32), "scope": "read", "expires": 0},
    "audit": {"time": 0, "who": "a token", "what": "sign-in", "subject": ""},
    "drafts": {"id": "0" * 32, "text": "{}", "people": 1, "epsilon": "2", "changed": 0},
}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE lopub_schema SET revision = 9999", "was made by a newer LoPub"),
        ("UPDATE lopub_schema SET revision = 0", "was made by an older LoPub"),
    ],
)
def test_a_backup_of_another_revision_is_refused_by_its_own_name(
    tmp_path: Path, backed_up: Path, change: str, told: str
):
    content = backed_up.read_bytes()[:-SEAL_BYTES]
    (tmp_path / "other").write_bytes(content)
    with sqlite3.connect(tmp_path / "other") as connection:
        connection.execute(change)
    connection.close()
    _seal(tmp_path / "other")
    empty = SqliteStore(tmp_path / "empty.db")
    with pytest.raises(StoreError, match=f"other {told}"):
        restore(tmp_path / "other", empty)
    empty.close()


def test_a_store_that_moved_says_which_schema_it_has(tmp_path: Path):
    store = store_at(f"sqlite:///{tmp_path}/lopub.db")
    with (
        moved(f"sqlite:///{tmp_path}/lopub.db"),
        pytest.raises(StoreUnavailable, match="has revision 9999 by now, and this program"),
    ):
        open_campaign(store, CAMPAIGN)
    open_campaign(store, CAMPAIGN)
    store.close()


# ---- backups


@pytest.fixture(scope="module")
def backed_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a store with a few hundred reports."""
    directory = tmp_path_factory.mktemp("backed_up")
    store = store_at(f"sqlite:///{directory}/lopub.db")
    entry, _ = open_campaign(store, CAMPAIGN)
    import_reports(store, entry, [load.population(CAMPAIGN, 2_000, seed=23)])
    backup(store, directory / "backup")
    store.close()
    return directory / "backup"


def test_no_flipped_bit_of_a_backup_goes_unnoticed(backed_up: Path, tmp_path: Path):
    content, rng = backed_up.read_bytes(), random.Random(1)
    places = [rng.randrange(8 * len(content)) for _ in range(200 if FULL else 20)]
    places += [8 * at for at in (0, 24, 60, 68, 96, len(content) - 1, len(content) - SEAL_BYTES)]
    empty = SqliteStore(tmp_path / "empty.db")
    for place in places:
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(StoreError, match="is not a backup of a collector, or is damaged"):
            restore(tmp_path / "damaged", empty)
    note_figures("backup", "flipped bits", places=len(places), noticed=len(places))
    empty.close()


@pytest.mark.parametrize("missing", [1, 20, SEAL_BYTES, SEAL_BYTES + 4096, 10_000])
def test_a_backup_that_was_cut_off_is_refused(backed_up: Path, tmp_path: Path, missing: int):
    (tmp_path / "damaged").write_bytes(backed_up.read_bytes()[:-missing])
    empty = SqliteStore(tmp_path / "empty.db")
    with pytest.raises(StoreError, match="is not a backup of a collector, or is damaged"):
        restore(tmp_path / "damaged", empty)
    empty.close()


@pytest.mark.full
def test_a_backup_made_under_load_gives_the_same_publication_on_either_kind(
    database: str, tmp_path: Path, postgres: Postgres
):
    load.opened(database, CAMPAIGN)
    bodies = load.bodies_of(load.population(CAMPAIGN, 4_000, seed=24), 20)
    with running_collector(database) as collector:
        uploaders = Uploaders(collector.port, CAMPAIGN, bodies)
        uploaders.wait_for(60)
        source = store_at(database)
        acknowledged = 20 * len(uploaders.acknowledged)
        n_copied = backup(source, tmp_path / "backup")
        uploaders.join()
        source.close()
    assert acknowledged <= n_copied <= 4_000
    files = []
    for name, address in (
        ("sqlite", f"sqlite:///{tmp_path}/restored.db"),
        ("postgresql", postgres.new_database()),
    ):
        store = store_at(address)
        assert restore(tmp_path / "backup", store) == n_copied
        files.append(
            published_files(batch_of(store, find_campaign(store, CAMPAIGN.id)), tmp_path / name)
        )
        store.close()
    differing = sum(files[0].get(name) != files[1].get(name) for name in {*files[0], *files[1]})
    note_figures(
        "backup",
        f"of {kind_of(database)}",
        reports=n_copied,
        files=len(files[0]),
        differing=differing,
    )
    assert files[0] and differing == 0


# ---- clocks


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("moment", "day"),
    [
        ("2028-02-28T23:59:59", date(2028, 2, 28)),
        ("2028-02-29T00:00:00", date(2028, 2, 29)),
        ("2028-02-29T23:59:59.999", date(2028, 2, 29)),
        ("2028-03-01T00:00:00", date(2028, 3, 1)),
        ("2100-02-28T23:59:59", date(2100, 2, 28)),
        ("2100-03-01T00:00:00", date(2100, 3, 1)),
    ],
)
def test_a_day_is_that_of_utc_to_the_second(
    monkeypatch: pytest.MonkeyPatch, moment: str, day: date
):
    monkeypatch.setattr(clock.time, "time", lambda: at(moment))
    assert clock.today() == slot_of(day)


def over_a_leap_day(retention_days: int) -> Campaign:
    schedule = Schedule(opens=date(2028, 2, 1), closes=date(2028, 2, 28))
    terms = Terms(name="leap", schedule=schedule, retention_days=retention_days)
    return make_campaign(load.DOMAIN, terms, CampaignRequest(epsilon=4))


def slot_of(day: date) -> int:
    return (day - EPOCH).days


def test_retention_is_never_early_whatever_the_clock_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The last day of the schedule, a day of grace on 29 February, two days of retention: nothing goes before 3 March."""
    target, now = over_a_leap_day(2), at("2028-02-10T12:00:00")
    monkeypatch.setattr(clock.time, "time", lambda: now)
    store = store_at(f"sqlite:///{tmp_path}/lopub.db")
    entry, _ = open_campaign(store, target, grace_days=1)

    def is_erased() -> bool:
        assert sweep(store)
        return find_campaign(store, target.id).erased is not None

    for day in range(10, 26):
        now = at(f"2028-02-{day}T12:00:00")
        assert not is_erased()
    for hours in (0, 30, -30, 60, -12):  # forward and back, across the border of a day
        now = at("2028-02-26T12:00:00") + 3600 * hours
        assert not is_erased()
    for moment in ("2028-02-29T23:59:59", "2028-03-01T00:00:00", "2028-03-02T23:59:59"):
        now = at(moment)
        assert not is_erased()
        assert (find_campaign(store, target.id).closed is None) == (moment < "2028-03-01")
    now = at("2028-03-03T00:00:00")
    assert is_erased()
    assert entry.closed == slot_of(date(2028, 2, 29))
    store.close()


def test_a_close_by_hand_counts_from_its_own_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    target, now = over_a_leap_day(1), at("2028-02-27T23:59:59")
    monkeypatch.setattr(clock.time, "time", lambda: now)
    store = store_at(f"sqlite:///{tmp_path}/lopub.db")
    open_campaign(store, target)
    assert close_campaign(store, target.id).closed == slot_of(date(2028, 2, 27))
    now = at("2028-02-28T23:59:59")
    assert sweep(store) and find_campaign(store, target.id).erased is None
    now = at("2028-02-29T00:00:00")
    assert sweep(store) and find_campaign(store, target.id).erased == slot_of(date(2028, 2, 29))
    store.close()


def test_no_campaign_stays_in_memory_because_its_retention_was_looked_at(tmp_path: Path):
    """Forbids to read all campaigns again and again, and to keep them: a collector grew with every one that it erased."""
    store = store_at(f"sqlite:///{tmp_path}/lopub.db")
    n_kept = _read.cache_info().currsize
    for number in range(3):
        terms = Terms(name=f"kept-{number}", retention_days=1)
        target = make_campaign(load.DOMAIN, terms, CampaignRequest(epsilon=4))
        open_campaign(store, target)
        with store.writing() as connection:
            closed = campaigns.update().where(campaigns.c.id == bytes.fromhex(target.id))
            connection.execute(closed.values(closed=store.today() - 10))
    assert sweep(store)
    assert _read.cache_info().currsize == n_kept
    assert len([each for each in all_campaigns(store) if each.erased]) == 3
    store.close()
