"""What the paper says about estimating joints, judged for every method that a sentence speaks of."""

from collections.abc import Iterator
from itertools import pairwise

from reproduction.claims import (
    BETTER,
    OTHERWISE,
    WORSE,
    Claim,
    Tables,
    above,
    at_most,
    judged,
    mean,
    near,
    number,
    over,
    series,
    side_of,
    span,
    with_seeds,
)
from reproduction.extent import PAPER_METHODS, TABLES
from reproduction.figures import TITLES

EM, LASSO, HYBRID = PAPER_METHODS
BINARY, LARGER = ("retail", "nltcs"), ("adult", "tpce")
MUCH = 2.0
"""How many times is "much" faster."""
SEVERAL = 3.0
FEW_SECONDS = 5.0
SIMILAR = 0.25
"""Share of an error within which another is "very similar"."""
AROUND = 0.3
"""Share of a number that is said to be "around" something."""
COMPARABLE = 1.1
"""How many times another error is still "comparable"."""
COMPILED, LOOPS = "compiled", "plain loops"
HOW = (LOOPS, COMPILED)
"""As the paper programmed it, and with compiled kernels: each compared with its own kind, counting included."""


def claims_of_estimation(tables: Tables) -> Iterator[Claim]:
    """Times first, then errors."""
    for table in TABLES:
        yield from with_seeds(tables, _figures(table, "time"), _times(tables, table))
    yield from with_seeds(
        tables, [name for table in LARGER for name in _figures(table, "time")], _slower(tables)
    )
    for table in BINARY:
        yield from with_seeds(tables, _figures(table, "avd"), _binary_errors(tables, table))
    for table in TABLES:
        yield from with_seeds(tables, _figures(table, "avd"), _errors(tables, table))
    for table in LARGER:
        yield from with_seeds(tables, _figures(table, "avd"), _larger(tables, table))
    yield from with_seeds(
        tables, [name for table in LARGER for name in _figures(table, "avd")], _harder(tables)
    )


def timed(tables: Tables, figure: str, method: str, how: str) -> dict[str, float]:
    """Seconds a joint over f."""
    if how == LOOPS:
        return series(tables, figure, method, "loop_seconds")
    return series(tables, figure, method, "counted_seconds") or series(
        tables, figure, method, "seconds"
    )


def ratios(ones: dict[str, float], others: dict[str, float]) -> list[float]:
    """One over the other, at every place where both were measured."""
    return [over(ones[x], others[x]) for x in ones if x in others and others[x] > 0]


def _figures(table: str, kind: str) -> list[str]:
    return [f"{kind}_{table}_{k}" for k in TABLES[table].dimensions]


# ---- time


def _times(tables: Tables, table: str) -> Iterator[Claim]:
    title, names = TITLES[table], _figures(table, "time")
    for how in HOW:
        own = [
            {method: timed(tables, name, method, how) for method in PAPER_METHODS} for name in names
        ]
        if not all(times for figure in own for times in figure.values()):
            continue
        em = [ratio for figure in own for ratio in ratios(figure[EM], figure[LASSO])]
        hybrid = [ratio for figure in own for ratio in ratios(figure[HYBRID], figure[LASSO])]
        yield judged(
            f"Lasso_JD is consistently much faster than EM_JD and Lasso+EM_JD ({title}, {how})",
            "yes",
            f"EM_JD takes {span(em)} times as long, Lasso+EM_JD {span(hybrid)} times",
            [above(ratio, MUCH) for ratio in em + hybrid],
            "Much is twice. An EM that never makes the table of reports and candidates takes its time for few steps.",
        )
        saved = [ratio for figure in own for ratio in ratios(figure[EM], figure[HYBRID])]
        yield judged(
            f"Lasso+EM_JD takes much less time than EM_JD ({title}, {how})",
            "yes",
            f"EM_JD takes {span(saved)} times as long",
            [above(ratio, MUCH) for ratio in saved],
            "It saves candidates and steps, and pays for the regression; with few candidates there is little to save.",
        )
        yield from _growth(own, title, how, names)
        yield from _over_f(own, title, how)


