"""The paper's claims, each beside what we measured: agree or not, and why."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields

from lopub.contract.budget import decimal_up
from lopub.contract.campaign import Campaign
from lopub.contract.domain import Categorical, Domain
from lopub.contract.terms import Terms
from lopub.forecast.request import CampaignRequest, make_campaign
from lopub.reproduce.extent import PAPER_METHODS, TABLES
from lopub.reproduce.figures import TITLES, FigureRow

Tables = Mapping[str, Sequence[FigureRow]]
"""Figure -> its rows; without a figure that was not run."""
AGREES, PARTLY, DIFFERS = "agrees", "in part", "differs"
BETTER, WORSE, OUT_OF_REACH = "better", "worse", "not reproducible"
PRUNING = {
    "adult": {
        "dependences_pruned": ("88", "38", "22", "12", "6"),
        "dependences": ("102", "42", "24", "14", "8"),
        "pairs_pruned": ("91", "66", "55", "36", "28"),
    },
    "tpce": {
        "dependences_pruned": ("44", "16", "16", "8", "8"),
        "dependences": ("46", "24", "20", "10", "10"),
        "pairs_pruned": ("231", "171", "136", "66", "45"),
    },
    "retail": {
        "dependences_pruned": ("256", "256", "256", "250", "244"),
        "dependences": ("240", "240", "238", "220", "200"),
        "pairs_pruned": ("91", "91", "78", "66", "55"),
    },
}
"""The numbers of the paper's three pruning tables, phi by phi."""
A_THOUSAND_OR_SO = 300
NEAR = 0.10
"""Share by which a number may be off and still agree; so may a count by 2."""


@dataclass(frozen=True)
class Claim:
    """One row of the page's first table. ours: numbers as they stand in the other files."""

    about: str
    paper: str
    ours: str
    verdict: str
    side: str
    """Which way ours is off: better, worse, or not to be had from these tables; empty where it agrees."""
    why: str


def claims(tables: Tables) -> list[Claim]:
    """Those whose figures were run."""
    found: list[Claim] = []
    for make in (_epsilon, _retail_errors, _lasso_sees, _identification, _pruning, _forests, _speed, _time_over_f, _trade_off):
        found.extend(make(tables))
    return found


def mean(tables: Tables, figure: str, x: str, method: str, value: str) -> str | None:
    """The number as it is printed; None where it was not measured."""
    for row in tables.get(figure, ()):
        if (row.x, row.method, row.value) == (x, method, value):
            return row.mean
    return None


def _epsilon(tables: Tables) -> Iterator[Claim]:
    loss = _paper_campaign().loss
    yield Claim(
        "epsilon of one attribute at f = 0.5, h = 4",
        "8.79",
        decimal_up(loss, 2),
        AGREES,
        "",
        f"But per attribute: the fifteen of Adult cost {decimal_up(15 * loss, 1)}, which protects nobody.",
    )


def _paper_campaign() -> Campaign:
    """Two candidates that share no bit, as the bound assumes."""
    domain = Domain((Categorical(name="a", values=("0", "1")),))
    return make_campaign(domain, Terms(name="claim"), CampaignRequest(flip_probability="0.5", n_bits=128, n_hashes=4))


def _retail_errors(tables: Tables) -> Iterator[Claim]:
    em = mean(tables, "avd_retail_3", "0.9", "EM_JD", "avd"), mean(tables, "avd_retail_5", "0.9", "EM_JD", "avd")
    if None not in em:
        yield Claim(
            "AVD of EM_JD on Retail at f = 0.9",
            "up to 0.28",
            f"{em[0]} (k = 3), {em[1]} (k = 5)",
            *_near(max(float(value or 0) for value in em), 0.28, less_is_better=True),
            "Its Retail cannot be ours: its table of dependences does not come from market baskets.",
        )
    lasso = mean(tables, "avd_retail_3", "0.9", "Lasso_JD", "avd"), mean(tables, "avd_retail_5", "0.9", "Lasso_JD", "avd")
    product = mean(tables, "avd_retail_3", "0.9", "product", "avd"), mean(tables, "avd_retail_5", "0.9", "product", "avd")
    if None not in (*lasso, *product):
        yield Claim(
            "AVD of Lasso_JD on Retail at f = 0.9",
            "around 0.1",
            f"{lasso[0]} (k = 3), {lasso[1]} (k = 5)",
            *_near(float(lasso[0] or 0), 0.1, less_is_better=True),
            f"It is worse than multiplying marginals, which has {product[0]} and {product[1]}.",
        )


def _lasso_sees(tables: Tables) -> Iterator[Claim]:
    for figure, name in (("avd_adult_2", "Adult, k = 2"), ("avd_tpce_2", "TPC-E, k = 2")):
        low = mean(tables, figure, "0.5", "Lasso_JD", "avd")
        product = mean(tables, figure, "0.5", "product", "avd")
        if low and product:
            yield Claim(
                f"Lasso_JD estimates joint distributions ({name}, f = 0.5)",
                "a slight loss of accuracy",
                f"AVD {low}; product of marginals {product}",
                *_holds(float(low) < float(product)),
                "It regresses on sums of bits of single attributes, which hold nothing about how attributes go together.",
            )


def _identification(tables: Tables) -> Iterator[Claim]:
    for table, claimed in (("retail", "0.85"), ("adult", "0.95"), ("tpce", "0.95")):
        own = [mean(tables, f"identification_{table}", "0.5", method, "accurate") for method in PAPER_METHODS]
        late = mean(tables, f"identification_{table}", "0.9", "em", "accurate")
        if None not in own:
            yield Claim(
                f"dependences identified rightly ({TITLES[table]}, f = 0.5)",
                f"about {claimed}",
                ", ".join(f"{method} {value}" for method, value in zip(PAPER_METHODS, own, strict=True)),
                *_near(float(own[0] or 0), float(claimed)),
                "Most pairs are independent at this phi, so that finding nothing scores as well."
                + (f" Converged EM at f = 0.9 has {late}: noise looks like dependence." if late else ""),
            )


