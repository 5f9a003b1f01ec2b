"""A campaign is its bytes: read back exactly, refused in any other spelling, and honest about its epsilon."""

import hashlib
import json
import math
from copy import deepcopy
from datetime import date
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from every import every
from lopub import (
    AllAttributes,
    Binned,
    Boolean,
    Campaign,
    CampaignError,
    CampaignRequest,
    Categorical,
    Domain,
    DomainError,
    Fill,
    IntegerRange,
    Listed,
    Sample,
    Schedule,
    StoreError,
    Terms,
    Translation,
    make_campaign,
)
from lopub.campaign.budget import UNIT, log_up
from lopub.campaign.canonical import canonical_bytes
from lopub.campaign.mechanisms import Bloom, Direct, Hashed, Mechanism, Subset, Unary
from lopub.campaign.mechanisms.hashed import HashedChannel
from lopub.campaign.views import ViewRule
from lopub.errors import CodesCollide

DOMAIN = Domain(
    (
        Categorical(
            name="city",
            values=("Oslo", "Rome", "東京"),
            labels={"東京": "Tokyo"},
            question="Where?",
        ),
        Boolean(name="smoker", missing=True),
        IntegerRange(name="children", minimum=0, maximum=4),
        Binned(name="income", edges=("0", "10.5", "100")),
    )
)
TERMS = Terms(
    name="survey",
    title="A survey",
    translations={
        "de": Translation(
            titles={"city": "Stadt"}, labels={"city": {"東京": "Tokio"}, "smoker": {"": "?"}}
        )
    },
    schedule=Schedule(opens=date(2026, 5, 1), closes=date(2026, 5, 31)),
    retention_days=30,
)
BLOOM = make_campaign(DOMAIN, TERMS, CampaignRequest(flip_probability="0.5", n_bits=32, n_hashes=3))
SUBSET = make_campaign(DOMAIN, TERMS, CampaignRequest(epsilon=2))
LISTED = make_campaign(
    DOMAIN,
    TERMS,
    CampaignRequest(
        epsilon=2,
        mechanism="direct",
        view=Listed.of(DOMAIN, [(("city", "income"), 2), (("smoker",), 1)]),
    ),
)
EVERY = [BLOOM, SUBSET, LISTED]


def built(
    mechanism: Mechanism, view: ViewRule, *, jointly: bool = False, domain: Domain = DOMAIN
) -> Campaign:
    return Campaign(
        domain=domain, mechanism=mechanism, view=view, jointly=jointly, terms=Terms(name="t")
    )


def spoilt(campaign: Campaign, path: str, value: object = None) -> bytes:
    """The campaign's bytes, canonical but for one member that is changed, or taken out where there is no value."""
    whole: Any = deepcopy(json.loads(campaign.canonical_bytes))
    at = whole
    *way, last = path.split("/")
    for part in way:
        at = at[int(part) if isinstance(at, list) else part]
    last = int(last) if isinstance(at, list) else last
    if value is None:
        del at[last]
    else:
        at[last] = value
    return canonical_bytes(whole)


def refusal(data: bytes) -> str:
    with pytest.raises(CampaignError) as caught:
        Campaign.from_bytes(data)
    return str(caught.value)


# ---- bytes


@every(EVERY)
def test_a_campaign_is_read_back_from_its_bytes(campaign):
    again = Campaign.from_bytes(campaign.canonical_bytes)
    assert again == campaign
    assert again.canonical_bytes == campaign.canonical_bytes


@every(EVERY)
def test_the_id_is_the_hash_of_the_bytes(campaign):
    assert campaign.id == hashlib.sha256(campaign.canonical_bytes).hexdigest()
    assert campaign.prefix.hex() == campaign.id[:16]


def test_the_expected_id_may_be_spelt_in_capitals():
    assert (
        Campaign.from_bytes(SUBSET.canonical_bytes, expected_id=SUBSET.id.upper()).id == SUBSET.id
    )


def test_a_campaign_with_any_byte_flipped_is_not_the_expected_one():
    data = SUBSET.canonical_bytes
    for i in range(0, len(data), 7):
        flipped = data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :]
        with pytest.raises(
            CampaignError, match=f"this is not campaign {SUBSET.id[:16]}…: its bytes were changed"
        ):
            Campaign.from_bytes(flipped, expected_id=SUBSET.id)


def test_a_campaign_with_any_byte_flipped_is_refused_or_has_another_id():
    data = LISTED.canonical_bytes
    for i in range(len(data)):
        try:
            assert (
                Campaign.from_bytes(data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :]).id != LISTED.id
            )
        except CampaignError:
            continue


