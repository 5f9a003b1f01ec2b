"""What somebody who is no statistician asks of the page: is it real, how many of those asked, with what does it go together."""

import csv
import math
import re
from dataclasses import replace
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
    Publication,
    Terms,
    make_campaign,
    publish,
    simulate,
)
from lopub.bulk.view_laws import view_law
from lopub.campaign.fields import domain_of
from lopub.pages import plots
from lopub.pages.templating import Figures
from lopub.pages.wording import Wording
from lopub.publication.render.card import model_card
from lopub.publication.render.questions import Questionnaire, Spoken
from lopub.publication.render.report_page import report_html
from lopub.publication.render.together import company_of
from lopub.publication.summary import summary
from lopub.queries.contrasts import AnswerSplit
from lopub.reports.origin import Origin
from questionnaires import DOMAIN, people
from shown_numbers import numbers_in, numbers_on

REHEARSAL = {
    "en": (
        "This is a rehearsal with simulated reports",
        "nothing protects them from whoever has the file",
        "as a rehearsal, never as a survey",
        "The limit of what a report reveals would be",
    ),
    "de": (
        "Dies ist eine Probe mit simulierten Meldungen",
        "so schützt sie nichts vor dem, der die Datei hat",
        "als Probe, nie als Umfrage",
        "Die Grenze dessen, was eine Meldung verrät, wäre",
    ),
}
REAL = {
    "en": (
        "The limit of what a report reveals is",
        "one of each device that took part",
        "reveals no more about anybody",
    ),
    "de": (
        "Die Grenze dessen, was eine Meldung verrät, ist",
        "je eine von jedem Gerät",
        "verrät über niemanden mehr",
    ),
}


@pytest.fixture(scope="module")
def publication() -> Publication:
    """Of a questionnaire with conditions and a list."""
    terms = Terms(
        name="survey", title="Survey", description="The town asked everybody.", licence="CC-BY-4.0"
    )
    return publish(
        simulate(people(6000), make_campaign(DOMAIN, terms, CampaignRequest(epsilon=8)), seed=1),
        rows=200,
    )


def shown(publication: Publication, language: str = "en", *, is_simulated: bool = True) -> str:
    """The page's text in a language, without its tags."""
    settings = replace(publication.settings, language=language)
    page = report_html(
        replace(publication, settings=settings, origin=Origin(is_simulated, 3))
    ).decode()
    return " ".join(re.sub(r"<[^>]+>", "", page[page.index("<body") :]).split())


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_rehearsal_says_so_and_promises_nothing(publication: Publication, language: str):
    page = shown(publication, language)
    assert [page.count(said) for said in REHEARSAL[language]] == [1] * 4
    assert [said for said in REAL[language] if said in page] == []
    assert page.index(REHEARSAL[language][0]) < page.index("The town asked everybody.")
    assert (
        page.count({"en": "(rehearsal)", "de": "(Probe)"}[language]) == 3
    )  # over what came out, the answers and the files


@pytest.mark.parametrize("language", ["en", "de"])
def test_what_is_real_is_called_no_rehearsal(publication: Publication, language: str):
    page = shown(publication, language, is_simulated=False)
    assert [said for said in REHEARSAL[language] if said in page] == []
    assert all(said in page for said in REAL[language])
    assert not re.search(r"rehears|\bProbe\b", page)


def test_the_card_of_a_rehearsal_promises_nothing(publication: Publication):
    real = model_card(replace(publication, origin=Origin()))
    assert "Every report was randomized on its owner's device" in real and "rehearsal" not in real
    made = model_card(publication)
    assert (
        "This is a rehearsal" in made
        and "Every report was randomized" not in made
        and "none was ever seen" not in made
    )


def test_epsilon_is_told_as_how_sure_somebody_can_become(publication: Publication):
    assert "can become 99.97 % sure at most" in shown(publication).replace("&nbsp;", " ")
    assert "epsilon 8." in shown(publication)  # not 8.000, which is eight thousand in German


def test_every_printed_page_of_a_rehearsal_says_so(publication: Publication):
    mark = b'@page{@top-right{content:"Rehearsal: nobody was asked"'
    assert mark in report_html(publication) and mark not in report_html(
        replace(publication, origin=Origin())
    )


def test_that_the_table_takes_in_more_is_said_where_it_does(publication: Publication):
    more = "The synthetic table takes in more than is stated above"
    findings = publication.findings
    assert (more in shown(publication)) is (len(findings.every) > len(findings.stated))
    assert more not in shown(
        replace(publication, findings=replace(findings, every=findings.stated))
    )


@pytest.mark.parametrize("is_simulated", [True, False])
def test_the_page_says_that_those_who_take_part_may_be_unlike_the_others(
    publication: Publication, is_simulated: bool
):
    assert "those who take part may be unlike those who do not, and no interval" in shown(
        publication, is_simulated=is_simulated
    )
    assert "Wer teilnimmt, kann anders sein, als wer es nicht tut" in shown(
        publication, "de", is_simulated=is_simulated
    )


