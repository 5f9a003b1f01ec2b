"""JunctionTree + clique joints -> Dataset (Algorithm 6)."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from lopub.campaign.domain import Clique, Domain
from lopub.errors import DomainError
from lopub.estimation.joint import SUM_TOLERANCE, Probabilities
from lopub.reports.dataset import Codes, Dataset
from lopub.synthesis.acceptance import Acceptance
from lopub.synthesis.junction import JunctionTree

BLOCK = 2**16
"""Records that are drawn at once."""

Cells = NDArray[np.unsignedinteger]
Drawn = Iterator[tuple[slice | NDArray[np.unsignedinteger], NDArray[np.int64]]]
"""Rows, and the cells of what their separators do not settle."""
REDRAWN, FEWEST_REDRAWN = 100, 64
"""How often records that are not kept are drawn anew, and how many more than are needed, at least."""


def synthesize(
    tree: JunctionTree,
    joints: Sequence[Probabilities],
    domain: Domain,
    n_rows: int,
    rng: np.random.Generator,
    *,
    stratified: bool = False,
    columns: Domain | None = None,
) -> Dataset:
    """Synthetic records: of each clique, in the tree's order, what its separator does not settle, given the separator.

    joints: of each clique, one axis an attribute; sums to one. A separator value that the joint holds impossible, as
    happens where joints contradict each other, is followed by the joint's marginal. The paper takes the cliques in random
    order; by running intersection the distribution is the same.
    stratified: spread the records evenly over the cells instead of drawing each on its own, so that the counts of a
    clique, given its separator, are within one of those expected. The rows are in random order either way.
    columns: the same attributes in the order that the table has them in; the domain's unless given.
    Records are drawn in blocks: besides the table itself, a clique takes about sixteen bytes for each.
    """
    _check(tree, joints, domain, n_rows)

    columns = columns or domain

    def draw_more(n: int) -> Codes:
        return _drawn(tree, joints, domain, columns, n, rng, _independent)

    codes = _drawn(
        tree, joints, domain, columns, n_rows, rng, _stratified if stratified else _independent
    )
    if domain.has_rules:
        _redraw(
            codes, Acceptance.of(tree, joints, domain, columns, draw_more, n_rows), draw_more, rng
        )
    return Dataset(columns, codes)


Draw = Callable[[Probabilities, Cells, np.random.Generator], Drawn]


def _drawn(
    tree: JunctionTree,
    joints: Sequence[Probabilities],
    domain: Domain,
    columns: Domain,
    n_rows: int,
    rng: np.random.Generator,
    draw: Draw,
) -> Codes:
    """Records with these columns, clique by clique."""
    place = columns.positions(domain.names)
    codes = np.empty((n_rows, len(domain)), dtype=np.uint16, order="F")
    for clique, separator, joint in zip(tree.cliques, tree.separators, joints, strict=True):
        rest = tuple(position for position in clique if position not in separator)
        shape = tuple(domain.sizes[position] for position in rest)
        given = _cells(codes, [(place[position], domain.sizes[position]) for position in separator])
        for rows, drawn in draw(_steps(joint, clique, separator), given, rng):
            for position, column in zip(rest, np.unravel_index(drawn, shape), strict=True):
                codes[rows, place[position]] = column
    return codes


def _redraw(
    codes: Codes, acceptance: Acceptance, draw: Callable[[int], Codes], rng: np.random.Generator
) -> None:
    """Replace records that are not kept, in place, by others of the same model."""
    wrong = np.flatnonzero(~acceptance.keeps(codes, rng))
    good = np.setdiff1d(np.arange(len(codes)), wrong, assume_unique=True)
    for _ in range(REDRAWN):
        if not len(wrong):
            return
        fresh = draw(min(len(codes), 2 * len(wrong)) + FEWEST_REDRAWN)
        fresh = fresh[acceptance.keeps(fresh, rng)][: len(wrong)]
        codes[wrong[: len(fresh)]] = fresh
        good, wrong = np.concatenate([good, wrong[: len(fresh)]]), wrong[len(fresh) :]
    if not len(good):
        raise DomainError(
            "no synthetic record agrees with the questionnaire; are its conditions and lists as they should be?"
        )
    codes[wrong] = codes[rng.choice(good, len(wrong))]


def _check(
    tree: JunctionTree, joints: Sequence[Probabilities], domain: Domain, n_rows: int
) -> None:
    if n_rows < 1:
        raise DomainError(f"rows must be at least 1, got {n_rows}")
    positions = {position for clique in tree.cliques for position in clique}
    if positions != set(range(len(domain))):
        raise DomainError(
            f"the junction tree must cover the domain's {len(domain)} attributes and no other"
        )
    if len(joints) != len(tree.cliques):
        raise DomainError(f"joints must be one a clique, {len(tree.cliques)}, got {len(joints)}")
    for place, (clique, joint) in enumerate(zip(tree.cliques, joints, strict=True)):
        shape = tuple(domain.sizes[position] for position in clique)
        if joint.shape != shape:
            raise DomainError(f"joint {place} must have shape {shape}, got {joint.shape}")
        total = float(joint.sum())
        if not abs(total - 1) <= SUM_TOLERANCE or joint.min() < 0:
            raise DomainError(
                f"joint {place} must not be negative and sum to 1, got a sum of {total:.6g}"
            )


def _cells(codes: Codes, columns: Sequence[tuple[int, int]]) -> Cells:
    """The cell of every record in the product of these columns, in as few bytes as that takes; 0 where there are none.
    columns: (place, size)."""
    cells = np.zeros(len(codes), dtype=np.min_scalar_type(math.prod(size for _, size in columns)))
    for place, size in columns:
        cells *= cells.dtype.type(size)
        cells += codes[:, place].astype(cells.dtype)
    return cells


def _steps(joint: Probabilities, clique: Clique, separator: Clique) -> Probabilities:
    """P(rest given separator), summed up along the rest. Shape (separator cells, rest cells); each row ends at exactly 1."""
    kept = [axis for axis, position in enumerate(clique) if position in separator]
    others = [axis for axis, position in enumerate(clique) if position not in separator]
    n_given = int(np.prod([joint.shape[axis] for axis in kept], dtype=np.int64))
    table = np.transpose(joint, kept + others).reshape(n_given, -1)
    impossible = table.sum(axis=1) <= 0
    if impossible.any():
        table = np.where(impossible[:, None], table.sum(axis=0), table)
    steps = np.cumsum(table, axis=1)
    steps /= steps[:, -1:].copy()
    return steps


def _independent(steps: Probabilities, given: Cells, rng: np.random.Generator) -> Drawn:
    """A cell of the rest for every record, each by a number of its own."""
    for start in range(0, len(given), BLOCK):
        rows = slice(start, start + BLOCK)
        groups = given[rows].astype(np.int64)
        yield rows, _inverted(steps, groups, rng.random(len(groups)))


def _stratified(steps: Probabilities, given: Cells, rng: np.random.Generator) -> Drawn:
    """A cell of the rest for every record: systematic sampling among records that share a separator value.

    They take the places of a grid with a random start, in random order.
    """
    by_group = rng.permutation(np.arange(len(given), dtype=np.min_scalar_type(len(given))))
    by_group = by_group[np.argsort(given[by_group], kind="stable")]
    sizes = np.bincount(given, minlength=len(steps))
    ends, offsets = np.cumsum(sizes), rng.random(len(steps))
    for start in range(0, len(given), BLOCK):
        places = np.arange(start, min(start + BLOCK, len(given)))
        groups = np.searchsorted(ends, places, side="right")
        ranks = places - (ends - sizes)[groups]
        levels = (ranks + offsets[groups]) / sizes[groups]
        yield by_group[start : start + BLOCK], _inverted(steps, groups, levels)


def _inverted(
    steps: Probabilities, given: NDArray[np.int64], levels: Probabilities
) -> NDArray[np.int64]:
    """The cell of the rest at each level of [0, 1) of its row's steps; never one of probability zero.

    All rows stand one behind the other, row i from i to i + 1, so that one sorted search serves all of them.
    """
    n_rows, n_cells = steps.shape
    line = (steps + np.arange(n_rows)[:, None]).reshape(-1)
    ends = np.nextafter(
        np.arange(1, n_rows + 1, dtype=np.float64), 0
    )  # a sum must not round up into the next row
    places = given + levels
    found: NDArray[np.int64] = np.searchsorted(
        line, np.minimum(places, ends[given], out=places), side="right"
    )
    found -= given * n_cells
    return found
