"""Numbers -> pictures: SVG that stands inside a page, in the page's own colours, light or dark. Same numbers, same bytes."""

import io
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopub.pages.drawing import MOST_LEVEL, cut, draw_graph

INK, FAINT, FIRST = "#010101", "#020202", "#030303"
"""Stand-ins, replaced by the page's variables once the picture is drawn."""
_VARIABLES = {INK: "var(--ink)", FAINT: "var(--faint)", FIRST: "var(--first)"}
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "lopub",
    "svg.fonttype": "none",  # text stays text: the reader's fonts have glyphs that ours may lack
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
MOST_LABELS = 60
"""Attributes whose names fit along a picture."""
MOST_NODES = 60
"""Attributes, or cliques, that can be told apart in a drawing."""
MOST_POINTS = 2000
MARKERS = "osD^v<>PX*"
MOST_RATIO = 11.0
"""Of the largest place on an axis to the least, beyond which it is logarithmic."""
MOST_DOWN = 0.7
"""Share of a value by which its bar may go down on a logarithmic scale."""


@contextmanager
def _figure(width: float, height: float) -> Iterator[Any]:
    """A figure in our style, without the state that pyplot keeps."""
    import matplotlib as mpl  # takes half a second to load
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # a glyph that is missing here, the reader's browser has
        yield Figure(figsize=(width, height), layout="constrained")


