"""Random campaigns and records of every kind, and random damage to them: for clients that must agree."""

import json
import random
from contextlib import suppress
from datetime import date, timedelta
from typing import Any

from lopub.campaign.campaign import Campaign
from lopub.campaign.canonical import Members
from lopub.campaign.domain import Domain
from lopub.campaign.fields import domain_from_json
from lopub.campaign.schedule import Repeat, Schedule
from lopub.campaign.terms import Terms
from lopub.campaign.views import AllAttributes, Fill, Listed, Sample, ViewRule
from lopub.errors import CampaignError, DomainError
from lopub.planning.request import CampaignRequest, make_campaign

Json = Any
TEXTS = (
    "a",
    "b",
    "red",
    "größer",
    "東京",
    "𝒜",
    "ｚ",
    "yes/no",
    '"',
    "\\",
    "0",
    "é",
    "long " * 20,
    "(x)",
    "true",
    "-1",
    "\u2028",
    "1",
    "10",
    "2",
)
EDGES = ("-inf", "-2.5", "-1", "0", "0.00001", "1", "10.5", "20", "1000000", "inf")


def spelt(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def field(rng: random.Random, name: str, earlier: list[Json]) -> Json:
    kind = rng.choice(
        [
            "string",
            "boolean",
            "integer",
            "number",
            "list",
            "date",
            "time",
            "datetime",
            "string",
            "integer",
        ]
    )
    made: Json = {
        "name": name,
        "type": kind,
        "constraints": {"required": rng.random() < 0.7},
        **MAKERS[kind](rng),
    }
    made["constraints"] |= made.pop("more", {})
    if rng.random() < 0.2:
        made["question"] = rng.choice(TEXTS)
    if earlier and rng.random() < 0.4:
        made["onlyIf"] = condition(rng, earlier, 0)
    return made


def categories(rng: random.Random, least: int = 1) -> list[Json]:
    values = rng.sample(TEXTS, rng.randint(least, 6))
    return [{"value": value, "label": rng.choice([value, "other"])} for value in values]


def string(rng: random.Random) -> Json:
    listed = categories(rng)
    return {
        "categories": listed,
        "categoriesOrdered": rng.random() < 0.5,
        "more": {"enum": [one["value"] for one in listed]},
    }


def integer(rng: random.Random) -> Json:
    low = rng.randint(-5, 5)
    return {"more": {"minimum": low, "maximum": low + rng.randint(0, 8)}}


def number(rng: random.Random) -> Json:
    edges = sorted(rng.sample(EDGES, rng.randint(2, 5)), key=float)
    clamp = "inf" not in " ".join(edges) and rng.random() < 0.5
    outer = (
        {}
        if clamp
        else {
            key: edge
            for key, edge in (("minimum", edges[0]), ("maximum", edges[-1]))
            if "inf" not in edge
        }
    )
    return {"bins": {"clamp": clamp, "edges": edges}, "more": outer}


def ticks(rng: random.Random) -> Json:
    options = categories(rng, 3)
    more = {"maxLength": 1} if rng.random() < 0.4 else {}
    return {
        "categories": options,
        "more": more,
        **({"none": options[-1]["value"]} if rng.random() < 0.4 else {}),
    }


def dated(kind: str, rng: random.Random) -> Json:
    period = rng.choice(
        {
            "date": (*SPANS, "monthOfYear", "weekday"),
            "time": ("hour",),
            "datetime": (*SPANS, "hour", "weekday"),
        }[kind]
    )
    return {
        "period": period,
        "more": dict(zip(("minimum", "maximum"), SPANS[period], strict=True))
        if period in SPANS
        else {},
    }


SPANS = {
    "year": ("2019", "2024"),
    "quarter": ("2023-Q3", "2025-Q1"),
    "month": ("2023-11", "2024-03"),
    "week": ("2020-W51", "2021-W03"),
}
MAKERS: Json = {
    "string": string,
    "boolean": lambda rng: {},
    "integer": integer,
    "number": number,
    "list": ticks,
    **{kind: (lambda rng, kind=kind: dated(kind, rng)) for kind in ("date", "time", "datetime")},
}


def condition(rng: random.Random, earlier: list[Json], depth: int) -> Json:
    if depth < 2 and rng.random() < 0.3:
        word = rng.choice(["not", "and", "or"])
        parts = [condition(rng, earlier, depth + 1) for _ in range(1 if word == "not" else 2)]
        return {word: parts[0] if word == "not" else parts}
    asked = rng.choice(earlier)
    values = answers(rng, asked)
    if asked["type"] == "list":
        return {"field": asked["name"], "includes": rng.choice(asked["categories"])["value"]}
    if asked["type"] == "number":
        inner = asked["bins"]["edges"][1:-1]
        return {"field": asked["name"], rng.choice(["above", "atMost"]): rng.choice(inner or ["0"])}
    ordered = (
        asked["type"] == "integer" or asked.get("categoriesOrdered") or asked.get("period") in SPANS
    )
    operator = rng.choice(
        ["equals", "oneOf", *(("atLeast", "atMost", "above", "below") if ordered else ())]
    )
    return {"field": asked["name"], operator: [values] if operator == "oneOf" else values}


def answers(rng: random.Random, asked: Json) -> Json:
    """One that the question takes, of whatever kind."""
    kind, period = asked["type"], asked.get("period")
    if kind == "string":
        return rng.choice(asked["categories"])["value"]
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "integer":
        return rng.randint(asked["constraints"]["minimum"], asked["constraints"]["maximum"])
    if kind == "number":
        bounds = [float(edge) for edge in asked["bins"]["edges"]]
        return rng.choice([*(b for b in bounds if abs(b) < 1e9 and b % 1), 0.5, 15.25, -7.5])
    if kind == "list":
        values = [one["value"] for one in asked["categories"]]
        return rng.sample(values, rng.randint(0, 2))
    if kind == "time":
        return f"{rng.randint(0, 23):02}:30"
    day = f"20{rng.randint(19, 25)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    if kind == "date" and period in SPANS and rng.random() < 0.5:
        return rng.choice(SPANS[period])
    return day if kind == "date" else f"{day}T{rng.randint(0, 23):02}:15"


def rule(rng: random.Random, domain: Domain, kept: bool) -> ViewRule:
    """kept: one that mode permanent takes."""
    d = len(domain)
    kind = rng.choice(["all", "listed", *([] if kept else ["sample", "fill"])])
    if kind == "sample":
        return Sample(rng.randint(1, d))
    if kind == "fill" and d > 1:
        return Fill(rng.choice([4, 12, 40]))
    if kind == "listed":
        sets = {tuple(sorted(rng.sample(range(d), rng.randint(1, min(3, d))))) for _ in range(3)}
        return Listed.of(
            domain, [([domain.names[i] for i in view], rng.randint(1, 5)) for view in sorted(sets)]
        )
    return AllAttributes()


def campaign(rng: random.Random) -> tuple[Campaign, list[Json]]:
    """A good one, with its fields."""
    while True:
        fields: list[Json] = []
        for name in rng.sample([text for text in TEXTS if len(text) < 20], rng.randint(1, 6)):
            fields.append(field(rng, name, fields))
        with suppress(CampaignError, DomainError):
            domain = domain_from_json(Members({"fields": fields}, "schema"))
            mechanism = rng.choice(["bloom", "unary", "subset", "direct", "hashed"])
            noise = (
                {"flip_probability": 0.5}
                if mechanism in ("bloom", "unary") and rng.random() < 0.5
                else {"epsilon": rng.choice([0.5, 2, "3.3", 12, 60])}
            )
            filters = (
                {"n_bits": rng.choice([16, 40]), "n_hashes": rng.choice([2, 3])}
                if mechanism == "bloom"
                else {}
            )
            when = schedule(rng, mechanism)
            kept = when is not None and when.repeat is not None and when.repeat.is_permanent
            if kept:
                noise = {
                    "epsilon": rng.choice([0.5, "1.1"]),
                    "lifetime_epsilon": rng.choice([2, "3.3", 40]),
                }
            view, jointly = rule(rng, domain, kept), rng.random() < 0.5
            wish = CampaignRequest(
                mechanism=mechanism, view=view, jointly=jointly, **noise, **filters
            )
            return make_campaign(domain, terms(rng, when), wish), fields


def schedule(rng: random.Random, mechanism: str) -> Schedule | None:
    """None, some days, or rounds of a mode that the mechanism takes."""
    opens = date(rng.choice([1970, 2026, 2400]), rng.randint(1, 12), rng.randint(1, 28))
    draw = rng.random()
    if draw < 0.5:
        return None
    if draw < 0.6:
        return Schedule(opens=opens, closes=opens + timedelta(days=rng.randint(0, 400)))
    rounds = rng.choice([2, 3, 12, 300, 4096])
    modes = ["sampled"] + ["permanent"] * 2 * (mechanism in ("bloom", "unary", "direct"))
    take_part = rng.choice([1, 2, rounds])
    return Schedule.in_rounds(
        opens,
        Repeat(
            every_days=rng.choice([1, 7, 30, 366]),
            rounds=rounds,
            take_part=take_part,
            mode=rng.choice(modes),
        ),
    )


def terms(rng: random.Random, when: Schedule | None) -> Terms:
    least = rng.choice([1, 100, 1500])
    return Terms(
        name="strange",
        title=rng.choice(["", "Ünïcode"]),
        retention_days=rng.choice([0, 30]),
        schedule=when,
        min_reports=least,
    )


def record(rng: random.Random, fields: list[Json]) -> Json:
    """One that fits more often than not."""
    found = {}
    for asked in fields:
        draw = rng.random()
        if "onlyIf" in asked and draw < 0.5:
            continue
        found[asked["name"]] = (
            None if not asked["constraints"]["required"] and draw > 0.8 else answers(rng, asked)
        )
    if rng.random() < 0.05:
        found["nobody asks"] = 1
    return found


SCALARS: tuple[Json, ...] = (
    0,
    1,
    -1,
    2,
    3,
    7,
    4096,
    65536,
    2**31,
    2**53 - 1,
    "",
    "0",
    "1",
    "once",
    "all",
    "jointly",
    "2024",
    "1e3",
    True,
    False,
    [],
    {},
    ["a"],
    "6442450944",
)


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Bytes that mostly stand for no campaign any more."""
    if rng.random() < 0.15:
        at = rng.randrange(len(data))
        return (
            data[:at]
            + rng.choice([b"", b" ", b"0", b"\xff", b'"', b",", b"\\u0041", b"}", b"1.5", b"null"])
            + data[at + rng.randint(0, 2) :]
        )
    value = json.loads(data)
    for _ in range(rng.choice([1, 1, 1, 2])):
        places = list(walk(value))
        holder, key = rng.choice(places)
        change(rng, holder, key)
    return spelt(value)


def walk(value: Json) -> Any:
    for key in (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    ):
        yield value, key
        yield from walk(value[key])


def change(rng: random.Random, holder: Json, key: Json) -> None:
    way = rng.choice(["other", "other", "gone", "more", "twice", "near"])
    value = holder[key]
    if way == "gone":
        del holder[key]
    elif way == "more" and isinstance(holder, dict):
        holder[
            rng.choice(
                [
                    "zzz",
                    "title",
                    "onlyIf",
                    "none",
                    "language",
                    "01",
                    "2",
                    "description",
                    "retention_days",
                ]
            )
        ] = rng.choice(SCALARS)
    elif way == "twice" and isinstance(holder, list):
        holder.append(value)
    elif way == "near" and isinstance(value, int) and not isinstance(value, bool):
        holder[key] = value + rng.choice([-1, 1])
    elif way == "near" and isinstance(value, str):
        holder[key] = value + rng.choice(["0", " ", "x", ".0"])
    else:
        holder[key] = rng.choice(SCALARS)
