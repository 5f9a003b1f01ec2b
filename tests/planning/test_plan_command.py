"""`lopub plan` and `lopub campaign make` say the same; what the plan's words mean, and what it refuses in a sentence."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lopub import Campaign, Population, plan
from lopub.campaign.domain import Categorical, Domain
from lopub.cli import app
from lopub.errors import DomainError, LopubError, TooFewReports
from lopub.planning.advice import advice
from lopub.planning.outlook import outlook_of
from lopub.planning.planner import epsilon_needed
from lopub.questionnaire.draft import draft_from_file

FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 1, "maximum": 40}},
    {"name": "works", "type": "boolean"},
    {
        "name": "job",
        "type": "string",
        "categories": ["a", "b", "c"],
        "onlyIf": {"field": "works", "equals": True},
    },
    {"name": "uses", "type": "list", "categories": list("abcd"), "atMost": 3},
]


def domain_of(*sizes: int) -> Domain:
    return Domain(
        tuple(
            Categorical(name=f"a{i}", values=tuple(map(str, range(size))))
            for i, size in enumerate(sizes)
        )
    )


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    path = tmp_path / "draft.json"
    path.write_text(json.dumps({"name": "rules", "schema": {"fields": FIELDS}}))
    return path


def run(*arguments: object, **options: object):
    return CliRunner(**options).invoke(app, [str(argument) for argument in arguments])


def words_of(output: str) -> str:
    return " ".join(output.split())


@pytest.mark.slow
def test_what_a_plan_leads_to_is_the_planned_campaign_with_the_same_figures(
    draft: Path, tmp_path: Path
):
    planned = run("plan", draft, "--people", 3000, "--epsilon", 3, "--try", 0)
    assert planned.exit_code == 0, planned.output
    told = re.search(r"`(lopub campaign make .*?)`", words_of(planned.output))
    assert told is not None
    command = told[1].split()[1:]
    made = run(*[tmp_path / "made.json" if word == "campaign.json" else word for word in command])
    assert made.exit_code == 0, made.output
    written = run(
        "plan", draft, "--people", 3000, "--epsilon", 3, "--try", 0, "-o", tmp_path / "planned.json"
    )
    assert written.exit_code == 0 and "campaign make" not in written.output
    campaign = Campaign.load(tmp_path / "made.json")
    assert campaign.id == Campaign.load(tmp_path / "planned.json").id
    forecast = outlook_of(campaign).at(3000)
    for output in (
        made.output,
        run("campaign", "show", tmp_path / "made.json", "--people", 3000).output,
    ):
        assert (
            f"off by {forecast.shares:.3f} on average with 3,000 people, pairs by {forecast.pairs:.3f}"
            in words_of(output)
        )
        assert "--people N takes your own number" not in words_of(output)
    assert f"{forecast.pairs:.4f}" in planned.output


def test_a_campaign_says_for_how_many_people_its_figure_and_its_choice_are(
    draft: Path, tmp_path: Path
):
    made = words_of(
        run("campaign", "make", draft, "-o", tmp_path / "c.json", "--epsilon", 3).output
    )
    assert (
        "with 10,000 people" in made
        and "the choice is for 50,000 people; --people N takes your own number" in made
    )
    shown = words_of(run("campaign", "show", tmp_path / "c.json").output)
    assert (
        "with 10,000 people" in shown
        and "--people N takes your own number" in shown
        and "the choice is for" not in shown
    )


def test_the_words_of_the_choices_are_explained_once(draft: Path):
    output = words_of(run("plan", draft, "--people", 3000, "--epsilon", 3, "--try", 0).output)
    for word in ("jointly", "sample"):
        assert output.count(f"{word}: ") >= 1
    assert "docs/choosing.md" in output and "bloom: " not in output


def test_options_that_differ_are_called_differently():
    found = plan(domain_of(*(5,) * 8), people=50_000, epsilon=4, weights={"a0": 20.0})
    labels = [option.label(found.domain.sizes) for option in found.options]
    assert len(set(labels)) == len(labels)
    assert not any("sets" in label for label in labels)


@pytest.mark.slow
def test_a_list_can_be_important(draft: Path):
    by_list, by_option = (
        json.loads(
            run(
                "plan",
                draft,
                "--people",
                3000,
                "--epsilon",
                3,
                "--try",
                0,
                "--json",
                "--important",
                names,
            ).stdout
        )
        for names in ("uses", "uses/a,uses/b,uses/c,uses/d")
    )
    assert by_list["error"] == by_option["error"]


def test_shares_that_contradict_a_condition_are_refused(draft: Path, tmp_path: Path):
    (tmp_path / "works.csv").write_text("works,probability\nfalse,0.3\ntrue,0.7\n")
    domain, _ = draft_from_file(draft)
    given = {"works": [0.3, 0.7], "job": [0.1, 0.2, 0.1, 0.6]}
    with pytest.raises(
        DomainError, match="the given shares of works and job contradict the questionnaire"
    ):
        Population.with_shares(domain, given)
    crowd = Population.with_shares(domain, given | {"job": [0.1, 0.5, 0.1, 0.3]})
    assert crowd.shares[domain.position("job")] == pytest.approx([0.1, 0.5, 0.1, 0.3], abs=0.05)
    assert Population.with_shares(
        domain, {"job": [0.1, 0.2, 0.1, 0.6]}
    ).shares  # nobody said how many work


def test_a_long_list_of_missing_columns_says_that_there_are_more(draft: Path, tmp_path: Path):
    domain = domain_of(*(2,) * 20)
    from lopub import Dataset

    (tmp_path / "t.csv").write_text("a0\n0\n")
    with pytest.raises(DomainError, match=r"'a12' … \(19 in all\)"):
        Dataset.load(tmp_path / "t.csv", domain)


def test_an_error_out_of_reach_does_not_lead_to_an_epsilon_that_protects_nobody():
    with pytest.raises(
        TooFewReports, match=r"50 people at epsilon 8 do not reach .* more people would help"
    ):
        epsilon_needed(domain_of(4, 5), people=50, error=1e-6)


# ---- advice


def test_bins_are_advised_once_a_question_and_never_fewer_than_eight():
    found = [
        one
        for one in advice(plan(domain_of(75, 300, 10, 4, 3), people=10_000, epsilon=4))
        if one.kind == "bin"
    ]
    assert len({one.question for one in found}) == len(found) > 0
    assert all(one.n_candidates is not None and one.n_candidates >= 8 for one in found)
    assert all("could no longer be told apart" in one.text for one in found)


def test_leaving_a_question_out_is_compared_with_the_same_questions():
    found = plan(domain_of(400, 3, 3, 3, 3), people=3000, epsilon=2)
    dropped = [one for one in advice(found) if one.kind == "drop"]
    others = [
        error
        for pair, error in zip(found.pairs, found.best.forecast.pair_errors, strict=True)
        if 0 not in pair
    ]
    for one in dropped:
        assert f"of the other questions from {sum(others) / len(others):.3f} to" in one.text


def test_a_plan_that_is_refused_writes_nothing(draft: Path, tmp_path: Path):
    """Its campaign was there, and half of the plan printed, before half the epsilon was found to be too little."""
    fields = [{"name": name, "type": "boolean"} for name in "abc"]
    draft.write_text(json.dumps({"name": "three", "schema": {"fields": fields}}))
    for words in ([], ["--json"]):
        result = run(
            "plan",
            draft,
            "--people",
            1000,
            "--epsilon",
            "1e-9",
            "-o",
            tmp_path / "campaign.json",
            *words,
        )
        assert (
            isinstance(result.exception, LopubError) and not (tmp_path / "campaign.json").exists()
        )


def test_a_tiny_epsilon_is_shown_as_it_is(draft: Path, tmp_path: Path):
    """It was shown as 0.001, with a note that two layers of noise were the reason."""
    said = run("campaign", "make", draft, "-o", tmp_path / "campaign.json", "--epsilon", "0.0004")
    assert (
        said.exit_code == 0
        and "0.000400 in total" in words_of(said.output)
        and "asked for" not in said.output
    )
