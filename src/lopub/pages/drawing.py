"""Pictures on somebody's axes, or on a figure of their own: what results draw of themselves."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lopub.campaign.domain import Pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABEL_LENGTH, END = 24, 9
"""Characters of a label, and of the end that is kept of a longer one."""
MOST_LEVEL = 20
"""Labels around a circle that can be level; more are turned outwards."""
INK, LINE = "black", "tab:blue"


def axes_for(ax: "Axes | None", width: float, height: float) -> "Axes":
    """The axes that are given, else those of a new figure, without the state that pyplot keeps. Inches."""
    from matplotlib.figure import Figure  # takes half a second to load

    return Figure(figsize=(width, height), layout="constrained").subplots() if ax is None else ax


def cut(label: str) -> str:
    """A label that fits: of a long one its beginning and its end, in which names that begin alike differ."""
    return (
        label if len(label) <= LABEL_LENGTH else f"{label[: LABEL_LENGTH - END - 1]}…{label[-END:]}"
    )


def short(label: str) -> str:
    """A label that fits, and is not taken for a formula."""
    return cut(label.replace("$", r"\$"))


def draw_bars(
    labels: Sequence[str], bars: Mapping[str, Sequence[float]], scale: str, ax: "Axes | None"
) -> "Axes":
    """A group of bars for each label, from top to bottom. bars: by what each of a group stands for."""
    axes, places, width = (
        axes_for(ax, 6, 1 + 0.4 * len(labels) * len(bars)),
        np.arange(len(labels)),
        0.8 / len(bars),
    )
    for number, (name, values) in enumerate(bars.items()):
        axes.barh(places + (number - (len(bars) - 1) / 2) * width, values, width, label=name)
    axes.set_yticks(places, [short(label) for label in labels])
    axes.invert_yaxis()
    axes.set_xlabel(scale)
    axes.legend()
    return axes


def draw_curve(
    points: Sequence[tuple[float, float]],
    marked: tuple[float, float],
    x: str,
    y: str,
    ax: "Axes | None",
) -> "Axes":
    """A line through points, one of which stands out; its x axis is logarithmic. x, y: what the axes say."""
    axes = axes_for(ax, 6, 4)
    axes.plot([at for at, _ in points], [value for _, value in points], marker=".")
    axes.plot([marked[0]], [marked[1]], "o", markersize=9)
    axes.set(xscale="log", xlabel=x, ylabel=y)
    axes.set_ylim(bottom=0)
    return axes


def draw_dependence(
    labels: Sequence[str], edges: Mapping[Pair, float], ax: "Axes | None"
) -> "Axes":
    """Attributes on a circle, with a line between those that depend on each other."""
    axes = axes_for(ax, 6.5, 5)
    draw_graph(axes, labels, edges, ink=INK, line=LINE)
    return axes


def draw_graph(
    axes: "Axes",
    labels: Sequence[str],
    edges: Mapping[Pair, float],
    *,
    ink: str,
    line: str,
    faint: Collection[Pair] = (),
) -> None:
    """Attributes on a circle, neighbours near each other; the stronger a dependence, the wider its line. faint: edges that are
    drawn dashed."""
    order = _round_order(len(labels), edges)
    is_level = (
        len(labels) <= MOST_LEVEL
    )  # half a step on, so that no two labels stand one over the other at the top
    angle = {
        node: 2 * np.pi * (place + 0.5 * is_level) / max(len(order), 1)
        for place, node in enumerate(order)
    }
    strongest = max(edges.values(), default=1.0) or 1.0
    for (a, b), strength in sorted(edges.items(), key=lambda item: (item[1], item[0])):
        ends = np.array([[np.cos(angle[node]), np.sin(angle[node])] for node in (a, b)])
        width = 0.6 + 4 * (strength / strongest) ** 0.5
        dashes = (0, (2, 2)) if (a, b) in faint else "solid"
        axes.plot(ends[:, 0], ends[:, 1], color=line, linewidth=width, alpha=0.55, linestyle=dashes)
    for node, label in enumerate(labels):
        x, y = np.cos(angle[node]), np.sin(angle[node])
        axes.plot([x], [y], "o", color=ink, markersize=5)
        turn = np.degrees(angle[node])
        left = 90 < turn < 270
        axes.text(
            1.06 * x,
            1.06 * y,
            short(label),
            rotation=0 if is_level else turn + 180 if left else turn,
            rotation_mode="anchor",
            ha="right" if left else "left",
            va="center",
        )
    beside, above = (2.5, 1.15) if is_level else (1.7, 1.6)
    axes.set(xlim=(-beside, beside), ylim=(-above, above), aspect="equal")
    axes.axis("off")


def _round_order(n: int, edges: Mapping[tuple[int, int], float]) -> list[int]:
    """A walk that goes from each attribute to the one it depends on most, so that lines stay short."""
    left: set[int] = set(range(n))
    order: list[int] = []
    strength = {**edges, **{(b, a): value for (a, b), value in edges.items()}}
    while left:
        near = [node for node in sorted(left) if order and (order[-1], node) in strength]
        chosen = (
            max(near, key=lambda node: (strength[order[-1], node], -node)) if near else min(left)
        )
        order.append(chosen)
        left.remove(chosen)
    return order
