"""The page in the reader's language: nothing is left in another one, numbers as people there write them."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from catalogues import OTHERS, PAGES, PLACES, Place, as_po, blanks_of, renamed, updated
from lopub import CampaignRequest, Publication, Terms, make_campaign, publish, simulate
from lopub.campaign.terms import Translation
from lopub.evaluation import score_page
from lopub.pages.templating import HERE, LANGUAGES, page_language
from lopub.publication.render.report_page import TEMPLATES, report_html
from lopub.reports.catalogue import ALUMNI

TEMPLATE_FILES = (
    *TEMPLATES.glob("*.html"),
    *score_page.TEMPLATES.glob("*.html"),
    *(HERE / "templates").glob("*.html"),
)
"""All that speak several languages; a plan is in English."""


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


@pytest.mark.parametrize("language", OTHERS)
def test_the_catalogue_has_what_the_pages_say_and_nothing_else(language: str):
    entries = {entry.id for entry in PAGES.entries(language) if entry.id}
    assert entries == PAGES.texts()
    assert len(entries) > 300


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_translation_is_whole_and_has_the_blanks_of_its_text(place: Place, language: str):
    for entry in place.entries(language):
        english, other = (
            (text,) if isinstance(text, str) else text for text in (entry.id, entry.string)
        )
        if entry.id and not entry.context:
            assert all(other) and not entry.fuzzy, entry.id
            assert set(map(blanks_of, other)) == set(map(blanks_of, english)), entry.id


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_catalogue_is_as_the_script_writes_it(place: Place, language: str):
    """So that a difference in the repository is a difference of words."""
    assert (place.locale / f"{language}.po").read_bytes() == as_po(updated(place, language))


def test_a_translation_follows_the_names_of_blanks():
    old, new = "field {name} has {most:,} answers", "field {field!r} has {n:,} answers"
    assert renamed("{most:,} Antworten hat {name}", old, new) == "{n:,} Antworten hat {field!r}"
    assert renamed("{1} vor {0}", "{} behind {}", "{a} behind {b}") == "{b} vor {a}"
    assert renamed("{} vor {}", "{} before {}", "{a} before {b}") == "{a} vor {b}"


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


@pytest.mark.parametrize(
    ("language", "one", "several"),
    [
        ("en", "1</data> more was withdrawn", "2</data> more were withdrawn"),
        ("de", "1</data> weitere wurde zurückgezogen", "2</data> weitere wurden zurückgezogen"),
    ],
)
def test_one_and_several_are_said_differently(
    publication: Publication, language: str, one: str, several: str
):
    for n, text in ((1, one), (2, several)):
        origin = replace(publication.origin, n_withdrawn=n)
        assert text in shown(replace(publication, origin=origin), language)
