"""What the words of the paper's sentences are taken to mean: the very limits by which verdicts are made, for the page."""

from reproduction.claims import COUNT, NEAR, STANDARD_ERRORS
from reproduction.dependence_claims import FEW, SMALL
from reproduction.estimation_claims import AROUND, COMPARABLE, FEW_SECONDS, MUCH, SEVERAL, SIMILAR
from reproduction.outcome_claims import A_THOUSAND_OR_SO

LIMITS = (
    (
        "a difference",
        f"undecided below {STANDARD_ERRORS:g} standard errors of the seeds, or with one seed alone",
    ),
    ("agrees", "holds wherever it was checked"),
    ("in part", "holds in some places, fails in others"),
    ("differs", "fails somewhere, and is known to hold nowhere"),
    ("undecided", "fails nowhere, but not all differences are decided"),
    (
        "about, of a rate",
        f"within {NEAR:.0%} of what the paper has, and above what finding or learning nothing would score",
    ),
    ("counts of the pruning tables", f"within {COUNT:g}, or {NEAR:.0%} where that is more"),
    ("shares of the pruning tables", f"within {SMALL:g}"),
    ("much faster", f"{MUCH:g} times"),
    ("several times", f"{SEVERAL:g} times"),
    ("about three orders of magnitude", f"{A_THOUSAND_OR_SO:g} times at least"),
    ("less than a few seconds", f"less than {FEW_SECONDS:g}"),
    ("very similar errors", f"within {SIMILAR:.0%}"),
    ("as high as, around", f"within {AROUND:.0%}"),
    ("comparable or better", f"at most {COMPARABLE:g} times"),
    ("insensitive to f", f"changes by at most {NEAR:.0%} of itself"),
    (
        "few dependences lost",
        f"at most {SMALL:g} of all pairs, and at most {FEW:.0%} of those that depend",
    ),
    (
        "relatively close to the rate without privacy",
        f"at most {SMALL:g} off, and above always giving the most frequent answer",
    ),
    (
        "drops slowly, then by a large gap",
        f"does not rise, and drops by at most {SMALL:g}; then by more than that, and by more than before",
    ),
)
"""Word, limit."""
