"""Questionnaires: records, reports and refusals never change silently; the page, the schema and the program say the same."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest

from every import every
from lopub import Campaign, DomainError, Report
from lopub.campaign.budget import decimal_up

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
VECTORS = json.loads((GOLDEN / "questionnaires.json").read_text(encoding="ascii"))
FIRST = json.loads((GOLDEN / "vectors.json").read_text(encoding="ascii"))
CAMPAIGNS = {
    item["campaign"]: Campaign.from_bytes(item["text"].encode()) for item in VECTORS["campaigns"]
}
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "docs" / "campaign.schema.json").read_text(encoding="utf-8"))
)


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "make_questionnaires", GOLDEN / "make_questionnaires.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKER = maker()
PLACE_OF = {why: path for why, path, _ in MAKER.CHANGES}


def each(section: str) -> Any:
    """A check of every vector of a section."""
    return every(VECTORS[section], called)


def called(item: dict[str, Any]) -> str:
    return ascii(item.get("campaign", item.get("why", item.get("vector", item))))


def test_the_committed_vectors_are_what_the_maker_writes():
    assert MAKER.file_text() == (GOLDEN / "questionnaires.json").read_text(encoding="ascii")


@each("campaigns")
def test_a_campaign_keeps_its_id_and_its_candidates(item):
    campaign = Campaign.from_bytes(item["text"].encode(), expected_id=item["id"])
    assert campaign.canonical_bytes == item["text"].encode()
    assert {a.name: list(a.texts) for a in campaign.domain} == item["candidates"]


@each("records")
def test_a_record_keeps_its_candidates(item):
    assert list(CAMPAIGNS["all"].domain.indices(item["record"])) == item["candidates"]


@each("unfit_records")
def test_a_record_that_contradicts_the_questionnaire_is_refused(item):
    with pytest.raises(DomainError):
        CAMPAIGNS["all"].domain.indices(item["record"])


@each("reports")
def test_a_report_keeps_its_bytes(item):
    campaign, source = (
        CAMPAIGNS[item["campaign"]],
        MAKER.MAKER.Stream(bytes.fromhex(item["random"])),
    )
    report = MAKER.MAKER.encoded(
        campaign, item["record"], bytes.fromhex(item["random_id"]), source, item["slot"]
    )
    assert (report.to_bytes().hex(), source.used) == (item["bytes"], item["random"])
    assert Report.from_bytes(bytes.fromhex(item["bytes"]), campaign) == report


@each("attribute_epsilons")
def test_an_attributes_epsilon_is_kept(item):
    assert decimal_up(CAMPAIGNS[item["campaign"]].loss_of(item["attribute"])) == item["epsilon"]


@every([*VECTORS["campaigns"], *FIRST["campaigns"]], called)
def test_every_campaign_of_the_vectors_satisfies_the_schema(item):
    SCHEMA.validate(json.loads(item["text"]))


@every(
    [
        item
        for item in VECTORS["refused_campaigns"]
        if item["reason"] == "invalid" and "/fields/" in PLACE_OF.get(item["why"], "")
    ],
    called,
)
def test_the_schema_refuses_a_field_that_is_none(item):
    """As far as a schema can: what depends on other fields, or on the calendar, it cannot see."""
    beyond = (
        "a condition on",
        "a condition between",
        "a condition at",
        "nine conditions",
        "an edge that is not a text",
        "an order of",
        "a list that is compared",
        "an option that is not there",
        "a list with the name",
        "33 comparisons",
        "an option for none",
        "as many ticks",
        "an option twice",
        "a quarter that",
        "periods in",
        "an infinite",
        "open bins",
    )
    if not item["why"].startswith(beyond):
        assert not SCHEMA.is_valid(json.loads(item["text"]))