def _growth(
    own: list[dict[str, dict[str, float]]], title: str, how: str, names: list[str]
) -> Iterator[Claim]:
    em, lasso = (ratios(own[1][method], own[0][method]) for method in (EM, LASSO))
    low, high = (name.rpartition("_")[2] for name in names)
    yield judged(
        f"from k = {low} to {high} the time of EM_JD grows several times, that of Lasso_JD slowly ({title}, {how})",
        "yes",
        f"EM_JD {span(em)} times, Lasso_JD {span(lasso)} times",
        [
            *(above(ratio, SEVERAL) for ratio in em),
            *(above(other, one) for one, other in zip(lasso, em, strict=True)),
        ],
        "Several is three times; slowly is less than EM_JD.",
        side=OTHERWISE,
    )


def _over_f(own: list[dict[str, dict[str, float]]], title: str, how: str) -> Iterator[Claim]:
    ends = [
        (next(iter(figure[EM].values())), list(figure[EM].values())[-1])
        for figure in own
        if len(figure[EM]) > 1
    ]
    if ends:
        yield judged(
            f"the time of EM_JD increases with f ({title}, {how})",
            "yes",
            ", ".join(f"{first:.3g} s to {last:.3g} s" for first, last in ends),
            [above(last, first) for first, last in ends],
            "More steps until the largest probability rests; at strong noise, and many candidates, that can also come too soon.",
            side=OTHERWISE,
        )
    if how == LOOPS:
        longest = [seconds for figure in own for seconds in figure[LASSO].values()]
        yield judged(
            f"Lasso_JD takes less than a few seconds ({title}, {how})",
            "yes",
            f"{max(longest):.3g} s at most",
            [above(FEW_SECONDS, seconds) for seconds in longest],
            "Counting bits is most of it.",
        )


def _slower(tables: Tables) -> Iterator[Claim]:
    for how in HOW:
        found = {
            (method, k): ratios(
                *(timed(tables, f"time_{table}_{k}", method, how) for table in ("tpce", "adult"))
            )
            for k in (2, 3)
            for method in PAPER_METHODS
        }
        if all(found.values()):
            yield judged(
                f"joints of TPC-E take longer than those of Adult ({how})",
                "yes",
                ", ".join(
                    f"{method} {span(own)} times (k = {k})" for (method, k), own in found.items()
                ),
                [above(ratio, 1) for own in found.values() for ratio in own],
                "Its attributes have larger domains on average, but its samples have fewer records (4,000 against 4,522).",
                side=OTHERWISE,
            )


# ---- error


def _binary_errors(tables: Tables, table: str) -> Iterator[Claim]:
    title, names = TITLES[table], _figures(table, "avd")
    em, lasso, product = (
        [mean(tables, name, "0.9", method, "avd") for name in names]
        for method in (EM, LASSO, "product")
    )
    whose = (
        "The paper's Retail is very likely this table, a file of its authors' own code."
        if table == "nltcs"
        else "The paper's Retail is very likely not this one."
    )
    if None not in em:
        worst = max(float(value or 0) for value in em)
        yield judged(
            f"the AVD of EM_JD sharply increases to as high as 0.28 ({title}, f = 0.9)",
            "0.28",
            f"{em[0]} (k = 3), {em[1]} (k = 5)",
            [0.28 * (1 - AROUND) <= worst <= 0.28 * (1 + AROUND)],
            whose,
            side=BETTER if worst < 0.28 else WORSE,
        )
    if None not in (*lasso, *product):
        yield judged(
            f"the AVD of Lasso_JD stays around 0.1 even at f = 0.9 ({title})",
            "around 0.1",
            f"{lasso[0]} (k = 3), {lasso[1]} (k = 5); product of marginals {product[0]}, {product[1]}",
            [
                at_most(number(tables, name, "0.9", LASSO, "avd") or 0.0, 0.1, 1 + AROUND)
                for name in names
            ],
            f"{whose} Where dependence is strong, its sparse joints are nearer to the truth than independence; elsewhere not.",
        )


