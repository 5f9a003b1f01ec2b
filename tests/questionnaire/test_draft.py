"""From a wish to a campaign: what was wished for and no more is revealed, and what cannot be is told in a sentence."""

import json
import math
import subprocess
import sys
from decimal import Decimal

import pytest

from lopub import (
    AllAttributes,
    Boolean,
    Campaign,
    CampaignError,
    CampaignRequest,
    Categorical,
    Domain,
    Fill,
    IntegerRange,
    Listed,
    Sample,
    StoreError,
    Terms,
    make_campaign,
)
from lopub.bulk.designs import fill_cells
from lopub.campaign.mechanisms import Bloom, Direct, Subset, Unary
from lopub.planning.design import ranked, usual_designs
from lopub.planning.makers import bits_for, hashes_for
from lopub.planning.population import Population
from lopub.planning.request import best_known
from lopub.questionnaire.draft import draft_from_file

TERMS = Terms(name="t")
PAIR = Domain((Categorical(name="a", values=("x", "y", "z")), Boolean(name="b")))
FOUR = Domain(
    (
        Categorical(name="a", values=("x", "y", "z")),
        Boolean(name="b"),
        IntegerRange(name="c", minimum=0, maximum=9),
        IntegerRange(name="d", minimum=0, maximum=19, missing=True),
    )
)
ONE = Domain((Categorical(name="a", values=("x", "y", "z")),))


# ---- the wish itself


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({}, "give either epsilon or flip_probability"),
        ({"epsilon": 1, "flip_probability": 0.5}, "give either epsilon or flip_probability"),
        (
            {"epsilon": 1, "mechanism": "rappor"},
            "mechanism must be one of bloom, direct, hashed, subset, unary, got 'rappor'",
        ),
        (
            {"epsilon": 1, "mechanism": "subset", "n_bits": 8},
            "bits, hashes and false_positive_rate belong to mechanism 'bloom', not to 'subset'",
        ),
        (
            {"epsilon": 1, "mechanism": "unary", "n_hashes": 2},
            "belong to mechanism 'bloom', not to 'unary'",
        ),
        (
            {"epsilon": 1, "mechanism": "direct", "false_positive_rate": 0.1},
            "belong to mechanism 'bloom', not to 'direct'",
        ),
        (
            {"epsilon": 1, "n_bits": 8, "false_positive_rate": 0.1},
            "give either false_positive_rate, or bits and hashes",
        ),
        (
            {"epsilon": 1, "n_hashes": 2, "false_positive_rate": 0.1},
            "give either false_positive_rate, or bits and hashes",
        ),
        (
            {"flip_probability": 0.5, "mechanism": "direct"},
            "flip_probability belongs to 'bloom' and 'unary'; give epsilon for 'direct'",
        ),
    ],
)
def test_a_wish_that_contradicts_itself_is_refused(wish, message):
    with pytest.raises(CampaignError, match=message):
        CampaignRequest(**wish)


@pytest.mark.parametrize("f", [0, 1, -0.1, 1.5, "0", "1"])
def test_a_flip_probability_of_zero_or_one_or_outside_is_refused(f):
    with pytest.raises(
        CampaignError, match=f"flip_probability must lie between 0 and 1, both excluded, got {f}"
    ):
        make_campaign(PAIR, TERMS, CampaignRequest(flip_probability=f))


@pytest.mark.parametrize("f", ["half", float("nan"), float("inf"), ""])
def test_a_flip_probability_that_is_no_number_is_refused(f):
    with pytest.raises(
        CampaignError, match="flip_probability must be a number between 0 and 1, both excluded"
    ):
        make_campaign(PAIR, TERMS, CampaignRequest(flip_probability=f))


def test_a_flip_probability_that_divides_by_zero_is_refused():
    with pytest.raises(CampaignError, match="flip_probability must be a number"):
        make_campaign(PAIR, TERMS, CampaignRequest(flip_probability="1/0"))


