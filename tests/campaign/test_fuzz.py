"""Whatever bytes come in, either they are refused for a stated reason, or they stand for exactly themselves."""

import json
from collections.abc import Callable
from copy import deepcopy
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from lopub import (
    Binned,
    Boolean,
    Campaign,
    CampaignError,
    Categorical,
    Domain,
    DomainError,
    IntegerRange,
    Report,
    ReportRejected,
)
from lopub.bulk.questionnaire import contradictions
from lopub.campaign.canonical import canonical_bytes
from lopub.campaign.domain import Attribute
from lopub.campaign.report import framed, unframed
from lopub.errors import CampaignRefusal
from tiers import FULL

GOLDEN = Path(__file__).parents[1] / "golden"
VECTORS = json.loads((GOLDEN / "vectors.json").read_text(encoding="ascii"))
QUESTIONNAIRES = json.loads((GOLDEN / "questionnaires.json").read_text(encoding="utf-8"))
CAMPAIGNS = {
    item["campaign"]: Campaign.from_bytes(item["text"].encode()) for item in VECTORS["campaigns"]
}
SURVEYS = {
    item["campaign"]: Campaign.from_bytes(item["text"].encode())
    for item in QUESTIONNAIRES["campaigns"]
}
"""Of format 2: with conditions, lists, dates, open-ended bins and languages."""
REPORTS = [
    (
        CAMPAIGNS[item["campaign"]],
        Report.from_bytes(bytes.fromhex(item["bytes"]), CAMPAIGNS[item["campaign"]]),
    )
    for item in VECTORS["reports"]
]
DOMAIN = Domain(
    (
        Categorical(name="city", values=("Oslo", "Rome", "東京"), missing=True),
        Boolean(name="smoker"),
        IntegerRange(name="children", minimum=-1, maximum=4, missing=True),
        Binned(name="income", edges=("0", "10.5", "100")),
        Binned(name="weight", edges=("0", "40", "100"), clamp=True),
    )
)

campaigns = st.sampled_from(list(CAMPAIGNS.values()))
surveys = st.sampled_from(list(SURVEYS.values()))
reports = st.sampled_from(REPORTS)


def fuzz(max_examples: int) -> settings:
    """So many examples at full size; otherwise a fifth."""
    return settings(
        max_examples=max_examples if FULL else max_examples // 5,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-3, 9),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["", "0", "x"]),
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
)


