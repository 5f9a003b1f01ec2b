"""An entry for the registry of differential privacy deployments (registry.opendp.org), as far as LoPub knows the facts.

Members and their order are those of schemas/deployments-schema.yaml in github.com/opendp/deployments-registry-data. What only
the steward knows says "unknown", with a remark; the registry's own check refuses the entry until the curator's type is there.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lopub import __version__
from lopub.campaign.campaign import Campaign
from lopub.pages.figures import lifetime_in_words
from lopub.publication.render.wording import (
    PAPER,
    abstract,
    day_of,
    margins_in_words,
    mechanism_in_words,
    shown_epsilon,
    title_of,
)
from lopub.publication.stages import Publication
from lopub.publication.summary import dependence

UNKNOWN = "unknown"
HEAD = '# A draft for the registry of differential privacy deployments. Replace every "unknown" before it is sent in.\n'
REMARKS = {
    "data_curator_name": "who publishes the data",
    "data_curator_type": "Government, Industry or Nonprofit",
    "data_product_region": "which region the data describe",
    "publication_date": "YYYY-MM-DD; until you put the day of publication here, it is that of the last report, if known",
    "registry_authors": "add who sends the entry in",
    "tier": "3 once implementation.justification says why this epsilon and this noise were chosen",
}
"""Member -> what its reader must know to fill it in."""


def deployment_yaml(publication: Publication) -> str:
    """The entry as YAML."""
    return HEAD + "\n".join(_lines(deployment(publication), "")) + "\n"


def deployment(publication: Publication) -> dict[str, Any]:
    """The entry, its members in the registry's order."""
    campaign = publication.campaign
    slug = "-".join(re.findall("[a-z0-9]+", campaign.terms.name))
    parts = {
        "basic": _basic(publication),
        "dp_variant": {
            "variant_name": "Pure DP",
            "data_domain": f"Records with one answer to each of {len(campaign.domain)} listed questions (campaign.json).",
            "unprotected_quantities": "The number of reports, the first and the last day on which one was made, and which"
            " questions a report covers; the last is drawn without looking at the answers.",
        },
        "privacy_loss": _privacy_loss(publication),
        "deployment_model": _model(publication),
        "implementation": _implementation(publication),
        "administrative": {
            "status": "Draft",
            "registry_authors": [f"LoPub {__version__} (software)"],
            "tier": 2,
        },
    }
    return {"url_slug": f"{slug}-{campaign.id[:8]}", "deployment": parts}


def _basic(publication: Publication) -> dict[str, Any]:
    own = publication.campaign.terms.description.strip()
    day = day_of(publication.last_slot)
    return {
        "name": title_of(publication.campaign),
        "data_curators": [{"data_curator_name": UNKNOWN, "data_curator_type": UNKNOWN}],
        "description": f"{abstract(publication)}\n\n{own}" if own else abstract(publication),
        "intended_use": "Statistics about the crowd: frequencies, and how attributes depend on each other. Not about any person.",
        "data_product_type": "Synthetic data",
        "data_product_region": UNKNOWN,
        "publication_date": str(day) if day else UNKNOWN,
    }


def _privacy_loss(publication: Publication) -> dict[str, Any]:
    campaign = publication.campaign
    each = "; ".join(
        f"{json.dumps(name, ensure_ascii=False)}: {shown_epsilon(campaign, name)}"
        for name in campaign.domain.names
    )
    return {
        "privacy_unit": "One person's report",
        "privacy_unit_details": "Any two records that one person could report are adjacent. A client makes one report for a"
        f" {_how_often(campaign)}; epsilons of several campaigns, or of several reports, add up.",
        "number_of_privacy_units": publication.n_reports,
        "privacy_parameters": {"epsilon": campaign.epsilon}
        | ({"lifetime_epsilon": campaign.lifetime_epsilon} if campaign.terms.repeat else {}),
        "privacy_parameters_details": "Epsilon is an upper bound for the whole report, derived from the integers that decide the"
        f" noise and rounded up. Of a single attribute, the others being the same, at most: {each}."
        + (f" {in_all}" if (in_all := lifetime_in_words(campaign)) else ""),
    }


def _how_often(campaign: Campaign) -> str:
    if campaign.terms.repeat is None:
        return "campaign and sends the same bytes again"
    return "round in which it takes part, which it draws before the first"


def _model(publication: Publication) -> dict[str, Any]:
    return {
        "model_name": "Local",
        "model_name_details": "Every record is randomized on its owner's device; nothing else leaves it.",
        "trust_assumptions": "People trust the client on their own device, and nobody else: not the collector, not the publisher,"
        " not the readers. That somebody took part, and on which day, is not hidden.",
        "release_type": "One release",
        "release_type_details": "Further publications from the same reports are post-processing and cost no privacy.",
        "data_source_type": "Static",
        "access_type": "Non-interactive",
    }


def _implementation(publication: Publication) -> dict[str, Any]:
    settings = publication.settings
    misfit = dependence(publication)["largest_misfit"]
    return {
        "preprocessing_and_hyperparameter_tuning": "None on anybody's answers: questions and candidate values are part of the"
        " campaign, and all that follows sees the reports alone.",
        "mechanisms": f"LoPub {__version__}, {mechanism_in_words(publication.campaign)}. Exact integer thresholds, randomness of"
        " the operating system, no floating point.",
        "composition": (
            lifetime_in_words(publication.campaign) or "None: one report for a campaign."
        )
        + " Attributes randomized separately share its budget (sequential).",
        "post_processing": f"Joint distributions estimated from the reports (method {settings.estimator.name}), dependency graph"
        f" and junction tree (structure {settings.structure}), records drawn along the tree (seed {settings.seed})."
        f" {margins_in_words(publication)}".rstrip(),
        "utility": "Standard errors of all estimates are published."
        f" Largest misfit of a clique (average variant distance): {misfit:.4f}.",
        "additional_information": f"Campaign {publication.campaign.id}. After: {PAPER}.",
    }


# ---- YAML


def _lines(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    """A mapping as block YAML; keys are plain words of ours, every text is quoted."""
    for key, inner in value.items():
        remark = f"  # {REMARKS[key]}" if key in REMARKS else ""
        if isinstance(inner, Mapping):
            yield f"{indent}{key}:{remark}"
            yield from _lines(inner, indent + "  ")
        elif isinstance(inner, list):
            yield f"{indent}{key}:{remark}"
            yield from _items(inner, indent + "  ")
        else:
            yield f"{indent}{key}: {scalar(inner)}{remark}"


def _items(values: list[Any], indent: str) -> Iterator[str]:
    for value in values:
        if isinstance(value, Mapping):
            first, *rest = _lines(value, indent + "  ")
            yield f"{indent}- {first.lstrip()}"
            yield from rest
        else:
            yield f"{indent}- {scalar(value)}"


def scalar(value: str | int | float) -> str:
    """A text or a number that every YAML reader takes for what it is.

    >>> scalar("no"), scalar(1e-05), scalar(4)
    ('"no"', '1.0e-05', '4')
    """
    if isinstance(value, str):
        return "".join(
            c if c.isprintable() else _escaped(c) for c in json.dumps(value, ensure_ascii=False)
        )
    text = repr(value)
    if "e" in text and "." not in text:  # YAML 1.1 takes 1e-05 for a text
        return text.replace("e", ".0e")
    return text


def _escaped(c: str) -> str:
    """JSON leaves line separators and invisible signs as they are; YAML does not."""
    return f"\\u{ord(c):04x}" if ord(c) < 2**16 else f"\\U{ord(c):08x}"
