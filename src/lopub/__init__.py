"""LoPub: learn about a crowd from answers that are randomized on each person's own device.

Names load when they are first used, so that the client pulls in nothing but the standard library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lopub.collection.batch import ReportBatch
    from lopub.collection.counts import Counts, count
    from lopub.collection.dataset import Dataset
    from lopub.collection.infer import infer_domain
    from lopub.collection.simulation import simulate, simulate_rounds
    from lopub.contract.campaign import Campaign
    from lopub.contract.condition import Both, Comparison, Either, Not
    from lopub.contract.domain import (
        Binned,
        Boolean,
        Categorical,
        Dated,
        Domain,
        IntegerRange,
        TickList,
    )
    from lopub.contract.report import Report
    from lopub.contract.schedule import Repeat, Schedule
    from lopub.contract.terms import Terms, Translation
    from lopub.contract.view import AllAttributes, Fill, Listed, Sample
    from lopub.device.client import Client
    from lopub.device.keeping import FileStore, MemoryStore
    from lopub.device.sending import Patience, fetch_campaign
    from lopub.device.totals import Spent
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
    from lopub.evaluation import Evaluation, evaluate
    from lopub.forecast.poisoning import poisoning_bound
    from lopub.forecast.request import CampaignRequest, make_campaign
    from lopub.inference import (
        Em,
        Estimator,
        Hybrid,
        Lasso,
        Moments,
        Product,
        Shrunk,
        Study,
        estimate,
        estimate_pairs,
    )
    from lopub.inference.answers import Answer, AnswerTable
    from lopub.inference.joint import JointDistribution
    from lopub.model.dependence import Pruning
    from lopub.planning import Plan, Population, plan
    from lopub.release import Publication, PublishSettings, Rounds, publish, publish_rounds
    from lopub.service.studies import open_study

__version__ = "0.1.0"

_HOMES = {
    "collection.batch": ("ReportBatch",),
    "contract.campaign": ("Campaign",),
    "device.client": ("Client",),
    "collection.counts": ("Counts", "count"),
    "collection.dataset": ("Dataset",),
    "contract.condition": ("Both", "Comparison", "Either", "Not"),
    "contract.domain": (
        "Binned",
        "Boolean",
        "Categorical",
        "Dated",
        "Domain",
        "IntegerRange",
        "TickList",
    ),
    "forecast.request": ("CampaignRequest", "make_campaign"),
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
    "inference": (
        "Em",
        "Estimator",
        "Hybrid",
        "Lasso",
        "Moments",
        "Product",
        "Shrunk",
        "Study",
        "estimate",
        "estimate_pairs",
    ),
    "evaluation": ("Evaluation", "evaluate"),
    "collection.infer": ("infer_domain",),
    "inference.answers": ("Answer", "AnswerTable"),
    "inference.joint": ("JointDistribution",),
    "device.keeping": ("FileStore", "MemoryStore"),
    "device.totals": ("Spent",),
    "model.dependence": ("Pruning",),
    "planning": ("Plan", "Population", "plan"),
    "forecast.poisoning": ("poisoning_bound",),
    "release": ("Publication", "PublishSettings", "Rounds", "publish", "publish_rounds"),
    "service.studies": ("open_study",),
    "contract.report": ("Report",),
    "device.sending": ("Patience", "fetch_campaign"),
    "collection.simulation": ("simulate", "simulate_rounds"),
    "contract.schedule": ("Repeat", "Schedule"),
    "contract.terms": ("Terms", "Translation"),
    "contract.view": ("AllAttributes", "Fill", "Listed", "Sample"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AllAttributes",
    "Answer",
    "AnswerTable",
    "Binned",
    "Boolean",
    "Both",
    "Campaign",
    "CampaignError",
    "CampaignRequest",
    "Categorical",
    "Client",
    "CollectorError",
    "Comparison",
    "Counts",
    "Dataset",
    "Dated",
    "Domain",
    "DomainError",
    "Either",
    "Em",
    "EpsilonTooHigh",
    "Estimator",
    "Evaluation",
    "FileStore",
    "Fill",
    "Hybrid",
    "IntegerRange",
    "JointDistribution",
    "Lasso",
    "Listed",
    "LopubError",
    "MemoryStore",
    "Moments",
    "NeedsReports",
    "NoiseWarning",
    "Not",
    "Patience",
    "Plan",
    "Population",
    "Product",
    "Pruning",
    "Publication",
    "PublishSettings",
    "Reason",
    "Repeat",
    "Report",
    "ReportBatch",
    "ReportRejected",
    "Rounds",
    "Sample",
    "Schedule",
    "Shrunk",
    "Spent",
    "StoreError",
    "Study",
    "Terms",
    "TickList",
    "TooFewReports",
    "Translation",
    "TryLater",
    "count",
    "estimate",
    "estimate_pairs",
    "evaluate",
    "fetch_campaign",
    "infer_domain",
    "make_campaign",
    "open_study",
    "plan",
    "poisoning_bound",
    "publish",
    "publish_rounds",
    "simulate",
    "simulate_rounds",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'lopub' has no attribute {name!r}")
    try:
        found = globals()[name] = getattr(
            import_module(f"lopub.{_HOME_OF[name]}"), name
        )  # asked for once
        return found
    except ModuleNotFoundError as error:
        if (error.name or "lopub").startswith("lopub"):
            raise
        raise ImportError(
            f"lopub.{name} needs {error.name}; install it with: pip install 'lopub[all]'"
        ) from None


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
