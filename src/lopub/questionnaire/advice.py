"""What could be better in a draft that can be made into a campaign."""

from collections.abc import Iterator

import numpy as np

from lopub.bulk.support import MOST_CELLS, Support
from lopub.campaign.attribute import few
from lopub.campaign.condition import Comparison
from lopub.campaign.domain import Attribute, Dated, Domain, IntegerRange, Question, TickList
from lopub.campaign.fields import domain_of
from lopub.campaign.terms import PAGE_LANGUAGES, Terms
from lopub.questionnaire.draft import Draft, Mistake

MANY_ANSWERS = 30
"""From here on an answer's share drowns in noise, or takes very many reports."""
FEW_REPORTS = 100
"""Below so many reports noise hides everything at any epsilon that protects."""


def advice_on(draft: Draft) -> list[Mistake]:
    """Advice on a draft without mistakes."""
    if draft.mistakes or draft.terms is None:
        return []
    domain = domain_of(draft.questions)
    found = [
        Mistake(text, ("schema", "fields", draft.places[name]))
        for name, text in _on_questions(domain)
    ]
    found += [
        Mistake(text, (member,))
        for member, text in (*_on_terms(draft.terms), *_on_pages(draft.terms))
    ]
    return [*found, *(Mistake(text) for text in _on_languages(draft.terms, domain))]


def _on_questions(domain: Domain) -> Iterator[tuple[str, str]]:
    for question in domain.questions:
        if not isinstance(question, TickList):
            yield from ((question.name, text) for text in _on_size(question))
        if not question.question and not question.title:
            yield (
                question.name,
                f"field {question.name!r} has no question and no title; people would see its name only",
            )
        yield from ((question.name, text) for text in _on_condition(domain, question))


def _on_size(question: Attribute) -> Iterator[str]:
    n = len(question.answer_texts)
    if isinstance(question, IntegerRange) and n > MANY_ANSWERS:
        yield f"field {question.name!r} has {n:,} whole numbers, each an answer of its own; ask for a number in bins instead"
    elif isinstance(question, Dated) and n > MANY_ANSWERS:
        yield f"field {question.name!r} has {n:,} periods; with noise, few of them can be told apart: use longer ones"
    elif n > MANY_ANSWERS:
        yield f"field {question.name!r} has {n:,} answers; with noise, few of them can be told apart: join some, or add other"


def _on_condition(domain: Domain, question: Question) -> Iterator[str]:
    """Conditions that hold for nobody, or for everybody, whatever people answer before."""
    if question.only_if is None:
        return
    clique = domain.positions(question.only_if.attributes)
    shape = tuple(domain.sizes[position] for position in clique)
    if np.prod([float(size) for size in shape]) > MOST_CELLS:
        return
    axes = dict(zip(clique, np.indices(shape, dtype=np.int32, sparse=True), strict=True))

    def holds(comparison: Comparison) -> np.ndarray:
        return np.isin(
            axes[domain.position(comparison.attribute)],
            np.array(sorted(domain.accepted(comparison))),
        )

    holding = np.broadcast_to(np.asarray(question.only_if.evaluate(holds)), shape)
    mask = Support(domain).mask(clique)
    possible = np.ones(shape, dtype=bool) if mask is None else mask
    if not (holding & possible).any():
        yield f"field {question.name!r} can be reached by nobody: its condition never holds"
    elif (holding | ~possible).all():
        yield f"field {question.name!r} has a condition that always holds; leave it out"


def _on_languages(terms: Terms, domain: Domain) -> Iterator[str]:
    """Questions that some readers will meet in another language than the rest."""
    for language, texts in terms.translations.items():
        left = [
            one.name
            for one in domain.questions
            if one.name not in texts.questions and one.name not in texts.titles
        ]
        if left:
            yield (
                f"{len(left)} of {len(domain.questions)} questions have no text in {language}: {few(tuple(left))}; who reads"
                f" {language} sees them in {terms.language}"
            )


def _on_pages(terms: Terms) -> Iterator[tuple[str, str]]:
    """Languages that the page on which people take part does not speak itself."""
    for tag in (terms.language, *terms.translations):
        if tag.lower().partition("-")[0] not in PAGE_LANGUAGES:
            yield (
                "language" if tag == terms.language else "translations",
                "the page on which people take part has its own words (buttons, what epsilon means, how to withdraw) in English"
                f" and German only; who reads {tag} sees your texts in {tag} and those in English",
            )


def _on_terms(terms: Terms) -> Iterator[tuple[str, str]]:
    if not terms.consent:
        yield "consent", "consent is empty; say what people agree to"
    if terms.min_reports < FEW_REPORTS:
        yield (
            "min_reports",
            f"min_reports is {terms.min_reports}; below {FEW_REPORTS} reports there is nothing but noise to show",
        )
