"""Estimates and their intervals on somebody's axes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_intervals(
    labels: Sequence[str],
    values: Sequence[float],
    intervals: Sequence[tuple[float, float] | None],
    ax: "Axes | None",
) -> "Axes":
    """One line each, from top to bottom; without axes, on a figure of its own."""
    from matplotlib.figure import Figure

    axes = (
        Figure(figsize=(6, 0.6 + 0.3 * len(labels)), layout="constrained").subplots()
        if ax is None
        else ax
    )
    places = np.arange(len(labels))
    ends = [
        (value, value) if found is None else found
        for value, found in zip(values, intervals, strict=True)
    ]
    axes.hlines(places, [low for low, _ in ends], [high for _, high in ends])
    axes.plot(values, places, "o")
    axes.set_yticks(places, list(labels))
    axes.invert_yaxis()
    axes.set_xlabel("estimate and 95 % interval")
    return axes
