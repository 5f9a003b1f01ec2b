"""JointDistribution: probabilities with named axes, and what can be read off them."""

import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lopub.campaign.attribute import few
from lopub.campaign.domain import Attribute, Binned, Domain, Value
from lopub.campaign.texts import html_table, one_line
from lopub.errors import DomainError, StoreError
from lopub.files import write_whole
from lopub.reports.showing import MOST_SHOWN, Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Probabilities = NDArray[np.float64]

SUM_TOLERANCE = 1e-6
"""How far a joint's sum may be from one at the door; it is then made exact."""
NOTHING = 1e-300
"""A sum of probabilities below this is taken as zero: dividing by it would overflow."""
INTERVAL = 1.959963984540054
"""Standard errors on each side of a 95 % interval."""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """How an estimate came about."""

    method: str
    n_reports: int = 0
    """Reports that say something about the clique, each counted once."""
    converged: bool = True
    n_evaluations: int = 0
    """Of the EM map, those of a line search included."""
    trace: tuple[float, ...] = ()
    """The objective after each step: log-likelihood, up to a constant, plus the prior's part where there is one."""
    gain: float | None = None
    """Held-out log-likelihood over the product of marginals, in nats, where it was measured."""
    strength: float | None = None
    """Pseudo-counts as a share of the reports; infinite where the product was taken."""
    identified: bool = True
    """Whether some report covers the whole clique; otherwise this is the maximum-entropy joint of the covered parts."""


Wanted = Value | Collection[Value] | range | slice
"""Answers that a condition names."""


def chosen_answers(attribute: Attribute, wanted: Wanted) -> NDArray[np.bool_]:
    """Which candidates are meant. shape (size,)."""
    held = np.zeros(attribute.size, dtype=bool)
    if isinstance(wanted, slice):
        held[_bins_between(attribute, wanted)] = True
    elif isinstance(wanted, str) or not isinstance(wanted, Collection):
        held[attribute.index(wanted)] = True
    else:
        held[[attribute.index(value) for value in wanted]] = True
    return held


def _bins_between(attribute: Attribute, ends: slice) -> slice:
    """The bins from one edge to another."""
    if not isinstance(attribute, Binned):
        raise DomainError(
            f"attribute {attribute.name!r} is not known in bins; give a range or a set of answers, not a slice"
        )
    bounds = attribute.bounds
    low, high = (
        bounds[0] if ends.start is None else ends.start,
        bounds[-1] if ends.stop is None else ends.stop,
    )
    if ends.step is not None or low not in bounds or high not in bounds or not low < high:
        raise DomainError(
            f"a slice of attribute {attribute.name!r} must go from one edge to a higher one: {few(attribute.edges)}"
        )
    return slice(bounds.index(low), bounds.index(high))