def test_the_hash_is_looked_at_before_anything_else():
    with pytest.raises(CampaignError, match="this is not campaign"):
        Campaign.from_bytes(b"no json at all", expected_id=SUBSET.id)


def test_pretty_printed_json_is_refused():
    pretty = json.dumps(json.loads(SUBSET.canonical_bytes), indent=2, ensure_ascii=False).encode()
    assert "the file is not spelt as a campaign is" in refusal(pretty)


def test_a_line_end_behind_the_campaign_is_refused():
    assert "the file is not spelt as a campaign is" in refusal(SUBSET.canonical_bytes + b"\n")


@every(
    [
        ("title", ""),
        ("retention_days", 0),
        ("description", ""),
        ("schema/fields/0/title", ""),
        ("schema/fields/3/bins/edges/1", "10.50"),
        ("schema/fields/3/bins/edges/0", 0),
        ("translations/de/title", ""),
        ("mechanism/odds", {"01": "31735754293"}),
        ("mechanism/odds/1", "031735754293"),
        ("schema/fields/0/categories/0", "Oslo"),
        ("schema/fields/0/categoriesOrdered", None),
        ("schema/fields/0/constraints/enum", None),
        ("schema/fields/0/constraints/required", None),
        ("schema/fields/3/bins/clamp", None),
        ("schema/fields/3/constraints/minimum", None),
        ("language", None),
        ("min_reports", None),
    ]
)
def test_what_lopub_would_write_otherwise_is_refused(path, value):
    assert refusal(spoilt(SUBSET, path, value)).startswith("the file is not spelt as a campaign is")


def test_listed_names_out_of_domain_order_are_refused():
    data = spoilt(LISTED, "privacy/view/sets/0/attributes", ["income", "city"])
    assert refusal(data).startswith("the file is not spelt as a campaign is")


