"""Algorithm 1 as it is written: a loop over reports and candidates, to be timed beside what never makes that table."""

import math
import time

from lopub.campaign.domain import Clique
from lopub.reports.batch import ReportBatch
from lopub.reports.counts import Counts

N_TIMED = 4
"""Reports that the loop is timed on; its time is proportional to their number."""
MOST_CELLS = 100
"""Candidates likewise."""


def loop_seconds(
    data: ReportBatch | Counts, clique: Clique, n_evaluations: int, n_kept: int | None = None
) -> float:
    """What the loop would take for all reports, all candidates and so many steps, from a part of it that is timed. All reports
    cover all attributes. n_kept: candidates that it goes over, where not all."""
    laws = [
        data.campaign.channels(tuple(range(len(data.campaign.domain))))[position].law()
        for position in clique
    ]
    codes = [
        [[int(bit in row) for bit in range(law.n_bits)] for row in law.rows or ()] for law in laws
    ]
    n_cells = math.prod(len(rows) for rows in codes)
    reports = _reports(data, clique)[:N_TIMED]
    start = time.perf_counter()
    likelihoods = [_likelihoods(report, codes, float(laws[0].q)) for report in reports]
    built = time.perf_counter()
    _step(likelihoods)
    stepped = time.perf_counter()
    share = (n_kept or n_cells) / len(likelihoods[0]) * len(data) / len(reports)
    return share * ((built - start) + n_evaluations * (stepped - built))


def counting_seconds(data: ReportBatch | Counts, clique: Clique) -> float:
    """What a loop over reports and bits takes that adds up how often each is set (Algorithm 2, lines 1 to 4), likewise."""
    reports = _reports(data, clique)[:N_TIMED]
    start = time.perf_counter()
    sums = [[0] * len(bits) for bits in reports[0]]
    for report in reports:
        for total, bits in zip(sums, report, strict=True):
            for place, bit in enumerate(bits):
                total[place] += bit
    return (time.perf_counter() - start) * len(data) / len(reports)


def _likelihoods(
    report: list[list[int]], codes: list[list[list[int]]], change: float
) -> list[float]:
    """P(report | candidate) of the first candidates, bit by bit."""
    found = []
    for number in range(min(MOST_CELLS, math.prod(len(rows) for rows in codes))):
        likelihood, rest = 1.0, number
        for bits, rows in zip(report, codes, strict=True):
            rest, value = divmod(rest, len(rows))
            for bit, code in zip(bits, rows[value], strict=True):
                likelihood *= 1 - change if bit == code else change
        found.append(likelihood)
    return found


def _step(likelihoods: list[list[float]]) -> list[float]:
    """One EM step from uniform: posteriors report by report, then their mean."""
    n_cells = len(likelihoods[0])
    joint, following = [1 / n_cells] * n_cells, [0.0] * n_cells
    for likelihood in likelihoods:
        total = sum(p * value for p, value in zip(joint, likelihood, strict=True)) or 1.0
        for cell, value in enumerate(likelihood):
            following[cell] += joint[cell] * value / total / len(likelihoods)
    return following


def _reports(data: ReportBatch | Counts, clique: Clique) -> list[list[list[int]]]:
    """The first reports: of each attribute its bits."""
    if isinstance(data, Counts):
        raise TypeError("a loop over reports needs reports")
    columns = [data.block_bits(0, position) for position in clique]
    return [[column[row].tolist() for column in columns] for row in range(min(N_TIMED, len(data)))]