@pytest.mark.parametrize("f", ["0.9999999999", "1e-11"])
def test_a_flip_probability_too_near_to_zero_or_one_keeps_its_noise_within_bounds(f):
    if f == "1e-11":
        assert make_campaign(PAIR, TERMS, CampaignRequest(flip_probability=f)).mechanism.noise == {
            2: 1
        }
    else:
        with pytest.raises(
            CampaignError, match=r"change_units must lie in 1\.\.2147483647, got 2147483648"
        ):
            make_campaign(PAIR, TERMS, CampaignRequest(flip_probability=f))


@pytest.mark.parametrize(
    "epsilon", [0, -1, "-0.5", 201, float("nan"), float("inf"), "nan", Decimal("sNaN")]
)
def test_an_epsilon_that_is_no_budget_is_refused(epsilon):
    with pytest.raises(
        CampaignError, match=f"epsilon must be above 0 and at most 200, got {epsilon}"
    ):
        make_campaign(PAIR, TERMS, CampaignRequest(epsilon=epsilon))


@pytest.mark.parametrize("epsilon", ["little", "", "1,5", True])
def test_an_epsilon_that_is_no_number_is_refused(epsilon):
    with pytest.raises(CampaignError, match="epsilon must be a number above 0"):
        make_campaign(PAIR, TERMS, CampaignRequest(epsilon=epsilon))


@pytest.mark.parametrize("mechanism", ["subset", "direct", "unary"])
def test_an_epsilon_that_keeps_nothing_of_the_answers_is_refused(mechanism):
    with pytest.raises(
        CampaignError, match="leaves nothing of the answers; raise epsilon or ask less"
    ):
        make_campaign(PAIR, TERMS, CampaignRequest(epsilon="1e-11", mechanism=mechanism))


def test_an_epsilon_that_keeps_nothing_of_a_filter_is_refused():
    with pytest.raises(
        CampaignError,
        match="epsilon 1E-9 over 16 bits leaves nothing of the answers; raise epsilon or ask less",
    ):
        make_campaign(PAIR, TERMS, CampaignRequest(epsilon="1e-9", mechanism="bloom"))


# ---- the budget


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "2", "3.3", "8", "24", "150", "200"])
@pytest.mark.parametrize("mechanism", ["bloom", "unary", "subset", "direct"])
@pytest.mark.parametrize("jointly", [False, True])
def test_a_campaign_reveals_no_more_than_was_wished(epsilon, mechanism, jointly):
    campaign = make_campaign(
        PAIR,
        TERMS,
        CampaignRequest(epsilon=epsilon, mechanism=mechanism, view=Sample(2), jointly=jointly),
    )
    assert campaign.loss <= Decimal(epsilon)


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "2", "3.3", "8"])
@pytest.mark.parametrize("mechanism", ["bloom", "unary", "subset", "direct"])
@pytest.mark.parametrize("jointly", [False, True])
def test_a_campaign_uses_its_budget_up(epsilon, mechanism, jointly):
    campaign = make_campaign(
        PAIR,
        TERMS,
        CampaignRequest(epsilon=epsilon, mechanism=mechanism, view=Sample(2), jointly=jointly),
    )
    assert campaign.loss > Decimal(epsilon) - Decimal("1e-6")


@pytest.mark.parametrize("mechanism", ["bloom", "unary", "subset", "direct"])
def test_every_size_of_a_listed_view_has_noise_for_the_whole_budget(mechanism):
    view = Listed.of(FOUR, [(("a",), 1), (("a", "b", "d"), 1)])
    campaign = make_campaign(
        FOUR, TERMS, CampaignRequest(epsilon=3, mechanism=mechanism, view=view, jointly=False)
    )
    assert set(campaign.mechanism.noise) == {1, 3}
    assert Decimal(3) - Decimal("1e-6") < campaign.loss <= 3
    assert 2.999999 < campaign.epsilon_of("a") <= 3
    assert campaign.epsilon_of("b") < 1.01


