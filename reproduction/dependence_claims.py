"""What the paper says about dependences and pruning, judged for every method that a sentence speaks of."""

from collections.abc import Iterator, Sequence

from reproduction.claims import (
    COUNT,
    NEAR,
    OTHERWISE,
    OUT_OF_REACH,
    Claim,
    Tables,
    above,
    at_most,
    both,
    judged,
    mean,
    mean_of,
    near,
    series,
    side_of,
    span,
    with_seeds,
    within,
)
from reproduction.estimation_claims import BINARY, EM, HYBRID, LARGER, LASSO
from reproduction.extent import PAPER_METHODS, TABLES
from reproduction.figures import TITLES

PRUNING = {
    "adult": {
        "dependences_pruned": ("88", "38", "22", "12", "6"),
        "dependences": ("102", "42", "24", "14", "8"),
        "loss": ("0.137", "0.095", "0.083", "0.143", "0.250"),
        "pairs_pruned": ("91", "66", "55", "36", "28"),
        "reduction": ("0.133", "0.371", "0.476", "0.657", "0.733"),
    },
    "tpce": {
        "dependences_pruned": ("44", "16", "16", "8", "8"),
        "dependences": ("46", "24", "20", "10", "10"),
        "loss": ("0.043", "0.333", "0.200", "0.200", "0.200"),
        "pairs_pruned": ("231", "171", "136", "66", "45"),
        "reduction": ("0.163", "0.380", "0.507", "0.761", "0.837"),
    },
    "retail": {
        "dependences_pruned": ("256", "256", "256", "250", "244"),
        "dependences": ("240", "240", "238", "220", "200"),
        "loss": ("-0.067", "-0.067", "-0.076", "-0.136", "-0.220"),
        "pairs_pruned": ("91", "91", "78", "66", "55"),
        "reduction": ("0.242", "0.242", "0.350", "0.450", "0.512"),
    },
}
"""The numbers of the paper's three pruning tables, column by column; its Retail is compared with two tables."""
PRUNING["nltcs"] = PRUNING["retail"]
DIAGONAL = 16
"""Attributes of the paper's Retail: what it counts after pruning includes every attribute's dependence on itself."""
WHY_PRUNED = {
    "adult": "Both directions, samples of a tenth, nats, rounded half up, ranked by entropy per candidate, as its text says.",
    "tpce": "Its rows are not ours. Its last two columns are headed 0.4 and 0.5, and are those of phi 0.5 and 0.6.",
    "retail": "No choice of market baskets gives so many; after pruning, the paper counts the diagonal, too.",
    "nltcs": "After pruning, the paper counts the diagonal, too. Its last reduction is 0.5417, printed 0.512.",
}
LABELS = {
    "dependences": "dependences",
    "dependences_pruned": "dependences after pruning",
    "loss": "share of dependences lost by pruning",
    "pairs_pruned": "pairs after pruning",
    "reduction": "share of comparisons saved by pruning",
}
DOMAINS = {"retail": "16", "nltcs": "16", "adult": "52", "tpce": "77"}
RIGHT = {"retail": "0.85", "nltcs": "0.85", "adult": "0.95", "tpce": "0.95"}
SMALL = 0.05
"""Share of pairs that is a "small" loss; of rates that are "relatively close", drop "slowly", or by no "large gap"."""
FEW = 0.25
"""Share of the dependences that there are of which "few" are lost."""
COUNTS = ("dependences", "dependences_pruned", "pairs_pruned")
TOLERANCE = {
    True: f"A count may be off by {COUNT:g} or by a tenth ({NEAR:g}).",
    False: f"A share may be off by {SMALL:g}.",
}
"""Of the pruning tables, by whether it is a count."""


def claims_of_dependences(tables: Tables) -> Iterator[Claim]:
    """Table by table: domains, dependences found and lost, pruning."""
    for table in TABLES:
        yield from with_seeds(tables, [f"pruning_{table}"], _domain(tables, table))
    for table in TABLES:
        yield from with_seeds(tables, [f"identification_{table}"], _identification(tables, table))
    yield from with_seeds(
        tables, [f"identification_lost_{table}" for table in TABLES], _lost(tables)
    )
    for table in TABLES:
        yield from with_seeds(tables, [f"pruning_{table}"], _pruning(tables, table))


