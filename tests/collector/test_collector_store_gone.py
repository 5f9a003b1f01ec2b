"""PostgreSQL goes away in the middle of things: senders are told 503 and come again; nothing is lost, nothing counted twice."""

import threading
import time
from collections.abc import Callable

import psycopg
import pytest

import load
from load import Uploaders, lost_and_doubled, note_figures
from servers import Postgres, running_collector

pytestmark = pytest.mark.full
CAMPAIGN = load.campaign()
RECOVERY_SECONDS = 5
HELD_SECONDS = 12


def stopped(postgres: Postgres, _: str, uploaders: Uploaders) -> None:
    postgres.stop()
    wait_for_503(uploaders)
    postgres.start()


def stopped_in_order(postgres: Postgres, _: str, uploaders: Uploaders) -> None:
    postgres.stop("fast")
    wait_for_503(uploaders)
    postgres.start()


def cut(_: Postgres, database: str, uploaders: Uploaders) -> None:
    """Connections are ended again and again, some of them between a commit and the word of it; until one was noticed."""
    statement = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lopub'"
    )
    n_cuts, until = 0, time.monotonic() + 30
    with psycopg.connect(database, autocommit=True) as admin:
        while n_cuts < 300 or (not uploaders.statuses[503] and time.monotonic() < until):
            admin.execute(statement)
            n_cuts += 1
            time.sleep(0.003)
    wait_for_503(uploaders)


def locked(_: Postgres, database: str, uploaders: Uploaders) -> None:
    """Somebody holds the table for longer than a commit waits."""
    with psycopg.connect(database) as admin:
        admin.execute("LOCK TABLE reports IN ACCESS EXCLUSIVE MODE")
        wait_for_503(uploaders)
        time.sleep(HELD_SECONDS - 5)


def wait_for_503(uploaders: Uploaders) -> None:
    until = time.monotonic() + 30
    while not uploaders.statuses[503]:
        assert time.monotonic() < until, uploaders.statuses
        time.sleep(0.01)


EVENTS: dict[str, Callable[[Postgres, str, Uploaders], None]] = {
    "stopped at once": stopped,
    "stopped in order": stopped_in_order,
    "connections cut": cut,
    "a lock held": locked,
}


@pytest.mark.parametrize("event", EVENTS)
def test_a_store_that_goes_away_loses_and_doubles_nothing(postgres: Postgres, event: str):
    database = postgres.new_database()
    load.opened(database, CAMPAIGN)
    bodies = load.bodies_of(load.population(CAMPAIGN, 400_000, seed=6), 20)
    with running_collector(database) as collector:
        uploaders = Uploaders(collector.port, CAMPAIGN, bodies)
        uploaders.wait_for(20)
        EVENTS[event](postgres, database, uploaders)
        before, started = len(uploaders.acknowledged), time.monotonic()
        uploaders.wait_for(min(before + 1, len(bodies)), seconds=RECOVERY_SECONDS)
        again = time.monotonic() - started
        uploaders.join()
        assert set(uploaders.statuses) == {200, 503}
    lost, doubled = lost_and_doubled(database, CAMPAIGN, uploaders.bodies)
    note_figures(
        "store-gone",
        event,
        acknowledged=20 * len(uploaders.bodies),
        lost=lost,
        doubled=doubled,
        again_seconds=again,
    )
    assert (lost, doubled) == (0, 0)
    assert len(uploaders.bodies) == len(bodies)


def test_a_migration_waits_for_another_one_however_long(postgres: Postgres):
    """Forbids to let the bound on locks hold for those who start beside a long migration."""
    from lopub.collector.postgres_store import LOCK_SECONDS, MIGRATION_LOCK

    database = postgres.new_database()
    with psycopg.connect(database) as other:
        other.execute(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
        failed: list[BaseException] = []

        def start() -> None:
            try:
                load.opened(database, CAMPAIGN)
            except BaseException as error:
                failed.append(error)

        starting = threading.Thread(target=start)
        starting.start()
        starting.join(LOCK_SECONDS + 1)
        assert starting.is_alive() and not failed
    starting.join()
    assert not failed
