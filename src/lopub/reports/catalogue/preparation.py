"""From the bytes of public originals to the bytes of a prepared table: coded csv and domain description.

The originals are checked by their SHA-256 before they come here, so they are trusted to have the form that they had when
these lines were written.
"""

import json
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

N_INTERVALS = 16
"""Intervals of a numeric attribute of Adult, as in the table that the paper's authors published."""
ADULT_NUMBERS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
ADULT_NAMES = (
    *(
        "age",
        "workclass",
        "fnlwgt",
        "education",
        "education_num",
        "marital_status",
        "occupation",
        "relationship",
        "race",
        "sex",
    ),
    *("capital_gain", "capital_loss", "hours_per_week", "native_country", "income"),
)


@dataclass(frozen=True)
class Prepared:
    """A table as it is written: csv of candidate numbers under a header, and the description that `read_domain_file` takes."""

    csv: bytes
    domain: bytes

    @property
    def n_records(self) -> int:
        """Lines of the csv below its header."""
        return self.csv.count(b"\n") - 1

    @property
    def n_attributes(self) -> int:
        """Columns of the csv."""
        return self.csv.partition(b"\n")[0].count(b",") + 1


@dataclass(frozen=True, kw_only=True)
class Column:
    """One attribute: its candidates, told by `labels` or by `edges`, and the candidate number of every record."""

    name: str
    kind: str
    told_by: str
    candidates: Sequence[str] | Sequence[float]
    codes: Sequence[int]

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return len(self.candidates) - (self.told_by == "edges")

    @property
    def description(self) -> dict[str, Any]:
        """What the domain file says of it."""
        told = {self.told_by: list(self.candidates)}
        return {
            "name": self.name,
            "kind": self.kind,
            "size": self.size,
            **told,
            "observed": len(set(self.codes)),
        }


# ---- Adult


def prepare_adult(training: bytes, test: bytes) -> Prepared:
    """Adult: the records of both files without those that say `?`, numbers in 16 intervals, texts as they first appear."""
    records = [
        record
        for original in (training, test)
        for record in _adult_records(original)
        if "?" not in record
    ]
    texts_of = zip(ADULT_NAMES, zip(*records, strict=True), strict=True)
    columns = [
        _binned(name, texts) if name in ADULT_NUMBERS else _labelled(name, texts)
        for name, texts in texts_of
    ]
    return _prepared("adult", columns)


def _adult_records(original: bytes) -> Iterator[list[str]]:
    """The fields of every record; a line that is empty or starts with `|` is none, and test labels end in a full stop."""
    for line in original.decode("ascii").splitlines():
        if line and not line.startswith("|"):
            yield [field.strip() for field in line.removesuffix(".").split(",")]


def _binned(name: str, texts: Sequence[str]) -> Column:
    """Intervals of equal width between the extremes; a value on an edge belongs to the interval below it."""
    values = [int(text) for text in texts]
    low, high = min(values), max(values)
    edges = [
        low + (high - low) * i / N_INTERVALS for i in range(N_INTERVALS + 1)
    ]  # exact: integers over a power of two
    codes = [bisect_left(edges, value, 1, N_INTERVALS) - 1 for value in values]
    return Column(name=name, kind="binned", told_by="edges", candidates=edges, codes=codes)


def _labelled(name: str, texts: Sequence[str]) -> Column:
    number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return Column(
        name=name,
        kind="categorical",
        told_by="labels",
        candidates=list(number),
        codes=[number[t] for t in texts],
    )


# ---- Retail


def prepare_retail(original: bytes, *, n_items: int = 16, n_baskets: int = 27_522) -> Prepared:
    """Retail: which of the most frequent items lie in each of the fullest baskets, in the order of the file.

    The defaults are the paper's d and N; which items and baskets it took, it does not say. Among items as frequent the smaller
    number comes first, among baskets as full the earlier one.
    """
    baskets = [frozenset(map(int, line.split())) for line in original.splitlines()]
    frequency = Counter(item for basket in baskets for item in basket)
    items = sorted(frequency, key=lambda item: (-frequency[item], item))[:n_items]
    held = [len(basket.intersection(items)) for basket in baskets]
    fullest = sorted(range(len(baskets)), key=lambda i: -held[i])[
        :n_baskets
    ]  # stable: the earlier one of two as full
    kept = [baskets[i] for i in sorted(fullest)]
    return _prepared("retail", [_presence(item, kept) for item in items])


def _presence(item: int, baskets: Sequence[frozenset[int]]) -> Column:
    codes = [int(item in basket) for basket in baskets]
    return Column(
        name=f"item_{item}",
        kind="binary",
        told_by="labels",
        candidates=("absent", "present"),
        codes=codes,
    )


# ---- NLTCS


def prepare_nltcs(original: bytes) -> Prepared:
    """NLTCS: below a line with their number, the records as they are; a one says that a person cannot do an activity alone."""
    records = [list(map(int, line.split(b","))) for line in original.splitlines()[1:]]
    return _prepared(
        "nltcs", [_ability(i, codes) for i, codes in enumerate(zip(*records, strict=True), start=1)]
    )


def _ability(number: int, codes: Sequence[int]) -> Column:
    return Column(
        name=f"activity_{number}",
        kind="binary",
        told_by="labels",
        candidates=("able", "unable"),
        codes=codes,
    )


# ---- any


def as_brought(csv: bytes, domain: bytes) -> Prepared:
    """A table that comes prepared."""
    return Prepared(csv, domain)


def _prepared(name: str, columns: Sequence[Column]) -> Prepared:
    sizes = [column.size for column in columns]
    description = {
        "name": name,
        "n": len(columns[0].codes),
        "d": len(columns),
        "log2_domain": round(math.log2(math.prod(sizes)), 4),
        "domain_sizes": sizes,
        "attributes": [column.description for column in columns],
    }
    rows = [
        [column.name for column in columns],
        *zip(*(column.codes for column in columns), strict=True),
    ]
    csv = "".join(",".join(map(str, row)) + "\n" for row in rows)
    return Prepared(csv.encode(), (json.dumps(description, indent=1) + "\n").encode())
