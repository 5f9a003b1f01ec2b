"""Fixtures that several files share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from servers import Postgres, postgres_cluster, postgres_programs


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server of its own, for all tests of this process."""
    if postgres_programs() is None:
        pytest.skip("PostgreSQL's programs (initdb, pg_ctl) are not installed")
    with postgres_cluster() as cluster:
        yield cluster


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/lopub.db"
    cluster: Postgres = request.getfixturevalue("postgres")
    return cluster.new_database()
