"""The texts of a campaign in a reader's language, with those of the campaign's own where there is no translation."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lopub.campaign.attribute import NOT_APPLICABLE, Categorical
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Question, TickList
from lopub.campaign.terms import Translation


@dataclass(frozen=True)
class Wording:
    """What a campaign says in one language. What is not translated stays in the campaign's own."""

    campaign: Campaign
    language: str
    """One that the campaign has texts in."""

    @classmethod
    def of(cls, campaign: Campaign, wanted: Sequence[str] = ()) -> "Wording":
        """In the first of the wanted languages that there is; in the campaign's own where there is none."""
        terms = campaign.terms
        return cls(campaign, chosen_language(wanted, (terms.language, *terms.translations)))

    @cached_property
    def own(self) -> "Wording":
        """The same in the campaign's own language."""
        return Wording(self.campaign, self.campaign.terms.language)

    def spoken(self, shown: str, own: str) -> str:
        """The language of a text that is shown. own: the same in the campaign's own, which stands in where it is not
        translated."""
        return self.campaign.terms.language if shown == own else self.language

    @property
    def is_own(self) -> bool:
        """Whether this is the campaign's own language."""
        return self.language == self.campaign.terms.language

    @cached_property
    def _translation(self) -> Translation:
        return (
            self.campaign.terms.translations.get(self.language, Translation())
            if not self.is_own
            else Translation()
        )

    @property
    def title(self) -> str:
        """The campaign's title; its name where it has none."""
        return self._translation.title or self.campaign.terms.title or self.campaign.terms.name

    @property
    def description(self) -> str:
        """What the campaign is about; may be empty."""
        return self._translation.description or self.campaign.terms.description

    @property
    def consent(self) -> str:
        """What people agree to; may be empty."""
        return self._translation.consent or self.campaign.terms.consent

    def question(self, question: Question) -> str:
        """What people are asked; the title, or the name, where there is no question."""
        translated = self._translation.questions.get(question.name)
        return translated or question.question or self.title_of(question)

    def title_of(self, question: Question) -> str:
        """A question's title; its name where it has none."""
        return self._translation.titles.get(question.name) or question.title or question.name

    def label(self, question: Question, text: str) -> str:
        """How an answer reads. text: of a candidate, or of an option of a list."""
        translated = self._translation.labels.get(question.name, {}).get(text)
        if translated or text in ("", NOT_APPLICABLE):
            return translated or text
        return question.labels[text] if isinstance(question, Categorical | TickList) else text


def chosen_language(wanted: Sequence[str], available: Sequence[str]) -> str:
    """The first wanted language that is available: itself, else itself without its last parts, else one that begins like it.
    The first available one where none is.

    >>> chosen_language(["pt-BR", "de"], ["en", "de-AT", "pt"]), chosen_language(["fr"], ["en", "de"])
    ('pt', 'en')
    """
    known = {tag.lower(): tag for tag in reversed(available)}
    for tag in wanted:
        parts = tag.replace("_", "-").lower().split("-")
        for end in range(len(parts), 0, -1):
            if (shorter := "-".join(parts[:end])) in known:
                return known[shorter]
        for other in available:
            if other.lower().split("-")[0] == parts[0]:
                return other
    return available[0]
