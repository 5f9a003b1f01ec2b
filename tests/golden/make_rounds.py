"""Write `rounds.json`: what every client and collector must agree on about campaigns that repeat, beside `vectors.json`.

    .venv/bin/python tests/golden/make_rounds.py

Campaigns of both modes; which rounds a device draws; permanent answers, and reports over them; why campaigns are refused.
"""

import importlib.util
import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

from lopub import (
    AllAttributes,
    Boolean,
    Campaign,
    CampaignRequest,
    Categorical,
    Domain,
    Fill,
    Listed,
    Repeat,
    Report,
    ReportRejected,
    Sample,
    Schedule,
    Terms,
    make_campaign,
)
from lopub.campaign.admission import Admission
from lopub.campaign.budget import decimal_up
from lopub.campaign.canonical import canonical_bytes
from lopub.campaign.report import ID_BYTES, base64url
from lopub.campaign.schedule import EPOCH as EPOCH
from lopub.client.noise import memorized, randomized, refreshed

HERE = Path(__file__).parent
FILE = HERE / "rounds.json"
Item = dict[str, Any]


def questionnaires_maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "make_questionnaires", HERE / "make_questionnaires.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


QUESTIONNAIRES = questionnaires_maker()
MAKER = QUESTIONNAIRES.MAKER

DOMAIN = Domain(
    (
        Categorical(name="party", values=("red", "green", "blue", "none")),
        Boolean(name="votes"),
        Categorical(name="region", values=tuple("nesw"), missing=True),
    )
)
RECORDS: list[Item] = [
    {"party": "red", "votes": False, "region": "n"},
    {"party": "none", "votes": True, "region": None},
    {"party": "green", "votes": True, "region": "w"},
]


def terms(
    name: str,
    *,
    mode: str,
    every_days: int = 30,
    rounds: int = 12,
    take_part: int = 2,
    n_keys: int = 0,
) -> Terms:
    repeat = Repeat(every_days=every_days, rounds=rounds, take_part=take_part, mode=mode)
    keys = tuple(MAKER.key(f"round {number}") for number in range(n_keys))
    return Terms(
        name=name,
        schedule=Schedule.in_rounds(date(2026, 1, 5), repeat),
        admission=Admission(keys) if keys else None,
    )


def campaigns() -> dict[str, Campaign]:
    listed = Listed.of(DOMAIN, [(("party", "votes"), 3), (("region",), 1)])
    sampled: dict[str, tuple[Item, Item]] = {
        "sampled-direct": ({}, {"epsilon": "2", "mechanism": "direct", "view": Fill(8)}),
        "sampled-subset": (
            {"every_days": 1, "rounds": 366, "take_part": 7},
            {"epsilon": "1", "mechanism": "subset", "view": Sample(2)},
        ),
        "sampled-hashed": (
            {"rounds": 2},
            {"epsilon": "1.5", "mechanism": "hashed", "view": listed, "jointly": False},
        ),
        "sampled-bloom": (
            {"every_days": 366, "take_part": 1},
            {"flip_probability": "0.5", "n_bits": 16, "n_hashes": 2},
        ),
        "sampled-unary": (
            {"rounds": 4096, "take_part": 3, "every_days": 7},
            {"flip_probability": "0.5", "mechanism": "unary"},
        ),
    }
    kept: dict[str, tuple[Item, Item]] = {
        "permanent-direct": ({}, {"mechanism": "direct", "view": AllAttributes(), "jointly": True}),
        "permanent-direct-separately": (
            {"take_part": 12},
            {"mechanism": "direct", "view": AllAttributes(), "jointly": False},
        ),
        "permanent-direct-listed": (
            {},
            {"mechanism": "direct", "view": listed, "jointly": True},
        ),
        "permanent-unary": ({}, {"mechanism": "unary", "view": AllAttributes(), "jointly": True}),
        "permanent-unary-listed": (
            {},
            {"mechanism": "unary", "view": listed, "jointly": False},
        ),
        "permanent-bloom": ({}, {"mechanism": "bloom", "n_bits": 24, "n_hashes": 2}),
        "permanent-bloom-listed": (
            {},
            {"mechanism": "bloom", "n_bits": 24, "n_hashes": 2, "view": listed, "jointly": True},
        ),
        "permanent-bloom-sizes": (
            {},
            {"mechanism": "bloom", "n_bits": 24, "n_hashes": 2, "view": listed, "jointly": False},
        ),
    }
    made = {
        name: make_campaign(DOMAIN, terms(name, mode="sampled", **when), CampaignRequest(**wish))
        for name, (when, wish) in sampled.items()
    }
    return (
        made
        | {
            name: make_campaign(
                DOMAIN,
                terms(name, mode="permanent", **when),
                CampaignRequest(epsilon="1.5", lifetime_epsilon="3", **wish),
            )
            for name, (when, wish) in kept.items()
        }
        | {"permanent-sixteen-views": sixteen_views([1] * 15 + [35])}
    )


