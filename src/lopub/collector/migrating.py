"""The schema's version: an older database is migrated, a newer one refused."""

import re
from importlib.resources import files

from sqlalchemy import Connection, inspect, select

from lopub.collector.rows import FIRST, SCHEMA, metadata, schema_version
from lopub.errors import StoreError

_VERSION = re.compile(r"\d{4}")


def version_of(connection: Connection) -> str | None:
    """The version of the schema in a database; None where there is none yet."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    version = connection.execute(select(schema_version.c.version_num)).scalar()
    return None if version is None else str(version)


def bring_up_to_date(connection: Connection) -> None:
    """Make the tables, or migrate older ones; refuse what a newer program wrote, or what is not a collector's."""
    found, taken = (
        version_of(connection),
        sorted(set(inspect(connection).get_table_names()) & set(metadata.tables)),
    )
    if found is None and taken:
        raise StoreError(
            f"the database has a table {taken[0]!r} that is not a collector's; choose another database"
        )
    if found is not None and (not FIRST.issubset(taken) or not _VERSION.fullmatch(found)):
        raise StoreError(
            "the database is of another program that also keeps its version there; choose another database"
        )
    if found is not None and found > SCHEMA:
        raise StoreError(
            f"the database has schema {found}, from a newer LoPub; this one knows up to {SCHEMA}: install the newer LoPub"
        )
    if found != SCHEMA:
        _migrate(connection)


def _migrate(connection: Connection) -> None:
    from alembic import command  # seldom needed, and slow to load
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(files("lopub.collector") / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
