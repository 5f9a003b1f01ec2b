"""Whatever a campaign or a table says, pages show it and never run it: every text, in every language, on every page."""

from collections.abc import Iterator
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from lopub import (
    Binned,
    Boolean,
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    Repeat,
    ReportBatch,
    Schedule,
    Terms,
    evaluate,
    make_campaign,
    plan,
    publish,
    publish_rounds,
    simulate_rounds,
)
from lopub.campaign.condition import Comparison
from lopub.campaign.domain import TickList
from lopub.campaign.fields import domain_of
from lopub.campaign.terms import Translation
from lopub.evaluation.score_page import scorecard_html
from lopub.planning.advice import advice
from lopub.planning.plan_page import plan_page
from lopub.publication.render.rounds import rounds_html


def hostile(where: str) -> str:
    """A text that would run, could it leave an element or an attribute."""
    return f"{where}\"'><script>alert('{where}')</script><img src=x onerror=alert(1)>{{{{7*7}}}}"


FIRST = Boolean(name=hostile("a"), title=hostile("title a"), question=hostile("question a"))
SECOND = Categorical(
    name=hostile("b"),
    values=(hostile("v"), "w"),
    labels={hostile("v"): hostile("label v"), "w": hostile("label w")},
    title=hostile("title b"),
    question=hostile("question b"),
    is_ordered=True,
    only_if=Comparison(hostile("a"), "equals", (True,)),
)
TICKS = TickList(
    name=hostile("c"),
    values=(hostile("t"), "u"),
    labels={hostile("t"): hostile("label t"), "u": hostile("label u")},
    title=hostile("title c"),
    question=hostile("question c"),
)
NUMBER = Binned(
    name=hostile("d"),
    title=hostile("title d"),
    question=hostile("question d"),
    edges=("0", "1", "2", "3"),
)
DOMAIN = domain_of((FIRST, SECOND, TICKS, NUMBER))
GERMAN = Translation(
    title=hostile("de title"),
    description=hostile("de description"),
    consent=hostile("de consent"),
    titles={hostile("a"): hostile("de title a")},
    questions={hostile("a"): hostile("de question a"), hostile("c"): hostile("de question c")},
    labels={
        hostile("b"): {hostile("v"): hostile("de label v")},
        hostile("c"): {"u": hostile("de label u")},
    },
)
TERMS = Terms(
    name="hostile",
    title=hostile("title"),
    description=hostile("description"),
    consent=hostile("consent"),
    licence=hostile("licence"),
    min_reports=10,
    schedule=Schedule.in_rounds(
        date(2026, 1, 1), Repeat(every_days=30, rounds=2, take_part=2, mode="sampled")
    ),
    translations={"de": GERMAN},
)


@pytest.fixture(scope="module")
def people() -> Dataset:
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 600)
    ticks = np.where(rng.random((600, 2)) < 0.8, first[:, None], rng.integers(0, 2, (600, 2)))
    columns = [first, np.where(first, rng.integers(0, 2, 600), 2), ticks, rng.integers(0, 3, 600)]
    return Dataset(DOMAIN, np.column_stack(columns).astype(np.uint16))


@pytest.fixture(scope="module")
def batch(people: Dataset) -> ReportBatch:
    request = CampaignRequest(epsilon=8, mechanism="direct")
    return simulate_rounds([people, people], make_campaign(DOMAIN, TERMS, request), seed=1)


class Elements(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts = ""
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts += data


def pages(
    batch: ReportBatch, people: Dataset, folder: Path
) -> Iterator[tuple[bytes, tuple[str, ...]]]:
    """Every page in every language, and what it must show."""
    rounds = publish_rounds(batch)
    for language, own in (("en", ""), ("de", "de ")):
        publish(batch.of_round("2026-01-01"), rows=30, language=language).save(folder / language)
        shown = (
            f"{own}title",
            f"{own}description",
            f"{own}title a",
            f"{own}question a",
            f"{own}label v",
            f"{own}label u",
        )
        yield (folder / language / "report.html").read_bytes(), (*shown, "title d", "title b")
        yield rounds_html(rounds, language), shown
        yield (
            scorecard_html(evaluate(people, people, classifiers=False), people, people, language),
            ("a", "b", "d", "v"),
        )
    found = plan(DOMAIN, people=1000, epsilon=4.0)
    yield plan_page(found, advice(found)), ("a",)


def test_no_text_of_a_campaign_runs_on_any_page(
    batch: ReportBatch, people: Dataset, tmp_path: Path
):
    for page, shown in pages(batch, people, tmp_path):
        found = Elements(page)
        assert not found.tags & {
            "script",
            "img",
            "iframe",
            "object",
            "embed",
            "form",
            "input",
            "base",
        }
        assert not [name for name in found.attributes if name.startswith("on")]
        assert [text for text in shown if hostile(text) not in found.texts] == []


def test_a_plan_of_hostile_names_shows_them(batch: ReportBatch):
    found = plan(Domain((FIRST, NUMBER)), people=1000, epsilon=4.0)
    page = Elements(plan_page(found, advice(found)))
    assert hostile("a") in page.texts and hostile("d") in page.texts and "script" not in page.tags
