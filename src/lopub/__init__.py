"""LoPub: learn about a crowd from answers that are randomized on each person's own device.

Names load when they are first used, so that the client pulls in nothing but the standard library.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lopub.campaign.campaign import Campaign
    from lopub.campaign.condition import Both, Comparison, Either, Not
    from lopub.campaign.domain import (
        Binned,
        Boolean,
        Categorical,
        Dated,
        Domain,
        IntegerRange,
        TickList,
    )
    from lopub.campaign.report import Report
    from lopub.campaign.schedule import Repeat, Schedule
    from lopub.campaign.terms import Terms, Translation
    from lopub.campaign.views import AllAttributes, Fill, Listed, Sample
    from lopub.client.client import Client
    from lopub.client.rows import ContributionOutcome
    from lopub.client.sending import fetch_campaign
    from lopub.client.store import FileStore, MemoryStore
    from lopub.collector.studies import open_study
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
    from lopub.estimation import Em, Estimator, Hybrid, Lasso, Moments, Product, Shrunk
    from lopub.estimation.joint import JointDistribution
    from lopub.evaluation import Evaluation, evaluate
    from lopub.planning.planner import Plan, plan
    from lopub.planning.poisoning import poisoning_bound
    from lopub.planning.population import Population
    from lopub.planning.request import CampaignRequest, make_campaign
    from lopub.publication import Publication, PublishSettings, Rounds, publish, publish_rounds
    from lopub.queries import Study, estimate, estimate_pairs
    from lopub.queries.answers import Answer, AnswerTable
    from lopub.reports.batch import ReportBatch
    from lopub.reports.counts import Counts, count
    from lopub.reports.dataset import Dataset
    from lopub.reports.infer import infer_domain
    from lopub.reports.simulation import simulate, simulate_rounds
    from lopub.synthesis.dependence import Pruning

__version__ = "0.1.0"

_HOMES = {
    "reports.batch": ("ReportBatch",),
    "campaign.campaign": ("Campaign",),
    "client.client": ("Client",),
    "client.rows": ("ContributionOutcome",),
    "reports.counts": ("Counts", "count"),
    "reports.dataset": ("Dataset",),
    "campaign.condition": ("Both", "Comparison", "Either", "Not"),
    "campaign.domain": (
        "Binned",
        "Boolean",
        "Categorical",
        "Dated",
        "Domain",
        "IntegerRange",
        "TickList",
    ),
    "planning.request": ("CampaignRequest", "make_campaign"),
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
    "estimation": (
        "Em",
        "Estimator",
        "Hybrid",
        "Lasso",
        "Moments",
        "Product",
        "Shrunk",
    ),
    "queries": ("Study", "estimate", "estimate_pairs"),
    "evaluation": ("Evaluation", "evaluate"),
    "reports.infer": ("infer_domain",),
    "queries.answers": ("Answer", "AnswerTable"),
    "estimation.joint": ("JointDistribution",),
    "client.store": ("FileStore", "MemoryStore"),
    "synthesis.dependence": ("Pruning",),
    "planning.planner": ("Plan", "plan"),
    "planning.population": ("Population",),
    "planning.poisoning": ("poisoning_bound",),
    "publication": ("Publication", "PublishSettings", "Rounds", "publish", "publish_rounds"),
    "collector.studies": ("open_study",),
    "campaign.report": ("Report",),
    "client.sending": ("fetch_campaign",),
    "reports.simulation": ("simulate", "simulate_rounds"),
    "campaign.schedule": ("Repeat", "Schedule"),
    "campaign.terms": ("Terms", "Translation"),
    "campaign.views": ("AllAttributes", "Fill", "Listed", "Sample"),
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
    "ContributionOutcome",
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


_STANDARD_LIBRARY_ONLY = ("campaign", "client", "errors")
if not all(map(find_spec, ("numpy", "pyarrow", "jinja2", "threadpoolctl"))):
    # so that `from lopub import *` works where the client alone is installed
    __all__[:] = [n for n in __all__ if _HOME_OF[n].partition(".")[0] in _STANDARD_LIBRARY_ONLY]


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
    return sorted([*_HOME_OF, "__version__"])
