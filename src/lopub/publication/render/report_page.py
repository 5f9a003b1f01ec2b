"""report.html: the publication for people. One file, no network; every number is also in a file beside it.

Here is what the page shows, as plain values; how it looks, and what it says, is in templates/report.html.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lopub.bulk.view_laws import view_law
from lopub.campaign.domain import Pair
from lopub.pages import plots
from lopub.pages.templating import page_language, rendered
from lopub.pages.translation import catalogue, translatable
from lopub.pages.wording import Wording
from lopub.publication.findings import FALSE_STATEMENTS
from lopub.publication.render import front
from lopub.publication.render.questions import AnswerShown, Questionnaire, QuestionShown, isolated
from lopub.publication.render.rounds import ROUNDS, RoundsPage, TrendShown
from lopub.publication.render.together import Company, FindingShown, company_of, finding_shown
from lopub.publication.render.wording import publication_days
from lopub.publication.stages import Publication
from lopub.publication.summary import (
    Concerns,
    concerns_of,
    independent_pairs,
    summary,
    why_without_strength,
)

TEMPLATES = Path(__file__).parent / "templates"
N_SAMPLED = 20
"""Synthetic records that are shown."""
N_LISTED = 30
"""Dependences, edges or cliques that a list names before it points to the file."""
N_UNRELATED = 300
"""Unrelated pairs that are named before that."""
N_FIRST = 5
"""Findings, and frequent answers, that stand at the top."""
MOST_ALL = 20
"""Questions of which pictures show all; of more, those that go with another."""
MOST_QUESTIONS = 200
"""Questions that are on the page; the file has all."""
FITTING = 0.9
"""Share of counts within two standard deviations from which the model is said to fit."""
SMALL_MISFIT = 1e-4
"""AVD between a clique's pairs and the estimated ones that nobody need care about."""

FILES = (
    ("data/synthetic.csv", translatable("the synthetic table")),
    ("data/synthetic.parquet", translatable("the same, typed, for programs")),
    ("estimates/marginals.csv", translatable("the share of every answer, with its interval")),
    (
        "estimates/pairs.csv",
        translatable("the share of every pair of answers, with its standard error"),
    ),
    (
        "estimates/findings.csv",
        translatable("the dependences with their contrasts, and which of them are stated"),
    ),
    (
        "estimates/dependence.csv",
        translatable("how strongly each two questions depend on each other"),
    ),
    ("estimates/numbers.csv", translatable("means and quantiles")),
    ("estimates/model.json", translatable("the model: cliques and junction tree")),
    ("estimates/fit.csv", translatable("observed and predicted counts of noisy answers")),
    ("estimates/summary.json", translatable("the figures of this page")),
    ("campaign.json", translatable("the questionnaire and its privacy, as devices had them")),
    ("MODEL_CARD.md", translatable("a description for people who build on the table")),
    ("datapackage.json", translatable("a description for programs")),
    ("croissant.json", translatable("another one, for machine learning")),
    ("metadata.sdv.json", translatable("another one, for tools that compare synthetic tables")),
    ("dp-deployment.yaml", translatable("the entry for a registry of deployments")),
    ("manifest.json", translatable("versions, settings, and the SHA-256 of every file")),
)
"""What lies beside the page."""
ROUNDS_FILES = (
    (f"{ROUNDS}/report.html", translatable("all rounds of the collection side by side")),
    (f"{ROUNDS}/levels.csv", translatable("the share of every answer in every round")),
    (f"{ROUNDS}/changes.csv", translatable("the changes from round to round")),
)
COUNTS_FILE = (
    "estimates/counts.parquet",
    translatable("the counts of the reports, for questions that come later"),
)

FIT_LABELS = (translatable("predicted by the model"), translatable("observed in the reports"))
HEAT = translatable(
    "Heat map of the mutual information of dependent questions; the numbers are in estimates/dependence.csv"
)
NETWORK = translatable(
    "Network of dependent questions; they are listed above and in estimates/dependence.csv"
)
FIT = translatable("Observed against predicted counts; the numbers are in estimates/fit.csv")
FATES = (
    translatable("kept"),
    translatable("kept, and stated above"),
    translatable("left out by the cell cap"),
    translatable("publicly known"),
    translatable("by the questionnaire"),
    translatable("assumed"),
)


