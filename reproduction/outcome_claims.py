"""What the paper says about classifiers and overall time, judged by their figures."""

from collections.abc import Iterator

from reproduction.claims import (
    OTHERWISE,
    Claim,
    Tables,
    above,
    at_most,
    both,
    judged,
    minus,
    near,
    not_above,
    number,
    series,
    side_of,
    span,
    with_seeds,
)
from reproduction.classification import MAJORITY, NOT_PRIVATE
from reproduction.dependence_claims import SMALL, falling
from reproduction.estimation_claims import EM, HYBRID, LASSO, LOOPS, ratios, timed
from reproduction.extent import PAPER_METHODS, TABLES
from reproduction.figures import TITLES

WORST_FOREST = {
    "retail": ("0.67", "0.50"),
    "nltcs": ("0.67", "0.50"),
    "adult": ("0.42", "0.15"),
    "tpce": ("0.26", "0.13"),
}
A_THOUSAND_OR_SO = 300.0


def claims_of_outcomes(tables: Tables) -> Iterator[Claim]:
    """Table by table: classifiers, overall time."""
    for table in TABLES:
        yield from with_seeds(tables, [f"svm_{table}"], _support_vectors(tables, table))
    for table in TABLES:
        yield from with_seeds(tables, [f"forest_{table}"], _forests(tables, table))
    for table in TABLES:
        yield from _overall(tables, table)


def _support_vectors(tables: Tables, table: str) -> Iterator[Claim]:
    title, name = TITLES[table], f"svm_{table}"
    rates = {method: series(tables, name, method, "svm") for method in PAPER_METHODS}
    best, majority = (
        number(tables, name, "0", method, "svm") for method in (NOT_PRIVATE, MAJORITY)
    )
    if not all(rates.values()) or best is None or majority is None:
        return
    yield from falling(rates, f"the SVM rate decreases with f ({title})")
    early = {
        method: [rate for x, rate in own.items() if float(x) < 0.9] for method, own in rates.items()
    }
    if all(len(own) > 1 for own in early.values()) and all("0.9" in own for own in rates.values()):
        drops = {
            method: (
                minus(early[method][0], early[method][-1]),
                minus(early[method][-1], own["0.9"]),
            )
            for method, own in rates.items()
        }
        yield judged(
            f"the SVM rate drops slowly until f = 0.7 and by a large gap at 0.9 ({title})",
            "yes",
            ", ".join(
                f"{method} {slow:.4f}, then {gap:.4f}" for method, (slow, gap) in drops.items()
            ),
            [
                both(not_above(0, slow), at_most(slow, SMALL), above(gap, SMALL), above(gap, slow))
                for slow, gap in drops.values()
            ],
            "The drop from the least f to 0.7, and from there to 0.9; less than nothing is a rise. Slowly is a drop of"
            f" {SMALL:g} at most, a large gap is more than that.",
            side=OTHERWISE,
        )
    close = {
        method: max((minus(best, rate) for rate in own), key=abs)
        for method, own in early.items()
        if own
    }
    yield judged(
        f"the SVM rate is close to that without privacy at f below 0.9 ({title})",
        "relatively close",
        f"not private {best:.4f}, always the most frequent answer {majority:.4f}; off by "
        + ", ".join(f"{method} {abs(gap):.4f}" for method, gap in close.items()),
        [
            both(
                at_most(gap, SMALL),
                at_most(-SMALL, gap),
                *(above(rate, majority) for rate in early[method]),
            )
            for method, gap in close.items()
        ],
        f"Close is {SMALL:g}, and above always giving the most frequent answer: a rate below that has learned nothing.",
    )
    pairs = [(method, x) for method in (EM, HYBRID) for x in rates[LASSO] if float(x) < 0.9]
    yield judged(
        f"the SVM rate of Lasso_JD is generally smaller ({title})",
        "yes",
        ", ".join(f"{method} {span(own, '.4f')}" for method, own in early.items()),
        [above(rates[method][x], rates[LASSO][x]) for method, x in pairs],
        "At f below 0.9.",
        side=OTHERWISE,
    )


