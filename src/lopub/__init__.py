"""LoPub: learn about a crowd from answers that are randomized on each person's own device.

Names load when they are first used, so that the client pulls in nothing but the standard library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lopub.campaign import Campaign
    from lopub.client import Client, FileStore, MemoryStore
    from lopub.domain import Binned, Boolean, Categorical, Domain, IntegerRange
    from lopub.draft import Wish, make_campaign
    from lopub.errors import (
        CampaignError,
        DomainError,
        EpsilonTooHigh,
        LopubError,
        Reason,
        ReportRejected,
        StoreError,
    )
    from lopub.report import Report
    from lopub.terms import Schedule, Terms, Translation
    from lopub.view import AllAttributes, Fill, Listed, Sample

__version__ = "0.1.0"

_HOMES = {
    "campaign": ("Campaign",),
    "client": ("Client", "FileStore", "MemoryStore"),
    "domain": ("Binned", "Boolean", "Categorical", "Domain", "IntegerRange"),
    "draft": ("Wish", "make_campaign"),
    "errors": (
        "CampaignError",
        "DomainError",
        "EpsilonTooHigh",
        "LopubError",
        "Reason",
        "ReportRejected",
        "StoreError",
    ),
    "report": ("Report",),
    "terms": ("Schedule", "Terms", "Translation"),
    "view": ("AllAttributes", "Fill", "Listed", "Sample"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AllAttributes",
    "Binned",
    "Boolean",
    "Campaign",
    "CampaignError",
    "Categorical",
    "Client",
    "Domain",
    "DomainError",
    "EpsilonTooHigh",
    "FileStore",
    "Fill",
    "IntegerRange",
    "Listed",
    "LopubError",
    "MemoryStore",
    "Reason",
    "Report",
    "ReportRejected",
    "Sample",
    "Schedule",
    "StoreError",
    "Terms",
    "Translation",
    "Wish",
    "make_campaign",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'lopub' has no attribute {name!r}")
    return getattr(import_module(f"lopub.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
