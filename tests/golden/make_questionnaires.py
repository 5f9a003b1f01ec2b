"""Write `questionnaires.json`: what every client and collector must agree on about questionnaires, beside `vectors.json`.

    .venv/bin/python tests/golden/make_questionnaires.py

Campaigns with conditions, lists, dates and open-ended bins; which records they take, as which candidates; whole reports with the
random bytes that they take; and which campaigns are refused.
"""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

from lopub import (
    Binned,
    Boolean,
    Campaign,
    CampaignRequest,
    Categorical,
    DomainError,
    Fill,
    IntegerRange,
    Sample,
    Terms,
    Translation,
    make_campaign,
)
from lopub.campaign.canonical import canonical_bytes
from lopub.campaign.condition import Both, Comparison, Either, Not, condition_from_json
from lopub.campaign.dated import Dated
from lopub.campaign.domain import NOT_APPLICABLE, TickList
from lopub.campaign.fields import domain_of

HERE = Path(__file__).parent
FILE = HERE / "questionnaires.json"
Item = dict[str, Any]


def vectors_maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_vectors", HERE / "make_vectors.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKER = vectors_maker()

READS = TickList(
    name="reads",
    values=("books", "papers", "blogs", "nothing"),
    most=2,
    none="nothing",
    missing=True,
)
SURVEY = domain_of(
    (
        Categorical(name="age", values=("young", "middle", "old"), is_ordered=True),
        Boolean(name="job", missing=True),
        Binned(
            name="hours",
            edges=("0", "20", "40", "inf"),
            only_if=Comparison("job", "equals", (True,)),
        ),
        Categorical(
            name="overtime",
            values=("paid", "unpaid"),
            missing=True,
            only_if=Both(
                (Comparison("hours", "above", ("20",)), Not(Comparison("age", "atLeast", ("old",))))
            ),
        ),
        READS,
        IntegerRange(
            name="books", minimum=1, maximum=3, only_if=Comparison("reads", "includes", ("books",))
        ),
        Dated(
            name="moved",
            period="quarter",
            first="2024-Q1",
            last="2025-Q2",
            only_if=Either(
                (
                    Comparison("age", "oneOf", ("young", "middle")),
                    Comparison("job", "equals", (True,)),
                )
            ),
        ),
        Dated(name="wakes", kind="time", period="hour"),
    )
)
TRANSLATED = Terms(
    name="survey",
    title="Work and reading",
    translations={
        "de": Translation(
            title="Arbeit",
            labels={
                "reads": {"books": "Bücher", "": "keine Angabe"},
                "hours": {NOT_APPLICABLE: "entfällt"},
            },
        )
    },
)
FULL = {
    "age": "young",
    "job": True,
    "hours": 41,
    "overtime": "paid",
    "reads": ["blogs", "books"],
    "books": 2,
    "moved": "2024-05-31",
    "wakes": "06:30",
}
RECORDS: list[Item] = [
    FULL,
    {"age": "old", "job": False, "reads": ["nothing"], "wakes": "23"},
    {
        "age": "old",
        "job": None,
        "hours": None,
        "overtime": None,
        "reads": None,
        "books": None,
        "moved": None,
        "wakes": "00:00:00",
    },
    FULL | {"hours": 20, "overtime": None},
    FULL | {"hours": 20.000000000000004, "overtime": None},
    {key: value for key, value in (FULL | {"age": "old"}).items() if key != "overtime"},
    FULL | {"reads": ["papers"], "books": None, "moved": "2025-Q2"},
    FULL | {"hours": "(40, inf)"},
]
UNFIT: list[Item] = [
    FULL | {"job": False},
    FULL | {"hours": None},
    FULL | {"hours": 20},
    FULL | {"overtime": NOT_APPLICABLE},
    FULL | {"reads": ["papers"]},
    FULL | {"reads": ["papers", "books", "blogs"]},
    FULL | {"reads": ["books", "nothing"]},
    FULL | {"reads": []},
    FULL | {"reads": ["books", "books"]},
    FULL | {"reads": ["comics"]},
    FULL | {"reads": "books"},
    FULL | {"moved": "2025-07-01"},
    FULL | {"moved": "2024-5-31"},
    FULL | {"wakes": "24:00"},
    FULL | {"reads/books": True},
    {key: value for key, value in FULL.items() if key != "wakes"},
]


