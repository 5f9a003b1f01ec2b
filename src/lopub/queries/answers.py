"""Answers to questions: a number with its interval, and how it came about."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from lopub.campaign.texts import one_line
from lopub.reports.showing import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

How = Literal["direct", "model", "refused"]
MOST_PRINTED = 40
"""Cells of a table that are printed; all are in its `to_arrow()`."""
HOW = {
    "direct": "direct: from the reports that cover all of its attributes",
    "model": "model",
    "refused": "refused",
}


@dataclass(frozen=True, kw_only=True)
class Answer(Shown):
    """What the reports say to one question. low, high: the 95 % interval. None: there is none."""

    question: str
    estimate: float | None
    low: float | None
    high: float | None
    standard_error: float | None
    n_informative: int
    """Reports that speak of it: of a direct answer, those that cover all of its attributes; of a model, any of its parts."""
    how: How
    """direct: from reports that cover all of its attributes; model: from parts of them, by an assumption; refused: not at all."""
    reason: str = ""
    """What a model assumes, or why there is no answer."""
    assumptions: tuple[str, ...] = ()
    """What is taken for granted about numbers within their bins."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def __float__(self) -> float:
        """The estimate; NaN where it is refused."""
        return float("nan") if self.estimate is None else self.estimate

    def to_dict(self) -> dict[str, Any]:
        """For programs, such as those that read JSON."""
        return {
            "question": self.question,
            "estimate": self.estimate,
            "low": _finite(self.low),
            "high": _finite(self.high),
            "standard_error": self.standard_error,
            "n_informative": self.n_informative,
            "how": self.how,
            "reason": self.reason or None,
            "assumptions": list(self.assumptions),
        }

    def to_arrow(self) -> pa.Table:
        """One row."""
        row = self.to_dict() | {"assumptions": "; ".join(self.assumptions)}
        return pa.Table.from_pylist([row], schema=_SCHEMA)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """The estimate and its interval."""
        from lopub.estimation.drawing import draw_intervals  # loads matplotlib

        return draw_intervals([self.question], [float(self)], [self.interval], ax)

    def __repr__(self) -> str:
        return one_line(self, self.question, self._figures(), self.how)

    def __str__(self) -> str:
        lines = (
            [f"{self.question} = {self._figures()}"]
            if self.estimate is not None
            else [f"{self.question}: no answer"]
        )
        what = "parts of this" if self.how == "model" else "this"
        lines.append(f"  {self.n_informative:,} reports speak of {what}; {self._way()}")
        lines += [f"  assumes that {assumption}" for assumption in self.assumptions]
        return "\n".join(lines)

    def _figures(self) -> str:
        if self.estimate is None:
            return "refused"
        spread = (
            ""
            if self.interval is None
            else f" (95 % interval {figure(self.interval[0])} to {figure(self.interval[1])})"
        )
        return figure(self.estimate) + spread

    def _way(self) -> str:
        return HOW[self.how] + (f": {self.reason}" if self.reason else "")

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _finite(end: float | None) -> float | None:
    """JSON knows no number for the end of a bin that has none."""
    return None if end is None or math.isinf(end) else end


_SCHEMA = pa.schema(
    [
        ("question", pa.string()),
        ("estimate", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("standard_error", pa.float64()),
        ("n_informative", pa.int64()),
        ("how", pa.string()),
        ("reason", pa.string()),
        ("assumptions", pa.string()),
    ]
)


def figure(value: float) -> str:
    """A number as people read it: four digits after the point, or four digits in all where it is large.

    >>> figure(0.12345), figure(41.23456), figure(12345.678)
    ('0.1235', '41.23', '12,346')
    """
    if abs(value) < 10:
        return f"{value:.4f}"
    return f"{value:.2f}" if abs(value) < 10_000 else f"{value:,.0f}"


@dataclass(frozen=True, eq=False)
class AnswerTable(Shown):
    """The share of every combination of answers, each an `Answer` of its own. cells: values -> its answer."""

    names: tuple[str, ...]
    given: str | None
    cells: Mapping[tuple[str, ...], Answer]

    def __getitem__(self, values: str | tuple[str, ...]) -> Answer:
        """The answer about one combination, by the values as they stand in tables."""
        return self.cells[values if isinstance(values, tuple) else (values,)]

    def __len__(self) -> int:
        return len(self.cells)

    def to_arrow(self) -> pa.Table:
        """One row per combination."""
        columns: dict[str, list[Any]] = {
            name: [values[i] for values in self.cells] for i, name in enumerate(self.names)
        }
        found = self.cells.values()
        return pa.table(
            {
                **{name: pa.array(column, pa.string()) for name, column in columns.items()},
                **{
                    name: pa.array([getattr(answer, name) for answer in found], pa.float64())
                    for name in ("estimate", "low", "high", "standard_error")
                },
                "how": pa.array([answer.how for answer in found], pa.string()),
            }
        )

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """The estimates and their intervals, one below the other."""
        from lopub.estimation.drawing import draw_intervals  # loads matplotlib

        labels = [", ".join(value or "(missing)" for value in values) for values in self.cells]
        found = list(self.cells.values())
        return draw_intervals(
            labels, [float(answer) for answer in found], [answer.interval for answer in found], ax
        )

    def __str__(self) -> str:
        """The cells, one a line, in the order of the answers."""
        few = list(self.cells.items())[:MOST_PRINTED]
        lines = [[*self.names, "estimate", "low", "high", "how"]]
        for values, answer in few:
            figures = [
                "" if end is None else figure(end)
                for end in (answer.estimate, answer.low, answer.high)
            ]
            lines.append([*(value or "(missing)" for value in values), *figures, answer.how])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        told = [
            "  ".join(f"{text:{width}}" for text, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        left = len(self) - len(few)
        return "\n".join([repr(self), *told, *([f"and {left:,} more cells"] if left else [])])

    def __repr__(self) -> str:
        how = ", ".join(sorted({answer.how for answer in self.cells.values()}))
        return one_line(
            self,
            ", ".join(self.names),
            *([f"given {self.given}"] if self.given else []),
            f"{len(self)} cells",
            how,
        )
