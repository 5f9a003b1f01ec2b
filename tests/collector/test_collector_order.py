"""What a database tells of the order in which reports came: groups while a campaign is open, nothing once it is closed."""

import random
import re
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy

import people
from load import set_day
from lopub.collector.campaigns import close_campaign, open_campaign
from lopub.collector.database import store_at
from lopub.collector.retention import confirm_date, sweep
from lopub.collector.store import ReportStore, today
from lopub.collector.submissions import StoredReport, Submission
from servers import Postgres

CAMPAIGN = people.campaign()
OTHER = people.campaign("another")
N = 200


def arrived(store: ReportStore, number: int, *, seed: int = 1, per_commit: int = 1) -> list[bytes]:
    """Write reports, so many per commit; their names in the order in which they came."""
    rng = random.Random(seed)
    rows = [StoredReport(number, rng.randbytes(32), today(), rng.randbytes(40)) for _ in range(N)]
    for start in range(0, N, per_commit):
        store.write([Submission(number, [row]) for row in rows[start : start + per_commit]])
    return [row.hash for row in rows]


def kept(store: ReportStore, number: int) -> list[tuple[bytes, int, bytes]]:
    """The reports of a campaign, as the store hands them out."""
    with store.reading() as connection:
        return [row for block in store.rows(connection, number) for row in block]


def asked(store: ReportStore, what: str) -> list:
    """What a database says of the rows of the first campaign, by the places where they lie."""
    statement = f"SELECT {what} FROM reports WHERE campaign = 1 ORDER BY ctid"
    with store.reading() as connection:
        return list(connection.execute(sqlalchemy.text(statement)).scalars())


def dumped(postgres: Postgres, address: str) -> list[bytes]:
    """The names of reports in the order of a dump."""
    lines = re.findall(
        rb"INSERT INTO public.reports VALUES \(1, '\\x([0-9a-f]{64})'", postgres.dump(address)
    )
    return [bytes.fromhex(line.decode()) for line in lines]


def test_while_it_is_open_only_the_order_of_commits_is_in_the_table(postgres: Postgres):
    """What rows.py says is kept: which group a report came with, and the order of the groups; none within a group."""
    store = store_at(postgres.new_database())
    number = open_campaign(store, CAMPAIGN)[0].number
    names = arrived(store, number, per_commit=50)
    found = asked(store, "hash")
    groups = [names[start : start + 50] for start in range(0, N, 50)]
    assert found == [name for group in groups for name in sorted(group)]
    assert len(set(asked(store, "xmin::text"))) == len(groups)
    store.close()


def test_once_it_is_closed_neither_table_nor_dump_tells_the_order(postgres: Postgres):
    """`ORDER BY ctid`, `pg_dump` and `xmin` gave the order of arrival of 200 of 200 reports."""
    address = postgres.new_database()
    store = store_at(address)
    number = open_campaign(store, CAMPAIGN)[0].number
    names = arrived(store, number)
    assert dumped(postgres, address) == asked(store, "hash") == names
    before = kept(store, number)
    close_campaign(store, CAMPAIGN.id)
    assert sweep(store)
    assert dumped(postgres, address) == asked(store, "hash") == sorted(names) != names
    assert len(set(asked(store, "xmin::text"))) == 1
    assert set(asked(store, "xmax::text")) == {"0"}
    assert kept(store, number) == before and len(before) == N
    store.close()


def test_withdrawn_reports_lie_among_the_others_once_it_is_closed(postgres: Postgres):
    """A withdrawn row is a row written anew, which would lie at the end of the table."""
    store = store_at(postgres.new_database())
    number = open_campaign(store, CAMPAIGN)[0].number
    names = arrived(store, number, per_commit=50)
    for name in names[::20]:
        store.write([Submission(number, [], withdrawn=[name])])
    close_campaign(store, CAMPAIGN.id)
    assert sweep(store)
    assert asked(store, "hash") == sorted(names)
    assert len(set(asked(store, "xmin::text"))) == 1
    store.close()