@dataclass(frozen=True, eq=False)
class JointDistribution(Shown):
    """P(A_C). probabilities: one axis per attribute, in the order of `attributes`; sums to one, never negative."""

    attributes: tuple[Attribute, ...]
    probabilities: Probabilities
    standard_errors: Probabilities | None = None
    """Of the cells, same shape; NaN where there is none."""
    fit: Fit = field(default_factory=lambda: Fit(method="given"))
    covariance: Probabilities | None = None
    """Of all cells in one line, where it is known: shape (cells, cells)."""

    def __post_init__(self) -> None:
        shape = tuple(attribute.size for attribute in self.attributes)
        if self.probabilities.shape != shape:
            raise DomainError(
                f"probabilities must have shape {shape}, got {self.probabilities.shape}"
            )
        total = float(self.probabilities.sum())
        if not abs(total - 1) <= SUM_TOLERANCE or self.probabilities.min() < 0:
            raise DomainError(
                f"probabilities must not be negative and sum to 1, got a sum of {total:.6g}"
            )
        object.__setattr__(
            self, "probabilities", np.asarray(self.probabilities / total, dtype=np.float64)
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes, in the order of the axes."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def domain(self) -> Domain:
        """The attributes as a domain of their own."""
        return Domain(self.attributes)

    def __getitem__(self, answers: Value | tuple[Value, ...]) -> float:
        """The probability of a cell: `joint["young", "high"]`, one answer per attribute, in the order of the axes."""
        given = answers if isinstance(answers, tuple) else (answers,)
        if len(given) != len(self.attributes):
            raise DomainError(
                f"a cell needs one answer for each of {', '.join(self.names)}, got {len(given)}"
            )
        pairs = zip(self.attributes, given, strict=True)
        return float(
            self.probabilities[tuple(attribute.index(answer) for attribute, answer in pairs)]
        )

    # ---- algebra

    def marginal(self, names: str | Sequence[str]) -> "JointDistribution":
        """The joint of some of the attributes, in the order given; a single name is one attribute. It has standard errors where
        this one knows how the errors of its cells hang together, or where nothing is summed up."""
        positions = self.domain.positions(names)
        if len(set(positions)) < len(positions):
            raise DomainError("a marginal names the same attribute twice")
        if len(positions) == len(self.attributes):
            return self.in_order(tuple(self.attributes[i].name for i in positions))
        return self._summed(
            positions, [np.ones(attribute.size, dtype=bool) for attribute in self.attributes], None
        )

    def in_order(self, names: Sequence[str]) -> "JointDistribution":
        """The same joint with its attributes in another order, errors and fit included."""
        axes = self.domain.positions(names)
        errors = None if self.standard_errors is None else np.transpose(self.standard_errors, axes)
        attributes = tuple(self.attributes[axis] for axis in axes)
        places = np.transpose(
            np.arange(self.probabilities.size).reshape(self.probabilities.shape), axes
        ).reshape(-1)
        covariance = None if self.covariance is None else self.covariance[np.ix_(places, places)]
        return JointDistribution(
            attributes, np.transpose(self.probabilities, axes), errors, self.fit, covariance
        )

    def condition(
        self, answers: Mapping[str, Wanted] | None = None, /, **more: Wanted
    ) -> "JointDistribution":
        """The joint of the other attributes among people with these answers, with standard errors as `marginal` has them.

        Of each attribute, an answer; a set or a list of answers; a `range` of whole numbers; or, of a number in bins, a `slice`
        of two edges. A name that is not an identifier is given in a mapping: `condition({"marital-status": "married"})`.
        """
        wanted = {**(answers or {}), **more}
        held = [np.ones(attribute.size, dtype=bool) for attribute in self.attributes]
        for name, value in wanted.items():
            held[self.domain.position(name)] = chosen_answers(self.domain[name], value)
        rest = tuple(
            i for i, attribute in enumerate(self.attributes) if attribute.name not in wanted
        )
        if not rest:
            raise DomainError("a condition must leave at least one attribute")
        return self._summed(rest, held, tuple(wanted))

    def _summed(
        self, kept: Sequence[int], held: Sequence[NDArray[np.bool_]], given: Sequence[str] | None
    ) -> "JointDistribution":
        """The joint of the attributes at some axes, of cells in which all attributes have answers that are held."""
        inside = product_of([own.astype(np.float64) for own in held])
        others = tuple(axis for axis in range(len(self.attributes)) if axis not in kept)
        order = [sorted(kept).index(axis) for axis in kept]
        summed = np.transpose((self.probabilities * inside).sum(axis=others), order)
        if (total := float(summed.sum())) <= 0:
            raise DomainError(
                f"nobody has these answers to {', '.join(given or ())}: the condition has probability 0"
            )
        attributes = tuple(self.attributes[axis] for axis in kept)
        shares = summed / total if given is not None else summed
        if self.covariance is None:
            return JointDistribution(attributes, shares)
        rows = np.stack(
            [
                np.transpose((unit * inside).sum(axis=others), order).reshape(-1)
                for unit in self._units()
            ],
            axis=1,
        )
        if given is not None:  # by the delta method
            rows = (rows - np.outer(shares.reshape(-1), inside.reshape(-1))) / total
        covariance = rows @ self.covariance @ rows.T
        errors = np.sqrt(np.maximum(np.diag(covariance), 0)).reshape(shares.shape)
        return JointDistribution(attributes, shares, errors, self.fit, covariance)

    def _units(self) -> Iterator[Probabilities]:
        """A joint that has all in one cell, for each cell."""
        for cell in range(self.probabilities.size):
            unit = np.zeros(self.probabilities.size)
            unit[cell] = 1.0
            yield unit.reshape(self.probabilities.shape)

    def product(self, other: "JointDistribution") -> "JointDistribution":
        """The joint of two sets of attributes as if they were independent."""
        return JointDistribution(
            self.attributes + other.attributes,
            np.multiply.outer(self.probabilities, other.probabilities),
        )

    def rake(
        self, margins: "JointDistribution | Sequence[JointDistribution]", *, sweeps: int = 100
    ) -> "JointDistribution":
        """The nearest joint with these margins, or with this one (iterative proportional fitting); a zero stays zero."""
        margins = [margins] if isinstance(margins, JointDistribution) else margins
        axes = [self.domain.positions(margin.names) for margin in margins]
        targets = [margin.probabilities for margin in margins]
        return replace(
            self,
            probabilities=raked(self.probabilities, axes, targets, sweeps=sweeps),
            standard_errors=None,
            covariance=None,
        )

    # ---- figures

    def entropy(self) -> float:
        """In nats."""
        return entropy(self.probabilities)

    def mutual_information(self) -> float:
        """Between two attributes, or the total correlation of more, in nats: sum of the entropies minus the joint one."""
        return mutual_information(self.probabilities)

    def avd(self, other: "JointDistribution | Probabilities") -> float:
        """See `avd`; of another joint, its part about the same attributes."""
        return avd(
            self.probabilities,
            other.marginal(self.names).probabilities
            if isinstance(other, JointDistribution)
            else other,
        )

    # ---- in and out

    def rows(self) -> list[tuple[tuple[str, ...], float, float]]:
        """(values, probability, standard error) of every cell, last attribute fastest."""
        texts = list(product(*(attribute.texts for attribute in self.attributes)))
        errors = (
            np.full(self.probabilities.size, np.nan)
            if self.standard_errors is None
            else self.standard_errors.reshape(-1)
        )
        return list(
            zip(texts, self.probabilities.reshape(-1).tolist(), errors.tolist(), strict=True)
        )

    def to_arrow(self) -> pa.Table:
        """One row per cell: its values, probability, standard error and 95 % interval."""
        texts, probabilities, errors = zip(*self.rows(), strict=True)
        ends = [
            interval(p, e) if not np.isnan(e) else (None, None)
            for p, e in zip(probabilities, errors, strict=True)
        ]
        columns = {
            name: pa.array([values[i] for values in texts], pa.string())
            for i, name in enumerate(self.names)
        }
        figures = {
            "probability": probabilities,
            "standard_error": [None if np.isnan(error) else error for error in errors],
            "low": [low for low, _ in ends],
            "high": [high for _, high in ends],
        }
        return pa.table(
            {
                **columns,
                **{name: pa.array(values, pa.float64()) for name, values in figures.items()},
            }
        )

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """The largest cells with their intervals."""
        from lopub.estimation.drawing import draw_intervals  # loads matplotlib

        rows = self._largest(MOST_SHOWN)
        labels = [", ".join(value or "(missing)" for value in values) for values, _, _ in rows]
        ends = [
            None if np.isnan(error) else interval(probability, error)
            for _, probability, error in rows
        ]
        return draw_intervals(labels, [probability for _, probability, _ in rows], ends, ax)

    def to_csv(self) -> str:
        """The text of a csv file, one row per cell: its values, probability, standard error."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*self.names, "probability", "standard_error"])
        for values, probability, error in self.rows():
            writer.writerow([*values, repr(probability), "" if np.isnan(error) else repr(error)])
        return text.getvalue()

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write all cells as csv, whole or not at all; an existing file is refused unless forced."""
        write_whole(Path(path), self.to_csv().encode(), force=force)

    @classmethod
    def load(cls, path: str | Path, domain: Domain) -> "JointDistribution":
        """The joint in a csv file, with standard errors where it has them; cells that are not listed have probability 0."""
        rows = _csv_rows(path)
        if not rows or "probability" not in rows[0]:
            raise DomainError(f"{path} has no column 'probability'")
        width = rows[0].index("probability")
        if not width:
            raise DomainError(f"{path} names no attribute before its column 'probability'")
        attributes = tuple(domain[name] for name in rows[0][:width])
        shape = tuple(attribute.size for attribute in attributes)
        probabilities, errors = np.full(shape, np.nan), np.full(shape, np.nan)
        has_errors = rows[0][width + 1 :] == ["standard_error"]
        for number, row in enumerate(rows[1:], start=2):
            try:
                cell = tuple(
                    a.index(a.parse(text)) for a, text in zip(attributes, row, strict=False)
                )
                if not np.isnan(probabilities[cell]):
                    raise DomainError("twice")
                probabilities[cell] = float(row[width])
                errors[cell] = float(row[width + 1] or "nan") if has_errors else np.nan
            except (DomainError, ValueError, IndexError):
                raise DomainError(
                    f"{path}: line {number} is not a cell of {', '.join(rows[0][:width])} with a probability, or comes twice"
                ) from None
        try:
            return cls(
                attributes, np.nan_to_num(probabilities), None if np.isnan(errors).all() else errors
            )
        except DomainError as error:
            raise DomainError(f"{path}: {error}") from None

    def _largest(self, n: int) -> list[tuple[tuple[str, ...], float, float]]:
        return sorted(self.rows(), key=lambda row: -row[1])[:n]

    def __repr__(self) -> str:
        fit = (
            f"{self.fit.method} from {self.fit.n_reports:,} reports"
            if self.fit.n_reports
            else self.fit.method
        )
        return one_line(self, ", ".join(self.names), f"{self.probabilities.size:,} cells", fit)

    def __str__(self) -> str:
        lines = [f"P({', '.join(self.names)}), the largest of {self.probabilities.size:,} cells"]
        for values, probability, error in self._largest(10):
            spread = "" if np.isnan(error) else f" ± {INTERVAL * error:.4f}"
            lines.append(
                f"  {probability:.4f}{spread}  {', '.join(value or '(missing)' for value in values)}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = []
        for values, probability, error in self._largest(MOST_SHOWN):
            low, high = interval(probability, error)
            shown = "" if np.isnan(error) else f"{low:.4f} to {high:.4f}"
            rows.append([*(value or "(missing)" for value in values), f"{probability:.4f}", shown])
        return html_table((*self.names, "probability", "95 % interval"), rows)


def _csv_rows(path: str | Path) -> list[list[str]]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            return list(csv.reader(file))
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise DomainError(f"{path} is not a csv table") from None


def interval(probability: float, standard_error: float) -> tuple[float, float]:
    """The 95 % interval of a cell, kept within 0 and 1."""
    return max(0.0, probability - INTERVAL * standard_error), min(
        1.0, probability + INTERVAL * standard_error
    )


def avd(one: Probabilities, other: Probabilities) -> float:
    """Average variant distance, as the paper calls it: half the sum of absolute differences."""
    return float(np.abs(one - other).sum() / 2)


def entropy(shares: Probabilities) -> float:
    """In nats."""
    positive = shares[shares > 0]
    return float(-(positive * np.log(positive)).sum())


def mutual_information(
    joint: Probabilities, marginals: Sequence[Probabilities] | None = None
) -> float:
    """Between the attributes of a joint, in nats (the paper's I; of three or more, their total correlation).

    marginals: of the joint, where they are at hand; the joint may then list any cells in any order, if it lists all above zero.
    """
    if marginals is None:
        axes = range(joint.ndim)
        marginals = [
            joint.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes
        ]
    return max(0.0, sum(entropy(marginal) for marginal in marginals) - entropy(joint))


def product_of(marginals: Sequence[Probabilities]) -> Probabilities:
    """The joint of independent attributes."""
    joint = np.ones(())
    for marginal in marginals:
        joint = np.multiply.outer(joint, marginal)
    return joint


def raked(
    joint: Probabilities,
    axes: Sequence[tuple[int, ...]],
    targets: Sequence[Probabilities],
    *,
    sweeps: int = 100,
    tolerance: float = 1e-10,
) -> Probabilities:
    """Iterative proportional fitting. axes: of each target, the axes of the joint that it is about, ascending or not."""
    fitted = np.array(joint, dtype=np.float64, order="C")
    margins = [
        _Margin(joint.shape, wanted, target) for wanted, target in zip(axes, targets, strict=True)
    ]
    for _ in range(sweeps):
        if max((margin.rake(fitted) for margin in margins), default=0.0) < tolerance:
            break
    total: float = float(fitted.sum())
    return fitted / total if total > 0 else fitted


class _Margin:
    """One margin to rake to. Neighbouring axes are merged, so that a clique of many small attributes has few axes."""

    def __init__(
        self, shape: tuple[int, ...], wanted: tuple[int, ...], target: Probabilities
    ) -> None:
        kept = [axis in wanted for axis in range(len(shape))]
        groups: list[tuple[bool, int]] = []
        for is_kept, size in zip(kept, shape, strict=True):
            if groups and groups[-1][0] == is_kept:
                groups[-1] = (is_kept, groups[-1][1] * size)
            else:
                groups.append((is_kept, size))
        self._shape = tuple(size for _, size in groups)
        self._others = tuple(axis for axis, (is_kept, _) in enumerate(groups) if not is_kept)
        sizes = tuple(size if is_kept else 1 for is_kept, size in groups)
        self._goal = np.transpose(target, np.argsort(wanted)).reshape(sizes)

    def rake(self, fitted: Probabilities) -> float:
        """Scale the joint, in place, to the margin; how far the largest cell of the margin was off."""
        cells = fitted.reshape(self._shape)
        have = cells.sum(axis=self._others, keepdims=True)
        cells *= np.divide(self._goal, have, out=np.zeros_like(have), where=have > NOTHING)
        return float(np.abs(self._goal - have).max())
