"""What people answered, question by question, as they saw it: in the questionnaire's order, with its texts and labels."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lopub.campaign.attribute import NOT_APPLICABLE
from lopub.campaign.campaign import Campaign
from lopub.campaign.condition import Comparison, Compound, Condition, Not
from lopub.campaign.domain import Attribute, Binned, Boolean, Categorical, ListOption, TickList
from lopub.campaign.domain import Question as Asked
from lopub.estimation.joint import JointDistribution, interval
from lopub.pages.translation import catalogue, translatable
from lopub.pages.wording import Wording
from lopub.publication.asked import AskedShare
from lopub.publication.numbers import Statistic, shown_form
from lopub.publication.stages import Publication
from lopub.queries.contrasts import AnswerSplit, has_order, n_answers

TURNING = {"R", "AL", "AN", "RLE", "RLO", "RLI", "LRE", "LRO", "LRI", "FSI", "PDF", "PDI"}
"""Kinds of signs that go from right to left, or that turn others."""
MOST_LISTED = 12
"""Answers of a question that are shown at once; the others are a click away."""
MOST_FOLDED = 500
"""Answers that are on the page at all; the file has all."""
LEAST_COLUMNS, MOST_COLUMNS = 10, 120
"""Of a histogram; fewer answers are bars with their numbers beside them."""
TOPS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
"""What the top of a histogram may stand for."""
COMPARED = {
    "equals": translatable("“%s” is “%s”"),
    "oneOf": translatable("“%s” is one of “%s”"),
    "includes": translatable("“%s” includes “%s”"),
    "atLeast": translatable("“%s” is at least “%s”"),
    "atMost": translatable("“%s” is at most “%s”"),
    "above": translatable("“%s” is above “%s”"),
    "below": translatable("“%s” is below “%s”"),
}
"""Operator of a condition -> how it reads, of a question's title and an answer."""
NOT = translatable("not (%s)")
JOINED = {"and": translatable("and"), "or": translatable("or")}
"""Word of a condition with parts -> how it reads."""
ABOVE, FROM_ON = translatable("more than %s"), translatable("%s or more")
"""An answer and all above it: of a number in bins, and of another number."""
ONE = translatable("“%s”")
EITHER, RANGE = translatable("“%s” or “%s”"), translatable("from “%s” to “%s”")
"""An answer; an ordered one and all behind it, by name: which end is above the other, only a questionnaire's author knows."""
BETWEEN, BEHIND = translatable("%s to %s"), translatable("over %s to %s")
UP_TO = translatable("up to %s")
"""The first bin, another one, which its lower end does not belong to, and one without a lower end."""
MOST_QUOTED = 90
"""Letters of a question that a sentence quotes; of a longer one, the title."""
WORDS = {
    "false": translatable("no"),
    "true": translatable("yes"),
    "": translatable("(no answer)"),
    NOT_APPLICABLE: translatable("(not asked)"),
}
"""What stands for texts that no questionnaire labels."""


@dataclass(frozen=True)
class AnswerShown:
    """One answer: how it reads, its share with its interval, and its share in the synthetic table."""

    label: str
    language: str
    """Of the label; empty where it is one of the page's own words."""
    value: str
    """As it stands in the files, where that is different."""
    is_answer: bool
    """False for a missing one and for people who were not asked."""
    share: float
    low: float | None
    high: float | None
    synthetic: float
    asked: AskedShare | None
    """Its share among those to whom the question applied; None where it was asked of all."""

    @property
    def may_be_half(self) -> bool:
        """Whether nobody can say if more than half of all people, or fewer, gave it."""
        return self.low is not None and self.high is not None and self.low <= 0.5 <= self.high

    @property
    def figure(self) -> tuple[float, float | None, float | None]:
        """What is shown first, with its interval: the share of those asked, which is that of all people where all were."""
        if self.asked is None:
            return self.share, self.low, self.high
        low, high = (None if np.isnan(end) else end for end in (self.asked.low, self.asked.high))
        return self.asked.value, low, high


@dataclass(frozen=True)
class StatisticShown:
    """A mean or a quantile. form: how its figures are printed."""

    name: str
    value: float
    low: float
    high: float
    form: str