@every(
    [
        ("format", None, "format is missing"),
        ("format", 2, "format must be 1, got 2; a newer LoPub may read it"),
        ("format", "1", "format must be an integer"),
        ("format", True, "format must be an integer"),
        ("extra", 1, "extra is not known to format 1"),
        ("schema", [], "schema must be an object"),
        ("schema/extra", 1, "schema.extra is not known to format 1"),
        ("schema/fields", {}, "schema.fields must be a list"),
        ("schema/fields", [], "a domain needs 1 to 4,096 attributes, got 0"),
        ("schema/fields/0", 1, "schema.fields[0] must be an object"),
        (
            "schema/fields/0/type",
            "text",
            "schema.fields[0].type must be one of string, boolean, integer, number, list, date, time, datetime",
        ),
        ("schema/fields/0/name", None, "schema.fields[0].name is missing"),
        ("schema/fields/0/name", "", "an attribute's name must be a non-empty text"),
        ("schema/fields/0/name", "smoker", "a domain lists the same attribute twice"),
        ("schema/fields/0/extra", "", "schema.fields[0].extra is not known to format 1"),
        (
            "schema/fields/0/constraints/unique",
            True,
            "schema.fields[0].constraints.unique is not known to format 1",
        ),
        (
            "schema/fields/0/constraints/required",
            1,
            "schema.fields[0].constraints.required must be true or false",
        ),
        (
            "schema/fields/0/constraints/enum",
            ["Rome", "Oslo", "東京"],
            "schema.fields[0].constraints.enum must list the same values as the categories, in the same order",
        ),
        (
            "schema/fields/0/categories/0/label",
            1,
            "schema.fields[0].categories[0].label must be a text",
        ),
        (
            "schema/fields/0/categories/0/extra",
            1,
            "schema.fields[0].categories[0].extra is not known to format 1",
        ),
        ("schema/fields/1/categories", [], "schema.fields[1].categories is not known to format 1"),
        (
            "schema/fields/2/constraints/minimum",
            None,
            "schema.fields[2].constraints.minimum is missing",
        ),
        (
            "schema/fields/2/constraints/minimum",
            "0",
            "schema.fields[2].constraints.minimum must be an integer",
        ),
        ("schema/fields/2/constraints/minimum", 4, "attribute 'children' has 1 candidates"),
        ("schema/fields/3/bins", None, "schema.fields[3].bins is missing"),
        (
            "schema/fields/3/bins/edges",
            ["0", "100", "10.5"],
            "attribute 'income' has bin edges out of order",
        ),
        (
            "schema/fields/3/bins/edges",
            ["0"],
            "attribute 'income' needs at least 2 bin edges, got 1",
        ),
        (
            "schema/fields/3/bins/edges/1",
            "ten",
            "attribute 'income' has a bin edge that is not a number",
        ),
        ("schema/fields/3/bins/edges/1", True, "schema.fields[3].bins.edges[1] must be a text"),
        (
            "schema/fields/3/constraints/minimum",
            "1",
            "attribute 'income' has a minimum other than its outer bin edge 0",
        ),
        (
            "schema/fields/3/constraints/maximum",
            "1",
            "attribute 'income' has a maximum other than its outer bin edge 100",
        ),
        ("privacy", None, "privacy is missing"),
        (
            "privacy/epsilon",
            "1.999999",
            "privacy.epsilon says 1.999999, but the epsilon of this campaign is 2.000000",
        ),
        (
            "privacy/epsilon",
            "2.000001",
            "privacy.epsilon says 2.000001, but the epsilon of this campaign is 2.000000",
        ),
        (
            "privacy/epsilon",
            "2",
            "privacy.epsilon says 2, but the epsilon of this campaign is 2.000000",
        ),
        ("privacy/epsilon", 2, "privacy.epsilon must be a text"),
        (
            "privacy/epsilon",
            "9" * 99,
            f"privacy.epsilon says {'9' * 40}, but the epsilon of this campaign is 2.000000",
        ),
        ("privacy/randomize", "apart", "privacy.randomize must be jointly or separately"),
        (
            "privacy/randomize",
            "separately",
            "mechanism 'subset' has no noise for a report of 2 blocks",
        ),
        ("privacy/extra", 1, "privacy.extra is not known to format 1"),
        ("privacy/view/kind", "some", "privacy.view.kind must be one of all, fill, listed, sample"),
        (
            "privacy/view/attributes",
            0,
            "view sample:k needs k in 1..4, the number of attributes, got 0",
        ),
        (
            "privacy/view/attributes",
            5,
            "view sample:k needs k in 1..4, the number of attributes, got 5",
        ),
        ("privacy/view", {"kind": "fill", "cells": 3}, "view fill:cells needs at least 4 cells"),
        (
            "privacy/view",
            {"kind": "listed", "sets": [{"attributes": ["age"], "weight": 1}]},
            "there is no attribute 'age'; the 4 attributes are city, smoker, children, income",
        ),
        (
            "privacy/view",
            {"kind": "listed", "sets": [{"attributes": ["city", "city"], "weight": 1}]},
            "a listed view names the same attribute twice",
        ),
        (
            "privacy/view",
            {"kind": "listed", "sets": [{"attributes": ["city"], "weight": 0}]},
            "view listed needs weights of at least 1",
        ),
        (
            "mechanism/name",
            "rappor",
            "mechanism.name must be one of bloom, direct, hashed, subset, unary",
        ),
        ("mechanism/extra", 1, "mechanism.extra is not known to format 1"),
        (
            "mechanism/odds",
            {},
            "mechanism.odds must name the noise of at least one number of blocks",
        ),
        (
            "mechanism/odds",
            {"one": "9999999999"},
            "mechanism.odds must be keyed by numbers of blocks",
        ),
        (
            "mechanism/odds",
            {"123456": "9999999999"},
            "mechanism.odds must be keyed by numbers of blocks",
        ),
        ("mechanism/odds/1", 9999999999, "mechanism.odds.1 must be an integer written as a text"),
        ("mechanism/odds/1", "-1", "mechanism.odds.1 must be an integer written as a text"),
        ("mechanism/odds/1", "²", "mechanism.odds.1 must be an integer written as a text"),
        ("mechanism/odds/1", "9" * 101, "mechanism.odds.1 must be an integer written as a text"),
        ("mechanism/odds/1", "4294967296", "odds must be above 4294967296, got 4294967296"),
        ("mechanism/odds/1", "9" * 100, "odds must stay below e^200 * 2^32"),
        ("name", None, "name is missing"),
        (
            "name",
            "Survey",
            "name must be 1 to 100 small letters, digits, dots, hyphens or underscores",
        ),
        ("name", "a" * 101, "name must be 1 to 100 small letters"),
        ("name", "-a", "name must be 1 to 100 small letters"),
        ("name", "a\n", "name must be 1 to 100 small letters"),
        ("language", "english!", "a language must be a tag such as en or pt-BR, got 'english!'"),
        ("title", 1, "title must be a text"),
        ("min_reports", 0, "min_reports must be at least 1, got 0"),
        ("min_reports", True, "min_reports must be an integer"),
        ("retention_days", -1, "retention_days must be at least 0, got -1"),
        ("schedule", "may", "schedule must be an object"),
        ("schedule/repeat", None, "the file is not spelt as a campaign is"),
        (
            "schedule/repeat",
            "daily",
            "schedule.repeat must be once, or an object that says in which rounds",
        ),
        (
            "schedule/opens",
            "2026-06-01",
            "schedule.closes must not be before schedule.opens, got 2026-05-31 before 2026-06-01",
        ),
        (
            "schedule/opens",
            "1969-12-31",
            "schedule.opens must not be before 1970-01-01, got 1969-12-31",
        ),
        ("schedule/opens", "2026-02-30", "schedule.opens must be a day such as 2026-05-31"),
        ("schedule/opens", "20260501", "schedule.opens must be a day such as 2026-05-31"),
        ("schedule/closes", "2026-W22-7", "schedule.closes must be a day such as 2026-05-31"),
        ("schedule/closes", "２026-05-31", "schedule.closes must be a day such as 2026-05-31"),
        ("schedule/extra", 1, "schedule.extra is not known to format 1"),
        ("translations", [], "translations must be an object"),
        ("translations/de/extra", "", "translations.de.extra is not known to format 1"),
        ("translations/de/titles/city", 1, "translations.de.titles.city must be a text"),
        (
            "translations/de/titles/age",
            "Alter",
            "a translation names attribute 'age', which the campaign does not ask for",
        ),
        (
            "translations/de/questions",
            {"age": "?"},
            "a translation names attribute 'age', which the campaign does not ask for",
        ),
        (
            "translations/de/labels/age",
            {},
            "a translation names attribute 'age', which the campaign does not ask for",
        ),
        (
            "translations/de/labels/city/Bonn",
            "Bonn",
            "a translation of attribute 'city' labels a value that it does not list",
        ),
        ("translations/d", {}, "a language must be a tag such as en or pt-BR, got 'd'"),
    ]
)
def test_a_campaign_that_makes_no_sense_is_refused_with_its_place(path, value, message):
    assert refusal(spoilt(SUBSET, path, value)).startswith(message)