SEVENTEEN = Domain(tuple(Boolean(name=f"b{i}") for i in range(17)))


def sixteen_views(weights: list[int]) -> Campaign:
    """As many views as may be kept, 15 of them with just the smallest share."""
    view = Listed.of(SEVENTEEN, [((f"b{i}",), weight) for i, weight in enumerate(weights)])
    return make_campaign(
        SEVENTEEN,
        terms("permanent-sixteen-views", mode="permanent"),
        CampaignRequest(epsilon="1.5", lifetime_epsilon="3", mechanism="direct", view=view),
    )


def invited_campaigns(made: dict[str, Campaign]) -> dict[str, Campaign]:
    """With one key for each round, at most 64."""
    kept = terms("invited-permanent", mode="permanent", n_keys=12)
    return {
        f"invited-{n}": replace(
            made["sampled-direct"],
            terms=terms(f"invited-{n}", mode="sampled", rounds=n, n_keys=n),
        )
        for n in (2, 64)
    } | {"invited-permanent": replace(made["permanent-bloom"], terms=kept)}


def campaign_items(made: dict[str, Campaign]) -> list[Item]:
    return [
        MAKER.campaign_item(name, campaign)
        | {"lifetime_epsilon": decimal_up(campaign.lifetime_loss)}
        for name, campaign in made.items()
    ]


def cap_items(made: dict[str, Campaign]) -> list[Item]:
    """Caps on both sides of lifetime epsilon, and epsilon of one report, which is not enough where a device sends several."""
    items = []
    for name, campaign in made.items():
        above = decimal_up(campaign.lifetime_loss)
        below = f"{float(above) - 0.00001:.6f}"
        for cap in (above, below, decimal_up(campaign.loss)):
            items.append({"campaign": name, "cap": cap, "allowed": MAKER.allowed(campaign, cap)})
    return items


def round_items(made: dict[str, Campaign]) -> list[Item]:
    items = []
    for name, campaign in made.items():
        assert campaign.terms.schedule and campaign.terms.repeat
        for start in (b"", b"\xff\x0f"):
            source = MAKER.Stream(start + MAKER.stream(f"{name}/rounds"))
            drawn = campaign.terms.repeat.draw(source)
            slots = [campaign.terms.schedule.slots[number] for number in drawn]
            items.append(
                {"campaign": name, "random": source.used, "rounds": list(drawn), "slots": slots}
            )
    return items


def slot_items(made: dict[str, Campaign]) -> list[Item]:
    items = []
    for name in ("sampled-direct", "sampled-subset", "permanent-direct"):
        schedule = made[name].terms.schedule
        assert schedule
        first, last, step = schedule.slots[0], schedule.last_slot, schedule.slots.step
        for day in sorted(
            {
                first - 1,
                first,
                first + step - 1,
                first + step,
                last - step,
                last - step + 1,
                last,
                last + 1,
            }
        ):
            items.append({"campaign": name, "day": day, "slot": schedule.slot_on(day)})
    return items


def records_of(campaign: Campaign) -> list[Item]:
    if campaign.domain == DOMAIN:
        return RECORDS
    return [{f"b{i}": i % 2 == odd for i in range(17)} for odd in (0, 1)]