def _domain(tables: Tables, table: str) -> Iterator[Claim]:
    phi = TABLES[table].pruning_phis[0]
    found = [
        mean(tables, f"pruning_{table}", phi, "true counts", value)
        for value in ("domain_bits", "domain_log2")
    ]
    if None not in found:
        yield judged(
            f"size of the domain ({TITLES[table]})",
            f"2^{DOMAINS[table]}",
            f"2^{found[0]} where every attribute has whole bits; the domain itself has 2^{found[1]} cells",
            [float(found[0] or 0) == float(DOMAINS[table])],
            "The paper adds up the bits of each attribute, rounded up.",
        )


def _identification(tables: Tables, table: str) -> Iterator[Claim]:
    title, name = TITLES[table], f"identification_{table}"
    right = {method: series(tables, name, method, "accurate") for method in PAPER_METHODS}
    if not all(right.values()):
        return
    yield from _rightly(tables, table, right)
    yield judged(
        f"EM_JD and Lasso+EM_JD identify dependences better than Lasso_JD ({title})",
        "yes",
        ", ".join(f"{method} {span(list(own.values()), '.4f')}" for method, own in right.items()),
        [
            at_most(right[LASSO][x], right[method][x])
            for method in (EM, HYBRID)
            for x in right[LASSO]
        ],
        "At every f.",
    )
    yield from falling(right, f"dependences identified rightly become fewer with f ({title})")
    added = {
        method: series(tables, f"identification_added_{table}", method, "added")
        for method in PAPER_METHODS
    }
    if all(added.values()):
        yield judged(
            f"EM_JD and Lasso+EM_JD add fewer dependences than Lasso_JD ({title})",
            "yes",
            ", ".join(
                f"{method} {span(list(own.values()), '.4f')}" for method, own in added.items()
            ),
            [
                at_most(added[method][x], added[LASSO][x])
                for method in (EM, HYBRID)
                for x in added[LASSO]
            ],
            "Shares of all pairs; sparse joints look dependent.",
        )


def _rightly(tables: Tables, table: str, right: dict[str, dict[str, float]]) -> Iterator[Claim]:
    """A rate means something only beside that of finding nothing, which is high where few pairs depend."""
    early = {
        method: [rate for x, rate in own.items() if float(x) < 0.9] for method, own in right.items()
    }
    dependent = dependent_share(tables, table)
    if dependent is None or not all(early.values()):
        return
    means = {method: mean_of(rates) for method, rates in early.items()}
    claimed, nothing = float(RIGHT[table]), 1 - dependent
    misses = {
        rate: rate - claimed if rate > nothing else min(rate - claimed, rate - nothing)
        for rate in means.values()
    }
    yield judged(
        f"dependences identified rightly at f below 0.9 ({TITLES[table]})",
        f"about {RIGHT[table]}",
        f"{', '.join(f'{method} {rate:.4f}' for method, rate in means.items())}; finding no dependence at all {nothing:.4f}",
        [both(near(rate, claimed), above(rate, nothing)) for rate in means.values()],
        "Mean over f. About is within a tenth, and above finding no dependence at all.",
        side=side_of(
            [miss for rate, miss in misses.items() if not near(rate, claimed) or rate <= nothing]
        ),
    )


def dependent_share(tables: Tables, table: str) -> float | None:
    """The share of all pairs that truly depend: what finding nothing at all loses."""
    phi = f"{TABLES[table].phi:g}"
    true, pairs = (
        mean(tables, f"pruning_{table}", phi, "true counts", value)
        for value in ("dependences", "pairs")
    )
    return None if true is None or pairs is None else float(true) / 2 / float(pairs)


def falling(rates: dict[str, dict[str, float]], about: str) -> Iterator[Claim]:
    """From the least f to the largest, for every method."""
    ends = {
        method: (next(iter(own.values())), list(own.values())[-1])
        for method, own in rates.items()
        if len(own) > 1
    }
    if len(ends) == len(rates):
        shown = ", ".join(
            f"{method} {first:.4f} to {last:.4f}" for method, (first, last) in ends.items()
        )
        checks = [above(first, last) for first, last in ends.values()]
        yield judged(
            about, "yes", shown, checks, "From the least f to the largest.", side=OTHERWISE
        )