def test_a_flip_probability_is_halved_and_rounded_towards_more_noise():
    assert make_campaign(PAIR, TERMS, CampaignRequest(flip_probability="0.5")).mechanism.noise == {
        2: 2**30
    }
    assert make_campaign(PAIR, TERMS, CampaignRequest(flip_probability=0.1)).mechanism.noise == {
        2: math.ceil(2**32 / 20)
    }


def test_the_same_wish_gives_the_same_campaign():
    wish = CampaignRequest(epsilon=3, mechanism="bloom")
    assert make_campaign(FOUR, TERMS, wish).id == make_campaign(FOUR, TERMS, wish).id


# ---- choices


def test_a_flip_probability_alone_is_the_papers_choice():
    campaign = make_campaign(FOUR, TERMS, CampaignRequest(flip_probability="0.5"))
    assert isinstance(campaign.mechanism, Bloom) and isinstance(campaign.view, AllAttributes)
    assert (campaign.mechanism.n_bits, campaign.mechanism.n_hashes, campaign.jointly) == (
        128,
        4,
        False,
    )


def test_a_small_epsilon_alone_is_subset_on_sampled_pairs():
    campaign = make_campaign(FOUR, TERMS, CampaignRequest(epsilon=2))
    assert (type(campaign.mechanism), campaign.view, campaign.jointly) == (Subset, Sample(2), True)


def test_a_large_epsilon_alone_is_direct_on_as_much_as_fits():
    campaign = make_campaign(FOUR, TERMS, CampaignRequest(epsilon=8))
    assert (type(campaign.mechanism), campaign.view, campaign.jointly) == (Direct, Fill(496), True)


@pytest.mark.parametrize(("epsilon", "mechanism"), [(0.1, Direct), (5, Direct)])
def test_a_single_attribute_is_always_asked(epsilon, mechanism):
    campaign = make_campaign(ONE, TERMS, CampaignRequest(epsilon=epsilon))
    assert (type(campaign.mechanism), campaign.view) == (mechanism, AllAttributes())


@pytest.mark.parametrize("mechanism", ["bloom", "unary", "subset", "direct"])
def test_a_single_attribute_is_asked_by_every_mechanism(mechanism):
    assert (
        make_campaign(ONE, TERMS, CampaignRequest(epsilon=1, mechanism=mechanism)).view
        == AllAttributes()
    )


@pytest.mark.parametrize("epsilon", ["0.5", "1", "3", "4", "5", "6", "9", "20"])
def test_the_best_known_choice_is_what_the_expected_error_ranks_first(epsilon):
    view, mechanism = best_known(FOUR, Decimal(epsilon))
    scores = ranked(
        usual_designs(FOUR.sizes, float(epsilon)), Population.like_surveys(FOUR), float(epsilon)
    )
    chosen = next(
        forecast
        for design, forecast in scores
        if (design.view, design.mechanism) == (view, mechanism)
    )
    assert chosen.pairs <= 1.02 * scores[0][1].pairs
    assert len({str(design) for design, _ in scores}) == len(scores) >= 2


@pytest.mark.parametrize(
    ("wish", "mechanism", "view", "jointly"),
    [
        ({"mechanism": "direct"}, Direct, Fill(4), True),
        ({"mechanism": "unary"}, Unary, Sample(2), True),
        ({"mechanism": "bloom"}, Bloom, AllAttributes(), False),
        ({"n_bits": 64}, Bloom, AllAttributes(), False),
        ({"view": Fill(30)}, Direct, Fill(30), True),
        ({"view": Sample(3)}, Subset, Sample(3), True),
        ({"view": AllAttributes()}, Subset, AllAttributes(), False),
        ({"mechanism": "subset", "jointly": False}, Subset, Sample(2), False),
    ],
)
def test_what_the_wish_leaves_open_is_filled_in(wish, mechanism, view, jointly):
    campaign = make_campaign(FOUR, TERMS, CampaignRequest(epsilon=2, **wish))
    assert (type(campaign.mechanism), campaign.view, campaign.jointly) == (mechanism, view, jointly)


