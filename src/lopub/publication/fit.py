"""How well the model explains the received reports: predicted against observed counts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lopub.batch import keep_of
from lopub.counts import Counts, Integers, is_bits
from lopub.dataset import Dataset
from lopub.estimation.moments import code_matrix, law_of
from lopub.joint import Probabilities
from lopub.mechanism import Law
from lopub.view import View

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


def fit_rows(counts: Counts, crowd: Dataset, pairs: Sequence[View]) -> list[FitRow]:
    """Of every attribute, and of pairs where reports say pairs. crowd: many records of the model. pairs: positions in the
    campaign's domain. Jointly randomized bits are compared view by view."""
    d = len(counts.campaign.domain)
    if not is_bits(counts.campaign):
        parts = [*((position,) for position in range(d)), *pairs]
        return [row for part in parts for row in _answers(counts, crowd, part)]
    if counts.campaign.jointly:
        views = sorted(part for part, _ in counts.tables)[:MOST_VIEWS]
        return [row for view in views for row in _view_bits(counts, crowd, view)]
    return [row for position in range(d) for row in _bits(counts, crowd, position)]


def _answers(counts: Counts, synthetic: Dataset, part: View) -> Iterator[FitRow]:
    """`direct`: how often each answer, or pair of answers, was said."""
    joint = _frequencies(synthetic, part)
    observed, predicted, variance = np.zeros(joint.shape, dtype=np.int64), np.zeros(joint.shape), np.zeros(joint.shape)
    for noise in counts.noises(part):
        table = counts.tables[part, noise]
        chance = joint
        for axis, position in enumerate(part if not counts.campaign.jointly else part[:1]):
            keep = keep_of(counts.campaign, position, noise)
            spread = chance.mean(axis=axis, keepdims=True) if not counts.campaign.jointly else 1 / joint.size
            chance = keep * chance + (1 - keep) * spread
        observed += table.counts.sum(axis=0)
        predicted += table.n_reports * chance
        variance += table.n_reports * chance * (1 - chance)
    names = tuple(synthetic.domain.names[position] for position in part)
    texts = [synthetic.domain.attributes[position].texts for position in part]
    for cell in np.ndindex(*joint.shape):
        said = ", ".join(texts[axis][code] or "(missing)" for axis, code in enumerate(cell))
        yield FitRow(names, said, int(observed[cell]), float(predicted[cell]), float(np.sqrt(variance[cell])))


def _bits(counts: Counts, synthetic: Dataset, position: int) -> Iterator[FitRow]:
    """How often each bit of a separately randomized attribute was set, for each size of view."""
    for noise in counts.noises((position,)):
        table = counts.tables[(position,), noise]
        law, _ = law_of(counts.campaign, position, noise)
        name = synthetic.domain.names[position]
        yield from _rows((name,), table.counts, table.n_reports, law, _frequencies(synthetic, (position,)))


def _view_bits(counts: Counts, synthetic: Dataset, view: View) -> Iterator[FitRow]:
    """How often each bit of a jointly randomized view was set."""
    table = counts.tables[view, 0]
    law = counts.campaign.channels(view)[0].law()
    names = tuple(synthetic.domain.names[position] for position in view)
    yield from _rows(names, table.counts, table.n_reports, law, _frequencies(synthetic, view).reshape(-1))


def _rows(names: tuple[str, ...], ones: Integers, n_reports: int, law: Law, frequencies: Probabilities) -> Iterator[FitRow]:
    """E[bits] = q + (p - q) C' P."""
    chance = float(law.q) + float(law.p - law.q) * (frequencies @ code_matrix(law))
    spread = np.sqrt(n_reports * chance * (1 - chance))
    for bit in range(len(ones)):
        yield FitRow(names, f"bit {bit}", int(ones[bit]), float(n_reports * chance[bit]), float(spread[bit]))


def _frequencies(synthetic: Dataset, part: View) -> Probabilities:
    return synthetic.counts([synthetic.domain.names[position] for position in part]) / len(synthetic)
