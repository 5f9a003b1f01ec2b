"""Hashes, wire bytes and refusals never change silently; the format page tells the truth."""

import base64
import importlib.util
import json
import re
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from every import every
from lopub import (
    Campaign,
    CampaignError,
    DomainError,
    Reason,
    Report,
    ReportRejected,
)
from lopub.campaign.budget import decimal_up
from lopub.campaign.mechanisms.bloom import positions
from lopub.campaign.report import framed, unframed
from lopub.errors import CampaignRefusal

GOLDEN = Path(__file__).parents[1] / "golden"
ALL = [
    json.loads((GOLDEN / f"{name}.json").read_text(encoding="ascii"))
    for name in ("vectors", "questionnaires", "rounds")
]
VECTORS = ALL[0]
CAMPAIGNS = {
    item["campaign"]: Campaign.from_bytes(item["text"].encode()) for item in VECTORS["campaigns"]
}
PAGE = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
EXAMPLES = [json.loads(block) for block in re.findall(r"```json\n(.*?)\n```", PAGE, re.DOTALL)]


def make_vectors() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_vectors", GOLDEN / "make_vectors.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKER = make_vectors()


def each(section: str) -> Any:
    """A check of every vector of a section."""
    return every(VECTORS[section], called)


def called(item: dict[str, Any]) -> str:
    return ascii(item.get("campaign", item.get("why", item)))


def examples_with(*keys: str) -> Any:
    return every([item for item in EXAMPLES if set(keys) <= set(item)])


def test_the_committed_vectors_are_what_the_maker_writes():
    assert MAKER.file_text() == (GOLDEN / "vectors.json").read_text(encoding="ascii")


# ---- campaigns


@each("campaigns")
def test_a_campaign_keeps_its_id(item):
    assert Campaign.from_bytes(item["text"].encode(), expected_id=item["id"]).id == item["id"]


@each("campaigns")
def test_a_campaign_is_written_as_it_was_read(item):
    assert CAMPAIGNS[item["campaign"]].canonical_bytes.decode() == item["text"]


@each("campaigns")
def test_a_campaign_keeps_its_epsilon(item):
    assert decimal_up(CAMPAIGNS[item["campaign"]].loss) == item["epsilon"]


@each("campaigns")
def test_a_campaign_keeps_the_shape_of_its_reports(item):
    campaign = CAMPAIGNS[item["campaign"]]
    assert (campaign.longest_report, campaign.mask_bytes) == (
        item["longest_report"],
        item["mask_bytes"],
    )


@each("campaigns")
def test_a_campaign_keeps_its_candidates_in_order(item):
    domain = CAMPAIGNS[item["campaign"]].domain
    assert {name: list(domain[name].texts) for name in item["candidates"]} == item["candidates"]
    assert set(item["candidates"]) == {
        attribute.name for attribute in domain.attributes if attribute.size <= 300
    }


def combination(campaign: Campaign) -> tuple[str, str, bool]:
    mechanism = campaign.mechanism.to_json()
    return (
        f"{mechanism['name']} {mechanism.get('variant', '')}".strip(),
        campaign.view.kind,
        campaign.jointly,
    )


@every(["campaigns", "reports"])
def test_the_vectors_hold_every_mechanism_with_every_view_and_way_to_randomize(section):
    ways = [
        (view, jointly) for view in ("all", "sample", "fill", "listed") for jointly in (True, False)
    ]
    ways.remove(("fill", False))
    mechanisms = ("bloom", "unary symmetric", "unary optimized", "subset", "direct", "hashed")
    found = {combination(CAMPAIGNS[item["campaign"]]) for item in VECTORS[section]}
    assert found == {(mechanism, *way) for mechanism in mechanisms for way in ways}


def test_the_vectors_hold_blocks_that_pass_a_word_a_byte_and_two_bytes():
    covered = [
        (
            item["campaign"],
            Report.from_bytes(bytes.fromhex(item["bytes"]), CAMPAIGNS[item["campaign"]]),
        )
        for item in VECTORS["reports"]
    ]
    blocks = {
        (combination(CAMPAIGNS[name])[0], channel.n_candidates, channel.width)
        for name, report in covered
        for channel in CAMPAIGNS[name].channels(report.view(CAMPAIGNS[name]))
    }
    widths = {(mechanism, width) for mechanism, _, width in blocks}
    assert {
        ("bloom", 128),
        ("bloom", 1024),
        ("unary symmetric", 300),
        ("unary symmetric", 1024),
    } <= widths
    assert {("unary optimized", 300), ("subset", 300), ("subset", 1024)} <= widths
    assert {("direct", k) for k in (100, 256, 257, 300, 1024, 65_536, 70_000)} <= {
        block[:2] for block in blocks
    }
    assert {("hashed", k) for k in (2, 6, 300, 1024, 70_000, 1_000_000)} <= {
        block[:2] for block in blocks
    }