@every(
    [
        ("mechanism/hashes", 33, "hashes must lie in 1..32, the number of bits, got 33"),
        ("mechanism/hashes", 0, "hashes must lie in 1..32, the number of bits, got 0"),
        ("mechanism/bits", 1, "bits must lie in 2..65,536, got 1"),
        ("mechanism/bits", "32", "mechanism.bits must be an integer"),
        (
            "mechanism/bits",
            {"city": 32},
            "bits must be one number where views are randomized jointly, or name every attribute",
        ),
        ("mechanism/bits", {"city": "32"}, "mechanism.bits.city must be an integer"),
        ("mechanism/salt", 0, "mechanism.salt must be a text"),
        ("mechanism/change_units/4", 0, "change_units must lie in 1..2147483647, got 0"),
        (
            "mechanism/change_units/4",
            2**31,
            "change_units must lie in 1..2147483647, got 2147483648",
        ),
        ("mechanism/change_units/4", "1", "mechanism.change_units.4 must be an integer"),
        (
            "mechanism/change_units",
            {"3": 2**30},
            "mechanism 'bloom' has no noise for a report of 4 blocks",
        ),
        (
            "privacy/view",
            {"kind": "fill", "cells": 9},
            "view fill:cells must be randomized jointly",
        ),
    ]
)
def test_a_bloom_campaign_that_makes_no_sense_is_refused_with_its_place(path, value, message):
    assert refusal(spoilt(BLOOM, path, value)).startswith(message)


@every(
    [
        ("rappor", "mechanism.variant must be symmetric or optimized"),
        (None, "mechanism.variant is missing"),
    ]
)
def test_an_unknown_variant_of_unary_is_refused(variant, message):
    campaign = make_campaign(DOMAIN, TERMS, CampaignRequest(epsilon=2, mechanism="unary"))
    assert refusal(spoilt(campaign, "mechanism/variant", variant)) == message


def test_a_misplaced_label_is_refused_with_its_true_place():
    assert (
        refusal(spoilt(SUBSET, "translations/de/labels/city", "Stadt"))
        == "translations.de.labels.city must be an object"
    )


@every([b"[]", b"1", b'"x"', b"true"])
def test_a_campaign_that_is_no_object_is_refused(data):
    assert refusal(data).endswith("must be an object")


def test_a_domain_error_in_a_file_is_a_campaign_error():
    data = spoilt(SUBSET, "schema/fields/0/categories", [])
    with pytest.raises(CampaignError) as caught:
        Campaign.from_bytes(data)
    assert not isinstance(caught.value, DomainError)


def test_noise_that_no_report_uses_is_refused():
    assert refusal(spoilt(SUBSET, "mechanism/odds/7", "9999999999"))