def _svg(figure: Any, name: str, description: str) -> str:
    """The figure as an element of a page. name: makes its ids unique there; description: read aloud by screen readers."""
    data = io.StringIO()
    figure.savefig(
        data,
        format="svg",
        transparent=True,
        metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
    )
    text = data.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(id="|url\(#|href="#)', lambda match: f"{match[1]}{name}-", text)
    for stand_in, variable in _VARIABLES.items():
        text = text.replace(stand_in, variable)
    width, height = (
        float(value) for value in re.findall(r'(?:width|height)="([\d.]+)pt"', text)[:2]
    )
    head = (
        f'<svg role="img" aria-label="{escape(description)}" viewBox="0 0 {width:g} {height:g}" style="max-width:{width:g}pt"'
        ' xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    return re.sub(r"<svg[^>]*>", lambda _: head, text, count=1)


CELL, CHARACTER, MARGIN = 16, 5.4, 8
"""Of a heat map, in units of its picture: the side of a field, the width of a letter, the space beside labels."""
MOST_SHRUNK = 420
"""Up to this width a picture is made to fit a phone; a wider one is scrolled there."""
FAINTEST = 0.18
"""Of a field's colour: what is there can be seen, however weak, on light and on dark."""


def heat_map(
    values: NDArray[np.float64], labels: Sequence[str], *, name: str, description: str, scale: str
) -> str:
    """A square of fields, each the stronger in colour the larger its value; NaN stays empty. scale: the values' unit,
    which is shown with the value of a field that is pointed at."""
    most = float(np.nanmax(values, initial=0.0)) or 1.0
    shown = [escape(cut(label)) for label in labels]
    side = CHARACTER * max(len(cut(label)) for label in labels) + MARGIN
    width = side + CELL * len(labels) + MARGIN
    fields = "".join(
        f'<rect x="{side + CELL * b:g}" y="{side + CELL * a:g}" width="{CELL - 1}" height="{CELL - 1}"'
        f' fill-opacity="{FAINTEST + (1 - FAINTEST) * values[a, b] / most:.3f}">'
        f"<title>{shown[a]} – {shown[b]}: {values[a, b]:.3g} {escape(scale)}</title></rect>"
        for a, b in np.argwhere(~np.isnan(values)).tolist()
    )
    middle, end = side + CELL / 2 + 3, side - 4
    rows = "".join(
        f'<text x="{end:g}" y="{middle + CELL * at:g}" text-anchor="end">{one}</text>'
        for at, one in enumerate(shown)
    )
    columns = "".join(
        f'<text transform="translate({middle + CELL * at:g} {end:g}) rotate(-90)">{one}</text>'
        for at, one in enumerate(shown)
    )
    least = f";min-width:{width:g}px" if width > MOST_SHRUNK else ""
    return (
        f'<svg id="{name}" class="heat" role="img" aria-label="{escape(description)}" viewBox="0 0 {width:g} {width:g}"'
        f' style="max-width:{1.4 * width:g}px{least}" xmlns="http://www.w3.org/2000/svg">'
        f"{fields}{rows}{columns}</svg>"
    )


def graph(
    labels: Sequence[str],
    edges: Mapping[tuple[int, int], float],
    *,
    name: str,
    description: str,
    faint: Collection[tuple[int, int]] = (),
) -> str:
    """Attributes on a circle, neighbours near each other; the stronger a dependence, the wider its line. faint: edges that are
    drawn dashed."""
    side = min(4.5 + 0.06 * len(labels), 8.0)
    height = side if len(labels) > MOST_LEVEL else (side + 1.5) / 2
    with _figure(side + 1.5, height) as figure:
        draw_graph(figure.add_subplot(), labels, edges, ink=INK, line=FIRST, faint=faint)
        return _svg(figure, name, description)


@dataclass(frozen=True)
class Line:
    """One line of a drawing. spreads: half the length of the error bar at each point."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    spreads: Sequence[float]
    faint: bool = False


DASHES = ("-", "--", "-.", ":")
BESIDE = 0.012
"""Of the axis: how far lines are moved apart along it, so that those that lie on each other can both be seen."""


def lines(
    panels: Mapping[str, Sequence[Line]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    logarithmic: bool = False,
    from_zero: bool = True,
) -> str:
    """Lines with error bars, panel beside panel on one scale, as a picture that stands in a file of its own, on white. panels:
    their titles, and what is drawn in each."""
    alone = len(panels) == 1
    with _figure(5.6, 3.8) if alone else _figure(4.0 * len(panels), 4.4) as figure:
        figure.patch.set_facecolor("white")
        first = None
        for number, (name, drawn) in enumerate(panels.items(), start=1):
            first = axes = figure.add_subplot(1, len(panels), number, sharey=first)
            _draw_lines(axes, drawn, logarithmic)
            axes.set(xlabel=x_label, ylabel=y_label, title=f"{title}{': ' if name else ''}{name}")
            axes.title.set_size(9)
            _draw_legend(axes, beside=alone)
        if first is not None and logarithmic:
            first.set_yscale("log")
        elif first is not None and from_zero:
            first.set_ylim(bottom=0)
        data = io.StringIO()
        figure.savefig(
            data,
            format="svg",
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
        return data.getvalue().replace(INK, "#1f2933").replace(FAINT, "#9aa5b1")


def _draw_legend(axes: Any, *, beside: bool) -> None:
    """Outside the axes: beside them, or below where panels stand side by side, which would else be pushed apart."""
    if beside:
        axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    else:
        axes.legend(
            frameon=False, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2
        )


def _draw_lines(axes: Any, drawn: Sequence[Line], logarithmic: bool) -> None:
    """On a logarithmic scale a bar ends above zero, which is not on it."""
    places = sorted({x for line in drawn for x in line.x})
    wide = len(places) > 1 and places[0] > 0 and places[-1] / places[0] > MOST_RATIO
    for number, line in enumerate(drawn):
        shift = BESIDE * (number - (len(drawn) - 1) / 2)
        factor, offset = (
            ((places[-1] / places[0]) ** shift, 0.0)
            if wide
            else (1.0, shift * (places[-1] - places[0]))
        )
        style = {"color": "#8a8f98"} if line.faint else {"color": f"C{number % 10}"}
        down = [
            min(bar, MOST_DOWN * y) if logarithmic else bar
            for bar, y in zip(line.spreads, line.y, strict=True)
        ]
        axes.errorbar(
            [x * factor + offset for x in line.x], line.y, yerr=[down, line.spreads], label=line.label, capsize=2,
            marker=MARKERS[number % len(MARKERS)], linestyle=DASHES[number % len(DASHES)], linewidth=1.2, markersize=4, **style,
        )  # fmt: skip
    if wide:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xticks(places, [f"{place:g}" for place in places])


def curves(
    drawn: Mapping[str, tuple[Sequence[float], Sequence[float]]], chosen: float, *, x_label: str, y_label: str, name: str,
    description: str,
) -> str:  # fmt: skip
    """Lines over a logarithmic axis, with a mark at the value that is chosen."""
    with _figure(5.2, 3.2) as figure:
        axes = figure.add_subplot()
        axes.axvline(chosen, color=FAINT, linewidth=1, linestyle="--")
        for number, (label, (x, y)) in enumerate(drawn.items()):
            own = FIRST if number == 0 else INK
            axes.plot(x, y, color=own, linewidth=1.4, marker=MARKERS[number], markersize=4)
            axes.annotate(
                label,
                (x[0], y[0]),
                xytext=(4, 4),
                textcoords="offset points",
                color=own,
                fontsize=9,
            )
        axes.set_xscale("log")
        axes.set(xlabel=x_label, ylabel=y_label)
        axes.set_ylim(bottom=0)
        ticks = sorted({value for x, _ in drawn.values() for value in x})
        axes.set_xticks(
            ticks,
            [f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}" for value in ticks],
            rotation=30,
            ha="right",
        )
        axes.minorticks_off()
        return _svg(figure, name, description)


def scatter(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    *,
    x_label: str,
    y_label: str,
    name: str,
    description: str,
) -> str:
    """Points about the line on which both are equal; evenly thinned where there are many."""
    chosen = (
        np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(np.int64)
        if len(x)
        else np.zeros(0, dtype=np.int64)
    )
    order = np.argsort(x, kind="stable")[chosen]
    most = float(max(x.max(initial=1.0), y.max(initial=1.0)))
    with _figure(4.8, 4.4) as figure:
        axes = figure.add_subplot()
        axes.plot([0, most], [0, most], color=FAINT, linewidth=1)
        axes.plot(x[order], y[order], ".", color=FIRST, markersize=4, alpha=0.6)
        axes.set(xlabel=x_label, ylabel=y_label)
        return _svg(figure, name, description)
