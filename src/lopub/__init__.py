"""LoPub: learn about a crowd from answers that are randomized on each person's own device.

Names load when they are first used, so that the client pulls in nothing but the standard library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lopub.batch import ReportBatch
    from lopub.campaign import Campaign
    from lopub.client import Client
    from lopub.counts import Counts, count
    from lopub.dataset import Dataset
    from lopub.domain import Binned, Boolean, Categorical, Domain, IntegerRange
    from lopub.draft import Wish, make_campaign
    from lopub.errors import (
        CampaignError,
        CollectorError,
        DomainError,
        EpsilonTooHigh,
        LopubError,
        NeedsReports,
        NoiseWarning,
        Reason,
        ReportRejected,
        StoreError,
        TooFewReports,
        TryLater,
    )
    from lopub.estimation import estimate, estimate_pairs
    from lopub.evaluation import Evaluation, evaluate
    from lopub.infer import infer_domain
    from lopub.joint import JointDistribution
    from lopub.keeping import FileStore, MemoryStore, Spent
    from lopub.planning import Plan, Population, plan
    from lopub.poisoning import poisoning_bound
    from lopub.publication import Publication, publish, write_publication
    from lopub.report import Report
    from lopub.sending import Patience, fetch_campaign
    from lopub.simulation import simulate
    from lopub.terms import Schedule, Terms, Translation
    from lopub.view import AllAttributes, Fill, Listed, Sample

__version__ = "0.1.0"

_HOMES = {
    "batch": ("ReportBatch",),
    "campaign": ("Campaign",),
    "client": ("Client",),
    "counts": ("Counts", "count"),
    "dataset": ("Dataset",),
    "domain": ("Binned", "Boolean", "Categorical", "Domain", "IntegerRange"),
    "draft": ("Wish", "make_campaign"),
    "errors": (
        "CampaignError",
        "CollectorError",
        "DomainError",
        "EpsilonTooHigh",
        "LopubError",
        "NeedsReports",
        "NoiseWarning",
        "Reason",
        "ReportRejected",
        "StoreError",
        "TooFewReports",
        "TryLater",
    ),
    "estimation": ("estimate", "estimate_pairs"),
    "evaluation": ("Evaluation", "evaluate"),
    "infer": ("infer_domain",),
    "joint": ("JointDistribution",),
    "keeping": ("FileStore", "MemoryStore", "Spent"),
    "planning": ("Plan", "Population", "plan"),
    "poisoning": ("poisoning_bound",),
    "publication": ("Publication", "publish", "write_publication"),
    "report": ("Report",),
    "sending": ("Patience", "fetch_campaign"),
    "simulation": ("simulate",),
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
    "CollectorError",
    "Counts",
    "Dataset",
    "Domain",
    "DomainError",
    "EpsilonTooHigh",
    "Evaluation",
    "FileStore",
    "Fill",
    "IntegerRange",
    "JointDistribution",
    "Listed",
    "LopubError",
    "MemoryStore",
    "NeedsReports",
    "NoiseWarning",
    "Patience",
    "Plan",
    "Population",
    "Publication",
    "Reason",
    "Report",
    "ReportBatch",
    "ReportRejected",
    "Sample",
    "Schedule",
    "Spent",
    "StoreError",
    "Terms",
    "TooFewReports",
    "Translation",
    "TryLater",
    "Wish",
    "count",
    "estimate",
    "estimate_pairs",
    "evaluate",
    "fetch_campaign",
    "infer_domain",
    "make_campaign",
    "plan",
    "poisoning_bound",
    "publish",
    "simulate",
    "write_publication",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'lopub' has no attribute {name!r}")
    return getattr(import_module(f"lopub.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