def test_bits_of_an_unknown_attribute_are_refused():
    campaign = make_campaign(
        DOMAIN, TERMS, CampaignRequest(flip_probability="0.5", false_positive_rate=0.01)
    )
    assert refusal(spoilt(campaign, "mechanism/bits/age", 32))


# ---- what Python writes, Python reads


@every(
    [
        (Domain((Boolean(name="A\u0308"),)), Terms(name="t")),
        (Domain((Boolean(name="a", title="A\u0308"),)), Terms(name="t")),
        (Domain((Boolean(name="a", question="A\u0308"),)), Terms(name="t")),
        (
            Domain((Categorical(name="a", values=("x", "y"), labels={"x": "A\u0308"}),)),
            Terms(name="t"),
        ),
        (
            Domain((Boolean(name="a"),)),
            Terms(name="t", translations={"de": Translation(title="A\u0308")}),
        ),
    ]
)
def test_a_campaign_made_with_decomposed_letters_can_be_read(domain, terms):
    campaign = make_campaign(domain, terms, CampaignRequest(epsilon=1))
    assert Campaign.from_bytes(campaign.canonical_bytes).id == campaign.id


@every(
    [
        lambda: (
            Domain((Categorical(name="a", values=("\u0958" * 600, "y")),)),
            Terms(name="t"),
        ),  # composed: 1,200 letters
        lambda: (
            Domain((IntegerRange(name="a", minimum=2**60, maximum=2**60 + 1),)),
            Terms(name="t"),
        ),
        lambda: (Domain((Boolean(name="a"),)), Terms(name="t", min_reports=2**60)),
        lambda: (Domain((Boolean(name="a"),)), Terms(name="t", retention_days=2**60)),
    ]
)
def test_what_a_file_could_not_hold_is_refused_at_the_door(parts):
    try:
        campaign = make_campaign(*parts(), CampaignRequest(epsilon=1))
    except (CampaignError, DomainError):
        return
    assert Campaign.from_bytes(campaign.canonical_bytes).id == campaign.id


# ---- files


def test_a_saved_campaign_is_loaded(tmp_path):
    SUBSET.save(tmp_path / "c.json")
    assert Campaign.load(tmp_path / "c.json", expected_id=SUBSET.id) == SUBSET
    assert (tmp_path / "c.json").read_bytes() == SUBSET.canonical_bytes


def test_a_campaign_file_that_exists_is_not_overwritten(tmp_path):
    SUBSET.save(tmp_path / "c.json")
    with pytest.raises(
        StoreError, match=r"c\.json exists already; choose another name or use force=True"
    ):
        BLOOM.save(tmp_path / "c.json")
    assert Campaign.load(tmp_path / "c.json") == SUBSET


def test_a_campaign_file_is_overwritten_by_force(tmp_path):
    SUBSET.save(tmp_path / "c.json")
    BLOOM.save(str(tmp_path / "c.json"), force=True)
    assert Campaign.load(str(tmp_path / "c.json")) == BLOOM


def test_a_campaign_file_changed_after_its_id_was_taken_is_refused(tmp_path):
    path = tmp_path / "c.json"
    path.write_bytes(SUBSET.canonical_bytes.replace(b"A survey", b"A Survey"))
    with pytest.raises(
        CampaignError,
        match=f"^{path}: this is not campaign {SUBSET.id[:16]}…: its bytes were changed",
    ):
        Campaign.load(path, expected_id=SUBSET.id)


def test_a_refused_campaign_file_is_named(tmp_path):
    path = tmp_path / "c.json"
    path.write_bytes(b"{")
    with pytest.raises(CampaignError, match=f"^{path}: no valid JSON at line 1, column 2"):
        Campaign.load(path)


@pytest.mark.parametrize(
    ("name", "why"), [("nowhere", "No such file or directory"), (".", "Is a directory")]
)
def test_a_campaign_file_that_cannot_be_read_is_told(tmp_path, name, why):
    with pytest.raises(StoreError, match=f"cannot read campaign .*: {why}"):
        Campaign.load(tmp_path / name)


def test_a_file_too_large_to_be_a_campaign_is_refused_unread(tmp_path):
    path = tmp_path / "c.json"
    with path.open("wb") as file:
        file.truncate(4 * 2**20 + 1)
    with pytest.raises(
        CampaignError, match=r"c\.json is larger than 4,194,304 bytes; that is not a campaign"
    ):
        Campaign.load(path)


def test_a_campaign_that_cannot_be_saved_leaves_nothing(tmp_path: Path):
    with pytest.raises(
        StoreError, match=r"cannot write .*/nowhere/c\.json: No such file or directory"
    ):
        SUBSET.save(tmp_path / "nowhere" / "c.json")
    assert list(tmp_path.iterdir()) == []