def test_fill_takes_a_sixth_of_the_odds():
    assert fill_cells(Decimal(8)) == int(math.exp(8) / 6)


@pytest.mark.parametrize("epsilon", [39, 45, 200])
def test_a_campaign_of_a_very_large_epsilon_can_be_read_back(epsilon):
    campaign = make_campaign(PAIR, TERMS, CampaignRequest(epsilon=epsilon))
    assert Campaign.from_bytes(campaign.canonical_bytes).id == campaign.id


# ---- filters


def test_the_papers_equations_give_bits_and_hashes():
    campaign = make_campaign(FOUR, TERMS, CampaignRequest(epsilon=8, false_positive_rate=0.022))
    assert campaign.mechanism.n_hashes == hashes_for(0.022) == 6
    assert campaign.mechanism.n_bits == {
        name: bits_for(0.022, size) for name, size in zip("abcd", FOUR.sizes, strict=True)
    }


def test_the_papers_equation_takes_the_largest_view_where_views_are_joint():
    campaign = make_campaign(
        PAIR,
        TERMS,
        CampaignRequest(epsilon=8, false_positive_rate=0.1, view=Sample(2), jointly=True),
    )
    assert campaign.mechanism.n_bits == bits_for(0.1, 6)


@pytest.mark.parametrize("rate", [0, 1, -1, 2, float("nan")])
def test_a_false_positive_rate_that_is_no_probability_is_refused(rate):
    with pytest.raises(
        CampaignError,
        match=f"false_positive_rate must lie between 0 and 1, both excluded, got {rate}",
    ):
        make_campaign(PAIR, TERMS, CampaignRequest(epsilon=1, false_positive_rate=rate))


@pytest.mark.parametrize(
    ("n_bits", "n_hashes", "message"),
    [
        (8, 9, r"hashes must lie in 1\.\.8, the number of bits, got 9"),
        (8, 0, r"hashes must lie in 1\.\.8, the number of bits, got 0"),
        (1, 1, r"bits must lie in 2\.\.65,536, got 1"),
        (65_537, 1, r"bits must lie in 2\.\.65,536, got 65537"),
        (2, 2, "2 bits with 2 hashes give 1 filters, too few for 3 candidates; raise bits"),
        (2, 1, "2 bits with 1 hashes give 2 filters, too few for 3 candidates; raise bits"),
    ],
)
def test_filters_that_cannot_be_are_refused(n_bits, n_hashes, message):
    with pytest.raises(CampaignError, match=message):
        make_campaign(
            PAIR, TERMS, CampaignRequest(flip_probability=0.5, n_bits=n_bits, n_hashes=n_hashes)
        )


def test_filters_that_no_salt_keeps_apart_are_refused():
    crowded = Domain((IntegerRange(name="a", minimum=0, maximum=19),))
    with pytest.raises(
        CampaignError,
        match="in 1,000 tries no salt gave every candidate a filter of its own; raise bits",
    ):
        make_campaign(crowded, TERMS, CampaignRequest(flip_probability=0.5, n_bits=20, n_hashes=1))


def test_the_salt_is_changed_until_no_two_candidates_share_a_filter():
    domain = Domain((IntegerRange(name="a", minimum=0, maximum=4),))
    campaign = make_campaign(
        domain, TERMS, CampaignRequest(flip_probability=0.5, n_bits=8, n_hashes=1)
    )
    assert campaign.mechanism.salt != "0"
    assert len(set(campaign.channels((0,))[0].rows)) == 5