def permanent_items(made: dict[str, Campaign]) -> list[Item]:
    """Of every record; where there are several views, from three streams each, so that all views are drawn."""
    items = []
    for name, campaign in made.items():
        if campaign.mechanism.permanent is None:
            continue
        for number, record in enumerate(records_of(campaign) * (3 if campaign.view.masked else 1)):
            source = MAKER.Stream(MAKER.stream(f"{name}/permanent/{number}"))
            kept = memorized(campaign, campaign.domain.indices(record), source)
            items.append(
                {"campaign": name, "record": record, "random": source.used, "kept": kept.hex()}
            )
    return items


def report_items(made: dict[str, Campaign], kept: list[Item]) -> list[Item]:
    """`sampled`: of records; `permanent`: of permanent answers, two reports each."""
    items: list[Item] = []
    for name, campaign in made.items():
        assert campaign.terms.schedule
        inputs = [{"kept": item["kept"]} for item in kept if item["campaign"] == name] or [
            {"record": one} for one in records_of(campaign)
        ]
        for number, given in enumerate(inputs):
            slot = campaign.terms.schedule.slots[number % 2]
            random = MAKER.stream(f"{name}/report/{number}")
            random_id, source = random[:ID_BYTES], MAKER.Stream(random[ID_BYTES:])
            report = report_of(campaign, given, slot, random_id, source)
            told = {"bytes": report.to_bytes().hex(), "twin": json.loads(report.to_json())}
            items.append(
                {
                    "campaign": name,
                    **given,
                    "slot": slot,
                    "random_id": random_id.hex(),
                    "random": source.used,
                    **told,
                }
            )
    return items


def report_of(campaign: Campaign, given: Item, slot: int, random_id: bytes, source: Any) -> Report:
    """A report of this round: of a record, or over the permanent answer that is kept."""
    if "kept" in given:
        kept = bytes.fromhex(given["kept"])
        return refreshed(campaign, kept, report_id=random_id, slot=slot, randomness=source)
    candidates = campaign.domain.indices(given["record"])
    return randomized(campaign, candidates, report_id=random_id, slot=slot, randomness=source)


def malformed_items(made: dict[str, Campaign], reports: list[Item]) -> list[Item]:
    """Slots that are days of the schedule, or beside it, but not the first day of a round."""
    items = []
    for name in ("sampled-direct", "permanent-direct"):
        good = bytes.fromhex(next(item["bytes"] for item in reports if item["campaign"] == name))
        first = int.from_bytes(good[25:29])
        for slot in (first + 1, first + 29, first - 30, first + 360):
            data = good[:25] + slot.to_bytes(4) + good[29:]
            try:
                Report.from_bytes(data, made[name])
            except ReportRejected as error:
                items.append({"campaign": name, "bytes": data.hex(), "reason": str(error.reason)})
    assert len(items) == 8
    return items