def _forests(tables: Tables, table: str) -> Iterator[Claim]:
    title, name = TITLES[table], f"forest_{table}"
    rates = {method: series(tables, name, method, "random_forest") for method in PAPER_METHODS}
    guess, best = (
        number(tables, name, "0", NOT_PRIVATE, value) for value in ("guess", "random_forest")
    )
    majority = number(tables, name, "0", MAJORITY, "random_forest")
    if not all(rates.values()) or guess is None or best is None or majority is None:
        return
    worst, who, x = min(
        (rate, method, x) for method, own in rates.items() for x, rate in own.items()
    )
    claimed = float(WORST_FOREST[table][0])
    learned = above(worst, majority)
    yield judged(
        f"worst random forest rate, much larger than guessing ({title})",
        f"{WORST_FOREST[table][0]}, guessing {WORST_FOREST[table][1]}",
        f"{worst:.4f} ({who}, f = {x}), guessing {guess:.4f},"
        f" always the most frequent answer {majority:.4f}, not private {best:.4f}",
        [near(worst, claimed), learned],
        "Within a tenth. A rate below always giving the most frequent answer keeps nothing of the records, however far above"
        " guessing.",
        side=side_of([worst - claimed, worst - majority]),
    )
    yield from _forests_and_vectors(tables, table, rates, best)
    yield from _better_forests(rates, title)


def _better_forests(rates: dict[str, dict[str, float]], title: str) -> Iterator[Claim]:
    early = {
        method: {x: rate for x, rate in own.items() if float(x) < 0.9}
        for method, own in rates.items()
    }
    yield judged(
        f"random forests from EM_JD and Lasso+EM_JD are better than from Lasso_JD ({title})",
        "yes",
        ", ".join(
            f"{method} {span(list(own.values()), '.4f')}" for method, own in early.items() if own
        ),
        [above(early[method][x], early[LASSO][x]) for method in (EM, HYBRID) for x in early[LASSO]],
        "At f below 0.9.",
    )
    falls = {method: list(rates[method].values()) for method in (EM, HYBRID)}
    if all(len(own) > 1 for own in falls.values()):
        yield judged(
            f"Lasso+EM_JD degrades slowly with f ({title})",
            "yes",
            ", ".join(f"{method} {own[0]:.4f} to {own[-1]:.4f}" for method, own in falls.items()),
            [
                at_most(
                    minus(falls[HYBRID][0], falls[HYBRID][-1]), minus(falls[EM][0], falls[EM][-1])
                )
            ],
            "Not more than EM_JD does.",
        )


def _forests_and_vectors(
    tables: Tables, table: str, rates: dict[str, dict[str, float]], best: float
) -> Iterator[Claim]:
    vectors = {method: series(tables, f"svm_{table}", method, "svm") for method in PAPER_METHODS}
    whole = number(tables, f"svm_{table}", "0", NOT_PRIVATE, "svm")
    if not all(vectors.values()) or whole is None:
        return
    places = [
        (method, x) for method in PAPER_METHODS for x in rates[method] if x in vectors[method]
    ]
    forest = [minus(best, rates[method][x]) for method, x in places]
    svm = [minus(whole, vectors[method][x]) for method, x in places]
    yield judged(
        f"random forests lose more than SVM does ({TITLES[table]})",
        "yes",
        f"forests {span(forest, '.4f')} below those without privacy, SVM {span(svm, '.4f')}",
        [above(one, other) for one, other in zip(forest, svm, strict=True)],
        "All methods, at every f.",
        side=OTHERWISE,
    )


def _overall(tables: Tables, table: str) -> Iterator[Claim]:
    title = TITLES[table]
    seconds = {
        method: series(tables, f"overall_time_{table}", method, "seconds")
        for method in PAPER_METHODS
    }
    k = TABLES[table].dimensions[0]
    loops = {method: timed(tables, f"time_{table}_{k}", method, LOOPS) for method in PAPER_METHODS}
    for own, how, figure, why in (
        (seconds, "compiled", f"overall_time_{table}", "Whole publications, counting included."),
        (
            loops,
            "plain loops",
            f"time_{table}_{k}",
            f"A joint of k = {k}, counting included; a publication is many of them.",
        ),
    ):
        if all(own.values()):
            yield from with_seeds(tables, [figure], _orders(own, f"{title}, {how}", why))


def _orders(own: dict[str, dict[str, float]], where: str, why: str) -> Iterator[Claim]:
    factors, saved = ratios(own[EM], own[LASSO]), ratios(own[EM], own[HYBRID])
    yield judged(
        f"Lasso_JD makes a new table about three orders of magnitude faster than EM_JD ({where})",
        "about a thousand times",
        f"{span(factors)} times",
        [at_most(A_THOUSAND_OR_SO, factor) for factor in factors],
        f"{why} About a thousand is {A_THOUSAND_OR_SO:g} at least.",
    )
    yield judged(
        f"Lasso+EM_JD makes a new table faster than EM_JD ({where})",
        "yes",
        f"{span(saved)} times",
        [above(factor, 1) for factor in saved],
        why,
    )