def test_known_codes_are_not_derived_again():
    assert [BLOOM.channel_at(position, 4) for position in range(4)] == list(
        BLOOM.channels((0, 1, 2, 3))
    )
    assert BLOOM.channel_at(2, 4) is BLOOM.coded_channels[2]


# ---- epsilon


def bit_loss(change: float) -> float:
    return math.log((1 - change) / change)


def test_bloom_on_all_attributes_costs_the_sum_over_attributes():
    distances = [channel.distance for channel in BLOOM.channels((0, 1, 2, 3))]
    assert math.isclose(BLOOM.epsilon, sum(distances) * bit_loss(0.25), rel_tol=1e-12)


def test_bloom_costs_at_most_twice_its_hashes_a_block():
    for name in DOMAIN.names:
        assert 0 < BLOOM.epsilon_of(name) <= 2 * 3 * bit_loss(0.25) * (1 + 1e-12)


def test_a_jointly_randomized_attribute_costs_the_whole_epsilon():
    assert {SUBSET.epsilon_of(name) for name in DOMAIN.names} == {SUBSET.epsilon}


def test_an_attribute_that_no_view_holds_costs_nothing():
    assert (LISTED.epsilon_of("city"), LISTED.epsilon_of("children")) == (LISTED.epsilon, 0.0)


