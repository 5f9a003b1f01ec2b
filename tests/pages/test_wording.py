"""The texts of a campaign in a reader's language."""

import pytest

from every import every
from lopub import (
    Boolean,
    CampaignError,
    CampaignRequest,
    Categorical,
    Terms,
    Translation,
    make_campaign,
)
from lopub.campaign.condition import Comparison
from lopub.campaign.domain import NOT_APPLICABLE, TickList
from lopub.campaign.fields import domain_of
from lopub.pages.wording import Wording, chosen_language

TEA = Categorical(
    name="tea", question="Which tea?", values=("g", "b"), labels={"g": "green", "b": "black"}
)
WITH = TickList(
    name="with", title="With", values=("milk", "sugar"), only_if=Comparison("tea", "equals", ("b",))
)
HOT = Boolean(name="hot")
GERMAN = Translation(
    title="Tee",
    questions={"tea": "Welcher Tee?"},
    titles={"with": "Womit"},
    labels={"tea": {"g": "grün"}, "with": {"milk": "Milch", NOT_APPLICABLE: "entfällt"}},
)


def wording(*wanted: str, **texts: object) -> Wording:
    terms = Terms(
        name="t",
        title="Tea",
        consent="Yes.",
        translations={"de-AT": GERMAN, "pt": Translation(**texts)},
    )
    return Wording.of(
        make_campaign(domain_of((TEA, WITH, HOT)), terms, CampaignRequest(epsilon=2)), wanted
    )


@every(
    [
        ((), "en"),
        (("fr",), "en"),
        (("pt-BR",), "pt"),
        (("de",), "de-AT"),
        (("de_DE",), "de-AT"),
        (("fr", "pt"), "pt"),
        (("EN-us", "pt"), "en"),
    ]
)
def test_the_first_wanted_language_that_there_is_is_taken_and_else_the_campaigns_own(wanted, found):
    assert chosen_language(wanted, ("en", "de-AT", "pt")) == found


def test_every_text_is_in_the_readers_language():
    german = wording("de")
    assert (german.title, german.question(TEA), german.title_of(WITH), german.label(TEA, "g")) == (
        *("Tee", "Welcher Tee?", "Womit", "grün"),
    )
    assert (german.label(WITH, "milk"), german.label(WITH, NOT_APPLICABLE)) == ("Milch", "entfällt")


def test_what_is_not_translated_is_in_the_campaigns_own_language():
    german = wording("de")
    assert (
        german.consent,
        german.label(TEA, "b"),
        german.label(WITH, "sugar"),
        german.question(HOT),
    ) == (*("Yes.", "black", "sugar", "hot"),)
    assert wording("fr").title == "Tea" and wording("fr").is_own


@every(
    [
        (
            {"titles": {"with/milk": "Leite"}},
            "a translation names attribute 'with/milk', which the campaign does not ask for",
        ),
        (
            {"labels": {"with": {"honey": "mel"}}},
            "a translation of attribute 'with' labels a value that it does not list",
        ),
    ]
)
def test_a_translation_of_what_is_not_asked_is_refused(texts, message):
    with pytest.raises(CampaignError, match=message):
        wording(**texts)