# ---- epsilon, cap and frames


@each("attribute_epsilons")
def test_an_attribute_keeps_its_epsilon(item):
    assert decimal_up(CAMPAIGNS[item["campaign"]].loss_of(item["attribute"])) == item["epsilon"]


def test_the_costliest_of_jointly_randomized_views_may_be_in_the_middle():
    campaign = CAMPAIGNS["bloom-costly-middle"]
    losses = [campaign.channels(view)[0].law().loss for view in campaign.view.sets]
    assert losses.index(campaign.loss) == 3
    assert sorted(losses)[-2] < campaign.loss


@each("caps")
def test_a_cap_refuses_the_same_campaigns(item):
    assert MAKER.allowed(CAMPAIGNS[item["campaign"]], item["cap"]) == item["allowed"]


def test_caps_are_on_both_sides_of_epsilon():
    """By a 40th decimal, where a double or a tolerance would take both for equal."""
    near = [item for item in VECTORS["caps"] if len(item["cap"].partition(".")[2]) == 40]
    assert Counter(item["allowed"] for item in near) == {
        True: len(CAMPAIGNS),
        False: len(CAMPAIGNS),
    }


@each("frames")
def test_reports_are_framed_by_their_lengths(item):
    reports = [bytes.fromhex(report) for report in item["reports"]]
    assert framed(reports).hex() == item["bytes"]
    assert list(unframed(bytes.fromhex(item["bytes"]))) == reports


@each("malformed_frames")
def test_a_frame_that_is_cut_off_is_refused(item):
    with pytest.raises(ReportRejected) as refusal:
        list(unframed(bytes.fromhex(item["bytes"])))
    assert refusal.value.reason == item["reason"]


# ---- campaigns that are refused


def test_the_spelt_campaign_itself_is_accepted():
    assert Campaign.from_bytes(VECTORS["spelt_campaign"].encode()).terms.name == "good"


def bytes_of(item: dict[str, Any]) -> bytes:
    if "repeated" in item:
        return (item["repeated"] * item["times"]).encode()
    return item["text"].encode() if "text" in item else base64.b64decode(item["base64"])


@every([item for golden in ALL for item in golden["refused_campaigns"]], called)
def test_a_campaign_is_refused_for_the_agreed_reason(item):
    with pytest.raises(CampaignError) as refused:
        Campaign.from_bytes(bytes_of(item), expected_id=item.get("id"))
    assert refused.value.reason == item["reason"]


def test_every_reason_for_refusing_a_campaign_is_given():
    given = {item["reason"] for golden in ALL for item in golden["refused_campaigns"]}
    assert given == {reason.value for reason in CampaignRefusal}


def test_the_format_page_lists_every_reason_for_refusing_a_campaign():
    section = PAGE[PAGE.index("### 3.10 Refusing a campaign") : PAGE.index("### 3.11 Rounds")]
    listed = re.findall(r"^\| `([a-z]+)` \|", section, re.MULTILINE)
    assert listed == [reason.value for reason in CampaignRefusal]


# ---- values, positions, draws


@each("values")
def test_a_value_keeps_its_candidate(item):
    attribute = CAMPAIGNS[item["campaign"]].domain[item["attribute"]]
    assert attribute.index(item["value"]) == item["candidate"]


@each("unfit_values")
def test_a_value_that_fits_no_candidate_is_refused(item):
    attribute = CAMPAIGNS[item["campaign"]].domain[item["attribute"]]
    with pytest.raises(DomainError):
        attribute.index(item["value"])


@each("positions")
def test_a_candidate_keeps_its_bloom_positions(item):
    assert_positions(item)


@each("draws")
def test_a_draw_turns_the_same_bytes_into_the_same_number(item):
    assert_draw(item)


def assert_positions(item: dict[str, Any]) -> None:
    found = positions(
        item["salt"],
        tuple(item["names"]),
        tuple(item["texts"]),
        n_bits=item["bits"],
        n_hashes=item["hashes"],
    )
    assert list(found) == item["positions"]


def assert_draw(item: dict[str, Any]) -> None:
    source = MAKER.Stream(bytes.fromhex(item["random"]))
    assert MAKER.drawn(item, source) == item["result"]
    assert source.used == item["random"]


@each("blocks")
def test_a_block_turns_the_same_bytes_into_the_same_output(item):
    assert_block(item)


def assert_block(item: dict[str, Any]) -> None:
    source = MAKER.Stream(bytes.fromhex(item["random"]))
    assert MAKER.block_payload(item, source).hex() == item["payload"]
    assert source.used == item["random"]


# ---- reports


@each("reports")
def test_the_same_random_bytes_give_the_same_report(item):
    assert_report(CAMPAIGNS[item["campaign"]], item)


