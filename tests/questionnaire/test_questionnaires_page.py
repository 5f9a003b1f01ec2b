"""docs/questionnaires.md: every example is a question that can be asked, and the whole survey goes all the way to a report."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from lopub import Campaign, CampaignRequest, Dataset, make_campaign, publish, simulate
from lopub.bulk.questionnaire import columns_of, contradictions, holding
from lopub.campaign.domain import Domain, TickList
from lopub.questionnaire.advice import advice_on
from lopub.questionnaire.draft import draft_of
from lopub.questionnaire.draft_text import parsed

PAGE = (Path(__file__).parents[2] / "docs" / "questionnaires.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```json\n(.*?)\n```", PAGE, re.DOTALL)
FIELDS, SURVEY = BLOCKS[:-1], BLOCKS[-1]


def whole_page() -> str:
    """All questions of the page as one draft, so that conditions find what they look at."""
    return (
        '{"name": "page", "consent": "Yes.", "min_reports": 100, "schema": {"fields": ['
        + ",\n".join(FIELDS)
        + "]}}"
    )


def test_every_question_on_the_page_can_be_asked_without_mistake_or_advice():
    draft = draft_of(*parsed(whole_page().encode()))
    (advice,) = advice_on(draft)
    assert draft.mistakes == () and advice.text.startswith(
        "15 of 16 questions have no text in de: fuel, health, colour,"
    )
    assert len(draft.questions) == len(FIELDS) == 16


def test_the_page_shows_every_kind_of_question():
    types = {json.loads(block)["type"] for block in FIELDS}
    assert types == {"string", "boolean", "integer", "number", "date", "time", "list"}


def test_every_condition_on_the_page_can_be_evaluated():
    for text in re.findall(r'`(\{"(?:field|not|and|or)".*?\})`', PAGE):
        if "…" not in text:
            whole = json.loads(whole_page())
            whole["schema"]["fields"].append(
                {"name": "x", "type": "boolean", "question": "?", "onlyIf": json.loads(text)}
            )
            assert draft_of(*parsed(json.dumps(whole).encode())).mistakes == ()


def answered_at_random(domain: Domain, n: int) -> Dataset:
    """Records that agree with the questionnaire, and with nothing else."""
    rng = np.random.default_rng(4)
    codes = np.zeros((n, len(domain)), dtype=np.uint16)
    for question in domain.questions:
        columns = columns_of(domain, question)
        if isinstance(question, TickList):
            ticked = np.array(
                [rng.permutation(len(columns) - 1) < rng.integers(0, 4) for _ in range(n)]
            )
            codes[:, columns] = np.column_stack([ticked, ~ticked.any(axis=1)])
        else:
            codes[:, columns[0]] = rng.integers(
                0, question.size - (question.only_if is not None), n
            )
        if question.only_if is not None:
            codes[:, columns] = np.where(
                holding(domain, question.only_if, codes)[:, None],
                codes[:, columns],
                question.not_applicable_index,
            )
    return Dataset(domain, codes)


@pytest.mark.slow
def test_the_whole_survey_goes_from_draft_to_published_report(tmp_path):
    draft = draft_of(*parsed(SURVEY.encode()))
    assert (draft.mistakes, advice_on(draft), len(draft.questions)) == ((), [], 14)
    assert draft.terms is not None
    domain = Domain(
        tuple(a for q in draft.questions for a in (q.options if isinstance(q, TickList) else (q,)))
    )
    campaign = make_campaign(domain, draft.terms, CampaignRequest(epsilon=4))
    campaign.save(tmp_path / "campaign.json")
    people = answered_at_random(domain, 2_000)
    publication = publish(simulate(people, Campaign.load(tmp_path / "campaign.json"), seed=1))
    assert contradictions(domain, publication.synthetic.codes) == {}
    publication.save(tmp_path / "publication")
    header, first, *_ = (
        (tmp_path / "publication" / "data" / "synthetic.csv").read_text().splitlines()
    )
    assert "uses/shops" in header and len(first.split('","')) == 18
    assert "Life in our street" in (tmp_path / "publication" / "report.html").read_text()