def test_pages_of_a_closed_campaign_in_sqlite_are_those_of_any_order_of_arrival(tmp_path: Path):
    """Within a page, SQLite puts what came later before what came earlier."""
    contents = {}
    for order in ("as drawn", "reversed"):
        for state in ("open", "closed"):
            path = tmp_path / f"{order} {state}.db"
            store = store_at(f"sqlite:///{path}")
            set_day(store, 20_000)
            confirm_date(store, 20_000, "test")
            number = open_campaign(store, CAMPAIGN)[0].number
            rng = random.Random(1)
            rows = [
                StoredReport(number, rng.randbytes(32), 20_000, rng.randbytes(40)) for _ in range(N)
            ]
            for row in rows if order == "as drawn" else rows[::-1]:
                store.write([Submission(number, [row])])
            if state == "closed":
                close_campaign(store, CAMPAIGN.id)
                assert sweep(store)
            else:
                store.scrub()
            log = Path(f"{path}-wal")
            assert state == "open" or log.stat().st_size < 5 * 4096  # what the sweep itself notes
            store.close()
            contents[order, state] = page_images(path)
    assert contents["as drawn", "open"] != contents["reversed", "open"]
    assert contents["as drawn", "closed"] == contents["reversed", "closed"]


def page_images(path: Path) -> list[bytes]:
    """The pages that hold reports, in the order of the file."""
    with sqlite3.connect(path) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'reports'")
        assert root.fetchone()
    connection.close()
    content = path.read_bytes()
    pages = [content[start : start + size] for start in range(0, len(content), size)]
    names = [random.Random(1).randbytes(32)]
    assert any(names[0] in page for page in pages)
    index_leaf = 10  # how SQLite marks a leaf of a table without row numbers
    return [page for page in pages if page[0] == index_leaf and len(set(page)) > 100]


def test_open_campaigns_go_on_while_others_are_put_in_order(database: str):
    store = store_at(database)
    closed = open_campaign(store, CAMPAIGN)[0].number
    other = open_campaign(store, OTHER)[0].number
    arrived(store, closed, per_commit=50)
    arrived(store, other, seed=2, per_commit=50)
    close_campaign(store, CAMPAIGN.id)
    assert sweep(store)
    arrived(store, other, seed=3, per_commit=50)
    assert (len(kept(store, closed)), len(kept(store, other))) == (N, 2 * N)
    store.close()


def test_rows_are_put_in_order_once(database: str, monkeypatch: pytest.MonkeyPatch):
    """Each time it means to write the whole table anew."""
    store = store_at(database)
    number = open_campaign(store, CAMPAIGN)[0].number
    arrived(store, number, per_commit=50)
    asked_for: list[list[int]] = []
    real = store.rewrite

    def rewrite(connection, numbers):
        asked_for.append(list(numbers))
        real(connection, numbers)

    monkeypatch.setattr(store, "rewrite", rewrite)
    assert sweep(store)
    assert asked_for == []
    close_campaign(store, CAMPAIGN.id)
    for _ in range(3):
        assert sweep(store)
    assert asked_for == [[number]]
    store.close()


def test_rows_that_are_in_order_are_not_written_again_while_a_reader_holds_the_log(tmp_path: Path):
    """Each time, the log grew by the whole campaign."""
    path = tmp_path / "lopub.db"
    store = store_at(f"sqlite:///{path}")
    number = open_campaign(store, CAMPAIGN)[0].number
    arrived(store, number, per_commit=50)
    close_campaign(store, CAMPAIGN.id)
    log = Path(f"{path}-wal")
    with store.reading() as connection:
        assert len(list(store.rows(connection, number))) == 1
        assert not sweep(store)
        size = log.stat().st_size
        for _ in range(3):
            assert not sweep(store)
        assert log.stat().st_size == size
    assert sweep(store)
    assert log.stat().st_size < size
    store.close()
