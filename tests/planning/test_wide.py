"""Campaigns of very many attributes are made, shown and planned, whatever the product of their sizes."""

import json
import math
import time
from pathlib import Path

import pytest

from lopub.bulk.designs import Design
from lopub.campaign.campaign import Campaign
from lopub.campaign.canonical import LONGEST_FILE
from lopub.campaign.domain import Boolean, Categorical, Domain, IntegerRange
from lopub.campaign.terms import Terms
from lopub.campaign.views import AllAttributes, Fill, Sample
from lopub.cli import app
from lopub.cli.campaign import described, summary_of
from lopub.cli.question_table import fields_of
from lopub.errors import CampaignError
from lopub.pages.wording import Wording
from lopub.planning.outlook import outlook
from lopub.planning.planner import plan
from lopub.planning.population import Population
from lopub.planning.request import CampaignRequest, make_campaign

KINDS = {"binary": (2,), "sixteen": (16,), "mixed": (2, 16, 40)}
WISHES = {
    "paper": {"flip_probability": "0.5"},
    "symmetric": {"flip_probability": "0.5", "mechanism": "unary"},
    "rate": {"flip_probability": "0.5", "false_positive_rate": 0.01},
    "best": {"epsilon": 4},
    "weak": {"epsilon": 20},
    "strong": {"epsilon": "0.01"},
    "everything": {"epsilon": 4, "mechanism": "subset", "view": AllAttributes(), "jointly": False},
    "pairs": {"epsilon": 4, "mechanism": "bloom", "view": Sample(2)},
    "direct": {"epsilon": 4, "mechanism": "direct", "view": AllAttributes(), "jointly": False},
    "filled": {"epsilon": 4, "mechanism": "direct", "view": Fill(2**50)},
}


def domain_of(d: int, kind: str) -> Domain:
    sizes = KINDS[kind]
    return Domain(
        tuple(
            IntegerRange(name=f"a{i}", minimum=1, maximum=sizes[i % len(sizes)]) for i in range(d)
        )
    )


@pytest.mark.parametrize("wish", WISHES)
@pytest.mark.parametrize(
    ("d", "kind"),
    [
        (260, "sixteen"),
        *(
            pytest.param(d, kind, marks=pytest.mark.full)
            for d in (2, 260)
            for kind in KINDS
            if (d, kind) != (260, "sixteen")
        ),
    ],
)
def test_a_campaign_of_many_attributes_is_made_and_shown(d: int, kind: str, wish: str) -> None:
    """16^260 is beyond every float."""
    campaign = make_campaign(
        domain_of(d, kind), Terms(name="wide"), CampaignRequest(**WISHES[wish])
    )  # type: ignore[arg-type]
    assert summary_of(campaign).row_count >= 7 and fields_of(Wording.of(campaign)).row_count == d
    json.dumps(described(campaign), allow_nan=False)


@pytest.mark.full
@pytest.mark.parametrize(("d", "kind"), [(1100, "binary"), (1100, "sixteen"), (4000, "binary")])
def test_thousands_of_attributes_are_made_and_shown_in_seconds(d: int, kind: str) -> None:
    start = time.process_time()
    campaign = make_campaign(
        domain_of(d, kind),
        Terms(name="wide"),
        CampaignRequest(flip_probability="0.5", mechanism="unary"),
    )
    summary_of(campaign)
    described(campaign)
    assert time.process_time() - start < 30  # 2 to 4 s; quadratic work takes minutes


@pytest.mark.parametrize(
    ("d", "kind", "goal"),
    [
        (260, "sixteen", "pairs"),
        pytest.param(260, "sixteen", "marginals", marks=pytest.mark.full),
        pytest.param(1100, "binary", "pairs", marks=pytest.mark.full),
        pytest.param(1100, "binary", "marginals", marks=pytest.mark.full),
    ],
)
@pytest.mark.slow
def test_a_plan_for_many_attributes_goes_by_theory(d: int, kind: str, goal: str) -> None:
    found = plan(domain_of(d, kind), people=10_000, epsilon=4, goal=goal)
    assert found.best.trial is None and 0 < found.error <= 1
    assert all(math.isfinite(error) for of in ("people", "epsilon") for _, error in found.curve(of))


CROWD = Population.uniform(
    Domain(tuple(IntegerRange(name=f"a{i}", minimum=1, maximum=1000) for i in range(200)))
)


def test_a_score_far_beyond_every_float_is_a_number() -> None:
    for mechanism in ("direct", "subset", "unary"):
        for jointly in (True, False):
            found = outlook(Design(mechanism, AllAttributes(), jointly), CROWD, 4.0).at(1000)
            assert 0.9 < found.shares <= 1 and 0.9 < found.pairs <= 1


@pytest.mark.parametrize("options", [{}, {"false_positive_rate": 0.01}])
def test_a_block_of_all_attributes_is_refused_in_one_sentence(options: dict[str, float]) -> None:
    with pytest.raises(CampaignError, match="use smaller views"):
        make_campaign(
            domain_of(260, "sixteen"),
            Terms(name="wide"),
            CampaignRequest(flip_probability="0.5", jointly=True, **options),
        )  # type: ignore[arg-type]


def test_a_campaign_that_no_reader_would_take_is_not_made() -> None:
    values = tuple(f"{i:03}" + "x" * 200 for i in range(250))
    domain = Domain(tuple(Categorical(name=f"a{i}", values=values) for i in range(150)))
    with pytest.raises(CampaignError, match=f"a campaign may have at most {LONGEST_FILE:,} bytes"):
        make_campaign(domain, Terms(name="long"), CampaignRequest(epsilon=4))


def test_nothing_is_written_where_the_summary_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = {
        "name": "t",
        "schema": {"fields": [{"name": name, "type": "boolean"} for name in "ab"]},
    }
    (tmp_path / "draft.json").write_text(json.dumps(draft))
    (tmp_path / "people.csv").write_text("a,b\ntrue,false\nfalse,true\n")
    monkeypatch.setattr("lopub.cli.campaign.expected_error", lambda *_, **__: 1 / 0)
    monkeypatch.chdir(tmp_path)
    for command, file in (("make", "draft.json"), ("infer", "people.csv")):
        with pytest.raises(ZeroDivisionError):
            app(["campaign", command, file, "-o", "out.json", "--epsilon", "4"], prog_name="lopub")
    assert not Path("out.json").exists()


def test_every_attribute_of_a_wide_campaign_keeps_its_epsilon() -> None:
    domain = Domain(tuple(Boolean(name=f"b{i}") for i in range(300)))
    campaign = make_campaign(
        domain, Terms(name="wide"), CampaignRequest(flip_probability="0.5", mechanism="unary")
    )
    again = Campaign.from_bytes(campaign.canonical_bytes)
    assert {again.loss_of(name) for name in domain.names} == {
        campaign.channels((0,) * 300)[0].law().loss
    }
