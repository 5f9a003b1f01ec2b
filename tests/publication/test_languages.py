"""The pages of a publication in the reader's language; the files keep the values."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from cli.commands import done, lopub, refusal
from lopub import (
    Boolean,
    CampaignError,
    CampaignRequest,
    Categorical,
    Dataset,
    ReportBatch,
    Terms,
    Translation,
    publish,
    simulate,
)
from lopub import make_campaign as made
from lopub.campaign.condition import Comparison
from lopub.campaign.domain import NOT_APPLICABLE, TickList
from lopub.campaign.fields import domain_of
from lopub.publication.loading import load_publication

TEA = Categorical(
    name="tea", question="Which tea?", values=("g", "b"), labels={"g": "green", "b": "black"}
)
WITH = TickList(
    name="with",
    question="With what?",
    values=("milk", "sugar"),
    only_if=Comparison("tea", "equals", ("b",)),
)
HOT = Boolean(name="hot", question="Hot?")
DOMAIN = domain_of((TEA, WITH, HOT))
GERMAN = Translation(
    title="Tee am Morgen",
    description="Über Tee.",
    questions={"tea": "Welcher Tee?"},
    labels={
        "tea": {"g": "grün"},
        "with": {"milk": "Milch", NOT_APPLICABLE: "entfällt"},
        "hot": {"true": "ja"},
    },
)
ARABIC = Translation(title="شاي", questions={"tea": "أي شاي؟"}, labels={"tea": {"b": "أسود"}})
TERMS = Terms(
    name="tea",
    title="Morning tea",
    description="About tea.",
    translations={"de": GERMAN, "ar": ARABIC},
)
PAGES = {"report.html", "MODEL_CARD.md", "manifest.json"}


@cache
def reports() -> ReportBatch:
    rows = [[0, 2, 2, 1], [1, 1, 0, 1], [1, 0, 1, 0], [1, 0, 0, 0]]
    return simulate(
        Dataset(DOMAIN, np.array(rows * 200, dtype=np.uint16)),
        made(DOMAIN, TERMS, CampaignRequest(epsilon=6)),
        seed=1,
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("languages")
    for language in ("", "de-AT", "ar", "fr"):
        publish(reports(), rows=50, language=language).save(folder / (language or "own"))
    return {path.name: path for path in folder.iterdir()}


def test_titles_questions_and_labels_are_in_the_readers_language(written):
    page, card = (
        (written["de-AT"] / name).read_text(encoding="utf-8")
        for name in ("report.html", "MODEL_CARD.md")
    )
    assert (
        ">Tee am Morgen</bdi></h1>" in page
        and card.startswith("# Tee am Morgen\n")
        and "Über Tee." in card
    )
    for shown in (
        '<bdi lang="de">Welcher Tee?</bdi>',
        '<bdi lang="de">grün</bdi>',
        '<bdi lang="de">Milch</bdi>',
    ):
        assert shown in page
    assert '<bdi lang="de">entfällt</bdi> <span class="soft desk">(not applicable)</span>' in page
    assert "| tea | Welcher Tee? | grün (g), black (b) |  |" in card
    assert "Milch (milk), sugar, entfällt ((not applicable))" in card and "only if" in card


def test_what_is_not_translated_is_in_the_campaigns_own_language_and_the_page_says_so(written):
    page = (written["de-AT"] / "report.html").read_text(encoding="utf-8")
    assert '<bdi lang="en">With what?</bdi>' in page and '<bdi lang="en">black</bdi>' in page
    assert "stehen in de; was nicht übersetzt ist, in der eigenen Sprache der Erhebung, en." in page


def test_a_language_that_is_not_there_falls_back_and_the_page_says_so(written):
    page, own = (
        written[name].joinpath("report.html").read_text(encoding="utf-8") for name in ("fr", "own")
    )
    assert page == own
    assert "shown in the campaign's own language, en; it has texts in ar, de, too." in page


def test_texts_that_run_from_right_to_left_stand_apart_from_the_page(written):
    page = (written["ar"] / "report.html").read_text(encoding="utf-8")
    assert (
        '<bdi lang="ar">أي شاي؟</bdi>' in page
        and '<bdi lang="ar">أسود</bdi> <span class="soft desk">b</span>' in page
    )


def test_files_do_not_depend_on_the_language_of_the_pages(written):
    for path in (
        path for path in written["own"].rglob("*") if path.is_file() and path.name not in PAGES
    ):
        assert (
            path.read_bytes() == (written["de-AT"] / path.relative_to(written["own"])).read_bytes()
        ), path.name


def test_a_loaded_publication_keeps_its_language(written):
    assert load_publication(written["de-AT"]).wording.language == "de"


def test_a_language_must_be_a_tag():
    with pytest.raises(
        CampaignError, match="a language must be a tag such as en or pt-BR, got 'not a tag'"
    ):
        publish(reports(), language="not a tag")


def test_the_command_takes_a_language_and_tells_of_the_fallback(tmp_path):
    reports().campaign.save(tmp_path / "campaign.json")
    reports().save(tmp_path / "reports.parquet")
    command = ["publish", "campaign.json", "reports.parquet", "--rows", "10", "-o"]
    found = done(lopub(*command, "german", "--language", "de-DE", cwd=tmp_path))
    assert "no texts" not in found.stderr
    assert "Tee am Morgen" in (tmp_path / "german" / "report.html").read_text(encoding="utf-8")
    told = done(lopub(*command, "french", "--language", "fr", cwd=tmp_path)).stderr
    assert "this campaign has no texts in fr; they are shown in en." in told
    assert "a language must be a tag" in refusal(
        lopub(*command, "none", "--language", "!", cwd=tmp_path)
    )