def _errors(tables: Tables, table: str) -> Iterator[Claim]:
    title, names = TITLES[table], _figures(table, "avd")
    own = [
        {method: series(tables, name, method, "avd") for method in (*PAPER_METHODS, "product")}
        for name in names
    ]
    if not all(len(errors) > 1 for figure in own for errors in figure.values()):
        return
    spreads = [
        (max(figure[LASSO].values()) - min(figure[LASSO].values())) / max(figure[LASSO].values())
        for figure in own
    ]
    yield judged(
        f"the AVD of Lasso_JD is insensitive to f ({title})",
        "yes",
        f"it changes by {span(spreads, '.0%')} of itself",
        [near(1 + spread, 1) for spread in spreads],
        "Insensitive is a tenth. What it is off by comes from its sparse choice, not from noise, until noise is strong.",
    )
    yield _all_grow(own, f"the AVD of EM_JD grows with f ({title})", EM)
    lasts = [
        {method: list(errors.values())[-1] for method, errors in figure.items()} for figure in own
    ]
    firsts = [
        {method: next(iter(errors.values())) for method, errors in figure.items()} for figure in own
    ]
    yield judged(
        f"at large f the AVD of Lasso_JD is comparable to that of EM_JD or better ({title})",
        "yes",
        ", ".join(f"Lasso_JD {last[LASSO]:.4f}, EM_JD {last[EM]:.4f}" for last in lasts),
        [at_most(last[LASSO], last[EM], COMPARABLE) for last in lasts],
        f"Multiplying marginals has {', '.join(format(last['product'], '.4f') for last in lasts)}.",
    )
    yield judged(
        f"Lasso+EM_JD is better than Lasso_JD at small f and than EM_JD at large f ({title})",
        "yes",
        ", ".join(
            f"{first[HYBRID]:.4f} against {first[LASSO]:.4f}, then {last[HYBRID]:.4f} against {last[EM]:.4f}"
            for first, last in zip(firsts, lasts, strict=True)
        ),
        [
            *(above(first[LASSO], first[HYBRID]) for first in firsts),
            *(above(last[EM], last[HYBRID]) for last in lasts),
        ],
        "A cell that Lasso drops never returns to the hybrid.",
    )
    grown = [ratio for method in PAPER_METHODS for ratio in ratios(own[1][method], own[0][method])]
    yield judged(
        f"the AVD of all three grows with k ({title})",
        "yes",
        f"{span(grown)} times",
        [above(ratio, 1) for ratio in grown],
        "Cells grow in number, and people in each become fewer.",
        side=OTHERWISE,
    )


def _all_grow(own: list[dict[str, dict[str, float]]], about: str, method: str) -> Claim:
    steps = [(one, other) for figure in own for one, other in pairwise(figure[method].values())]
    ends = [list(figure[method].values()) for figure in own]
    shown = ", ".join(f"{values[0]:.4f} to {values[-1]:.4f}" for values in ends)
    return judged(
        about,
        "yes",
        shown,
        [above(other, one) for one, other in steps],
        "From every f to the next.",
        side=OTHERWISE,
    )


def _larger(tables: Tables, table: str) -> Iterator[Claim]:
    title = TITLES[table]
    for k in TABLES[table].dimensions:
        own = {
            method: series(tables, f"avd_{table}_{k}", method, "avd")
            for method in (EM, HYBRID, LASSO, "product")
        }
        if not all(own.values()):
            continue
        less = [1 - ratio for ratio in ratios(own[HYBRID], own[EM])]
        yield judged(
            f"Lasso+EM_JD shows very similar errors to EM_JD ({title}, k = {k})",
            "yes",
            ", ".join(f"{own[HYBRID][x]:.4f} against {own[EM][x]:.4f} (f = {x})" for x in own[EM]),
            [abs(share) <= SIMILAR for share in less],
            "Very similar is within a quarter. Where EM_JD is nearly exact, what Lasso dropped is missing.",
            side=side_of([share for share in less if abs(share) > SIMILAR]),
        )
    low = number(tables, f"avd_{table}_2", "0.5", LASSO, "avd")
    product = number(tables, f"avd_{table}_2", "0.5", "product", "avd")
    if low is not None and product is not None:
        yield judged(
            f"Lasso_JD estimates joint distributions ({title}, k = 2, f = 0.5)",
            "a slight loss of accuracy",
            f"AVD {low:.4f}; product of marginals {product:.4f}",
            [above(product, low)],
            "It regresses on sums of bits of single attributes, which hold nothing about how attributes go together.",
        )


def _harder(tables: Tables) -> Iterator[Claim]:
    found = {
        (method, k): ratios(
            *(series(tables, f"avd_{table}_{k}", method, "avd") for table in ("tpce", "adult"))
        )
        for k in (2, 3)
        for method in PAPER_METHODS
    }
    if all(found.values()):
        yield judged(
            "the AVD on TPC-E is generally larger than on Adult",
            "yes",
            ", ".join(
                f"{method} {span(own)} times (k = {k})" for (method, k), own in found.items()
            ),
            [above(ratio, 1) for own in found.values() for ratio in own],
            "Its domains are larger on average.",
            side=OTHERWISE,
        )
