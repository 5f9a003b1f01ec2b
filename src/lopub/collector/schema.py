"""The revision of a database's tables: they are made where there are none; an older or a newer
database is refused."""

from sqlalchemy import Connection, insert, inspect, select

from lopub.collector.rows import metadata, retention, schema
from lopub.errors import StoreError

SCHEMA = 1
"""The revision of the tables that this program reads and writes."""
OWN, FORMER = "lopub_schema", "alembic_version"
"""The tables that keep the revision: today, and in versions that migrated a database."""
REPORTS_OF_FORMER = frozenset({"campaigns", "reports", "refusals", "tokens"})
OLDER = (
    "database {name} was made by an older LoPub, and this one reads only its own; finish its"
    " campaigns with the LoPub that made it, or choose another database"
)
NEWER = (
    "database {name} was made by a newer LoPub (revision {found}, and this one knows {known});"
    " install the newer LoPub"
)
FOREIGN = "database {name} belongs to another program; choose another one"
EMPTY = "database {name} has no tables of a collector; `lopub serve` makes them"


def revision_of(connection: Connection) -> int | None:
    """Return the revision of a database's tables; None where there are none of a collector."""
    if not inspect(connection).has_table(OWN):
        return None
    revision: int | None = connection.execute(select(schema.c.revision)).scalar()
    return revision


def refuse_foreign(tables: set[str], name: str, *, shared: bool) -> None:
    """Refuse a database by the names of its tables: an older LoPub's, or another program's.

    shared: whether other programs may keep tables of other names in the same database.
    """
    if OWN in tables:
        return
    if FORMER in tables and tables >= REPORTS_OF_FORMER:
        raise StoreError(OLDER, name=name)
    if tables & set(metadata.tables) or (tables and not shared):
        raise StoreError(FOREIGN, name=name)


def refuse_revision(found: int, name: str) -> None:
    """Refuse tables of another revision than this program reads and writes."""
    if found < SCHEMA:
        raise StoreError(OLDER, name=name)
    if found > SCHEMA:
        raise StoreError(NEWER, name=name, found=found, known=SCHEMA)


def prepare(connection: Connection, name: str, day: int, *, create: bool) -> None:
    """Check the tables, and make them where a database has none.

    day: today, as a slot, which is the first day that retention sees. create: whether tables may be
    made.
    """
    refuse_foreign(set(inspect(connection).get_table_names()), name, shared=True)
    found = revision_of(connection)
    if found is None:
        if not create:
            raise StoreError(EMPTY, name=name)
        metadata.create_all(connection)
        connection.execute(insert(schema).values(revision=SCHEMA))
        connection.execute(insert(retention).values(last_day=day))
    else:
        refuse_revision(found, name)