# ---- views that do not fit


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"view": Sample(0)}, r"view sample:k needs k in 1\.\.4, the number of attributes, got 0"),
        ({"view": Sample(5)}, r"view sample:k needs k in 1\.\.4, the number of attributes, got 5"),
        (
            {"view": Fill(3)},
            "view fill:cells needs at least 4 cells, the smallest pair of attributes, got 3",
        ),
        (
            {"view": Fill(30), "jointly": False},
            "view fill:cells must be randomized jointly; use sample:k",
        ),
    ],
)
@pytest.mark.parametrize("mechanism", [None, "bloom", "unary", "subset", "direct"])
def test_a_view_that_does_not_fit_the_domain_is_refused(wish, message, mechanism):
    with pytest.raises(CampaignError, match=message):
        make_campaign(
            FOUR,
            TERMS,
            CampaignRequest(epsilon=2, mechanism=mechanism, **{"jointly": True, **wish}),
        )


@pytest.mark.parametrize("mechanism", ["unary", "subset"])
def test_a_joint_domain_too_large_for_its_mechanism_is_refused(mechanism):
    domain = Domain(tuple(IntegerRange(name=name, minimum=0, maximum=299) for name in "ab"))
    message = f"a block of up to 90,000 cells is too large for mechanism '{mechanism}', which takes 65,536; use smaller views"
    with pytest.raises(CampaignError, match=message):
        make_campaign(
            domain, TERMS, CampaignRequest(epsilon=2, mechanism=mechanism, view=Sample(2))
        )


def test_a_joint_domain_too_large_even_for_direct_is_refused():
    domain = Domain(tuple(IntegerRange(name=f"a{i}", minimum=0, maximum=65_535) for i in range(4)))
    with pytest.raises(
        CampaignError,
        match="a block of up to 18,446,744,073,709,551,616 cells is too large for mechanism 'direct'",
    ):
        make_campaign(
            domain,
            TERMS,
            CampaignRequest(epsilon=2, mechanism="direct", view=AllAttributes(), jointly=True),
        )


def test_a_joint_domain_of_thousands_of_digits_is_refused_by_us():
    domain = Domain(tuple(IntegerRange(name=f"a{i}", minimum=0, maximum=11) for i in range(4096)))
    with pytest.raises(CampaignError, match="too large for mechanism 'direct'"):
        make_campaign(
            domain,
            TERMS,
            CampaignRequest(epsilon=2, mechanism="direct", view=AllAttributes(), jointly=True),
        )


# ---- drafts


def test_a_draft_may_leave_out_what_goes_without_saying(tmp_path):
    path = tmp_path / "draft.json"
    fields = [
        {"name": "a", "type": "string", "categories": ["x", {"value": "y", "label": "Y"}]},
        {"name": "b", "type": "boolean", "constraints": {"required": False}},
        {"name": "c", "type": "number", "bins": {"edges": [0, "10.50", "20"]}},
    ]
    path.write_text(json.dumps({"name": "t", "schema": {"fields": fields}}, indent=2))
    domain, terms = draft_from_file(path)
    assert terms == Terms(name="t")
    assert [attribute.texts for attribute in domain.attributes] == [
        ("x", "y"),
        ("false", "true", ""),
        ("[0, 10.5]", "(10.5, 20]"),
    ]
    assert domain["a"].labels == {"x": "x", "y": "Y"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"name": "t"}', "schema is missing"),
        ('{"schema": {"fields": []}, "name": "t"}', "a domain needs 1 to 4,096 attributes, got 0"),
        (
            '{"name": "t", "schema": {"fields": [{"type": "text"}]}}',
            r"schema\.fields\[0\]\.type must be one of string, boolean, integer, number, list, date, time, datetime",
        ),
        ("{", "no valid JSON at line 1, column 2"),
        (
            '{"name": "t", "mechanism": {}, "schema": {"fields": [{"name": "a", "type": "boolean"}]}}',
            "mechanism is not known to format 1",
        ),
    ],
)
def test_a_draft_that_cannot_be_is_refused_with_its_path(tmp_path, text, message):
    path = tmp_path / "draft.json"
    path.write_text(text)
    with pytest.raises(CampaignError, match=f"^{path}: {message}"):
        draft_from_file(path)


def test_a_draft_that_is_not_there_is_told(tmp_path):
    with pytest.raises(
        StoreError, match=r"cannot read draft .*/nowhere: No such file or directory"
    ):
        draft_from_file(tmp_path / "nowhere")