@st.composite
def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes with a piece changed, put in, or taken out."""
    at = draw(st.integers(0, len(data)))
    gone = draw(st.integers(0, 3))
    return data[:at] + draw(st.binary(max_size=3)) + data[at + gone :]


def outcome(refusal: type[Exception], read: Callable[..., Any], *arguments: Any) -> Any:
    """What was read, or the refusal; anything else goes on as a failure."""
    try:
        return read(*arguments)
    except refusal as refused:
        return refused


def assert_refused_or_itself(data: bytes, campaign: Campaign) -> None:
    report = outcome(ReportRejected, Report.from_bytes, data, campaign)
    assert isinstance(report, ReportRejected) or report.to_bytes() == data


def assert_refused_or_a_report(text: str | bytes, campaign: Campaign) -> None:
    report = outcome(ReportRejected, Report.from_json, text, campaign)
    assert (
        isinstance(report, ReportRejected)
        or Report.from_bytes(report.to_bytes(), campaign) == report
    )


# ---- reports


@fuzz(max_examples=300)
@given(campaigns, st.binary(max_size=80))
def test_random_bytes_are_refused_or_a_report(campaign, data):
    assert_refused_or_itself(data, campaign)


@fuzz(max_examples=500)
@given(
    campaigns,
    st.binary(min_size=16, max_size=16),
    st.integers(0, 2**32 - 1),
    st.binary(max_size=12),
)
def test_random_bytes_behind_a_true_header_are_refused_or_a_report(campaign, report_id, slot, rest):
    assert_refused_or_itself(
        b"\1" + campaign.prefix + report_id + slot.to_bytes(4) + rest, campaign
    )


@fuzz(max_examples=600)
@given(st.data())
def test_a_report_with_a_piece_changed_is_refused_or_a_report(data):
    campaign, report = data.draw(reports)
    assert_refused_or_itself(data.draw(mutated(report.to_bytes())), campaign)


@fuzz(max_examples=300)
@given(campaigns, st.one_of(st.binary(max_size=60), st.text(max_size=60), values.map(json.dumps)))
def test_random_text_is_refused_as_a_twin(campaign, text):
    with pytest.raises(ReportRejected) as refusal:
        Report.from_json(text, campaign)
    assert refusal.value.reason == "json"


@fuzz(max_examples=600)
@given(st.data())
def test_a_twin_with_a_member_changed_is_refused_or_a_report(data):
    campaign, report = data.draw(reports)
    twin = json.loads(report.to_json())
    key = data.draw(st.sampled_from([*twin, "view", "more"]))
    twin[key] = data.draw(st.one_of(values, st.text("AQgw_-09af", max_size=24)))
    assert_refused_or_a_report(json.dumps(twin), campaign)


@fuzz(max_examples=300)
@given(st.data())
def test_a_twin_with_a_piece_changed_is_refused_or_a_report(data):
    campaign, report = data.draw(reports)
    assert_refused_or_a_report(data.draw(mutated(report.to_json().encode())), campaign)


@fuzz(max_examples=300)
@given(st.binary(max_size=40))
def test_random_bytes_are_frames_or_refused(data):
    found = outcome(ReportRejected, lambda: list(unframed(data)))
    assert found.reason == "length" if isinstance(found, ReportRejected) else framed(found) == data


@fuzz(max_examples=100)
@given(st.lists(st.binary(max_size=300), max_size=5))
def test_what_was_framed_is_found_again(frames):
    assert list(unframed(framed(frames))) == frames


# ---- campaigns


def assert_refused_or_the_same_campaign(data: bytes) -> None:
    campaign = outcome(CampaignError, Campaign.from_bytes, data)
    if isinstance(campaign, CampaignError):
        assert isinstance(campaign.reason, CampaignRefusal), (
            "refused for none of the reasons of the format"
        )
    else:
        assert campaign.canonical_bytes == data


@fuzz(max_examples=300)
@given(st.binary(max_size=60))
def test_random_bytes_are_refused_as_a_campaign(data):
    assert_refused_or_the_same_campaign(data)


@fuzz(max_examples=300)
@given(values)
def test_random_json_is_refused_as_a_campaign(value):
    assert_refused_or_the_same_campaign(
        json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    )


@fuzz(max_examples=500)
@given(st.data())
def test_a_campaign_with_a_piece_changed_is_refused_or_a_campaign(data):
    assert_refused_or_the_same_campaign(
        data.draw(mutated(data.draw(campaigns | surveys).canonical_bytes))
    )


def paths(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every member and item, at whatever depth."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path for key, item in inner for path in [(*way, key), *paths(item, (*way, key))]]


PATHS = {
    campaign.id: paths(json.loads(campaign.canonical_bytes))
    for campaign in [*CAMPAIGNS.values(), *SURVEYS.values()]
}
comparisons = st.fixed_dictionaries(
    {"field": st.sampled_from(["age", "job", "hours", "reads", "later"])}
).flatmap(
    lambda field: st.sampled_from(["equals", "atLeast", "above", "includes", "oneOf"]).flatmap(
        lambda word: st.one_of(
            scalars, st.sampled_from(["young", "20", "books", True]), st.lists(scalars, max_size=2)
        ).map(lambda value: {**field, word: value})
    )
)
conditions = st.recursive(
    comparisons,
    lambda inner: (
        st.fixed_dictionaries({"not": inner})
        | st.fixed_dictionaries({"and": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"or": st.lists(inner, max_size=3)})
    ),
    max_leaves=12,
)


@fuzz(max_examples=400)
@given(st.data())
def test_a_survey_with_any_condition_is_refused_or_a_campaign(data):
    whole = json.loads(data.draw(surveys).canonical_bytes)
    fields = whole["schema"]["fields"]
    fields[data.draw(st.integers(0, len(fields) - 1))]["onlyIf"] = data.draw(conditions)
    assert_refused_or_the_same_campaign(canonical_or_not(whole))


@fuzz(max_examples=1500)
@given(st.data())
def test_a_campaign_with_a_member_changed_is_refused_or_a_campaign(data):
    campaign = data.draw(campaigns | surveys)
    *way, last = data.draw(st.sampled_from(PATHS[campaign.id]))
    whole = deepcopy(json.loads(campaign.canonical_bytes))
    at = whole
    for key in way:
        at = at[key]
    change = data.draw(st.sampled_from(["change", "remove", "double"]))
    if change == "change":
        at[last] = data.draw(
            st.one_of(values, st.integers(0, 2**33), st.integers(0, 2**33).map(str))
        )
    elif change == "remove":
        del at[last]
    elif isinstance(at, list):
        at.append(at[last])
    else:
        at[data.draw(st.text(max_size=5))] = at[last]
    assert_refused_or_the_same_campaign(canonical_or_not(whole))


def canonical_or_not(value: Any) -> bytes:
    try:
        return canonical_bytes(value)
    except ValueError:  # a text that no file can carry
        assume(False)
        raise


# ---- values

ANYTHING = st.one_of(
    values,
    st.binary(max_size=5),
    st.decimals(),
    st.fractions(),
    st.complex_numbers(),
    st.sampled_from(
        [
            object(),
            Decimal("sNaN"),
            range(3),
            int,
            10**400,
            -(10**400),
            {"a"},
            (1,),
            bytearray(b"x"),
        ]
    ),
)


def assert_refused_or_a_candidate(attribute: Attribute, read: Callable[[], int]) -> None:
    found = outcome(DomainError, read)
    if isinstance(found, DomainError):
        assert f"attribute {attribute.name!r}" in str(found)
    else:
        assert 0 <= found < attribute.size


@fuzz(max_examples=800)
@given(st.sampled_from(DOMAIN.attributes), ANYTHING)
def test_any_value_is_refused_or_a_candidate(attribute, value):
    assert_refused_or_a_candidate(attribute, lambda: attribute.index(value))


@fuzz(max_examples=400)
@given(
    st.sampled_from(DOMAIN.attributes),
    st.one_of(st.text(max_size=12), st.text("0123456789.eE+-[](), ", max_size=12)),
)
def test_any_text_of_a_table_is_refused_or_a_candidate(attribute, text):
    assert_refused_or_a_candidate(attribute, lambda: attribute.index(attribute.parse(text)))


@fuzz(max_examples=300)
@given(st.floats(allow_nan=False), st.booleans())
def test_a_number_lies_in_the_bin_that_holds_it(value, clamp):
    attribute = DOMAIN["weight" if clamp else "income"]
    low, *_, high = attribute.bounds
    if not clamp and not low <= value <= high:
        with pytest.raises(DomainError):
            attribute.index(value)
        return
    i, inside = attribute.index(value), min(max(value, low), high)
    assert attribute.bounds[i] < inside <= attribute.bounds[i + 1] or (i == 0 and inside == low)


@fuzz(max_examples=300)
@given(
    st.dictionaries(
        st.one_of(st.sampled_from(DOMAIN.names), st.text(max_size=4)), ANYTHING, max_size=7
    )
)
def test_any_record_is_refused_or_candidates(record):
    indices = outcome(DomainError, DOMAIN.indices, record)
    assert isinstance(indices, DomainError) or all(
        0 <= i < size for i, size in zip(indices, DOMAIN.sizes, strict=True)
    )


@fuzz(max_examples=400)
@given(st.data())
def test_any_record_of_a_survey_is_refused_or_keeps_its_rules(data):
    domain = data.draw(surveys).domain
    record = dict(
        data.draw(st.sampled_from([item["record"] for item in QUESTIONNAIRES["records"]]))
    )
    for name in data.draw(
        st.lists(st.sampled_from([question.name for question in domain.questions]), max_size=3)
    ):
        record[name] = data.draw(
            st.one_of(
                ANYTHING, st.lists(st.sampled_from(["books", "blogs", "nothing"]), max_size=4)
            )
        )
    indices = outcome(DomainError, domain.indices, record)
    assert isinstance(indices, DomainError) or not contradictions(
        domain, np.array([indices], dtype=np.uint16)
    )