@dataclass(frozen=True)
class QuestionShown:
    """A question with what came out."""

    name: str
    title: str
    title_language: str
    text: str
    language: str
    """Of the text."""
    kind: str
    """bars, histogram or list."""
    is_yes_or_no: bool
    condition: str
    """Of whom it was asked; empty: of all."""
    n_reports: int | None
    """How many reports speak of it, of a list of each thing on it at least; None where it is publicly known."""
    most_reports: int | None
    """How many speak of it at most: of the things on a list, each was drawn by lot on its own."""
    answers: tuple[AnswerShown, ...]
    statistics: tuple[StatisticShown, ...]
    is_binned: bool

    @property
    def quoted(self) -> str:
        """As a sentence quotes it."""
        return quoted(self.text, self.title)

    @property
    def most(self) -> float:
        """What the longest bar stands for: the top of the highest interval; of columns, the next round share."""
        figures = (one.figure for one in self.columns)
        highest = (
            max(
                (value if high is None else max(high, value) for value, _, high in figures),
                default=0.0,
            )
            or 1.0
        )
        return (
            next((top for top in TOPS if top >= highest), highest)
            if self.kind == "histogram"
            else highest
        )

    @property
    def shown(self) -> tuple[AnswerShown, ...]:
        """What is seen at once: all; of many answers without an order, the most frequent."""
        if self.kind == "histogram" or len(self.answers) <= MOST_LISTED + 2:
            return self.answers[:MOST_FOLDED]
        return tuple(sorted(self.answers, key=lambda one: -one.share)[:MOST_LISTED])

    @property
    def folded(self) -> tuple[AnswerShown, ...]:
        """The rest, as far as it is on the page."""
        seen = set(map(id, self.shown))
        rest = sorted(
            (one for one in self.answers if id(one) not in seen), key=lambda one: -one.share
        )
        return tuple(rest[: MOST_FOLDED - len(seen)])

    @property
    def n_left_out(self) -> int:
        """Answers that only the file has."""
        return len(self.answers) - len(self.shown) - len(self.folded)

    @property
    def columns(self) -> tuple[AnswerShown, ...]:
        """Those that are answers: of a histogram, its columns."""
        return tuple(one for one in self.answers if one.is_answer)

    @property
    def leading(self) -> AnswerShown | None:
        """The most frequent answer; of yes and no, yes."""
        return (
            self.columns[-1]
            if self.is_yes_or_no
            else max(self.columns, key=lambda one: one.share, default=None)
        )

    @property
    def has_lead(self) -> bool:
        """Whether the interval of the most frequent answer lies above those of all others."""
        first = self.leading
        others = [one for one in self.columns if one is not first]
        return first is not None and all(
            first.low is not None and one.high is not None and first.low > one.high
            for one in others
        )