HEALTH = Categorical(
    name="health",
    values=("1", "2", "3", "4"),
    labels={"1": "very good", "2": "good", "3": "fair", "4": "bad"},
    is_ordered=True,
    question="How is your health?",
)
AGE = Binned(name="age", edges=("18", "28", "38"), question="How old are you? " * 9)
SPLITS = {
    "en": (
        "“bad”",
        "“fair” or “bad”",
        "from “good” to “bad”",
        "more than 28",
        "18 to 28",
        "over 28 to 38",
    ),
    "de": (
        "„bad“",
        "„fair“ oder „bad“",
        "von „good“ bis „bad“",
        "mehr als 28",
        "18 bis 28",
        "über 28 bis 38",
    ),
}


@pytest.mark.parametrize("language", ["en", "de"])
def test_groups_of_ordered_answers_are_named_by_their_answers(language: str):
    """Only of numbers is it clear which ones are above: "fair or above" was read as "fair or better", and meant the worse."""
    made = make_campaign(domain_of((HEALTH, AGE)), Terms(name="t"), CampaignRequest(epsilon=8))
    asked = Spoken(made, Wording.of(made, ()), language)
    groups = [asked.described(AnswerSplit(HEALTH, codes)) for codes in ((3,), (2, 3), (1, 2, 3))]
    numbers = [
        asked.described(AnswerSplit(AGE, (1,))),
        *(asked.label(AGE, text) for text in AGE.answer_texts),
    ]
    assert (*groups, *numbers) == SPLITS[language]
    assert (asked.quoted("health"), asked.quoted("age")) == ("How is your health?", "age")


@pytest.mark.parametrize("language", ["en", "de"])
def test_findings_quote_what_people_were_asked(language: str):
    """And not the name of a field, which may say something else."""
    own, other = (
        Boolean(name="bus", question="Do you work?"),
        Boolean(name="home", question="Own a home?"),
    )
    codes = np.repeat(np.random.default_rng(1).integers(0, 2, (2000, 1)), 2, axis=1).astype(
        np.uint16
    )
    made = make_campaign(Domain((own, other)), Terms(name="t"), CampaignRequest(epsilon=8))
    page = shown(publish(simulate(Dataset(made.domain, codes), made, seed=1), rows=100), language)
    ways = {
        "en": "People who answered “(yes|no)” to “Do you work\\?” more often answered “\\1” to “Own a home\\?” than",
        "de": "Wer auf „Do you work\\?“ „(ja|nein)“ antwortete, antwortete auf „Own a home\\?“ häufiger „\\1“ als",
    }
    assert len(re.findall(ways[language], page)) == 2  # on top, and where all are


def test_of_those_asked_comes_first_with_its_interval_and_stands_in_a_file(
    publication: Publication, tmp_path: Path
):
    publication.save(tmp_path / "p")
    with open(tmp_path / "p" / "estimates" / "marginals.csv", newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if row["attribute"] in ("hours", "title") and row["among_asked"]
        ]
    page = (tmp_path / "p" / "report.html").read_text()
    assert len(rows) == 5
    for row in rows:
        value, low, high = (row[f"among_asked{end}"] for end in ("", "_low", "_high"))
        assert float(low) < float(value) < float(high)
        first = page.index(f'<strong><data value="{value}">')
        assert (
            page.index(f'<data value="{low}">')
            < page.index(f'<data value="{high}">')
            < page.index(row["probability"], first)
        )
    assert repr(Publication.load(tmp_path / "p").asked_shares) == repr(publication.asked_shares)


def test_the_truth_is_within_the_interval_of_those_asked(publication: Publication):
    """By six standard errors, which are three half widths."""
    codes = people(6000).codes
    place = DOMAIN.names.index("hours")
    asked = codes[codes[:, place] < 3, place]
    for code, one in enumerate(
        [one for one in publication.asked_shares if one.attribute == "hours"]
    ):
        assert abs((asked == code).mean() - one.value) < 3 * max(
            one.high - one.value, one.value - one.low
        )


def test_under_each_question_stands_what_goes_together_with_it(publication: Publication):
    page = report_html(publication).decode()
    company = company_of(Questionnaire.of(publication, "en"), publication.findings.every)
    for number, one in enumerate(publication.findings.stated, 1):
        assert f'<li id="finding-{number}">' in page and f'<a href="#finding-{number}">' in page
        for name in one.names:
            assert number in [own for _, own in company[name.split("/")[0]].sure]
    for weak in publication.findings.every[len(publication.findings.stated) :]:
        assert weak.is_stated or company[weak.names[0].split("/")[0]].unsure
    questions = page[page.index('id="questions"') : page.index('id="dependence"')]
    assert questions.count('<p class="company">') == len(DOMAIN.questions)


def test_a_difference_is_said_and_its_bounds_hold_those_of_both_shares(publication: Publication):
    page = shown(publication)
    assert publication.findings.stated
    for one in publication.findings.stated:
        contrast = one.contrast
        assert contrast is not None
        found = contrast.difference
        assert found.value == contrast.within.value - contrast.outside.value
        assert found.low == contrast.within.low - contrast.outside.high < found.value
        assert found.high == contrast.within.high - contrast.outside.low > found.value
        low, high = sorted(abs(end) for end in (found.low, found.high))
        word = "more" if found.value > 0 else "fewer"
        said = f"That is {100 * abs(found.value):.1f} percentage points {word} ({100 * low:.1f}–{100 * high:.1f})"
        assert f"{said}; to quote: at least {100 * low:.1f}." in page