def campaigns() -> dict[str, Campaign]:
    wishes: dict[str, Item] = {
        "sample-jointly": {"epsilon": 2, "mechanism": "direct", "view": Sample(2)},
        "sample-separately": {
            "epsilon": 4,
            "mechanism": "subset",
            "view": Sample(3),
            "jointly": False,
        },
        "fill": {"epsilon": 4, "mechanism": "direct", "view": Fill(60)},
        "all": {"flip_probability": "0.5", "n_bits": 16, "n_hashes": 2},
    }
    made = {
        name: make_campaign(SURVEY, TRANSLATED, CampaignRequest(**wish))
        for name, wish in wishes.items()
    }
    deep = domain_of(
        (Boolean(name="job"), Boolean(name="paid", only_if=condition_from_json(nested(8), "deep")))
    )
    lists = domain_of((TickList(name="x", values=tuple(map(str, range(64)))), Boolean(name="y")))
    return made | {
        "wide-list": make_campaign(
            lists,
            Terms(name="wide"),
            CampaignRequest(epsilon=1, mechanism="direct", view=Sample(3)),
        ),
        "deep-condition": make_campaign(
            deep, Terms(name="deep"), CampaignRequest(epsilon=1, mechanism="direct")
        ),
    }


def record_items() -> list[Item]:
    return [{"record": record, "candidates": list(SURVEY.indices(record))} for record in RECORDS]


def unfit_items() -> list[Item]:
    for record in UNFIT:
        try:
            SURVEY.indices(record)
        except DomainError:
            continue
        raise AssertionError(f"this record is taken: {record}")
    return [{"record": record} for record in UNFIT]


RECORDS_OF: dict[str, list[Item]] = {
    "wide-list": [{"x": ["0", "63"], "y": True}, {"x": [], "y": False}],
    "deep-condition": [{"job": False, "paid": True}, {"job": True}],
}


def report_items(made: dict[str, Campaign]) -> list[Item]:
    items = []
    for name, campaign in made.items():
        records = RECORDS_OF.get(name, RECORDS[:3])
        for number, record in enumerate(records):
            items.append(
                MAKER.report_item(name, campaign, record, MAKER.stream(f"{name}/{number}"))
            )
    return items


# ---- refusals


def changed(campaign: Campaign, path: str, value: Any) -> bytes:
    """The campaign with one member changed, or taken out where the value is None."""
    whole = json.loads(campaign.canonical_bytes)
    *steps, last = path.split("/")
    place = whole
    for step in steps:
        place = place[int(step) if isinstance(place, list) else step]
    if value is None:
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = value
    return canonical_bytes(whole)


def nested(depth: int) -> Item:
    """A condition with so many inside one another, the comparison counted."""
    return {"not": nested(depth - 1)} if depth > 1 else {"field": "job", "equals": True}