@dataclass(frozen=True, eq=False)
class Spoken:
    """The questions of a campaign in a reader's language: what they, their answers and their conditions are called."""

    campaign: Campaign
    wording: Wording
    language: str
    """Of the page's own words."""

    def title(self, name: str) -> str:
        """Of an attribute, as a heading or an axis names it; an option of a list by the list and itself."""
        attribute = self.campaign.domain[name]
        if isinstance(attribute, ListOption):
            label = self.wording.label(attribute.of_list, attribute.value)
            return f"{isolated(self.wording.title_of(attribute.of_list))}: {isolated(label)}"
        return self.wording.title_of(attribute)

    def quoted(self, name: str) -> str:
        """An attribute as a sentence quotes it: what people were asked; an option of a list by that and itself."""
        attribute = self.campaign.domain[name]
        asked = attribute.of_list if isinstance(attribute, ListOption) else attribute
        question = quoted(self.wording.question(asked), self.wording.title_of(asked))
        if not isinstance(attribute, ListOption):
            return question
        return f"{isolated(question)}: {isolated(self.wording.label(attribute.of_list, attribute.value))}"

    def titles(self, names: Sequence[str]) -> list[str]:
        """Of some attributes."""
        return [self.title(name) for name in names]

    def short_titles(self, names: Sequence[str]) -> list[str]:
        """Of some attributes, for pictures: an option of a list by itself, without the list, where no other is called so."""
        whole = self.titles(names)
        attributes = [self.campaign.domain[name] for name in names]
        short = [
            self.wording.label(one.of_list, one.value) if isinstance(one, ListOption) else title
            for one, title in zip(attributes, whole, strict=True)
        ]
        return [
            one if short.count(one) == 1 else title for one, title in zip(short, whole, strict=True)
        ]

    def described(self, split: AnswerSplit) -> str:
        """Some answers of an attribute in words, quoted: one of them, or all from one on."""
        if isinstance(split.attribute, Binned) and split.is_upper:
            return self.translated(ABOVE) % split.attribute.edges[split.codes[0]]
        labels = [
            isolated(self.label(split.attribute, text))
            for text in (split.texts[0], split.texts[-1])
        ]
        if not split.is_upper or len(split.codes) == 1:
            return self.translated(ONE) % labels[0]
        if not isinstance(split.attribute, Categorical):
            return self.translated(FROM_ON) % labels[0]
        return self.translated(EITHER if len(split.codes) == 2 else RANGE) % tuple(labels)

    def label(self, asked: Asked, text: str) -> str:
        """How an answer reads. text: of a candidate, or of an option of a list."""
        return self.spoken(asked, text)[0]

    def translated(self, text: str) -> str:
        """One of the page's own texts."""
        return catalogue(self.language).gettext(text)

    def spoken(self, asked: Asked, text: str) -> tuple[str, str]:
        """How an answer reads, and the language of that, which is empty for the page's own words."""
        if isinstance(asked, ListOption) and text not in ("false", "true"):
            asked = asked.of_list
        shown = self.wording.label(asked, text)
        if shown == text and (text in ("", NOT_APPLICABLE) or isinstance(asked, Boolean)):
            return self.translated(WORDS[text]), ""
        if shown == text and isinstance(asked, Binned) and text in asked.answer_texts:
            return self._bin(asked, text), ""
        return shown, self.wording.spoken(shown, self.wording.own.label(asked, text))

    def _bin(self, asked: Binned, text: str) -> str:
        """A range of numbers as people write it."""
        place = asked.answer_texts.index(text)
        low, high = asked.edges[place : place + 2]
        if asked.bounds[place] == -math.inf:
            return self.translated(UP_TO) % high
        if asked.bounds[place + 1] == math.inf:
            return self.translated(ABOVE) % low
        return self.translated(BEHIND if place else BETWEEN) % (low, high)

    def condition(self, condition: Condition) -> str:
        """In words, with titles and labels where the questionnaire has names and values."""
        if isinstance(condition, Not):
            return self.translated(NOT) % self.condition(condition.inner)
        if isinstance(condition, Compound):
            parts = (
                f"({said})" if isinstance(part, Compound) else said
                for part, said in self._parts(condition)
            )
            return f" {self.translated(JOINED[condition.word])} ".join(parts)
        return "; ".join(self._compared(one) for one in condition.comparisons())

    def _parts(self, condition: Compound) -> list[tuple[Condition, str]]:
        return [(part, self.condition(part)) for part in condition.parts]

    def _compared(self, one: Comparison) -> str:
        asked = next(asked for asked in self.campaign.domain.questions if asked.name == one.field)
        answers = [
            self.label(asked, str(value).lower() if isinstance(value, bool) else str(value))
            for value in one.values
        ]
        return self.translated(COMPARED[one.operator]) % (
            isolated(self.wording.title_of(asked)),
            isolated(", ".join(answers)),
        )


