"""Draw the pictures of the tutorials and explanations into docs/pictures: `python docs/make_pictures.py`. A test does so.

Small SVG files without fonts: text stays text, and a picture is a few kilobytes.
"""

from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

matplotlib.use("svg")
matplotlib.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "lopub",
        "font.family": "sans-serif",
        "font.size": 10,
        "path.simplify_threshold": 0.5,
    }
)
PICTURES = Path(__file__).parent / "pictures"
INK, WARM, COOL, PALE = "#222222", "#b3401a", "#1f5fa8", "#9aa4b1"


def axes(width: float = 6.4, height: float = 3.4) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    ax = figure.subplots()
    ax.spines[["top", "right"]].set_visible(False)
    return figure, ax


def belief() -> Figure:
    """How sure somebody becomes, over epsilon."""
    figure, ax = axes()
    epsilon = np.linspace(0, 9, 91)
    for before, colour in ((0.5, WARM), (0.1, COOL), (0.01, INK)):
        odds = before / (1 - before) * np.exp(epsilon)
        ax.plot(
            epsilon,
            100 * odds / (1 + odds),
            color=colour,
            label=f"{before:.0%} likely before".replace("%", " %"),
        )
    ax.set(
        xlabel="epsilon", ylabel="likely after one report, at most (%)", ylim=(0, 101), xlim=(0, 9)
    )
    ax.legend(frameon=False, loc="lower right")
    return figure


def crowd() -> Figure:
    """Estimates of a share of 0.3 from crowds of three sizes."""
    figure, ax = axes()
    rng = np.random.default_rng(1)
    p, q = 5 / 6, 1 / 6
    for people, colour in ((100, PALE), (1_000, COOL), (10_000, WARM)):
        found = (rng.binomial(people, q + (p - q) * 0.3, 4_000) / people - q) / (p - q)
        height, edges = np.histogram(found, bins=np.linspace(0, 0.6, 61), density=True)
        ax.stairs(height, edges, color=colour, label=f"{people:,} reports", fill=False)
    ax.axvline(0.3, color=INK, linewidth=0.8, linestyle=":")
    ax.set(xlabel="estimated share; the truth is 0.3", yticks=[], xlim=(0, 0.6))
    ax.spines["left"].set_visible(False)
    ax.legend(frameon=False)
    return figure


def composition() -> Figure:
    """What everything that a device sent reveals, over rounds."""
    figure, ax = axes()
    rounds = np.arange(13)
    ax.plot(rounds, rounds, color=WARM, label="fresh noise in every round, epsilon 1 each")
    ax.step(
        rounds,
        np.minimum(rounds, 2) * (rounds > 0),
        color=COOL,
        where="post",
        label="sampled: 2 of 12 rounds, drawn beforehand",
    )
    ax.step(
        rounds,
        np.where(rounds > 0, 1.4, 0),
        color=INK,
        where="post",
        linestyle="--",
        label="permanent: a noisy answer is kept",
    )
    ax.set(xlabel="rounds", ylabel="epsilon in all, at most", xlim=(0, 12), ylim=(0, 12))
    ax.legend(frameon=False)
    return figure


def one_view() -> Figure:
    """The standard error of a share with 10,000 people: a split budget against one sampled question."""
    figure, ax = axes()
    questions = np.arange(1, 31)

    def error(n: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
        kept = np.exp(epsilon) / (1 + np.exp(epsilon))
        return np.asarray(np.sqrt(0.25 / n) / (2 * kept - 1))

    for epsilon, style in ((2.0, "-"), (4.0, "--")):
        split = error(np.full(30, 10_000.0), epsilon / questions)
        drawn = error(10_000 / questions, np.full(30, epsilon))
        ax.plot(
            questions,
            split,
            style,
            color=WARM,
            label=f"split among all questions, epsilon {epsilon:.0f}",
        )
        ax.plot(
            questions, drawn, style, color=COOL, label=f"one question drawn, epsilon {epsilon:.0f}"
        )
    ax.set(
        xlabel="yes-or-no questions",
        ylabel="standard error of a share",
        xlim=(1, 30),
        ylim=(0, None),
    )
    ax.legend(frameon=False)
    return figure


def shrinkage() -> Figure:
    """The squared error of a cell, over the strength of shrinking."""
    figure, ax = axes()
    strength = np.linspace(0, 1, 51)
    noise = 0.03
    for dependence, colour, name in (
        (0.01, COOL, "weak dependence"),
        (0.05, WARM, "strong dependence"),
    ):
        error = np.sqrt((1 - strength) ** 2 * noise**2 + strength**2 * dependence**2)
        best = noise**2 / (noise**2 + dependence**2)
        ax.plot(strength, error, color=colour, label=name)
        ax.plot(best, np.interp(best, strength, error), "o", color=colour)
    ax.set(
        xlabel="strength: 0 all noise stays, 1 independence",
        ylabel="error of a cell",
        xlim=(0, 1),
        ylim=(0, None),
    )
    ax.legend(frameon=False)
    return figure


def tree() -> Figure:
    """A graph, the line that triangulates it, and its junction tree."""
    figure, ax = axes(6.4, 2.8)
    places = {"A": (0, 1), "B": (1, 1.8), "C": (1, 0.2), "D": (2, 1), "E": (3, 1.8), "F": (3, 0.2)}
    for one, other in ("AB", "AC", "BD", "CD", "DE"):
        ax.plot(*zip(places[one], places[other], strict=True), color=INK, zorder=1)
    ax.plot(*zip(places["B"], places["C"], strict=True), color=WARM, linestyle="--", zorder=1)
    for name, place in places.items():
        ax.annotate(
            name,
            place,
            ha="center",
            va="center",
            bbox={"boxstyle": "circle", "facecolor": "white", "edgecolor": INK},
        )
    cliques = {"A B C": (4.6, 1), "B C D": (5.9, 1), "D E": (7.1, 1), "F": (7.1, 0.2)}
    ax.plot((4.6, 7.1), (1, 1), color=INK, zorder=1)
    for name, place in cliques.items():
        ax.annotate(
            name,
            place,
            ha="center",
            va="center",
            bbox={"boxstyle": "round", "facecolor": "white", "edgecolor": COOL},
        )
    ax.text(5.25, 1.12, "B C", ha="center", color=COOL)
    ax.text(6.55, 1.12, "D", ha="center", color=COOL)
    ax.set(xlim=(-0.4, 7.6), ylim=(-0.2, 2.2))
    ax.axis("off")
    return figure


DRAWN: dict[str, Callable[[], Figure]] = {
    "belief.svg": belief,
    "crowd.svg": crowd,
    "composition.svg": composition,
    "one-view.svg": one_view,
    "shrinkage.svg": shrinkage,
    "tree.svg": tree,
}


def draw(folder: Path) -> None:
    """All pictures, into a folder."""
    for name, picture in DRAWN.items():
        picture().savefig(folder / name, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    draw(PICTURES)
