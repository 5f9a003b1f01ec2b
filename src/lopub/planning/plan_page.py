"""The page of a plan: what was chosen, what to expect, and what a published pair would look like. One file, every number
exact."""

from collections.abc import Sequence
from html import escape

import numpy as np

from lopub.collection.progress import Progress, silent
from lopub.contract.domain import Pair
from lopub.forecast.outlook import ACCURACY
from lopub.inference import Study
from lopub.inference.joint import Probabilities, avd
from lopub.pages.page import facts, figure, listed, number, page, paragraph, share, table, text_of
from lopub.pages.plots import curves
from lopub.planning.advice import OTHERS, Advice, in_words
from lopub.planning.planner import Plan
from lopub.planning.trial import campaign_for, collected

N_SHOWN = 8
MOST_ROWS, MOST_COLUMNS = 12, 6
"""Answers of the pair that is shown."""
AXES = {"people": "people", "epsilon": "epsilon of a whole report"}


def plan_page(plan: Plan, advised: Sequence[Advice], *, seed: int = 0, progress: Progress | None = None) -> str:
    """The whole page."""
    told = progress or silent
    told("drawing the page", 0, None)
    sections = [
        ("choice", "What to do", _choice(plan)),
        ("error", "How accurate it will be", _curves(plan)),
        ("pair", "What a published pair would look like", _example(plan, seed)),
        ("advice", "What would help", _advice(advised)),
        ("options", "What else was considered", _options(plan)),
        ("words", "What the words mean", _words(plan)),
    ]
    lead = paragraph(
        f"{number(plan.people, ',')} people, epsilon {number(plan.epsilon, 'g')}: shares of single answers are expected to be off"
        " by"
        f" {share(plan.best.forecast.shares)} of the people{_of_pairs(plan)}.",
        "lead",
    )
    return page("A plan for a collection", [(name, title, body) for name, title, body in sections if body], lead=lead)


def _of_pairs(plan: Plan) -> str:
    return f", tables of two questions by {share(plan.best.forecast.pairs)}" if len(plan.domain) > 1 else ""


def _choice(plan: Plan) -> str:
    crowd = plan.population
    return facts(
        [
            ("people", number(plan.people, ",")),
            ("epsilon", f"{number(plan.epsilon, 'g')}: {in_words(plan.epsilon)}; {OTHERS}"),
            ("how", escape(plan.best.label(plan.domain.sizes))),
            ("report", f"at most {number(plan.best.report_bytes, ',')} bytes"),
            ("questions", number(len(plan.domain.questions), ",")),
            ("forecast for", escape(f"{crowd.label}, dependence {crowd.dependence}")),
            ("smallest share", f"about {share(plan.smallest_share)} of the people can be told from nobody"),
        ]
    )  # fmt: skip


def _curves(plan: Plan) -> str:
    drawn = "".join(_curve(plan, of) for of in AXES)
    spread = plan.spread
    hangs = ""
    if spread and plan.goal != "shares":
        hangs = paragraph(
            f"If answers hang together weakly, expect {number(spread['weak'], '.3f')}; as in most surveys,"
            f" {number(spread['usual'], '.3f')}; strongly, {number(spread['strong'], '.3f')}."
        )
    return f'<div class="cards">{drawn}</div>{hangs}'


def _curve(plan: Plan, of: str) -> str:
    found, beside = plan.curve(of), plan.curve_beside(of)
    values, (goal, other) = [value for value, _ in found], ("shares", "pairs") if plan.goal == "shares" else ("pairs", "shares")
    shown = {goal: (values, [error for _, error in found])}
    if len(plan.domain) > 1:
        shown |= {other: (values, [error for _, error in beside])}
    here = plan.people if of == "people" else plan.epsilon
    texts = [f"{value:g}: {error:.3f}" for value, error in found]
    drawing = curves(
        shown,
        here,
        x_label=AXES[of],
        y_label="expected error (AVD)",
        name=f"over-{of}",
        description=f"error over {of}: " + "; ".join(texts),
    )
    rows = [
        (number(value, ",g"), number(error, ".4f"), number(more, ".4f"))
        for (value, error), (_, more) in zip(found, beside, strict=True)
    ]
    under = table(f"Expected error over {AXES[of]}", (of, goal, other), rows, numeric=(0, 1, 2), unseen=True)
    said = f"Expected error over {AXES[of]}: {goal} with the best design for each point, {other} with the chosen one throughout"
    return f"<div>{figure(drawing, f'{said}; the dashed line is what was chosen.')}{under}</div>"