@dataclass(frozen=True, eq=False)
class Questionnaire(Spoken):
    """A publication's questions in a reader's language, with what came out."""

    publication: Publication

    @classmethod
    def of(cls, publication: Publication, language: str) -> "Questionnaire":
        """language: of the page's own words; the campaign's texts are in that of the publication."""
        return cls(publication.campaign, publication.wording, language, publication)

    @cached_property
    def questions(self) -> tuple[QuestionShown, ...]:
        """In the order in which they were asked."""
        return tuple(self._shown(asked) for asked in self.campaign.domain.questions)

    @cached_property
    def _marginals(self) -> Mapping[str, JointDistribution]:
        return dict(zip(self.publication.names, self.publication.marginals, strict=True))

    @cached_property
    def _asked(self) -> Mapping[tuple[str, str], AskedShare]:
        return {(one.attribute, one.text): one for one in self.publication.asked_shares}

    def _shown(self, asked: Asked) -> QuestionShown:
        is_list = isinstance(asked, TickList)
        names = (
            [option.name for option in asked.options]
            if isinstance(asked, TickList)
            else [asked.name]
        )
        fits = [self._marginals[name].fit for name in names]
        counted = [fit.n_reports for fit in fits if fit.method != "given"]
        statistics = tuple(
            _statistic(row) for row in self.publication.statistics if row.attribute == asked.name
        )
        drawn = (
            isinstance(asked, Attribute)
            and has_order(asked)
            and LEAST_COLUMNS <= n_answers(asked) <= MOST_COLUMNS
        )
        return QuestionShown(
            name=asked.name,
            title=self.wording.title_of(asked),
            title_language=self.wording.spoken(
                self.wording.title_of(asked), self.wording.own.title_of(asked)
            ),
            text=self.wording.question(asked),
            language=self.wording.spoken(
                self.wording.question(asked), self.wording.own.question(asked)
            ),
            kind="list" if is_list else "histogram" if drawn else "bars",
            is_yes_or_no=isinstance(asked, Boolean),
            condition="" if asked.only_if is None else self.condition(asked.only_if),
            n_reports=min(counted, default=None),
            most_reports=max(counted, default=None),
            answers=tuple(
                self._ticks(asked) if isinstance(asked, TickList) else self._answers(asked)
            ),
            statistics=statistics,
            is_binned=isinstance(asked, Binned),
        )

    def _answers(self, attribute: Attribute) -> list[AnswerShown]:
        marginal = self._marginals[attribute.name]
        synthetic = self.publication.synthetic.counts((attribute.name,)) / len(
            self.publication.synthetic
        )
        rows = zip(marginal.rows(), synthetic.tolist(), strict=True)
        n = n_answers(attribute)
        return [
            self._answer(
                attribute,
                values[0],
                place < n,
                probability,
                error,
                made,
                self._asked.get((attribute.name, values[0])),
            )
            for place, ((values, probability, error), made) in enumerate(rows)
        ]

    def _ticks(self, ticks: TickList) -> list[AnswerShown]:
        """How many ticked each option, and how many did not answer the list, or were not asked."""
        first = ticks.options[0]
        wanted = [(option.name, 1, option.value, True) for option in ticks.options]
        wanted += [(first.name, at, first.texts[at], False) for at in range(2, first.size)]
        found = []
        for name, at, text, is_answer in wanted:
            made = self.publication.synthetic.counts((name,)) / len(self.publication.synthetic)
            (said,), probability, error = self._marginals[name].rows()[at]
            asked = self._asked.get((name, said))
            found.append(
                self._answer(ticks, text, is_answer, probability, error, float(made[at]), asked)
            )
        return found

    def _answer(
        self,
        question: Asked,
        text: str,
        is_answer: bool,
        share: float,
        error: float,
        synthetic: float,
        asked: AskedShare | None,
    ) -> AnswerShown:
        label, language = self.spoken(question, text)
        low, high = (None, None) if np.isnan(error) else interval(share, error)
        value = "" if text == label or (not language and text in WORDS) else text
        return AnswerShown(label, language, value, is_answer, share, low, high, synthetic, asked)


def quoted(question: str, title: str) -> str:
    """A question as a sentence quotes it: its text, or where that is too long, its title.

    >>> quoted("Do you smoke?", "smokes"), quoted("Think of all days. " * 9, "smokes")
    ('Do you smoke?', 'smokes')
    """
    return question if len(question) <= MOST_QUOTED else title


def isolated(text: str) -> str:
    """A text that may be written from right to left, such that it turns nothing around it: marked as an isolate of its own
    direction. Other texts stay as they are.

    >>> isolated("age"), isolated("\u0627")
    ('age', '\u2068\u0627\u2069')
    """
    turns = any(unicodedata.bidirectional(sign) in TURNING for sign in text)
    return f"\u2068{text}\u2069" if turns else text


def _statistic(row: Statistic) -> StatisticShown:
    return StatisticShown(row.name, row.value, row.low, row.high, shown_form(row))