def assert_report(campaign: Campaign, item: dict[str, Any]) -> None:
    source = MAKER.Stream(bytes.fromhex(item["random"]))
    report = MAKER.encoded(
        campaign, item["record"], bytes.fromhex(item["random_id"]), source, item["slot"]
    )
    assert (report.to_bytes().hex(), source.used) == (item["bytes"], item["random"])


@each("signed_reports")
def test_a_signed_report_is_read_and_written(item):
    campaign, data = CAMPAIGNS[item["campaign"]], bytes.fromhex(item["bytes"])
    report = Report.from_bytes(data, campaign)
    assert (report.to_bytes(), report.signature.hex()) == (data, item["signature"])
    assert json.loads(report.to_json()) == item["twin"]
    assert Report.from_json(json.dumps(item["twin"]), campaign) == report


@each("reports")
def test_a_report_is_read_back_from_its_bytes(item):
    data = bytes.fromhex(item["bytes"])
    assert Report.from_bytes(data, CAMPAIGNS[item["campaign"]]).to_bytes() == data


@each("reports")
def test_a_report_keeps_its_json_twin(item):
    campaign = CAMPAIGNS[item["campaign"]]
    report = Report.from_bytes(bytes.fromhex(item["bytes"]), campaign)
    assert json.loads(report.to_json()) == item["twin"]
    assert Report.from_json(json.dumps(item["twin"]), campaign) == report


def test_composed_and_decomposed_letters_give_the_same_report():
    by_random: dict[str, list[dict[str, Any]]] = {}
    for item in VECTORS["reports"]:
        if item["campaign"] == "every-member":
            by_random.setdefault(item["random"], []).append(item)
    pairs = [items for items in by_random.values() if len(items) > 1]
    assert len(pairs) == 3
    for one, other in pairs:
        assert one["record"]["ville"] != other["record"]["ville"]
        assert one["bytes"] == other["bytes"]


def test_the_reports_hold_draws_that_were_rejected():
    lengths: dict[str, list[int]] = {}
    for item in VECTORS["reports"]:
        lengths.setdefault(item["campaign"], []).append(len(item["random"]))
    steady = {name for name, found in lengths.items() if len(found) >= 9 and len(set(found)) == 1}
    assert steady == {"bloom-all", "bloom-rate", "unary-symmetric"}  # these draw no `below`


# ---- refusals


@each("malformed_reports")
def test_a_malformed_report_is_refused_for_the_same_reason(item):
    with pytest.raises(ReportRejected) as refusal:
        Report.from_bytes(bytes.fromhex(item["bytes"]), CAMPAIGNS[item["campaign"]])
    assert refusal.value.reason == item["reason"]


@each("malformed_twins")
def test_a_malformed_twin_is_refused_for_the_same_reason(item):
    text = item["text"] if "text" in item else item["repeated"] * item["times"]
    with pytest.raises(ReportRejected) as refusal:
        Report.from_json(text, CAMPAIGNS[item["campaign"]])
    assert refusal.value.reason == item["reason"]


def test_every_reason_is_given_at_least_twice():
    given = Counter(
        item["reason"]
        for section in ("malformed_reports", "malformed_twins")
        for item in VECTORS[section]
    )
    assert set(given) == {str(reason) for reason in Reason} - {
        "conflict",
        "withdrawn",
    }  # those need a collector's memory
    assert min(given.values()) >= 2


# ---- the format page


def test_the_format_page_has_examples_of_every_kind():
    kinds = Counter(next(iter(item)) for item in EXAMPLES)
    assert kinds == {"salt": 4, "draw": 5, "mechanism": 11, "format": 1, "record": 1, "twin": 1}


@examples_with("positions")
def test_the_format_page_shows_true_positions(item):
    assert_positions(item)


@examples_with("draw")
def test_the_format_page_shows_true_draws(item):
    assert_draw(item)


@examples_with("mechanism", "payload")
def test_the_format_page_shows_true_samplers(item):
    assert_block(item)


def test_the_format_page_shows_a_true_report():
    text = re.search(r'```json\n(\{"format":.*?)\n```', PAGE, re.DOTALL)
    assert text
    campaign = Campaign.from_bytes(text[1].encode())
    assert campaign.id in PAGE
    (item,) = [item for item in EXAMPLES if "record" in item]
    assert_report(campaign, item)
    (twin,) = [item for item in EXAMPLES if "twin" in item]
    report = Report.from_bytes(bytes.fromhex(item["bytes"]), campaign)
    assert (json.loads(report.to_json()), item["bytes"]) == (twin["twin"], twin["bytes"])


def test_the_format_page_lists_every_reason():
    section = PAGE[PAGE.index("## 12. Refusing a report") :]
    listed = set(re.findall(r"^\| \d \| `(\w+)` \|", section, re.MULTILINE))
    assert listed == {str(reason) for reason in Reason}
