"""A claim of the paper beside what we measured: agree or not, and why; and how figures are asked for numbers."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields

from lopub.reproduce.figures import FigureRow

Tables = Mapping[str, Sequence[FigureRow]]
"""Figure -> its rows; without a figure that was not run."""
AGREES, PARTLY, DIFFERS = "agrees", "in part", "differs"
BETTER, WORSE, OUT_OF_REACH = "better", "worse", "not reproducible"
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


def judged(about: str, paper: str, ours: str, checks: Sequence[bool], why: str, *, side: str = WORSE) -> Claim:
    """A claim that was checked in several places, for every method that it speaks of. side: where not all of them hold."""
    verdict = AGREES if all(checks) else PARTLY if any(checks) else DIFFERS
    return Claim(about, paper, ours, verdict, "" if verdict == AGREES else side, why)


def mean(tables: Tables, figure: str, x: str, method: str, value: str) -> str | None:
    """The number as it is printed; None where it was not measured."""
    for row in tables.get(figure, ()):
        if (row.x, row.method, row.value) == (x, method, value):
            return row.mean
    return None


def series(tables: Tables, figure: str, method: str, value: str) -> dict[str, float]:
    """A method's numbers along the axis; those of f = 0 are not of a noisy table."""
    rows = tables.get(figure, ())
    return {row.x: float(row.mean) for row in rows if (row.method, row.value) == (method, value) and row.x != "0"}


def near(ours: float, theirs: float) -> bool:
    """Of shares and rates."""
    return abs(ours - theirs) <= NEAR * abs(theirs)


def within(ours: float, theirs: float) -> bool:
    """Of counts."""
    return abs(ours - theirs) <= max(2.0, NEAR * abs(theirs))


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