def _pruning(tables: Tables) -> Iterator[Claim]:
    whys = {
        "adult": "Both directions, samples of a tenth, nats, rounded half up, ranked by entropy per candidate, as its text says.",
        "tpce": "Its rows are not ours; the last two columns of its pairs fit neither rounding nor flooring.",
        "retail": "No choice of market baskets gives so many; after pruning, the paper counts the diagonal, too.",
    }
    names = {
        "dependences": "dependences",
        "dependences_pruned": "dependences after pruning",
        "pairs_pruned": "pairs after pruning",
    }
    for table, values in PRUNING.items():
        for value, label in names.items():
            ours = [mean(tables, f"pruning_{table}", phi, "true counts", value) for phi in TABLES[table].pruning_phis]
            if None in ours:
                continue
            agree = [_within(float(mine or 0), float(theirs)) for mine, theirs in zip(ours, values[value], strict=True)]
            yield Claim(
                f"{label} ({TITLES[table]})",
                " / ".join(values[value]),
                " / ".join(str(mine) for mine in ours),
                AGREES if all(agree) else PARTLY if any(agree) else DIFFERS,
                "" if all(agree) else OUT_OF_REACH,
                whys[table],
            )


def _forests(tables: Tables) -> Iterator[Claim]:
    for table, worst, guess in (("retail", "0.67", "0.50"), ("adult", "0.42", "0.15"), ("tpce", "0.26", "0.13")):
        rows = [row for row in tables.get(f"forest_{table}", ()) if row.value == "random_forest" and row.method in PAPER_METHODS]
        own = mean(tables, f"forest_{table}", "0", "not private", "guess")
        best = mean(tables, f"forest_{table}", "0", "not private", "random_forest")
        if not rows or own is None:
            continue
        least = min(rows, key=lambda row: float(row.mean))
        yield Claim(
            f"worst random forest rate ({TITLES[table]})",
            f"{worst}, guessing {guess}",
            f"{least.mean} ({least.method}, f = {least.x}), guessing {own}, not private {best}",
            *_near(float(least.mean), float(worst)),
            "Skewed answers are easy: always guessing the most frequent one beats guessing evenly by far.",
        )


def _speed(tables: Tables) -> Iterator[Claim]:
    for figure, name in (("time_adult_2", "Adult, k = 2"), ("time_tpce_2", "TPC-E, k = 2")):
        em, lasso, loop = (
            mean(tables, figure, "0.5", method, value)
            for method, value in (("EM_JD", "seconds"), ("Lasso_JD", "seconds"), ("EM_JD", "loop_seconds"))
        )
        if em and lasso and loop:
            factor = float(loop) / float(lasso)
            yield Claim(
                f"Lasso_JD against EM_JD, time of a joint ({name}, f = 0.5)",
                "about a thousand times faster",
                f"Lasso_JD {lasso} s, EM_JD {em} s, EM_JD as a plain loop {loop} s",
                *_holds(factor >= A_THOUSAND_OR_SO),
                "True of a loop over reports and candidates. An EM that never makes their table is as fast as Lasso.",
            )


def _time_over_f(tables: Tables) -> Iterator[Claim]:
    for figure, name in (("time_retail_5", "Retail, k = 5"), ("time_adult_3", "Adult, k = 3")):
        times = [mean(tables, figure, flip, "EM_JD", "seconds") for flip in ("0.1", "0.9")]
        if None not in times:
            yield Claim(
                f"EM_JD takes longer as f grows ({name})",
                "increases with f",
                f"{times[0]} s at f = 0.1, {times[1]} s at f = 0.9",
                *_holds(float(times[1] or 0) > float(times[0] or 0)),
                "More steps until the largest probability rests; at strong noise that can also come too soon.",
            )


def _trade_off(tables: Tables) -> Iterator[Claim]:
    for figure, name in (("avd_retail_3", "Retail, k = 3"), ("avd_adult_2", "Adult, k = 2")):
        own = {method: mean(tables, figure, "0.9", method, "avd") for method in (*PAPER_METHODS, "shrunk")}
        if None not in own.values():
            hybrid, em = float(own["Lasso+EM_JD"] or 0), float(own["EM_JD"] or 0)
            yield Claim(
                f"Lasso+EM_JD outperforms EM_JD at large f ({name}, f = 0.9)",
                "yes",
                ", ".join(f"{method} {value}" for method, value in own.items()),
                *_holds(hybrid < em),
                "A cell that Lasso drops never returns to the hybrid. Shrinking towards independence beats both.",
            )


def _near(ours: float, theirs: float, *, less_is_better: bool = False) -> tuple[str, str]:
    """Verdict and side."""
    if abs(ours - theirs) <= NEAR * theirs:
        return AGREES, ""
    return DIFFERS, BETTER if (ours < theirs) == less_is_better else WORSE


def _holds(claim: bool) -> tuple[str, str]:
    return (AGREES, "") if claim else (DIFFERS, WORSE)


def _within(ours: float, theirs: float) -> bool:
    return abs(ours - theirs) <= max(2.0, NEAR * theirs)


def claims_csv(found: Sequence[Claim]) -> str:
    """The claims as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([field.name for field in fields(Claim)])
    writer.writerows(astuple(claim) for claim in found)
    return text.getvalue()


def claims_from_csv(text: str) -> list[Claim]:
    """The claims that `claims_csv` wrote."""
    return [Claim(**line) for line in csv.DictReader(io.StringIO(text))]
