"""The page in the reader's language: nothing is left in another one, numbers as people there write them."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from lopub import CampaignRequest, Publication, Terms, make_campaign, publish, simulate
from lopub.campaign.terms import Translation
from lopub.evaluation import score_page
from lopub.pages.templating import HERE, LANGUAGES, environment, page_language, translations
from lopub.publication.numbers import QUANTILES
from lopub.publication.render import rounds
from lopub.publication.render.questions import SAID
from lopub.publication.render.report_page import OWN_TEXTS, TEMPLATES, report_html
from lopub.reports.catalogue import ALUMNI

TEMPLATE_FILES = (
    *TEMPLATES.glob("*.html"),
    *score_page.TEMPLATES.glob("*.html"),
    *(HERE / "templates").glob("*.html"),
)
"""All that speak several languages; a plan is in English."""


def said() -> set[str]:
    """Every text that a page may say of its own."""
    found = {*OWN_TEXTS, *SAID, *QUANTILES, "mean", *rounds.HEADS, *score_page.OWN_TEXTS}
    for path in TEMPLATE_FILES:
        for _, _, message in environment("en", TEMPLATES).extract_translations(path.read_text()):  # type: ignore[attr-defined]
            found |= {
                text for text in ([message] if isinstance(message, str) else message or ()) if text
            }
    return found


@pytest.fixture(scope="module")
def publication() -> Publication:
    people = ALUMNI.people(2500, seed=1)
    german = Translation(
        title="Ehemalige", titles={"age": "Alter"}, labels={"home": {"owns": "gehört mir"}}
    )
    terms = Terms(name="alumni", title="Alumni", translations={"de": german})
    return publish(
        simulate(people, make_campaign(people.domain, terms, CampaignRequest(epsilon=6)), seed=1),
        rows=2500,
    )


def shown(publication: Publication, language: str) -> str:
    """The page as readers of a language get it."""
    return report_html(
        replace(publication, settings=replace(publication.settings, language=language))
    ).decode()


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != "en"])
def test_every_text_has_a_translation_with_the_same_blanks(language: str):
    words, english = translations(language), said()
    assert english - words.keys() == set()
    assert words.keys() - english == set()
    for text, other in words.items():
        for blank in (r"%\(\w+\)s", r"</?\w+>", "%%"):
            assert sorted(re.findall(blank, text)) == sorted(re.findall(blank, other)), text


@pytest.mark.parametrize("path", TEMPLATE_FILES, ids=lambda path: path.name)
def test_a_template_says_nothing_that_is_not_marked_for_translation(path: Path):
    """What stands between tags outside of a block of words: at most names that every language has, and those of files."""
    template = path.read_text()
    without = re.sub(
        r"\{%-? *trans.*?endtrans *-?%\}|\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}",
        " ",
        template,
        flags=re.DOTALL,
    )
    left = {
        word
        for piece in re.findall(r">([^<>]*)<", without)
        for word in re.findall(r"[A-Za-z]{2,}", piece)
    }
    assert left <= {
        "AVD",
        "epsilon",
        "nat",
        "nbsp",
        "levels",
        "changes",
        "rounds",
        "campaign",
        "csv",
        "json",
    }


def test_a_german_page_is_german(publication: Publication):
    page = shown(publication, "de-AT")
    assert '<html lang="de">' in page
    assert ">Ehemalige</bdi></h1>" in page and "Alter" in page and "gehört mir" in page
    text = re.sub(r"<[^>]+>", " ", page[page.index("<body") :])
    english = [
        word
        for word in ("questions", "share", "interval", "more frequent", "reports", "synthetic")
        if re.search(rf"\b{word}\b", text)
    ]
    assert english in ([], ["synthetic"])  # the name of a file
    assert re.search(r">\d+,\d&nbsp;%", page) and not re.search(r">\d+\.\d&nbsp;%", page)


def test_another_language_falls_back_to_english_and_to_the_campaigns_own(publication: Publication):
    assert page_language(["fr"]) == "en"
    assert shown(publication, "fr") == shown(publication, "")


def test_both_languages_carry_the_same_numbers(publication: Publication):
    pages = [shown(publication, language) for language in LANGUAGES]
    first, second = (sorted(re.findall(r'<data value="([^"]*)"', page)) for page in pages)
    assert first == second and len(first) > 200


def test_words_are_valid_json_in_a_fixed_form():
    for path in (HERE / "words").glob("*.json"):
        assert (
            path.read_text()
            == json.dumps(json.loads(path.read_text()), ensure_ascii=False, indent=1) + "\n"
        )
