"""What people answered, on report.html: a card for every question, its texts in the page's choice of language."""

from html import escape

import numpy as np

from lopub.contract.domain import Binned, ListOption, Question, TickList
from lopub.contract.wording import Wording
from lopub.inference.joint import JointDistribution, interval
from lopub.pages.page import bars, between, in_language, number, paragraph, share, table, text_of
from lopub.release.numbers import shown_form
from lopub.release.render.wording import languages_in_words
from lopub.release.stages import Publication

MOST_CARDS = 200
"""Attributes whose shares are shown; the file has all."""
MOST_SHOWN = 40
"""Candidates of an attribute whose shares are shown; the file has all."""


def shares_html(publication: Publication) -> str:
    """The section: one card an attribute, or a list."""
    said = paragraph(
        "Estimated share of each answer with its 95 % interval, and its share in the synthetic table. The upper bar is the"
        " estimate, the lower one the synthetic table."
    )
    if told := languages_in_words(publication):
        said += paragraph(escape(told), "soft")
    shown = publication.marginals[:MOST_CARDS]
    cards = "".join(_card(publication, marginal) for marginal in shown)
    left = len(publication.marginals) - len(shown)
    more = f"{number(left, ',')} more attributes are in <code>estimates/marginals.csv</code>." if left else ""
    return f'{said}<div class="cards">{cards}</div>{paragraph(more) if left else ""}'


def _card(publication: Publication, marginal: JointDistribution) -> str:
    """Of an attribute; of a list, one for all its options, in the place of the first of them."""
    attribute = marginal.attributes[0]
    if not isinstance(attribute, ListOption):
        return _attribute(publication, marginal)
    names = sorted(option.name for option in attribute.of_list.options)
    return _ticks(publication, attribute.of_list) if attribute.name == names[0] else ""


def _ticks(publication: Publication, ticks: TickList) -> str:
    """How many ticked each option of a list, and how many did not answer it."""
    estimated = dict(zip(publication.names, publication.marginals, strict=True))
    wanted = [(option.name, 1, option.value) for option in ticks.options]
    wanted += [(ticks.options[0].name, at, ticks.options[0].texts[at]) for at in range(2, ticks.options[0].size)]
    rows = []
    for name, at, shown in wanted:
        made = publication.synthetic.counts((name,)) / len(publication.synthetic)
        rows.append((_answer(publication.wording, ticks, shown), *estimated[name].rows()[at][1:], float(made[at])))
    most = max(max(row[1], row[3]) for row in rows)
    cells = [_share_row(*row, most) for row in rows]
    caption = f"{ticks.name}: several can be ticked"
    body = table(caption, ["ticked", "estimate", "95 % interval", "synthetic", ""], cells, numeric=[1, 2, 3])
    return f"<div><h3>{escape(ticks.name)}</h3>{_asked(publication.wording, ticks)}{body}</div>"


def _asked(wording: Wording, question: Question) -> str:
    """What people were asked, in the page's choice of language; nothing where the heading says it already."""
    asked = wording.question(question)
    return paragraph(in_language(asked, wording.spoken(asked, wording.own.question(question)))) if asked != question.name else ""


def _answer(wording: Wording, question: Question, text: str) -> str:
    """How an answer reads, and as it stands in the files where that is different."""
    label = wording.label(question, text)
    if label == text:
        return text_of(text)
    tag = wording.spoken(label, wording.own.label(question, text))
    return f'{in_language(label, tag)} <span class="soft">{text_of(text)}</span>'


def _attribute(publication: Publication, marginal: JointDistribution) -> str:
    attribute = marginal.attributes[0]
    synthetic = publication.synthetic.counts((attribute.name,)) / len(publication.synthetic)
    rows = list(zip(marginal.rows(), synthetic.tolist(), strict=True))
    most = max(float(marginal.probabilities.max()), float(synthetic.max()))
    shown = sorted(rows, key=lambda row: -row[0][1])[:MOST_SHOWN] if len(rows) > MOST_SHOWN else rows
    cells = [
        _share_row(_answer(publication.wording, attribute, values[0]), probability, error, made, most)
        for (values, probability, error), made in shown
    ]
    columns = ["answer", "estimate", "95 % interval", "synthetic", ""]
    caption = attribute.name
    if len(rows) > len(shown):
        caption += f" (the {MOST_SHOWN} most frequent of {len(rows):,} answers)"
    body = table(caption, columns, cells, numeric=[1, 2, 3], unseen=caption == attribute.name)
    asked = _asked(publication.wording, attribute)
    return f"<div><h3>{escape(attribute.name)}</h3>{asked}{body}{_statistics(publication, attribute.name)}</div>"


def _share_row(answer: str, probability: float, error: float, synthetic: float, most: float) -> list[str]:
    low, high = interval(probability, error)
    within = "-" if np.isnan(error) else between(low, high)
    drawn = f'<div class="bar" aria-hidden="true">{bars(probability, synthetic, most)}</div>'
    return [answer, share(probability), within, share(synthetic), drawn]


def _statistics(publication: Publication, name: str) -> str:
    own = [row for row in publication.statistics if row.attribute == name]
    if not own:
        return ""
    rows = [
        [escape(row.name), number(row.value, form), f"{number(row.low, form)} to {number(row.high, form)}"]
        for row in own
        for form in [shown_form(row)]
    ]
    said = table(f"{name} as a number", ["", "estimate", "95 % interval"], rows, numeric=[1, 2])
    if isinstance(publication.campaign.domain[name], Binned):
        said += paragraph(
            "Of each number only its bin is known. The estimates take numbers to be spread evenly inside their bins; the"
            " intervals do not, and allow for any place in them.",
            "soft",
        )
    return said