def refusal_of(tmp_path, draft):
    path = tmp_path / "draft.json"
    path.write_text(json.dumps(draft))
    with pytest.raises(CampaignError) as refusal:
        draft_from_file(path)
    return str(refusal.value).removeprefix(f"{path}: ")


def test_all_mistakes_of_a_draft_are_told_at_once_by_field_name(tmp_path):
    fields = [
        {
            "name": "drink",
            "type": "string",
            "categories": ["tea", "tea"],
            "title": 5,
            "colour": "red",
        },
        {"name": "age", "type": "integer", "constraints": {"minimum": 60, "maximum": 25}},
        {"name": "pay", "type": "number", "bins": {"edges": ["2", "1"]}},
        {"name": "happy", "type": "boolean"},
        {"name": "happy", "type": "boolean"},
        {"name": "shoe", "type": "decimal"},
        {"name": "hat", "type": "integer"},
        "scarf",
    ]
    draft = {
        "name": "Bad Name",
        "min_reports": 0,
        "colour": "red",
        "language": 7,
        "schema": {"fields": fields, "extra": 1},
    }
    assert refusal_of(tmp_path, draft).splitlines() == [
        "the draft has 14 mistakes:",
        "- schema.extra is not known to format 1",
        "- attribute 'drink' lists the same candidate twice",
        "- field 'drink': colour is not known to format 1",
        "- field 'drink': title must be a text",
        "- attribute 'age' has the minimum 60 above the maximum 25",
        "- attribute 'pay' has bin edges out of order; each must be above the one before",
        "- field 'shoe': type must be one of string, boolean, integer, number, list, date, time, datetime",
        "- field 'hat': constraints.minimum is missing",
        "- schema.fields[7] must be an object",
        "- name must be 1 to 100 small letters, digits, dots, hyphens or underscores, the first a letter or digit",
        "- colour is not known to format 1",
        "- language must be a text",
        "- min_reports must be at least 1, got 0",
        "- a domain lists the same attribute twice: 'happy'",
    ]


def test_a_single_mistake_of_a_draft_is_one_sentence(tmp_path):
    fields = [
        {"name": "a", "type": "boolean"},
        {"name": "b", "type": "boolean"},
        {"name": "a", "type": "boolean"},
    ]
    assert (
        refusal_of(tmp_path, {"name": "t", "schema": {"fields": fields}})
        == "a domain lists the same attribute twice: 'a'"
    )


def test_a_finished_campaign_is_told_from_a_draft(tmp_path):
    campaign = make_campaign(
        Domain((Boolean(name="a"),)), Terms(name="t"), CampaignRequest(epsilon=1)
    )
    told = refusal_of(tmp_path, json.loads(campaign.canonical_bytes))
    assert told.startswith(
        "this is a finished campaign, not a draft; for another campaign with the same questions"
    )


def test_crowded_filters_are_refused_without_trying_every_salt(monkeypatch):
    """32,768 candidates in 10,668,000 filters: fifty collisions are expected, whatever the salt."""
    monkeypatch.setattr("lopub.planning.makers._salted", lambda *_: pytest.fail("a salt was tried"))
    domain = Domain(tuple(Boolean(name=f"b{i}") for i in range(15)))
    with pytest.raises(
        CampaignError, match="give 10,668,000 filters, too few for 32,768 candidates; raise bits"
    ):
        make_campaign(domain, Terms(name="t"), CampaignRequest(flip_probability=0.5, jointly=True))


def test_making_a_campaign_loads_no_compiler():
    """An import of a kernel at the top of a file in `bulk` would cost every `lopub campaign` seconds and 60 MB."""
    code = (
        "import sys; from lopub import Boolean, Domain, Terms, CampaignRequest, make_campaign;"
        "make_campaign(Domain((Boolean(name='a'), Boolean(name='b'))), Terms(name='t'), CampaignRequest(epsilon=1));"
        "print('numba' in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "False"
    )
