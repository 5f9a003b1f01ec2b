"""MODEL_CARD.md: what a publication is, what it is good for and what not, in plain words and with its own numbers."""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from lopub import __version__
from lopub.campaign.domain import Pair, Question
from lopub.campaign.schedule import GRACE_DAYS
from lopub.estimation.joint import JointDistribution
from lopub.pages.figures import lifetime_in_words, weakness
from lopub.pages.wording import Wording
from lopub.publication.render.wording import (
    PAPER,
    abstract,
    citation,
    languages_in_words,
    margins_in_words,
    mechanism_in_words,
    one_line,
    publication_days,
    shown_epsilon,
)
from lopub.publication.stages import Publication
from lopub.publication.summary import dependence, in_doubt, independent_pairs, why_without_strength
from lopub.synthesis.dependence import LEAST_GAIN

MOST_QUESTIONS = 200
MOST_ANSWERS = 12
"""Questions, and answers of each, that are named; all are in campaign.json."""
MOST_LISTED = 20
"""Pairs that are named; more are in estimates/dependence.csv."""
_SPECIAL = set("\\`*_{}[]<>|~$&^!")
_OPENING = re.compile(r"(\d*)([-#+=:.)])")
"""What makes a heading, a list or a rule of a line that it opens."""
_TURNING = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Signs that turn the direction of what follows them, and could make a card read otherwise than it is."""


def model_card(publication: Publication) -> str:
    """The card as Markdown."""
    sections = {
        "What it is": _what(publication),
        "Questions": _questions(publication),
        "Intended use": _use(publication),
        "Not to be used for": _misuse(publication),
        "Privacy": _privacy(publication),
        "How it was made": _making(publication),
        "Accuracy, as far as the reports tell": _accuracy(publication),
        "Limitations": _limitations(publication),
        "Citation": [plain(citation(publication)), f"Method after: {plain(PAPER)}."],
        "Licence": _licence(publication),
    }
    parts = [f"# {plain(publication.wording.title)}"]
    for title, paragraphs in sections.items():
        parts += [f"## {title}", *paragraphs]
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    """Any text as one line of Markdown that shows it, whatever signs it holds.

    >>> plain("a|b <i>")
    'a\\\\|b \\\\<i\\\\>'
    """
    shown = (
        "\ufffd" if c in _TURNING or unicodedata.category(c) == "Cc" else c for c in one_line(text)
    )
    escaped = "".join(f"\\{c}" if c in _SPECIAL else c for c in shown)
    return _OPENING.sub(r"\1\\\2", escaped, count=1) if _OPENING.match(escaped) else escaped


# ---- sections: each a list of paragraphs


def _what(publication: Publication) -> list[str]:
    own = plain(publication.wording.description)
    n_refused = sum(publication.refused.values())
    of_all = " in all rounds of the campaign together" if publication.campaign.terms.repeat else ""
    counted = f"{publication.n_reports:,} reports were used, {n_refused:,} refused{of_all}. {_days(publication)}"
    files = (
        "`data/` holds the records, `estimates/` what they rest on, `campaign.json` the questions and the noise, `manifest.json`"
        " the settings and the hash of every file."
    )
    return [*([own] if own else []), plain(abstract(publication)), counted, files]


def _days(publication: Publication) -> str:
    first, last = publication_days(publication)
    if not (first and last):
        return "On which days the reports were made is not known."
    if publication.campaign.terms.repeat is None:
        return f"The reports were made from {first} to {last}."
    return f"The reports are those of the round from {first} to {last}; late ones may come in the {GRACE_DAYS} days after it."


def _questions(publication: Publication) -> list[str]:
    """What people were asked, with the answers as they read and, where that is different, as they stand in the files."""
    wording, questions = publication.wording, publication.campaign.domain.questions
    rows = [
        [
            plain(one.name),
            plain(wording.question(one)),
            _answers(wording, one),
            plain(str(one.only_if or "")),
        ]
        for one in questions[:MOST_QUESTIONS]
    ]
    left = len(questions) - len(rows)
    more = [f"{left:,} more are in `campaign.json`."] if left else []
    told = languages_in_words(publication)
    head = ["column", "question", "answers", "only if"]
    return [*([plain(told)] if told else []), _table(head, rows, numeric=False), *more]


def _answers(wording: Wording, question: Question) -> str:
    shown = []
    for text in question.texts[:MOST_ANSWERS]:
        label = wording.label(question, text)
        value = plain(text or "(missing)")
        shown.append(value if label == text else f"{plain(label)} ({value})")
    return ", ".join(shown) + (
        f" … ({len(question.texts):,})" if len(question.texts) > MOST_ANSWERS else ""
    )


def _use(publication: Publication) -> list[str]:
    good = (
        "Statistics about the crowd: frequencies of answers, how attributes depend on each other. Trying out an analysis;"
        " teaching; software that needs data of this shape."
    )
    asked = (
        "Where a number matters, ask for it, with `lopub query` or in Python `lopub.open_study`: the answer has a 95 % interval,"
        " and nothing in it is shrunk. `estimates/numbers.csv` has means and quartiles as such questions give them. Shares in"
        " `estimates/marginals.csv` and `estimates/pairs.csv` are those that the records were drawn from. They may be shrunk,"
        " towards even shares or towards independence, which their standard errors do not count, and so differ from answers."
    )
    unasked = (
        "Where a number matters, take it from `estimates/`, with its standard error, and not from the records: the counts were"
        " not published, so that questions are answered from the records, without an interval."
    )
    return [good, asked if publication.counts is not None else unasked]


def _misuse(publication: Publication) -> list[str]:
    rehearsed = (
        ["Quoting as a survey: it is a rehearsal."] if publication.origin.is_simulated else []
    )
    return [
        _bullets(
            [
                *rehearsed,
                f"Decisions about a person. No record is one{'.' if rehearsed else ', and none was ever seen.'}",
                "Finding out who took part, or what somebody answered.",
                "Rare values and small groups whose estimate is below its standard error.",
                "Significance tests on the synthetic records as if they were answers: the noise of the reports is larger than the"
                " sampling error that such a test knows of.",
            ]
        )
    ]


def _privacy(publication: Publication) -> list[str]:
    campaign = publication.campaign
    rows = [[plain(name), shown_epsilon(campaign, name)] for name in campaign.domain.names]
    told = "Every report was randomized on its owner's device with local differential privacy,"
    if publication.origin.is_simulated:
        told = (
            "This is a rehearsal with simulated reports: the program read the file that they were made from, so nothing protects"
            " the people in it, if they are real. Real devices would randomize every report with local differential privacy,"
        )
    promise = (
        f"{told} **epsilon {shown_epsilon(campaign)}** in total (an upper bound, delta 0). Whatever two records are compared,"
        " the odds that an observer of one report gives to one over the other change by at most the factor e^epsilon. All that is"
        " published is computed from the reports, and from what is public anyway, and costs no further privacy."
    )
    limits = (
        "Not protected: that somebody took part and on which day; several campaigns or several reports of one person, whose"
        " epsilons add up; conclusions about everybody that the published statistics allow."
    )
    each = "Of one attribute, all other answers being the same, the whole report reveals at most:"
    weak, in_all = weakness(campaign), lifetime_in_words(campaign)
    warning = [f"Beware: {weak}."] if weak else []
    return [
        promise,
        *([in_all] if in_all else []),
        *warning,
        limits,
        each,
        _table(["attribute", "epsilon"], rows),
    ]


def _making(publication: Publication) -> list[str]:
    settings, graph, tree = publication.settings, publication.graph, publication.model.tree
    rule = (
        f"held-out reports are explained better by at least {graph.least or LEAST_GAIN:.3g} nats than by independence"
        if publication.phi is None
        else f"the estimated mutual information reaches the paper's threshold for phi = {publication.phi:g}"
    )
    facts = [
        f"Noise: {plain(mechanism_in_words(publication.campaign))}.",
        f"Joint distributions: method {settings.estimator.name}. Structure: {settings.structure}; an edge where {rule}.",
        f"Dependency graph: {len(graph.edges):,} edges among {graph.n_pairs:,} pairs, of which {graph.n_saved:,} were not"
        " estimated.",
        f"Junction tree: {len(tree.cliques):,} cliques of at most {publication.most_cells:,} cells;"
        f" {len(publication.dropped):,} edges were dropped for that cap.",
        f"Records: {len(publication.synthetic):,} in each of {settings.copies:,} tables, drawn along the tree with seed"
        f" {settings.seed}; LoPub {__version__}.",
        *([plain(margins)] if (margins := margins_in_words(publication)) else []),
    ]
    strongest = f"Strongest edges ({graph.measure}, nats):"
    edges = (
        [strongest, _pairs(publication, graph.edges)]
        if graph.edges
        else ["No dependence stood out of the noise."]
    )
    dropped = [
        "Dropped edges, which the records do not show directly:",
        _pairs(publication, publication.dropped),
    ]
    return [_bullets(facts), *edges, *(dropped if publication.dropped else [])]


def _accuracy(publication: Publication) -> list[str]:
    head = [
        "attribute",
        "candidates",
        "reports",
        "largest standard error",
        "values below their standard error",
    ]
    rows = [_marginal_row(marginal) for marginal in publication.marginals]
    misfit = dependence(publication)["largest_misfit"]
    means = (
        "between the pairs within a clique and the pairs as they were estimated"
        if publication.settings.structure == "calibrated"
        else "by which a clique's joint was moved to agree with its neighbour"
    )
    lead = "This is what the noise and the fit say; true answers were not used. Frequencies of single attributes:"
    fit = f"Largest misfit: {misfit:.4f}, the average variant distance (0: none, 1: complete) {means}."
    return [lead, _table(head, rows), fit, *_independence(publication)]


def _independence(publication: Publication) -> list[str]:
    """Where the table might as well have been made of independent attributes."""
    graph = publication.graph
    n_blind = len(graph.strengths) - len(set(graph.edges) & set(graph.strengths))
    blind = f"{n_blind:,} of {len(graph.strengths):,} estimated pairs are no edge: the records show no direct dependence there."
    if publication.settings.structure != "calibrated":
        return [f"{blind} Whether independence would have done as well was not measured."]
    pairs = independent_pairs(publication)
    named = [f"{plain(one)} – {plain(other)}" for one, other in pairs]
    said = f"{blind} For {len(pairs):,} of them independence explained held-out reports as well{':' if pairs else '.'}"
    return [said, _few(named)] if pairs else [said]


def _limitations(publication: Publication) -> list[str]:
    number = (
        "one drawn evenly inside its bin"
        if publication.settings.numbers == "draw"
        else "the label of its bin"
    )
    return [
        _bullets(
            [
                "Dependence among three or more attributes is kept within cliques only, mostly as far as pairs imply it.",
                "Pairs in no common clique are tied together only through the attributes between them.",
                "People chose to take part; the table describes those who did. False reports cannot be told from true ones.",
                f"A number that was asked in bins is published as {number}.",
            ]
        )
    ]


def _licence(publication: Publication) -> list[str]:
    licence = plain(publication.campaign.terms.licence)
    return [
        licence or "The campaign states none; ask whoever published this before you pass it on."
    ]


# ---- Markdown


def _marginal_row(marginal: JointDistribution) -> list[str]:
    errors = (
        np.full(marginal.probabilities.shape, np.nan)
        if marginal.standard_errors is None
        else marginal.standard_errors
    )
    known = errors[~np.isnan(errors)]
    largest = f"{known.max():.4g}" if known.size else "not known"
    n_below = int(in_doubt(marginal).sum())
    name = plain(marginal.names[0])
    reports = "known" if marginal.fit.method == "given" else f"{marginal.fit.n_reports:,}"
    return [name, f"{marginal.probabilities.size:,}", reports, largest, f"{n_below:,}"]


def _pairs(publication: Publication, pairs: Sequence[Pair]) -> str:
    """The first few pairs with their strength."""
    names, strengths = publication.names, publication.graph.strengths
    figures = [
        f"{strengths[pair]:.4g}" if pair in strengths else why_without_strength(publication, pair)
        for pair in pairs
    ]
    return _few(
        [
            f"{plain(names[a])} – {plain(names[b])}: {figure}"
            for (a, b), figure in zip(pairs, figures, strict=True)
        ]
    )


def _few(items: Sequence[str]) -> str:
    more = (
        [f"and {len(items) - MOST_LISTED:,} more, see `estimates/dependence.csv`"]
        if len(items) > MOST_LISTED
        else []
    )
    return _bullets([*items[:MOST_LISTED], *more])


def _bullets(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numeric: bool = True) -> str:
    """The first column to the left, figures to the right."""
    rule = ["---", *["---:" if numeric else "---"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))
