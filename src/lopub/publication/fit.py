"""How well the model explains the received reports: predicted against observed counts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from lopub.bulk import ANSWERS, ATTRIBUTE_BITS, VIEW_BITS, bulk_of
from lopub.bulk.codes import code_matrix
from lopub.campaign.domain import Clique
from lopub.campaign.mechanisms import Law
from lopub.estimation.joint import Probabilities
from lopub.estimation.moments import law_of
from lopub.reports.counts import Counts, Integers, form_of
from lopub.reports.dataset import Dataset

MOST_VIEWS = 300


@dataclass(frozen=True)
class FitRow:
    """One count of what reports said, and what reports of the synthetic people would say on average."""

    attributes: tuple[str, ...]
    said: str
    """The noisy answer, or which bit is set."""
    observed: int
    predicted: float
    spread: float
    """Standard deviation of the observed count if the prediction is right."""

    @property
    def deviation(self) -> float:
        """In standard deviations."""
        return (self.observed - self.predicted) / self.spread if self.spread > 0 else 0.0


def fit_rows(counts: Counts, crowd: Dataset, pairs: Sequence[tuple[str, str]]) -> list[FitRow]:
    """Of every attribute, and of pairs where reports say pairs. crowd: many records of the model, with the campaign's columns.
    pairs: of names. Jointly randomized bits are compared view by view."""
    places = sorted(tuple(sorted(counts.campaign.domain.positions(names))) for names in pairs)
    return list(ROWS[form_of(counts.campaign).name](counts, crowd, places))


def _every_answer(counts: Counts, crowd: Dataset, pairs: Sequence[Clique]) -> Iterator[FitRow]:
    for clique in [*((position,) for position in range(len(counts.campaign.domain))), *pairs]:
        yield from _answers(counts, crowd, clique)


def _every_view(counts: Counts, crowd: Dataset, pairs: Sequence[Clique]) -> Iterator[FitRow]:
    for view in sorted(clique for clique, _ in counts.tables)[:MOST_VIEWS]:
        yield from _view_bits(counts, crowd, view)


def _every_bit(counts: Counts, crowd: Dataset, pairs: Sequence[Clique]) -> Iterator[FitRow]:
    for position in range(len(counts.campaign.domain)):
        yield from _bits(counts, crowd, position)


ROWS = {ANSWERS: _every_answer, VIEW_BITS: _every_view, ATTRIBUTE_BITS: _every_bit}
"""By the form in which reports are counted."""


def _answers(counts: Counts, synthetic: Dataset, clique: Clique) -> Iterator[FitRow]:
    """`direct`: how often each answer, or pair of answers, was said."""
    joint = _frequencies(synthetic, clique)
    observed, predicted, variance = (
        np.zeros(joint.shape, dtype=np.int64),
        np.zeros(joint.shape),
        np.zeros(joint.shape),
    )
    for noise in counts.noises(clique):
        table = counts.tables[clique, noise]
        chance = joint
        for axis, position in enumerate(clique if not counts.campaign.jointly else clique[:1]):
            keep = bulk_of(counts.campaign.mechanism).keep(counts.campaign, position, noise)
            spread = (
                chance.mean(axis=axis, keepdims=True)
                if not counts.campaign.jointly
                else 1 / joint.size
            )
            chance = keep * chance + (1 - keep) * spread
        observed += table.counts.sum(axis=0)
        predicted += table.n_reports * chance
        variance += table.n_reports * chance * (1 - chance)
    names = tuple(synthetic.domain.names[position] for position in clique)
    texts = [
        [text or "(missing)" for text in synthetic.domain.attributes[position].texts]
        for position in clique
    ]
    figures = (table.reshape(-1).tolist() for table in (observed, predicted, np.sqrt(variance)))
    for said, *row in zip(product(*texts), *figures, strict=True):
        yield FitRow(names, ", ".join(said), *row)


def _bits(counts: Counts, synthetic: Dataset, position: int) -> Iterator[FitRow]:
    """How often each bit of a separately randomized attribute was set, for each size of view."""
    for noise in counts.noises((position,)):
        table = counts.tables[(position,), noise]
        law, _ = law_of(counts.campaign, position, noise)
        name = synthetic.domain.names[position]
        yield from _rows(
            (name,), table.counts, table.n_reports, law, _frequencies(synthetic, (position,))
        )


def _view_bits(counts: Counts, synthetic: Dataset, view: Clique) -> Iterator[FitRow]:
    """How often each bit of a jointly randomized view was set."""
    table = counts.tables[view, 0]
    law = counts.campaign.channels(view)[0].law()
    names = tuple(synthetic.domain.names[position] for position in view)
    ones = form_of(counts.campaign).ones(table)
    yield from _rows(names, ones, table.n_reports, law, _frequencies(synthetic, view).reshape(-1))


def _rows(
    names: tuple[str, ...], ones: Integers, n_reports: int, law: Law, frequencies: Probabilities
) -> Iterator[FitRow]:
    """E[bits] = q + (p - q) C' P."""
    chance = float(law.q) + float(law.p - law.q) * (frequencies @ code_matrix(law))
    spread = np.sqrt(n_reports * chance * (1 - chance))
    for bit in range(len(ones)):
        yield FitRow(
            names, f"bit {bit}", int(ones[bit]), float(n_reports * chance[bit]), float(spread[bit])
        )


def _frequencies(synthetic: Dataset, clique: Clique) -> Probabilities:
    return synthetic.counts([synthetic.domain.names[position] for position in clique]) / len(
        synthetic
    )
