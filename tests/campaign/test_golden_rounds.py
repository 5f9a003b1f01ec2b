"""Campaigns that repeat: rounds, permanent answers, reports and refusals never change silently; the schema says the same."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest

from every import every
from lopub import Campaign, Report, ReportRejected
from lopub.campaign.budget import decimal_up
from lopub.client.noise import memorized

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
VECTORS = json.loads((GOLDEN / "rounds.json").read_text(encoding="ascii"))
CAMPAIGNS = {
    item["campaign"]: Campaign.from_bytes(item["text"].encode()) for item in VECTORS["campaigns"]
}
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "docs" / "campaign.schema.json").read_text(encoding="utf-8"))
)
BEYOND_A_SCHEMA = (
    "more rounds to",
    "a last day",
    "one more round",
    "a lifetime epsilon that is too",
    "a lifetime epsilon without",
    "mode ",
    "a permanent layer",
    "a kept view",
    "kept views",
    "too ",
    "an epsilon of",
    "no lifetime",
    "permanent odds that keep",
)


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_rounds", GOLDEN / "make_rounds.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKER = maker()


def each(section: str) -> Any:
    """A check of every vector of a section."""
    return every(VECTORS[section], lambda item: item.get("campaign", item.get("why")))


def test_the_committed_vectors_are_what_the_maker_writes():
    assert MAKER.file_text() == (GOLDEN / "rounds.json").read_text(encoding="ascii")


@each("campaigns")
def test_a_campaign_keeps_its_id_and_both_epsilons(item):
    campaign = Campaign.from_bytes(item["text"].encode(), expected_id=item["id"])
    assert campaign.canonical_bytes == item["text"].encode()
    assert (decimal_up(campaign.loss), decimal_up(campaign.lifetime_loss)) == (
        item["epsilon"],
        item["lifetime_epsilon"],
    )
    SCHEMA.validate(json.loads(item["text"]))


@each("attribute_epsilons")
def test_an_attributes_epsilon_is_kept(item):
    assert decimal_up(CAMPAIGNS[item["campaign"]].loss_of(item["attribute"])) == item["epsilon"]


@each("caps")
def test_a_cap_is_compared_with_the_lifetime_epsilon(item):
    assert MAKER.MAKER.allowed(CAMPAIGNS[item["campaign"]], item["cap"]) == item["allowed"]


@each("rounds")
def test_a_device_draws_the_same_rounds_from_the_same_bytes(item):
    schedule = CAMPAIGNS[item["campaign"]].terms.schedule
    source = MAKER.MAKER.Stream(bytes.fromhex(item["random"]))
    drawn = schedule.repeat.draw(source)
    assert (list(drawn), source.used) == (item["rounds"], item["random"])
    assert [schedule.slots[number] for number in drawn] == item["slots"]


@each("slots")
def test_a_day_has_the_slot_of_its_round(item):
    assert CAMPAIGNS[item["campaign"]].terms.schedule.slot_on(item["day"]) == item["slot"]


@each("permanent_answers")
def test_a_permanent_answer_keeps_its_bytes(item):
    campaign, source = (
        CAMPAIGNS[item["campaign"]],
        MAKER.MAKER.Stream(bytes.fromhex(item["random"])),
    )
    kept = memorized(campaign, campaign.domain.indices(item["record"]), source)
    assert (kept.hex(), source.used) == (item["kept"], item["random"])


@each("reports")
def test_a_report_keeps_its_bytes(item):
    campaign, source = (
        CAMPAIGNS[item["campaign"]],
        MAKER.MAKER.Stream(bytes.fromhex(item["random"])),
    )
    random_id = bytes.fromhex(item["random_id"])
    report = MAKER.report_of(campaign, item, item["slot"], random_id, source)
    assert (report.to_bytes().hex(), source.used) == (item["bytes"], item["random"])
    assert json.loads(report.to_json()) == item["twin"]
    assert Report.from_bytes(bytes.fromhex(item["bytes"]), campaign) == report


@each("malformed_reports")
def test_a_slot_that_begins_no_round_is_refused(item):
    with pytest.raises(ReportRejected) as refused:
        Report.from_bytes(bytes.fromhex(item["bytes"]), CAMPAIGNS[item["campaign"]])
    assert refused.value.reason == item["reason"]


@each("refused_campaigns")
def test_the_schema_refuses_what_a_schema_can(item):
    if not item["why"].startswith(BEYOND_A_SCHEMA):
        assert not SCHEMA.is_valid(json.loads(item["text"]))


def test_the_vectors_hold_every_mechanism_that_can_keep_an_answer_jointly_and_separately():
    kept = {(c.mechanism.name, c.jointly) for c in CAMPAIGNS.values() if c.mechanism.permanent}
    assert kept == {
        (name, jointly) for name in ("direct", "unary", "bloom") for jointly in (True, False)
    }


def test_permanent_answers_hold_every_view_of_views_of_two_sizes():
    masks: dict[str, set[str]] = {}
    for item in VECTORS["permanent_answers"]:
        if CAMPAIGNS[item["campaign"]].view.masked:
            masks.setdefault(item["campaign"], set()).add(item["kept"][:2])
    assert {name: len(found) for name, found in masks.items() if "sixteen" not in name} == {
        "permanent-direct-listed": 2,
        "permanent-unary-listed": 2,
        "permanent-bloom-listed": 2,
        "permanent-bloom-sizes": 2,
    }
