"""A claim of the paper beside what we measured: agree or not, and why; and how figures are asked for numbers."""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace

from reproduction.figures import FigureRow

Tables = Mapping[str, Sequence[FigureRow]]
"""Figure -> its rows; without a figure that was not run."""
AGREES, PARTLY, DIFFERS, UNDECIDED = "agrees", "in part", "differs", "undecided"
BETTER, WORSE, OTHERWISE, OUT_OF_REACH = "better", "worse", "otherwise", "not reproducible"
NEAR = 0.10
"""Share by which a number may be off and still agree."""
COUNT = 2.0
"""By how much a count may be off, where that is more."""
STANDARD_ERRORS = 2.0
"""Of the seeds: a difference below so many is undecided."""
Check = bool | None
"""Whether something holds; None where the seeds cannot tell."""


@dataclass(frozen=True)
class Claim:
    """One row of the page's first table. ours: numbers as they stand in the other files."""

    about: str
    paper: str
    ours: str
    verdict: str
    side: str
    """Which way ours is off: better, worse, neither, undecided, or not to be had from these tables; empty where it agrees."""
    why: str
    held: str = ""
    """In how many of the places where it was checked it holds."""
    seeds: str = ""


class Seeded(float):
    """A mean over seeds that knows its standard error."""

    error: float

    def __new__(cls, mean: float, error: float = 0.0) -> "Seeded":
        """error: infinite where there is one seed alone."""
        own = super().__new__(cls, mean)
        own.error = error
        return own


def judged(
    about: str, paper: str, ours: str, checks: Sequence[Check], why: str, *, side: str = WORSE
) -> Claim:
    """A claim that was checked in several places, for every method that it speaks of. side: where not all of them hold."""
    verdict = verdict_of(checks)
    own = {AGREES: "", UNDECIDED: UNDECIDED}.get(verdict, side)
    open_ones = sum(check is None for check in checks)
    held = f"{sum(check is True for check in checks)} of {len(checks)}" + (
        f", {open_ones} undecided" if open_ones else ""
    )
    return Claim(about, paper, ours, verdict, own, why, held)


def verdict_of(checks: Sequence[Check]) -> str:
    """Agrees only where every check is known to hold; what fails anywhere is never called undecided."""
    if False in checks:
        return PARTLY if True in checks else DIFFERS
    return UNDECIDED if None in checks else AGREES


def with_seeds(tables: Tables, names: Sequence[str], found: Iterable[Claim]) -> Iterator[Claim]:
    """Claims that were made of these figures, each with the number of seeds behind it."""
    counts = {int(row.seeds) for name in names for row in tables.get(name, ())}
    for claim in found:
        yield replace(claim, seeds=span(sorted(counts), "d"))


def side_of(misses: Sequence[float]) -> str:
    """The side of numbers that are off by so much, more than zero being better: neither where they go both ways."""
    return (
        BETTER
        if all(miss > 0 for miss in misses)
        else WORSE
        if all(miss < 0 for miss in misses)
        else OTHERWISE
    )


def above(one: float, other: float, times: float = 1.0) -> Check:
    """Whether one is more than so many times the other; None where they are less than two standard errors apart."""
    apart = one - times * other
    error = math.hypot(error_of(one), times * error_of(other))
    return None if abs(apart) < STANDARD_ERRORS * error else apart > 0


def at_most(one: float, other: float, times: float = 1.0) -> Check:
    """Whether one is no more than so many times the other."""
    more = above(one, other, times)
    return None if more is None else not more


def not_above(one: float, other: float) -> bool:
    """Whether it is not known to be more: where being about as much will do."""
    return above(one, other) is not True


def both(*checks: Check) -> Check:
    """Whether all of them hold."""
    return False if False in checks else None if None in checks else True


def error_of(number: float) -> float:
    """The standard error of a mean over seeds; zero of any other number."""
    return number.error if isinstance(number, Seeded) else 0.0


def minus(one: float, other: float) -> Seeded:
    """How much less the other is."""
    return Seeded(one - other, math.hypot(error_of(one), error_of(other)))


def over(one: float, other: float) -> Seeded:
    """How many times the other it is."""
    ratio = one / other
    return Seeded(
        ratio, abs(ratio) * math.hypot(error_of(one) / one if one else 0.0, error_of(other) / other)
    )


def mean(tables: Tables, figure: str, x: str, method: str, value: str) -> str | None:
    """The number as it is printed; None where it was not measured."""
    for row in tables.get(figure, ()):
        if (row.x, row.method, row.value) == (x, method, value):
            return row.mean
    return None


def number(tables: Tables, figure: str, x: str, method: str, value: str) -> Seeded | None:
    """The number itself, with its error."""
    for row in tables.get(figure, ()):
        if (row.x, row.method, row.value) == (x, method, value):
            return seeded(row)
    return None


def series(tables: Tables, figure: str, method: str, value: str) -> dict[str, float]:
    """A method's numbers along the axis, with their errors; those of f = 0 are not of a noisy table."""
    rows = tables.get(figure, ())
    return {
        row.x: seeded(row)
        for row in rows
        if (row.method, row.value) == (method, value) and row.x != "0"
    }


def seeded(row: FigureRow) -> Seeded:
    """Its mean; one seed alone says nothing of its error."""
    n_seeds = int(row.seeds)
    return Seeded(
        float(row.mean), float(row.spread) / math.sqrt(n_seeds) if n_seeds > 1 else math.inf
    )


def mean_of(numbers: Sequence[float]) -> Seeded:
    """Of numbers that share their seeds, so that errors do not cancel."""
    return Seeded(sum(numbers) / len(numbers), sum(error_of(own) for own in numbers) / len(numbers))


def near(ours: float, theirs: float) -> bool:
    """Of shares and rates."""
    return abs(ours - theirs) <= NEAR * abs(theirs)


def within(ours: float, theirs: float) -> bool:
    """Of counts."""
    return abs(ours - theirs) <= max(COUNT, NEAR * abs(theirs))


def span(numbers: Sequence[float], form: str = "") -> str:
    """ "1.2 to 3.4", with two digits that count unless a form is given; one number where they are the same."""
    ends = (min(numbers), max(numbers))
    low, high = (format(number, form or (".2g" if number < 99.5 else ".0f")) for number in ends)
    return low if low == high else f"{low} to {high}"


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