CHANGES: list[tuple[str, str, str, Any]] = [
    ("another format with rounds", "sampled-direct", "format", 2),
    ("a lifetime epsilon without rounds", "sampled-direct", "schedule/repeat", "once"),
    ("a repeat that is a word", "sampled-direct", "schedule/repeat", "weekly"),
    ("rounds that are an empty object", "sampled-direct", "schedule/repeat", {}),
    ("a mode that is not known", "sampled-direct", "schedule/repeat/mode", "fresh"),
    ("no mode", "sampled-direct", "schedule/repeat/mode", None),
    ("a member of repeat that is not known", "sampled-direct", "schedule/repeat/months", 1),
    ("rounds of no days", "sampled-direct", "schedule/repeat/every_days", 0),
    ("rounds of 367 days", "sampled-direct", "schedule/repeat/every_days", 367),
    ("one round", "sampled-direct", "schedule/repeat/rounds", 1),
    ("4,097 rounds", "sampled-direct", "schedule/repeat/rounds", 4097),
    ("no round to take part in", "sampled-direct", "schedule/repeat/take_part", 0),
    (
        "more rounds to take part in than there are",
        "sampled-direct",
        "schedule/repeat/take_part",
        13,
    ),
    (
        "a last day that is not that of the last round",
        "sampled-direct",
        "schedule/closes",
        "2026-12-31",
    ),
    ("no last day", "sampled-direct", "schedule/closes", None),
    ("no lifetime epsilon", "sampled-direct", "privacy/lifetime_epsilon", None),
    (
        "a lifetime epsilon that is too low",
        "sampled-direct",
        "privacy/lifetime_epsilon",
        "2.000000",
    ),
    ("a lifetime epsilon that is empty", "sampled-direct", "privacy/lifetime_epsilon", ""),
    ("one more round to take part in", "sampled-direct", "schedule/repeat/take_part", 3),
    ("mode sampled with a permanent layer", "permanent-direct", "schedule/repeat/mode", "sampled"),
    ("mode permanent without a permanent layer", "permanent-direct", "mechanism/permanent", None),
    (
        "a permanent layer for other blocks",
        "permanent-direct",
        "mechanism/permanent",
        {"2": "86266716242"},
    ),
    ("a permanent layer without odds", "permanent-direct", "mechanism/permanent", {}),
    (
        "permanent odds that keep nothing",
        "permanent-direct",
        "mechanism/permanent",
        {"1": "4294967296"},
    ),
    (
        "permanent odds that are a number",
        "permanent-direct",
        "mechanism/permanent",
        {"1": 86266716242},
    ),
    ("permanent change units of one half", "permanent-unary", "mechanism/permanent", {"1": 2**31}),
    ("a permanent layer below subset", "permanent-direct", "mechanism/name", "subset"),
    (
        "mode permanent with a sample",
        "permanent-direct",
        "privacy/view",
        {"attributes": 2, "kind": "sample"},
    ),
    (
        "mode permanent with filled views",
        "permanent-direct",
        "privacy/view",
        {"cells": 8, "kind": "fill"},
    ),
    (
        "a kept view of less than 2 %",
        "permanent-direct-listed",
        "privacy/view/sets/0/weight",
        50,
    ),
    (
        "kept views that are too many",
        "permanent-sixteen-views",
        "privacy/view/sets",
        [{"attributes": [f"b{i}"], "weight": 1} for i in range(17)],
    ),
    ("too few keys", "invited-2", "admission/keys", [base64url(MAKER.key("a"))]),
    (
        "too many keys",
        "invited-2",
        "admission/keys",
        [base64url(MAKER.key(label)) for label in "abc"],
    ),
    ("the same key twice", "invited-2", "admission/keys", [base64url(MAKER.key("a"))] * 2),
    (
        "a permanent layer that is weaker than claimed",
        "permanent-bloom",
        "privacy/lifetime_epsilon",
        "2.000000",
    ),
    ("an epsilon of one layer alone", "permanent-direct", "privacy/epsilon", "2.999999"),
]


def refusal_items(made: dict[str, Campaign]) -> list[Item]:
    items = [
        MAKER.refused(why, QUESTIONNAIRES.changed(made[name], path, value))
        for why, name, path, value in CHANGES
    ]
    plain = QUESTIONNAIRES.changed(
        MAKER.campaigns()["direct-listed"], "mechanism/permanent", {"1": "86266716242"}
    )
    return [
        *items,
        MAKER.refused("a permanent layer without rounds", plain),
        MAKER.refused("65 rounds of invited people", with_65_keys(made["invited-64"])),
    ]


def with_65_keys(campaign: Campaign) -> bytes:
    more = json.loads(campaign.canonical_bytes)
    more["admission"]["keys"].append(base64url(MAKER.key("one more")))
    more["schedule"]["repeat"]["rounds"] = 65
    first = date.fromisoformat(more["schedule"]["opens"])
    more["schedule"]["closes"] = str(first + timedelta(days=30 * 65 - 1))
    written: bytes = canonical_bytes(more)
    return written


def vectors() -> Item:
    made = campaigns()
    invited = invited_campaigns(made)
    kept = permanent_items(made)
    reports = report_items(made, kept)
    return {
        "format": 1,
        "campaigns": campaign_items(made | invited),
        "attribute_epsilons": MAKER.epsilon_items(made),
        "caps": cap_items(made),
        "rounds": round_items(made),
        "slots": slot_items(made),
        "permanent_answers": kept,
        "reports": reports,
        "malformed_reports": malformed_items(made, reports),
        "refused_campaigns": refusal_items(made | invited),
    }


def file_text() -> str:
    return QUESTIONNAIRES.spelt(vectors())


if __name__ == "__main__":
    FILE.write_text(file_text(), encoding="ascii")