def _example(plan: Plan, seed: int) -> str:
    """A true table beside a simulated published one, of a pair that is off by about what pairs are off by on average."""
    pair = _typical(plan)
    if pair is None:
        return ""
    truth = plan.population.joint(pair)
    names = [plan.domain.names[position] for position in pair]
    campaign = campaign_for(plan.best.design, plan.domain, plan.epsilon)
    data, n = collected(campaign, plan.population, plan.people, seed)
    found = Study(data).estimate(names).probabilities
    texts = [plan.domain.attributes[position].texts for position in pair]
    said = paragraph(
        f"{escape(names[0])} and {escape(names[1])}, one simulated collection from {number(n, ',')} people: in each cell the true"
        f" share, and what would be published. The two tables differ for {share(avd(found, truth))} of the people."
    )
    return said + _beside(names, texts, truth, found)


def _beside(names: Sequence[str], texts: Sequence[Sequence[str]], truth: Probabilities, found: Probabilities) -> str:
    shown = texts[1][:MOST_COLUMNS]
    rows = [
        (text_of(text), *(f"{share(truth[i, j])} → {share(found[i, j])}" for j in range(len(shown))))
        for i, text in enumerate(texts[0][:MOST_ROWS])
    ]
    left_out = max(0, len(texts[0]) - MOST_ROWS) + max(0, len(texts[1]) - MOST_COLUMNS)
    note = paragraph("Only the first answers of each question are shown.", "soft") if left_out else ""
    caption = f"true → published: {names[0]} by {names[1]}"
    heads = [f"{names[0]} \\ {names[1]}", *(text or "(missing)" for text in shown)]
    return table(caption, heads, rows, numeric=range(1, len(shown) + 1)) + note


def _typical(plan: Plan) -> Pair | None:
    """Of the pairs that fit on a page, or else of all, the one whose expected error is nearest to the mean."""
    errors = np.asarray(plan.best.forecast.pair_errors)
    if not len(errors):
        return None
    sizes = plan.domain.sizes
    fits = np.array([sizes[a] <= MOST_ROWS and sizes[b] <= MOST_COLUMNS for a, b in plan.pairs])
    away = np.abs(errors - plan.best.forecast.pairs) + np.where(fits, 0.0, 10.0)
    return plan.pairs[int(away.argmin())]


def _advice(advised: Sequence[Advice]) -> str:
    return listed(escape(one.text) for one in advised) if advised else paragraph("Nothing that would change much.", "soft")


def _options(plan: Plan) -> str:
    rows = [
        (
            escape(option.label(plan.domain.sizes)),
            number(option.forecast.shares, ".4f"),
            number(option.forecast.pairs, ".4f"),
            number(option.report_bytes, ","),
        )
        for option in plan.options[:N_SHOWN]
    ]
    heads = ("choice", "shares", "pairs", "bytes per report")
    return table(f"The best of {len(plan.options)} designs", heads, rows, numeric=(1, 2, 3))


def _words(plan: Plan) -> str:
    return facts(
        [
            ("error (AVD)", "the share of people that a published table puts into the wrong cell: 0 is best, 1 is worst"),
            ("shares", "how often each answer to one question is given"),
            ("pairs", "how often answers to two questions are given together"),
            ("forecast", f"by formula, beforehand; nineteen of twenty are within {share(ACCURACY)} of simulations"),
            ("dependence", "how much answers go together; nobody knows it beforehand, so the forecast says how much hangs on it"),
            ("epsilon", "the privacy budget of everything that one report says; smaller is more private"),
        ]
    )  # fmt: skip
