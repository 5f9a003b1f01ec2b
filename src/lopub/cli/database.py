"""What the commands on a collector's database share."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

from lopub.errors import LopubError, StoreError

if TYPE_CHECKING:
    from lopub.collector.store import ReportStore

DEFAULT = "sqlite:///lopub.db"
NEEDED = ("psycopg", "sqlalchemy", "starlette", "uvicorn")


def refuse_without_service() -> None:
    """One sentence where the collector's packages are not installed."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise StoreError(
            f"the collector needs {', '.join(missing)}; install it with: pip install 'lopub[service]'"
        )


@contextmanager
def opened(address: str, *, create: bool = False, alone: bool = False) -> "Iterator[ReportStore]":
    """Open the store at an address. create: make the file if there is none; it is deleted again if
    the command is refused. alone: refused while a collector uses the file."""
    refuse_without_service()
    # these load SQLAlchemy, which most commands do not need
    from lopub.collector.campaigns import all_campaigns
    from lopub.collector.database import store_at

    store = store_at(address, create=create)
    try:
        if alone:
            store.hold()
        yield store
    except LopubError:
        with suppress(LopubError):  # the database itself may be what is wrong
            if create and not all_campaigns(store):
                store.close_unused()
        raise
    finally:
        store.close()