def test_a_sample_of_separate_attributes_costs_the_largest_ones():
    campaign = built(
        Bloom({2: UNIT // 4}, {"city": 40, "smoker": 20, "children": 40, "income": 3}, 2), Sample(2)
    )
    each = sorted(campaign.epsilon_of(name) for name in DOMAIN.names)
    assert each[0] < each[-1]
    assert math.isclose(campaign.epsilon, each[-1] + each[-2], rel_tol=1e-12)


def test_listed_views_cost_as_much_as_the_worst_of_them():
    view = Listed.of(DOMAIN, [(("city",), 1), (("city", "smoker", "income"), 1)])
    campaign = built(Subset({1: 2 * UNIT, 3: 2 * UNIT}), view)
    assert math.isclose(campaign.epsilon, 3 * math.log(2), rel_tol=1e-12)
    assert math.isclose(campaign.epsilon_of("city"), math.log(2), rel_tol=1e-12)


def test_listed_views_of_one_size_are_not_charged_for_another():
    view = Listed.of(DOMAIN, [(("city",), 1), (("smoker", "income"), 1)])
    campaign = built(Subset({1: 8 * UNIT, 2: 2 * UNIT}), view)
    assert math.isclose(campaign.epsilon, math.log(8), rel_tol=1e-12)
    assert math.isclose(campaign.epsilon_of("smoker"), math.log(2), rel_tol=1e-12)


def test_the_epsilon_of_an_unknown_attribute_is_refused():
    with pytest.raises(DomainError, match="there is no attribute 'age'"):
        SUBSET.epsilon_of("age")


def test_an_epsilon_is_never_below_the_true_value():
    fine = Context(prec=120)
    for units in range(10**6, 2**31, 10**7):
        ratio = Fraction(UNIT - units, units)
        assert log_up(ratio) >= fine.ln(
            fine.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
        )


@every([UNIT + 1, 2 * UNIT, 31_735_754_293, 2**64 + 1, 2**320])
def test_an_epsilon_is_near_the_true_value(odds):
    fine = Context(prec=150)
    assert abs(
        log_up(Fraction(odds, UNIT)) - fine.ln(fine.divide(Decimal(odds), Decimal(UNIT)))
    ) < Decimal("1e-45")


def test_a_jointly_hashed_attribute_costs_the_largest_distance_of_cells_that_differ_in_it_alone():
    campaign = built(
        Bloom({1: UNIT // 4}, 16, 3),
        Listed.of(DOMAIN, [(("city", "smoker", "income"), 1)]),
        jointly=True,
    )
    (channel,) = campaign.channels((0, 1, 3))
    cells = list(product(range(3), range(3), range(2)))
    for at, name in enumerate(("city", "smoker", "income")):
        pairs = [
            (one, other)
            for one, other in combinations(range(len(cells)), 2)
            if [i for i in range(3) if cells[one][i] != cells[other][i]] == [at]
        ]
        distance = max(
            len(set(channel.rows[one]) ^ set(channel.rows[other])) for one, other in pairs
        )
        assert math.isclose(campaign.epsilon_of(name), distance * bit_loss(0.25), rel_tol=1e-12)
    assert campaign.epsilon_of("children") == 0.0


# ---- limits


def test_odds_have_at_most_330_bits():
    assert built(Direct({1: 2**330 - 1}), Sample(1)).epsilon > 200
    with pytest.raises(CampaignError, match=r"odds must stay below e\^200 \* 2\^32"):
        Direct({1: 2**330})


def test_two_candidates_that_share_a_filter_are_refused():
    with pytest.raises(
        CodesCollide,
        match="two candidates of one block share a code; use another salt, or more bits",
    ):
        built(Bloom({4: UNIT // 4}, 3, 1), AllAttributes())


def test_a_block_too_large_for_its_mechanism_is_refused():
    domain = Domain(tuple(IntegerRange(name=name, minimum=0, maximum=299) for name in "ab"))
    with pytest.raises(
        CampaignError,
        match="a block of up to 90,000 cells is too large for mechanism 'unary', which takes 65,536",
    ):
        built(Unary({1: 2 * UNIT}), AllAttributes(), jointly=True, domain=domain)


def test_direct_takes_blocks_that_are_too_large_for_bits():
    domain = Domain(tuple(IntegerRange(name=name, minimum=0, maximum=299) for name in "ab"))
    assert (
        built(Direct({1: 2 * UNIT}), AllAttributes(), jointly=True, domain=domain).longest_report
        == 29 + 3
    )


def test_joint_filters_of_too_many_views_are_refused():
    domain = Domain(tuple(Boolean(name=f"b{i}") for i in range(100)))
    message = "mechanism 'bloom' on jointly randomized views needs the codes of every view: at most 4,096 views, found among"
    with pytest.raises(CampaignError, match=message):
        built(Bloom({1: UNIT // 4}, 64, 4), Sample(2), jointly=True, domain=domain)


def test_joint_filters_of_too_many_cells_are_refused():
    domain = Domain(tuple(IntegerRange(name=f"b{i}", minimum=0, maximum=199) for i in range(10)))
    with pytest.raises(
        CampaignError,
        match="1,800,000 cells with 8 hashes have 14,400,000 positions in their filters",
    ):
        built(Bloom({1: UNIT // 4}, 1000, 8), Sample(2), jointly=True, domain=domain)


def test_a_report_too_long_for_its_frame_is_refused():
    domain = Domain(tuple(IntegerRange(name=f"a{i}", minimum=0, maximum=9) for i in range(8)))
    with pytest.raises(
        CampaignError, match="a report could have 65,565 bytes; at most 65,535 are allowed"
    ):
        built(Bloom({8: UNIT // 4}, 65_536, 4), AllAttributes(), domain=domain)


@every(
    [
        (built(Unary({4: 2 * UNIT}), AllAttributes()), 29 + 2),
        (built(Unary({2: 2 * UNIT}), Sample(2)), 29 + 1 + 1),
        (built(Unary({1: 2 * UNIT}), Sample(2), jointly=True), 29 + 1 + 2),
        (built(Direct({4: 2 * UNIT}), AllAttributes()), 29 + 4),
        (built(Direct({1: 2 * UNIT}), Fill(30), jointly=True), 29 + 1 + 1),
        (built(Bloom({1: UNIT // 4}, 100, 4), Sample(2), jointly=True), 29 + 1 + 13),
    ]
)
def test_the_longest_report_is_known_beforehand(campaign, longest):
    assert campaign.longest_report == longest
    lengths = [
        29 + campaign.mask_bytes + campaign.payload_bytes(view)
        for view in campaign.view.views(DOMAIN.sizes)
    ]
    assert max(lengths) == longest


@every(product([AllAttributes(), Sample(2)], [True, False], [UNIT + 1, 3 * UNIT, 2**329]))
def test_the_longest_hashed_report_is_known_beforehand(view, jointly, odds):
    n_blocks = 1 if jointly else 4 if view == AllAttributes() else 2
    campaign = built(Hashed({n_blocks: odds}), view, jointly=jointly)
    lengths = [
        29 + campaign.mask_bytes + campaign.payload_bytes(view)
        for view in campaign.view.views(DOMAIN.sizes)
    ]
    assert campaign.longest_report == max(lengths)


def test_a_hashed_report_of_more_blocks_may_be_longer_than_its_widths_with_fewer():
    """263 values hold 260 cells in one digit, 257 in two: 3 bytes, and then 4."""
    domain = Domain(tuple(IntegerRange(name=name, minimum=1, maximum=260) for name in "ab"))
    view = Listed.of(domain, [(("a",), 1), (("a", "b"), 1)])
    campaign = built(Hashed({1: 262 * UNIT, 2: 256 * UNIT}), view, domain=domain)
    assert [campaign.payload_bytes(view) for view in ((0,), (0, 1))] == [3, 8]
    assert campaign.longest_report >= 29 + 1 + 8


@settings(derandomize=True, deadline=None)
@given(
    k=st.integers(2, 2**20),
    odds=st.lists(st.integers(UNIT + 1, 2**50), min_size=2, max_size=4, unique=True),
)
def test_the_bound_of_a_hashed_blocks_width_holds_for_every_number_of_blocks(k, odds):
    mechanism = Hashed(dict(enumerate(odds, start=1)))
    assert mechanism.width_of(k) >= max(HashedChannel(k, each).width for each in odds)


@every([(2**20, True), (2**20 + 2**10, False)])
def test_hashed_takes_blocks_of_a_million_cells(n_cells, fits):
    domain = Domain(
        tuple(
            IntegerRange(name=n, minimum=1, maximum=k)
            for n, k in (("a", 1024), ("b", n_cells // 1024))
        )
    )
    if fits:
        assert (
            built(Hashed({1: 2**329}), AllAttributes(), jointly=True, domain=domain).longest_report
            == 29 + 6
        )
    else:
        with pytest.raises(
            CampaignError,
            match="up to 1,049,600 cells is too large for mechanism 'hashed', which takes 1,048,576",
        ):
            built(Hashed({1: 2**329}), AllAttributes(), jointly=True, domain=domain)


@every([(1, 1), (8, 1), (9, 2), (17, 3)])
def test_a_mask_has_a_bit_for_every_attribute(n_attributes, n_bytes):
    domain = Domain(tuple(Boolean(name=f"b{i}") for i in range(n_attributes)))
    assert built(Direct({1: 2 * UNIT}), Sample(1), domain=domain).mask_bytes == n_bytes


def test_a_campaign_compares_by_what_it_says():
    assert make_campaign(DOMAIN, TERMS, CampaignRequest(epsilon=2)) == SUBSET
    assert make_campaign(DOMAIN, TERMS, CampaignRequest(epsilon=2.5)) != SUBSET


def test_a_campaign_can_be_a_key():
    assert {SUBSET: 1}[make_campaign(DOMAIN, TERMS, CampaignRequest(epsilon=2))] == 1


# ---- terms made in Python


@every(
    [
        ({"name": ""}, "name must be 1 to 100 small letters"),
        ({"name": "t", "min_reports": 0}, "min_reports must be at least 1, got 0"),
        ({"name": "t", "retention_days": -1}, "retention_days must be at least 0, got -1"),
        ({"name": "t", "language": "e"}, "a language must be a tag such as en or pt-BR, got 'e'"),
        (
            {"name": "t", "translations": {"German!": Translation()}},
            "a language must be a tag such as en or pt-BR, got 'German!'",
        ),
        (
            {"name": "t", "send_within_minutes": 1441},
            r"send_within_minutes must lie in 0\.\.1440, got 1441",
        ),
        ({"name": "t", "send_within_minutes": -1}, "got -1"),
    ]
)
def test_terms_that_make_no_sense_are_refused(terms, message):
    with pytest.raises(CampaignError, match=message):
        Terms(**terms)


def test_a_schedule_that_closes_before_it_opens_is_refused():
    with pytest.raises(
        CampaignError,
        match=r"schedule\.closes must not be before schedule\.opens, got 2026-04-30 before 2026-05-01",
    ):
        Schedule(opens=date(2026, 5, 1), closes=date(2026, 4, 30))


def test_a_schedule_may_open_on_the_first_slot():
    assert Schedule(opens=date(1970, 1, 1), closes=date(1970, 1, 3)).slots == range(3)


def test_a_schedule_may_be_a_single_day():
    assert list(Schedule(opens=date(1970, 1, 2), closes=date(1970, 1, 2)).slots) == [1]


def test_a_translation_of_an_unknown_attribute_is_refused():
    terms = Terms(name="t", translations={"de": Translation(questions={"age": "Wie alt?"})})
    with pytest.raises(
        CampaignError,
        match="a translation names attribute 'age', which the campaign does not ask for",
    ):
        make_campaign(DOMAIN, terms, CampaignRequest(epsilon=1))


def test_a_translation_of_an_unknown_value_is_refused():
    terms = Terms(name="t", translations={"de": Translation(labels={"city": {"Bonn": "Bonn"}})})
    with pytest.raises(
        CampaignError,
        match="a translation of attribute 'city' labels a value that it does not list",
    ):
        make_campaign(DOMAIN, terms, CampaignRequest(epsilon=1))