def report_html(publication: Publication) -> bytes:
    """The publication's page, in the language that was asked for: the questionnaire's texts and the page's own words, each as far
    as there are any, else in the campaign's language and in English."""
    language = page_language(
        [publication.settings.language] if publication.settings.language else []
    )
    return rendered("report.html", TEMPLATES, language, page=ReportPage(publication, language))


@dataclass(frozen=True)
class TreeNode:
    """A clique, and those below it."""

    title: str
    children: list["TreeNode"] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class ReportPage:
    """What the page is made of."""

    publication: Publication
    language: str
    """Of its own words."""

    @cached_property
    def asked(self) -> Questionnaire:
        """The questionnaire in the reader's language."""
        return Questionnaire.of(self.publication, self.language)

    def _say(self, text: str) -> str:
        """One of the page's own texts in its language."""
        return catalogue(self.language).gettext(text)

    @property
    def wording(self) -> Wording:
        """The campaign's texts."""
        return self.asked.wording

    @cached_property
    def figures(self) -> dict[str, Any]:
        """All headline numbers."""
        return summary(self.publication)

    @cached_property
    def concerns(self) -> Concerns:
        """What a reader must know before anything else."""
        return concerns_of(self.publication)

    @property
    def days(self) -> str:
        """When reports were made; empty where that is not known."""
        first, last = publication_days(self.publication)
        if first is None or last is None:
            return ""
        return str(first) if first == last else f"{first} – {last}"

    # ---- privacy

    @property
    def factor_digits(self) -> str:
        """e^epsilon, rounded up to four digits, as everything that is told of a guarantee; empty where it is a power of ten."""
        value = self.figures["privacy"]["odds_factor"]
        if value is None:
            return ""
        unit = 10.0 ** (math.floor(math.log10(value)) - 3)
        rounded = math.ceil(value / unit) * unit
        return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:.4g}"

    @property
    def certainty_digits(self) -> str:
        """In per cent, rounded up, with as many digits as it takes not to say 100."""
        value = 100 * self.figures["privacy"]["certainty_from_half"]
        ups = ((digits, math.ceil(value * 10**digits) / 10**digits) for digits in range(1, 13))
        digits, shown = next((found for found in ups if found[1] < 100), (15, value))
        return f"{shown:.{digits}f}"

    # ---- rounds

    @property
    def rounds_link(self) -> str:
        """The page of all rounds; empty where there is none."""
        return f"{ROUNDS}/report.html" if self.publication.rounds is not None else ""

    @property
    def trends(self) -> list[tuple[str, TrendShown]]:
        """Of the first questions: the title, and the most frequent answer over the rounds."""
        if (rounds := self.publication.rounds) is None:
            return []
        shown = RoundsPage(rounds, self.wording, self.language).questions[:N_FIRST]
        return [(one.title, max(one.trends, key=lambda trend: trend.last.share)) for one in shown]

    # ---- the top

    @property
    def first_findings(self) -> list[FindingShown]:
        """The surest."""
        return self.findings[:N_FIRST]

    @cached_property
    def printed(self) -> tuple[int, int]:
        """How many findings and frequent answers of the top have room on the first printed page."""
        concerns, told = (
            self.concerns,
            front.lines(len(self.wording.title) + len(self.wording.description)),
        )
        flags = (
            concerns.weak_epsilon,
            concerns.is_noise,
            concerns.is_independent,
            concerns.odd_coverage,
            concerns.drift,
        )
        warned = sum(map(bool, flags)) + len(concerns.alarms) + self.publication.origin.is_simulated
        findings = [front.lines_of_finding(one) for one in self.first_findings]
        leading = [front.lines_of_leading(question, answer) for question, answer in self.leading]
        return front.printed(findings, leading, front.ROOM - told - front.WARNING * warned)

    # ---- what people answered

    @property
    def questions(self) -> tuple[QuestionShown, ...]:
        """Those that are on the page."""
        return self.asked.questions[:MOST_QUESTIONS]

    @property
    def is_drawn_by_lot(self) -> bool:
        """Whether some reports do not speak of every question."""
        return any(
            (question.n_reports or 0) < self.publication.n_reports for question in self.questions
        )

    @property
    def covers_three(self) -> bool:
        """Whether some reports speak of three things at once."""
        campaign = self.publication.campaign
        return any(
            len(view) >= 3
            for view, _ in view_law(campaign.view).typical_views(campaign.domain.sizes)
        )

    @property
    def has_short_names(self) -> bool:
        """Whether pictures name some questions otherwise than their headings do."""
        return any(question.text != question.title for question in self.questions)

    @property
    def n_left_out(self) -> int:
        """Questions that only the file has."""
        return len(self.asked.questions) - len(self.questions)

    @property
    def leading(self) -> list[tuple[QuestionShown, AnswerShown]]:
        """The most frequent answers to the first questions."""
        asked_of_all = (
            question
            for question in self.questions
            if not question.statistics and not question.condition
        )
        found = [(question, question.leading) for question in asked_of_all]
        return [(question, answer) for question, answer in found if answer is not None][:N_FIRST]

    # ---- dependence

    @cached_property
    def findings(self) -> list[FindingShown]:
        """All that are stated, surest first."""
        return [finding_shown(self.asked, one) for one in self.publication.findings.stated]

    @cached_property
    def unsure(self) -> list[FindingShown]:
        """Dependences that the model has and that are not sure enough to be stated."""
        return [
            finding_shown(self.asked, one)
            for one in self.publication.findings.every
            if not one.is_stated
        ]

    @cached_property
    def company(self) -> dict[str, Company]:
        """Of every question that was found to go together with another: with which."""
        return company_of(self.asked, self.publication.findings.every)

    @property
    def has_lists(self) -> bool:
        """Whether things on a list count as questions where pairs are counted."""
        return len(self.publication.names) > len(self.asked.questions)

    @property
    def fits(self) -> bool:
        """Whether about as many counts are as predicted as should be."""
        return bool(self.figures["fit"]["share_within_two_deviations"] >= FITTING)

    @property
    def false_share(self) -> float:
        """Bound on the share of findings that are chance."""
        return FALSE_STATEMENTS

    @cached_property
    def _drawn(self) -> list[int]:
        """The attributes in pictures, in the questionnaire's order: all, or of many those of the strongest dependences."""
        graph, names = self.publication.graph, self.publication.names
        shown = set(range(len(names))) if len(names) <= MOST_ALL else set[int]()
        for edge in graph.edges:
            shown |= (
                set(edge)
                if edge in graph.strengths and len(shown) + 2 <= plots.MOST_LABELS
                else set()
            )
        return sorted(
            shown, key=lambda place: self.publication.campaign.domain.position(names[place])
        )

    @property
    def n_not_drawn(self) -> int:
        """Attributes that pictures leave out."""
        return len(self.publication.names) - len(self._drawn)

    @cached_property
    def heat(self) -> str:
        """Mutual information of dependent attributes; empty where there are none."""
        publication = self.publication
        place = {position: at for at, position in enumerate(self._drawn)}
        values = np.full((len(place), len(place)), np.nan)
        for a, b in publication.graph.edges:
            if {(a, b)} <= publication.pairs.keys() & publication.graph.strengths.keys() and {
                a,
                b,
            } <= place.keys():
                values[place[a], place[b]] = values[place[b], place[a]] = publication.pairs[
                    a, b
                ].mutual_information()
        if np.isnan(values).all():
            return ""
        labels = self.asked.short_titles([publication.names[position] for position in self._drawn])
        return plots.heat_map(
            values, labels, name="heat", description=self._say(HEAT), scale="nats"
        )

    @cached_property
    def network(self) -> str:
        """The dependences that the model keeps, drawn; those that are stated in full."""
        publication = self.publication
        found = {
            edge: gain
            for edge, gain in publication.dependences.items()
            if edge in publication.graph.strengths
        }
        joined = [position for position in self._drawn if any(position in edge for edge in found)]
        place = {position: at for at, position in enumerate(joined)}
        kept = {
            (place[a], place[b]): gain for (a, b), gain in found.items() if {a, b} <= place.keys()
        }
        if not kept:
            return ""
        stated = {frozenset(one.names) for one in publication.findings.stated}
        faint = {
            (place[a], place[b])
            for a, b in publication.graph.edges
            if (a, b) in publication.graph.strengths
            and {a, b} <= place.keys()
            and frozenset((publication.names[a], publication.names[b])) not in stated
        }
        labels = self.asked.short_titles([publication.names[position] for position in joined])
        unsure = faint if publication.findings.least is not None else set()
        return plots.graph(labels, kept, faint=unsure, name="graph", description=self._say(NETWORK))

    # ---- how it was made

    @property
    def is_passed_over(self) -> bool:
        """Whether a dependence is not stated that has more nats than one that is."""
        strengths, names = self.publication.graph.strengths, self.publication.names
        stated = {frozenset(one.names) for one in self.publication.findings.stated}
        edges = [edge for edge in self.publication.graph.edges if edge in strengths]
        is_stated = [frozenset(names[position] for position in edge) in stated for edge in edges]
        found = list(zip(edges, is_stated, strict=True))
        least = min((strengths[edge] for edge, own in found if own), default=math.inf)
        return any(strengths[edge] > least for edge, own in found if not own)

    @property
    def edges(self) -> Iterator[tuple[str, str, float | None, str]]:
        """The strongest dependences of the model: titles, strength, what became of them."""
        publication = self.publication
        for edge in publication.graph.edges[:N_LISTED]:
            first, second = self.asked.titles([publication.names[position] for position in edge])
            yield first, second, publication.graph.strengths.get(edge), self._fate(edge)

    def _fate(self, edge: Pair) -> str:
        """What became of it, or why it is there without having been looked for."""
        if edge in self.publication.dropped:
            return "left out by the cell cap"
        if edge not in self.publication.graph.strengths:
            return why_without_strength(self.publication, edge)
        names = {self.publication.names[position] for position in edge}
        is_stated = any(names == set(one.names) for one in self.publication.findings.stated)
        return "kept, and stated above" if is_stated else "kept"

    @property
    def cliques(self) -> Iterator[tuple[str, str, int, float]]:
        """The first cliques: titles, those shared with the parent, cells, misfit."""
        model, names = self.publication.model, self.publication.names
        rows = zip(
            model.tree.cliques, model.tree.separators, model.joints, model.misfits, strict=True
        )
        for clique, separator, joint, misfit in list(rows)[:N_LISTED]:
            own, shared = (
                ", ".join(map(isolated, self.asked.titles([names[p] for p in part])))
                for part in (clique, separator)
            )
            yield own, shared, int(joint.size), misfit

    @cached_property
    def tree(self) -> list[TreeNode]:
        """The junction tree, where it is small enough to be read: the cliques without a parent."""
        tree, names = self.publication.model.tree, self.publication.names
        if len(tree.cliques) > plots.MOST_NODES:
            return []
        nodes = [
            TreeNode(", ".join(map(isolated, self.asked.titles([names[p] for p in clique]))))
            for clique in tree.cliques
        ]
        for node, parent in zip(nodes, tree.parents, strict=True):
            if parent is not None:
                nodes[parent].children.append(node)
        return [node for node, parent in zip(nodes, tree.parents, strict=True) if parent is None]

    @cached_property
    def fit(self) -> str:
        """Observed against predicted counts."""
        if not self.publication.fit:
            return ""
        predicted = np.array([row.predicted for row in self.publication.fit])
        observed = np.array([float(row.observed) for row in self.publication.fit])
        x_label, y_label = map(self._say, FIT_LABELS)
        description = self._say(FIT)
        return plots.scatter(
            predicted,
            observed,
            x_label=x_label,
            y_label=y_label,
            name="fit",
            description=description,
        )

    @property
    def misfit(self) -> float | None:
        """The largest misfit, where anybody need care about it."""
        found: float = self.figures["dependence"]["largest_misfit"]
        return found if found >= SMALL_MISFIT else None

    @property
    def independent(self) -> list[str]:
        """Pairs for which independence would have done as well."""
        return [
            " – ".join(map(isolated, self.asked.titles(pair)))
            for pair in independent_pairs(self.publication)[:N_UNRELATED]
        ]

    @property
    def record_columns(self) -> list[tuple[str, str]]:
        """The head of the table of records."""
        return [("", ""), *((name, "") for name in self.publication.campaign.domain.names)]

    @property
    def records(self) -> Iterator[list[str]]:
        """The first synthetic records, as values of the table."""
        attributes = self.publication.campaign.domain.attributes
        for record in self.publication.synthetic.codes[:N_SAMPLED].tolist():
            yield [
                attribute.texts[code] for attribute, code in zip(attributes, record, strict=True)
            ]

    @property
    def files(self) -> list[tuple[str, str]]:
        """The files beside the page, and what is in each."""
        rounds = ROUNDS_FILES if self.publication.rounds is not None else ()
        return [*FILES, *rounds, *([COUNTS_FILE] if self.publication.counts is not None else [])]