def _lost(tables: Tables) -> Iterator[Claim]:
    """Shares of all pairs, and of the dependences that there are: where few pairs depend, few of all can be lost."""
    lost = {table: _worst_losses(tables, table) for table in TABLES}
    shares = {table: dependent_share(tables, table) for table in TABLES}
    known = {
        table: (max(own), share) for table, own in lost.items() if own and (share := shares[table])
    }
    rates = {table: min(1.0, worst / share) for table, (worst, share) in known.items()}
    told = {
        table: f"{known[table][0]:.4f} of all pairs, {rate:.4f} of those that depend"
        for table, rate in rates.items()
    }
    for table in LARGER:
        if table in known:
            share = known[table][1]
            yield judged(
                f"few dependences are lost ({TITLES[table]})",
                "small",
                f"at most {told[table]}",
                [both(at_most(worst, SMALL), at_most(worst, share, FEW)) for worst in lost[table]],
                f"Each of the three methods, at every f. Few is {SMALL:g} of all pairs, and a quarter of those that depend:"
                f" finding nothing would lose no more than {share:.4f} of all pairs.",
            )
    for table in BINARY:
        if table in known and all(other in known for other in LARGER):
            yield judged(
                f"more dependences are lost than on Adult and TPC-E ({TITLES[table]})",
                "comparatively higher",
                f"at most {told[table]}, against {' and '.join(told[other] for other in LARGER)}",
                [
                    *(above(known[table][0], known[other][0]) for other in LARGER),
                    *(above(rates[table], rates[other]) for other in LARGER),
                ],
                "The worst of the three methods at the worst f, of all pairs and of those that depend.",
                side=OTHERWISE,
            )


def _worst_losses(tables: Tables, table: str) -> list[float]:
    """Each of the paper's methods at its worst f; nothing where one was not measured."""
    every = [
        series(tables, f"identification_lost_{table}", method, "lost") for method in PAPER_METHODS
    ]
    return [max(own.values()) for own in every] if all(every) else []


def _pruning(tables: Tables, table: str) -> Iterator[Claim]:
    for value, label in LABELS.items():
        theirs = PRUNING[table][value]
        ours = [
            mean(tables, f"pruning_{table}", phi, "true counts", value)
            for phi in TABLES[table].paper_phis
        ]
        if None in ours:
            continue
        added = _diagonals(tables, table, value)
        pairs = [
            (float(mine or 0) + more, float(other))
            for mine, more, other in zip(ours, added, theirs, strict=True)
        ]
        yield judged(
            f"{label} ({TITLES[table]})",
            " / ".join(theirs),
            _told(ours, [mine for mine, _ in pairs] if any(added) else [], value),
            [
                within(*pair) if value in COUNTS else abs(pair[0] - pair[1]) <= SMALL
                for pair in pairs
            ],
            f"{TOLERANCE[value in COUNTS]} {WHY_PRUNED[table]}",
            side=OUT_OF_REACH,
        )
    losses, savings = (
        series(tables, f"pruning_{table}", "true counts", value) for value in ("loss", "reduction")
    )
    if table in BINARY and losses:
        yield judged(
            f"pruning saves up to half of the comparisons and loses no dependence ({TITLES[table]})",
            "yes",
            f"{max(savings.values()):.4f} saved, {max(0.0, *losses.values()):.4f} lost",
            [at_most(0.5, max(savings.values())), *(at_most(loss, 0) for loss in losses.values())],
            "What it does not look at it takes as dependent.",
        )


def _told(ours: Sequence[str | None], judged_as: Sequence[float], value: str) -> str:
    """Our numbers; where others are judged, those first."""
    own = " / ".join(str(mine) for mine in ours)
    if not judged_as:
        return own
    form = ".1f" if value in COUNTS else ".4f"
    return (
        f"{' / '.join(format(mine, form) for mine in judged_as)} with the diagonal ({own} without)"
    )


def _diagonals(tables: Tables, table: str, value: str) -> list[float]:
    """What the diagonal adds to our numbers, phi by phi."""
    phis = TABLES[table].paper_phis
    every = [
        float(mean(tables, f"pruning_{table}", phi, "true counts", "dependences") or 1)
        for phi in phis
    ]
    if table not in BINARY or value not in ("dependences_pruned", "loss"):
        return [0.0] * len(phis)
    return [-DIAGONAL / own if value == "loss" else DIAGONAL for own in every]
