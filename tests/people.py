"""A campaign and its people, for the tests of the collector."""

from datetime import date

from lopub import (
    Boolean,
    Campaign,
    CampaignRequest,
    Categorical,
    Client,
    Domain,
    MemoryStore,
    Report,
    Schedule,
    Terms,
    make_campaign,
)
from lopub.collector.database import store_at
from lopub.collector.tokens import new_token

DOMAIN = Domain(
    (Boolean(name="smoker"), Categorical(name="colour", values=("red", "green", "blue")))
)
ANSWERS = {"smoker": True, "colour": "blue"}


def campaign(
    name: str = "survey",
    *,
    min_reports: int = 1,
    retention_days: int = 0,
    scheduled: bool = False,
    bloom: bool = False,
) -> Campaign:
    schedule = Schedule(opens=date(2020, 1, 1), closes=date(2040, 12, 31)) if scheduled else None
    terms = Terms(
        name=name, min_reports=min_reports, retention_days=retention_days, schedule=schedule
    )
    return make_campaign(
        DOMAIN,
        terms,
        CampaignRequest(flip_probability="0.5") if bloom else CampaignRequest(epsilon=2),
    )


def reports(target: Campaign, n: int) -> list[bytes]:
    """So many people's reports."""
    return [Client(target, store=MemoryStore()).encode(ANSWERS).to_bytes() for _ in range(n)]


def with_another_slot(report: bytes) -> bytes:
    """The same id with another body."""
    return report[:25] + (int.from_bytes(report[25:29]) - 1).to_bytes(4) + report[29:]


def with_another_id(report: bytes, number: int) -> bytes:
    return report[:9] + number.to_bytes(16) + report[25:]


def twin(report: bytes, target: Campaign) -> str:
    return Report.from_bytes(report, target).to_json()


def token(database: str, scope: str = "read") -> str:
    """A new token of a database."""
    store = store_at(database)
    try:
        return new_token(store, scope=scope, days=1)
    finally:
        store.close()
