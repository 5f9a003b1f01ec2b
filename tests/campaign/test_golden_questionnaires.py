"""Format 2: records, reports and refusals never change silently; the page, the schema and the program say the same."""

import base64
import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest

from every import every
from lopub import Campaign, CampaignError, Client, DomainError, MemoryStore, Report
from lopub.campaign.budget import decimal_up
from lopub.errors import CampaignRefusal

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
PAGE = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "make_questionnaires", GOLDEN / "make_questionnaires.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKER = maker()


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
    campaign, random = CAMPAIGNS[item["campaign"]], bytes.fromhex(item["random"])
    with MAKER.MAKER.handed_out(random, slot=item["slot"]) as taken:
        report = Client(campaign, store=MemoryStore()).encode(item["record"])
    assert (report.to_bytes().hex(), taken[0]) == (item["bytes"], len(random))
    assert Report.from_bytes(bytes.fromhex(item["bytes"]), campaign) == report


@each("attribute_epsilons")
def test_an_attributes_epsilon_is_kept(item):
    assert decimal_up(CAMPAIGNS[item["campaign"]].loss_of(item["attribute"])) == item["epsilon"]


def bytes_of(item: dict[str, Any]) -> bytes:
    if "vector" in item:
        item = next(one for one in FIRST["malformed_campaigns"] if one["why"] == item["vector"])
    if "repeated" in item:
        return (item["repeated"] * item["times"]).encode()
    return item["text"].encode() if "text" in item else base64.b64decode(item["base64"])


@each("refused_campaigns")
def test_a_campaign_is_refused_for_the_agreed_reason(item):
    with pytest.raises(CampaignError) as refused:
        Campaign.from_bytes(bytes_of(item), expected_id=item.get("id"))
    assert refused.value.reason == item["reason"]


def test_the_page_lists_every_reason_and_no_other():
    section = PAGE[PAGE.index("### 3.10 Refusing a campaign") : PAGE.index("## 4. From a value")]
    listed = re.findall(r"^\| \d+ \| `([a-z]+)` \|", section, re.MULTILINE)
    assert set(listed) == {reason.value for reason in CampaignRefusal}


@every([*VECTORS["campaigns"], *FIRST["campaigns"]], called)
def test_every_campaign_of_the_vectors_satisfies_the_schema(item):
    SCHEMA.validate(json.loads(item["text"]))


@every(
    [
        item
        for item in VECTORS["refused_campaigns"]
        if item["reason"] in ("schema", "member") and "text" in item
    ],
    called,
)
def test_the_schema_refuses_a_field_that_is_none(item):
    """As far as a schema can: what depends on other fields, or on the calendar, it cannot see."""
    beyond = (
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


@each("campaigns")
def test_the_questions_of_format_2_are_not_taken_for_format_1(item):
    whole = json.loads(item["text"]) | {"format": 1}
    data = json.dumps(whole, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
    with pytest.raises(CampaignError) as refused:
        Campaign.from_bytes(data)
    assert refused.value.reason is CampaignRefusal.FORMAT