def test_every_number_of_a_questionnaire_is_in_a_file(publication: Publication, tmp_path: Path):
    publication.save(tmp_path / "p")
    shown = numbers_on((tmp_path / "p" / "report.html").read_bytes())
    known = numbers_in(tmp_path / "p")
    assert len(shown) > 150
    assert not [value for value in shown if value not in known]


def test_a_page_from_files_says_of_how_many_reports_each_question_is(
    publication: Publication, tmp_path: Path
):
    """And not that all reports speak of it, where lots were drawn."""
    publication.save(tmp_path / "p")
    assert speaking(Publication.load(tmp_path / "p")) == speaking(publication)
    assert min(n for n in speaking(publication) if n is not None) < publication.n_reports


def speaking(publication: Publication) -> list[int | None]:
    return [
        n
        for one in Questionnaire.of(publication, "en").questions
        for n in (one.n_reports, one.most_reports)
    ]


def test_of_a_list_the_least_and_the_most_reports_are_told(publication: Publication):
    counts = [
        one.fit.n_reports for one in publication.marginals if one.names[0].startswith("reads/")
    ]
    assert min(counts) < max(counts)
    assert f"{min(counts):,} to {max(counts):,} of 6,000 reports speak of each of these." in shown(
        publication
    )


def test_how_many_reports_speak_of_two_questions_is_told(publication: Publication):
    of_two = summary(publication)["reports"]["of_two_questions"]
    assert (
        1 < of_two < 6000
        and f"About {of_two:,.0f} of 6,000 reports speak of both questions of a pair"
        in shown(publication)
    )


def test_a_headline_says_how_many_people_that_is(publication: Publication):
    job = next(
        marginal for marginal in publication.marginals if marginal.names == ("job",)
    ).probabilities[1]
    people = round(round(100 * job, 1) * 60)
    assert f"estimated for all 6,000: about {people:,}" in shown(publication)
    assert f"geschätzt für alle 6,000: etwa {people:,}".replace(",", ".") in shown(
        publication, "de"
    )


@pytest.mark.parametrize(
    ("share", "people", "about"),
    [
        (0.5496, 50_000, "27,500"),
        (0.2713, 50_000, "13,550"),
        (0.338, 500, "169"),
        (0.9, 1_234_567, "1,111,000"),
    ],
)
def test_a_number_of_people_is_the_share_as_it_is_shown(share: float, people: int, about: str):
    assert Figures("en").about(share, people) == about


def test_a_reader_is_told_whether_any_report_speaks_of_three_things(publication: Publication):
    alone, model = (
        "Whoever has the reports can ask them",
        "No report speaks of three questions, so that only a model can answer",
    )
    campaign = publication.campaign
    most = max(
        len(view) for view, _ in view_law(campaign.view).typical_views(campaign.domain.sizes)
    )
    assert (alone in shown(publication), model in shown(publication)) == (most >= 3, most < 3)


def test_pictures_call_a_thing_on_a_list_by_itself_unless_another_is_called_so():
    reads = next(one for one in DOMAIN.questions if one.name == "reads")
    made = make_campaign(
        domain_of((reads, Boolean(name="books"))), Terms(name="t"), CampaignRequest(epsilon=8)
    )
    asked = Spoken(made, Wording.of(made, ()), "en")
    assert asked.short_titles(["reads/books", "reads/papers", "books"]) == [
        "reads: books",
        "papers",
        "books",
    ]


def test_a_small_heat_map_fits_a_phone_and_a_large_one_is_scrolled():
    for n, is_wide in ((16, False), (60, True)):
        drawn = plots.heat_map(
            np.eye(n), [f"question {i}" for i in range(n)], name="h", description="d", scale="nats"
        )
        assert ("min-width" in drawn) is is_wide


def test_few_ordered_answers_are_bars_with_their_numbers_beside_them():
    domain = Domain((Categorical(name="health", values=("bad", "fair", "good"), is_ordered=True),))
    table = Dataset(domain, np.random.default_rng(1).integers(0, 3, (300, 1)).astype(np.uint16))
    page = report_html(
        publish(
            simulate(
                table, make_campaign(domain, Terms(name="t"), CampaignRequest(epsilon=8)), seed=1
            )
        )
    )
    assert b'class="hist"' not in page and page.count(b'class="track"') == 3


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [(1, "74 %"), (4, "99 %"), (4.6, "99.1 %"), (8, "99.97 %"), (20, "99.9999998 %"), (0, "50 %")],
)
def test_how_sure_somebody_can_become_is_rounded_up_and_never_certain(epsilon: float, text: str):
    shown = Figures("en").at_most(1 / (1 + math.exp(-epsilon)))
    assert re.sub("<[^>]*>", "", shown).replace("&nbsp;", " ") == text