CHANGES: list[tuple[str, str, Any]] = [
    ("a format that is not known", "format", 2),
    ("a type that is not known", "schema/fields/0/type", "text"),
    ("a condition without a comparison", "schema/fields/2/onlyIf", {"field": "job"}),
    (
        "a condition with two comparisons",
        "schema/fields/2/onlyIf",
        {"field": "job", "equals": True, "above": 1},
    ),
    ("a conjunction of one", "schema/fields/2/onlyIf", {"and": [{"field": "job", "equals": True}]}),
    (
        "a condition without a field",
        "schema/fields/2/onlyIf",
        {"equals": True},
    ),
    ("nine conditions in one another", "schema/fields/2/onlyIf", nested(9)),
    ("33 comparisons", "schema/fields/2/onlyIf", {"or": [{"field": "job", "equals": True}] * 33}),
    ("a condition on a later field", "schema/fields/2/onlyIf", {"field": "wakes", "equals": "06"}),
    ("a condition on itself", "schema/fields/2/onlyIf", {"field": "hours", "above": "20"}),
    (
        "a condition on nothing that is asked",
        "schema/fields/2/onlyIf",
        {"field": "jobs", "equals": True},
    ),
    (
        "a condition on an answer that is not listed",
        "schema/fields/2/onlyIf",
        {"field": "age", "equals": "ancient"},
    ),
    (
        "a condition on an answer of another type",
        "schema/fields/2/onlyIf",
        {"field": "job", "equals": "true"},
    ),
    ("a condition between bin edges", "schema/fields/3/onlyIf", {"field": "hours", "above": "30"}),
    (
        "a condition at an edge that a bin includes",
        "schema/fields/3/onlyIf",
        {"field": "hours", "atLeast": "20"},
    ),
    ("an edge that is not a text", "schema/fields/3/onlyIf", {"field": "hours", "above": 20}),
    (
        "an order of answers that have none",
        "schema/fields/2/onlyIf",
        {"field": "job", "above": False},
    ),
    (
        "a list that is compared as a whole",
        "schema/fields/5/onlyIf",
        {"field": "reads", "equals": "books"},
    ),
    (
        "an option that is not there",
        "schema/fields/5/onlyIf",
        {"field": "reads", "includes": "comics"},
    ),
    ("an option for none that is not there", "schema/fields/4/none", "neither"),
    ("as many ticks as options", "schema/fields/4/constraints/maxLength", 3),
    ("no ticks at most", "schema/fields/4/constraints/maxLength", 0),
    ("a list of one option", "schema/fields/4/categories", [{"label": "a", "value": "a"}]),
    ("an option twice", "schema/fields/4/categories", [{"label": "a", "value": "a"}] * 2),
    ("a list with the name of another question", "schema/fields/4/name", "age"),
    ("a period that is not known", "schema/fields/6/period", "decade"),
    ("a quarter that does not exist", "schema/fields/6/constraints/minimum", "2024-Q5"),
    ("periods in the wrong order", "schema/fields/6/constraints/minimum", "2026-Q1"),
    ("a minimum of hours", "schema/fields/7/constraints/minimum", "06"),
    ("an infinite edge inside", "schema/fields/2/bins/edges", ["0", "inf", "40"]),
    ("open bins that clamp", "schema/fields/2/bins/clamp", True),
    ("a view of more attributes than there are", "privacy/view/attributes", 12),
    ("a randomization that is not known", "privacy/randomize", "twice"),
    ("a mechanism that is not known", "mechanism/name", "laplace"),
    ("odds of another number of blocks", "mechanism/odds", {"2": "31735754293"}),
    ("a name with spaces", "name", "my survey"),
    (
        "a translation of an option that is not there",
        "translations/de/labels/reads/comics",
        "Comics",
    ),
    ("a member that is not known", "colour", "red"),
    ("a claim that is too low", "privacy/epsilon", "1.000000"),
    ("a default that is spelt out", "schema/fields/4/question", ""),
]


def refusal_items(made: dict[str, Campaign]) -> list[Item]:
    good = made["sample-jointly"]
    spellings = MAKER.campaigns()["spellings"]
    path, value = "schema/fields/1/onlyIf/equals", "a\u0302\u0323"
    return [
        *(MAKER.refused(why, changed(good, path, value)) for why, path, value in CHANGES),
        MAKER.refused(
            "a condition on an answer that is listed in normal form only",
            changed(spellings, path, value),
        ),
    ]


def vectors() -> Item:
    made = campaigns()
    return {
        "format": 1,
        "campaigns": [MAKER.campaign_item(name, campaign) for name, campaign in made.items()],
        "records": record_items(),
        "unfit_records": unfit_items(),
        "reports": report_items(made),
        "attribute_epsilons": MAKER.epsilon_items(made),
        "refused_campaigns": refusal_items(made),
    }


def file_text() -> str:
    return spelt(vectors())


def spelt(found: Item) -> str:
    """One item a line, so that a change shows which."""
    sections = []
    for key, value in found.items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(item, sort_keys=True) for item in value)
            sections.append(f"{json.dumps(key)}: [\n{lines}\n]")
        else:
            sections.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(sections) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(file_text(), encoding="ascii")
