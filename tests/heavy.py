"""Campaigns made to be slow to load: as large as a file may be, in every shape that some step of loading could choke on.

Run as a script it takes names on its command line, loads each campaign in a process of its own, and prints one JSON line each:
what came of it, seconds of CPU time, and MiB of memory.
"""

import json
import os
import re
import resource
import sys
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

from lopub.campaign.campaign import Campaign
from lopub.campaign.canonical import LONGEST_FILE
from lopub.errors import CampaignError

Json = Any
HEAVY: dict[str, Callable[[], bytes]] = {}
"""Name -> the campaign's bytes."""


def heavy(make: Callable[[], bytes]) -> Callable[[], bytes]:
    HEAVY[make.__name__] = make
    return make


# ---- parts


def spelt(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def campaign(
    fields: list[Json], view: Json, mechanism: Json, *, jointly: bool = False, **more: Json
) -> bytes:
    """The bytes, with a false claim: loading does all of its work before it says which would be true."""
    privacy = {
        "epsilon": "0.000001",
        "randomize": "jointly" if jointly else "separately",
        "view": view,
    }
    parts = {
        "format": 1,
        "language": "en",
        "min_reports": 1,
        "name": "heavy",
        "schema": {"fields": fields},
        **more,
    }
    return spelt({**parts, "privacy": privacy, "mechanism": mechanism})


def with_true_claim(data: bytes) -> bytes:
    """The same with the claim that loading says is true, if it comes so far."""
    try:
        Campaign.from_bytes(data)
    except CampaignError as error:
        if true := re.search(r"the epsilon of this campaign is ([0-9.]+)", str(error)):
            return data.replace(b'"epsilon":"0.000001"', f'"epsilon":"{true[1]}"'.encode())
    return data


def boolean(name: str) -> Json:
    return {"name": name, "type": "boolean", "constraints": {"required": True}}


def integer(name: str, maximum: int, minimum: int = 0) -> Json:
    return {
        "name": name,
        "type": "integer",
        "constraints": {"required": True, "minimum": minimum, "maximum": maximum},
    }


def categorical(name: str, values: list[str]) -> Json:
    categories = [{"label": value, "value": value} for value in values]
    return {
        "name": name,
        "type": "string",
        "categories": categories,
        "categoriesOrdered": False,
        "constraints": {"required": True, "enum": values},
    }


def binned(name: str, edges: list[str]) -> Json:
    constraints = {"required": True, "minimum": edges[0], "maximum": edges[-1]}
    return {
        "name": name,
        "type": "number",
        "bins": {"clamp": False, "edges": edges},
        "constraints": constraints,
    }


def booleans(n: int) -> list[Json]:
    return [boolean(f"{i:x}") for i in range(n)]


def odds(name: str, *n_blocks: int) -> Json:
    variant = {"variant": "optimized"} if name == "unary" else {}
    return {"name": name, "odds": {str(n): str(2**33 + 12_345 * n) for n in n_blocks}, **variant}


def filters(bits: int, hashes: int, *n_blocks: int, salt: str = "0") -> Json:
    units = {str(n): 2**30 for n in n_blocks}
    return {"name": "bloom", "bits": bits, "hashes": hashes, "salt": salt, "change_units": units}


def listed(sets: list[Any]) -> Json:
    return {"kind": "listed", "sets": [{"attributes": list(names), "weight": 1} for names in sets]}


def pairs_of(n: int) -> list[Any]:
    return list(combinations([f"{i:x}" for i in range(n)], 2))


ALL = {"kind": "all"}
ONE = {"kind": "sample", "attributes": 1}
TWO = {"kind": "sample", "attributes": 2}


def about(make: Callable[[int], str], room: int = LONGEST_FILE - 100_000) -> list[str]:
    """So many texts as have room, with their quotes and commas."""
    texts, i = [], 0
    while room > 0:
        texts.append(make(i))
        room -= len(texts[-1].encode()) + 3
        i += 1
    return texts


# ---- what people may well want


@heavy
def all_pairs_of_100_attributes_listed_separately() -> bytes:
    return campaign(booleans(100), listed(pairs_of(100)), odds("direct", 2))


@heavy
def all_pairs_of_256_attributes_listed_separately_with_filters() -> bytes:
    return campaign(
        [integer(f"{i:x}", 99) for i in range(256)], listed(pairs_of(256)), filters(128, 4, 2)
    )


@heavy
def all_pairs_of_256_attributes_listed_jointly() -> bytes:
    return campaign(booleans(256), listed(pairs_of(256)), odds("direct", 1), jointly=True)


@heavy
def five_thousand_labels_in_many_languages() -> bytes:
    fields = [
        categorical(f"q{i}", ["ja", "nein", "weiß nicht", "andere", "keine"]) for i in range(200)
    ]
    labels = {field["name"]: dict.fromkeys(field["constraints"]["enum"], "çà") for field in fields}
    return campaign(
        fields,
        TWO,
        odds("subset", 2),
        translations={f"x{chr(97 + i)}": {"labels": labels} for i in range(24)},
    )


@heavy
def forty_thousand_cities() -> bytes:
    return campaign(
        [categorical("city", [f"Città numero {i}" for i in range(40_000)])], ALL, odds("direct", 1)
    )


@heavy
def the_largest_filters_of_one_attribute() -> bytes:
    return campaign([integer("n", 65_535)], ALL, filters(4096, 4, 1))


# ---- what only an attacker wants


@heavy
def wide_integers() -> bytes:
    return campaign(
        [integer(f"{i:x}", 65_535) for i in range(4096)], TWO, odds("direct", 1), jointly=True
    )


@heavy
def as_many_candidates_as_may_be_each_translated() -> bytes:
    fields = [integer(f"{i:x}", 65_535) for i in range(4)]
    labels = {str(i): "" for i in range(65_536)}
    return campaign(
        fields,
        ALL,
        odds("direct", 4),
        translations={f"x{c}": {"labels": {"0": labels, "1": labels}} for c in "ab"},
    )


@heavy
def alternating_marks() -> bytes:
    return campaign(booleans(2), ALL, odds("direct", 2), title="\u0301\u0323" * 1_000_000)


@heavy
def marks_that_decompose_into_marks() -> bytes:
    return campaign(booleans(2), ALL, odds("direct", 2), title="\u0f73" * 1_300_000)


@heavy
def runs_of_marks_as_long_as_may_be() -> bytes:
    return campaign(
        booleans(2), ALL, odds("direct", 2), title=("q" + "\u0327" * 15 + "\u0301" * 15) * 65_000
    )


@heavy
def every_character_that_there_is() -> bytes:
    text = "".join(chr(i) for i in range(0xA0, 0x2FA00) if not 0xD800 <= i < 0xE000)
    return campaign(booleans(2), ALL, odds("direct", 2), title=text * 5)


@heavy
def a_text_of_emoji() -> bytes:
    return campaign(booleans(2), ALL, odds("direct", 2), title="😀" * 1_000_000)


@heavy
def many_small_texts_with_marks() -> bytes:
    values = about(lambda i: f"{i:x}\u0316\u0416", LONGEST_FILE // 3 - 30_000)
    fields = [categorical(f"{at}", values[at : at + 8192]) for at in range(0, len(values), 8192)]
    return campaign(fields[:7], ALL, odds("direct", 7))


@heavy
def jointly_filtered_fill_of_many_booleans() -> bytes:
    return campaign(
        booleans(40), {"kind": "fill", "cells": 65_536}, filters(128, 4, 1), jointly=True
    )


@heavy
def jointly_filtered_fill_of_attributes_that_just_fit() -> bytes:
    return campaign(booleans(13), {"kind": "fill", "cells": 8192}, filters(256, 8, 1), jointly=True)


@heavy
def jointly_filtered_fill_of_a_hundred_and_eighty() -> bytes:
    fields = [integer(f"{i:x}", 2 + i % 3) for i in range(170)]
    return campaign(fields, {"kind": "fill", "cells": 8}, filters(64, 3, 1), jointly=True)


@heavy
def jointly_filtered_views_of_few_cells() -> bytes:
    return campaign(booleans(90), TWO, filters(128, 16, 1), jointly=True)


@heavy
def crowded_filters_that_must_all_be_compared() -> bytes:
    return campaign([integer(f"{i:x}", 255) for i in range(64)], ONE, filters(30, 15, 1))


@heavy
def crowded_filters_as_many_hashes_as_bits_but_one() -> bytes:
    return campaign([integer(f"{i:x}", 1) for i in range(2000)], ONE, filters(65, 64, 1))


@heavy
def one_hash_of_65536_bits() -> bytes:
    return campaign(
        [integer(f"{i:x}", 3) for i in range(4096)], ONE, filters(65_536, 1, 1, salt="22")
    )


@heavy
def sixty_four_hashes_of_65536_bits() -> bytes:
    return campaign([integer("n", 4095)], ALL, filters(65_536, 64, 1))


@heavy
def a_salt_of_a_million_letters() -> bytes:
    return campaign([integer("n", 65_535)], ALL, filters(4096, 1, 1, salt="s" * 1_000_000))


@heavy
def a_long_salt_of_many_filters() -> bytes:
    """Which is too much to hash; to find that out must not take as long."""
    return campaign(
        [integer(f"{i:x}", 1) for i in range(4000)],
        ONE,
        filters(65_536, 1, 1, salt="s" * 3_000_000),
    )


@heavy
def a_salt_as_long_as_can_be_hashed() -> bytes:
    return campaign(
        [integer(f"{i:x}", 1) for i in range(5)], ONE, filters(65_536, 1, 1, salt="s" * 3_300_000)
    )


@heavy
def a_long_salt_hashed_as_often_as_may_be() -> bytes:
    return campaign(
        [integer(f"{i:x}", 1) for i in range(1000)], ONE, filters(65_536, 1, 1, salt="s" * 16_000)
    )


@heavy
def joint_filters_of_long_names_and_values() -> bytes:
    values = [f"{i}" + "é" * 990 for i in range(4)]
    fields = [categorical(f"{i}" + "é" * 990, values) for i in range(8)]
    return campaign(fields, ALL, filters(4096, 1, 1), jointly=True)


@heavy
def as_many_hashed_bytes_as_may_be() -> bytes:
    values = [f"{i:03}" + "é" * 250 for i in range(256)]
    fields = [categorical(name, values) for name in "ab"]
    return campaign(fields, ALL, filters(4096, 4, 1), jointly=True)


@heavy
def sets_of_every_size() -> bytes:
    names = [f"{i:x}" for i in range(4096)]
    sizes = range(1, 511)
    return campaign(booleans(4096), listed([names[:n] for n in sizes]), odds("unary", *sizes))


@heavy
def sets_of_every_size_with_filters() -> bytes:
    names = [f"{i:x}" for i in range(4096)]
    sizes = range(1, 511)
    return campaign(booleans(4096), listed([names[:n] for n in sizes]), filters(16, 4, *sizes))


@heavy
def sets_of_every_size_with_hashed_attributes() -> bytes:
    """A number of values for every number of blocks, and a number of digits for every attribute under each."""
    fields = [integer(f"{i:x}", 1 + i % 120) for i in range(4096)]
    names, sizes = [f"{i:x}" for i in range(4096)], range(1, 511)
    noise = {str(n): str((65_000 - 120 * n) * 2**32) for n in sizes}
    return campaign(fields, listed([names[:n] for n in sizes]), {"name": "hashed", "odds": noise})


def permanent(fields: list[Json], view: Json, mechanism: Json, **more: Json) -> bytes:
    """In rounds over one permanent answer, of so many people that any view may be kept."""
    schedule = {"opens": "2026-01-01", "closes": "2026-01-04", "repeat": REPEAT}
    value = json.loads(
        campaign(
            fields,
            view,
            mechanism,
            **{"format": 1, "schedule": schedule, "min_reports": 10**9, **more},
        )
    )
    value["privacy"]["lifetime_epsilon"] = "0.000001"
    return spelt(value)


REPEAT: Json = {"every_days": 1, "mode": "permanent", "rounds": 4, "take_part": 4}


def kept_odds(*n_blocks: int) -> Json:
    return {**odds("direct", *n_blocks), "permanent": {str(n): str(2**40 + n) for n in n_blocks}}


@heavy
def permanent_answers_of_every_size() -> bytes:
    """An epsilon for every number of candidates under every number of blocks."""
    fields = [integer(f"{i:x}", 1 + i % 120) for i in range(4096)]
    names, sizes = [f"{i:x}" for i in range(4096)], range(1, 511)
    return permanent(fields, listed([names[:n] for n in sizes]), kept_odds(*sizes))


@heavy
def permanent_answers_of_as_many_sizes_as_may_be() -> bytes:
    fields = [integer(f"{i:x}", 1 + i % 2) for i in range(4096)]
    names, sizes = [f"{i:x}" for i in range(4096)], range(1, 511)
    return permanent(fields, listed([names[:n] for n in sizes]), kept_odds(*sizes))


@heavy
def permanent_answers_over_blocks_of_a_thousand_sizes() -> bytes:
    fields = [integer(f"{i:x}", i) for i in range(1, 600)]
    names = [f"{i:x}" for i in range(1, 600)]
    views = (
        [[name] for name in names]
        + [[names[0], name] for name in names[424:]]
        + [[names[1], name] for name in names[340:590]]
    )
    return permanent(fields, listed(views), kept_odds(1), jointly=True)


@heavy
def noise_for_numbers_of_blocks_that_nobody_makes() -> bytes:
    return campaign(booleans(2), ALL, odds("direct", *range(1, 99_999)))


@heavy
def four_thousand_translations() -> bytes:
    titles = {f"{i:x}": "é" for i in range(60)}
    tags = [
        f"x{a}{b}{c}"
        for a in "abcdefghijklmnop"
        for b in "abcdefghijklmnop"
        for c in "abcdefghijklmnop"
    ]
    return campaign(
        booleans(4096),
        TWO,
        odds("direct", 2),
        translations={tag: {"titles": titles} for tag in tags},
    )


@heavy
def a_quarter_million_translations() -> bytes:
    return campaign(
        booleans(2), ALL, odds("direct", 2), translations={f"aa-{i:x}": {} for i in range(261_000)}
    )


@heavy
def a_language_of_a_million_parts() -> bytes:
    return campaign(booleans(2), ALL, odds("direct", 2), translations={"aa" + "-b" * 2_000_000: {}})


@heavy
def a_hundred_thousand_categories() -> bytes:
    values = [f"{i:x}" for i in range(100_000)]
    return campaign(
        [categorical("a", values[:50_000]), categorical("b", values[50_000:])],
        ALL,
        odds("subset", 2),
    )


@heavy
def a_hundred_thousand_categories_the_last_of_them_unprintable() -> bytes:
    values = [f"{i:x}é" for i in range(82_000)]
    return campaign(
        [categorical("a", values[:41_000]), categorical("b", [*values[41_000:], "\u007f"])],
        ALL,
        odds("subset", 2),
    )


@heavy
def bins_without_end() -> bytes:
    edges = [f"{i}.5" for i in range(1_000_000, 1_065_536)]
    return campaign([binned(name, edges) for name in "abcde"], ALL, odds("direct", 5))


@heavy
def edges_of_tiny_numbers() -> bytes:
    edges = [f"0.{'0' * 300}{i}" for i in range(10_001, 20_001) if i % 10]
    return campaign([binned("a", edges)], ALL, odds("direct", 1))


@heavy
def an_edge_of_a_million_digits() -> bytes:
    return campaign([binned("a", ["0", "1" * 1_900_000])], ALL, odds("direct", 1))


@heavy
def names_as_long_as_may_be() -> bytes:
    return campaign(
        [boolean(f"{i:04x}" + "é" * 490) for i in range(4000)], ALL, odds("direct", 4000)
    )


@heavy
def fields_with_every_text() -> bytes:
    more = {"title": "é\u0416", "question": "ça", "description": "\u0301"}
    return campaign(
        [{**boolean(f"{i:x}é"), **more} for i in range(4096)], ALL, odds("direct", 4096)
    )


@heavy
def fields_without_end() -> bytes:
    return campaign(booleans(60_000), ALL, odds("direct", 1))


@heavy
def sets_without_end() -> bytes:
    return campaign(booleans(4096), listed([[str(i)] for i in range(85_000)]), odds("direct", 1))


@heavy
def filters_of_different_lengths() -> bytes:
    mechanism = {**filters(0, 2, 1), "bits": {f"{i:x}": 20_000 + i for i in range(4096)}}
    return campaign([integer(f"{i:x}", 20) for i in range(4096)], ONE, mechanism)


@heavy
def listed_views_with_long_filters() -> bytes:
    return campaign(booleans(91), listed(pairs_of(91)), filters(65_536, 16, 1), jointly=True)


@heavy
def nested_lists() -> bytes:
    return b"[" + b",".join([b"[" * 15 + b"]" * 15] * 135_000) + b"]"


@heavy
def lists_without_end() -> bytes:
    return b"[" * LONGEST_FILE


@heavy
def objects_of_one_member() -> bytes:
    return b"[" + b",".join([b'{"":0}'] * 260_000) + b"]"


@heavy
def numbers_alone() -> bytes:
    return b"[" + b"0," * (LONGEST_FILE // 2 - 2) + b"0]"


@heavy
def large_numbers_alone() -> bytes:
    return b"[" + b",".join([b"9" * 4000] * 1000) + b"]"


@heavy
def small_texts_alone() -> bytes:
    return spelt(about(lambda i: f"{i:x}\u0416"))


@heavy
def members_alone() -> bytes:
    return spelt({f"{i:x}": 0 for i in range(420_000)})


@heavy
def years_without_end() -> bytes:
    constraints = {"required": True, "minimum": "2019"}
    years = {"name": "y", "type": "date", "period": "year", "constraints": constraints}
    return campaign([years], ALL, odds("direct", 1), format=1)


@heavy
def years_without_beginning() -> bytes:
    constraints = {"required": True, "maximum": "2019"}
    years = {"name": "y", "type": "date", "period": "year", "constraints": constraints}
    return campaign([years], ALL, odds("direct", 1), format=1)


def with_members(*path: str) -> bytes:
    """A small campaign, one object of which has as many members as a file has room for."""
    whole: Any = json.loads(campaign(booleans(2), ALL, odds("direct", 2)))
    place = whole
    for key in path:
        place = place[0] if isinstance(place, list) else place.setdefault(key, {})
    (place[0] if isinstance(place, list) else place).update({f"{i:x}": 0 for i in range(420_000)})
    return spelt(whole)


@heavy
def members_of_a_campaign() -> bytes:
    return with_members()


@heavy
def members_of_its_privacy() -> bytes:
    return with_members("privacy")


@heavy
def members_of_its_mechanism() -> bytes:
    return with_members("mechanism")


@heavy
def members_of_its_odds() -> bytes:
    return with_members("mechanism", "odds")


@heavy
def members_of_a_field() -> bytes:
    return with_members("schema", "fields")


@heavy
def members_of_its_view() -> bytes:
    return with_members("privacy", "view")


@heavy
def members_of_its_translations() -> bytes:
    return with_members("translations")


@heavy
def members_of_its_schedule() -> bytes:
    return with_members("schedule")


@heavy
def members_with_emoji() -> bytes:
    """Which only a comparison by code points puts in order."""
    return spelt({f"{i:x}\U0001f600": 0 for i in range(280_000)})


@heavy
def a_set_of_names_that_are_not_there() -> bytes:
    return campaign(booleans(2), listed([about(lambda i: f"{i:x}")]), odds("direct", 2))


@heavy
def one_set_twice_among_many() -> bytes:
    return campaign(booleans(250), listed([*pairs_of(250), ("0", "1")]), odds("direct", 2))


# ---- questionnaires: conditions, lists, dates


def questionnaire(fields: list[Json], view: Json, mechanism: Json, **more: Json) -> bytes:
    return campaign(fields, view, mechanism, **{"format": 1, **more})


def only_if(field: Json, condition: Json) -> Json:
    return {**field, "onlyIf": condition}


def yes(name: str) -> Json:
    return {"equals": True, "field": name}


def ticks(name: str, values: list[str], **constraints: Json) -> Json:
    categories = [{"label": value, "value": value} for value in values]
    return {
        "name": name,
        "type": "list",
        "categories": categories,
        "constraints": {"required": True, **constraints},
    }


def dated(name: str, period: str, minimum: Json, maximum: Json) -> Json:
    constraints = {"required": True, "minimum": minimum, "maximum": maximum}
    return {"name": name, "type": "date", "period": period, "constraints": constraints}


@heavy
def sixty_lists_of_sixty_four_options() -> bytes:
    fields = [ticks(f"q{i}", [f"{j}" for j in range(64)], maxLength=3) for i in range(60)]
    return questionnaire(fields, TWO, odds("direct", 2))


@heavy
def a_survey_of_two_hundred_questions_each_for_some() -> bytes:
    fields = [
        boolean("0"),
        *(only_if(boolean(f"{i:x}"), yes(f"{i // 2:x}")) for i in range(1, 200)),
    ]
    return questionnaire(fields, TWO, odds("direct", 2))


@heavy
def a_chain_of_four_thousand_conditions() -> bytes:
    fields = [
        boolean("0"),
        *(only_if(boolean(f"{i:x}"), yes(f"{i - 1:x}")) for i in range(1, 4096)),
    ]
    return questionnaire(fields, TWO, odds("direct", 2))


@heavy
def every_question_follows_from_all_before_it() -> bytes:
    fields = [boolean(f"{i:x}") for i in range(30)]
    for i in range(30, 2000):
        fields.append(only_if(boolean(f"{i:x}"), {"or": [yes(f"{j:x}") for j in range(i - 30, i)]}))
    return questionnaire(fields, TWO, odds("direct", 2))


@heavy
def a_condition_as_deep_as_json_may_be() -> bytes:
    condition = yes("0")
    for _ in range(400):
        condition = {"not": condition}
    return questionnaire([boolean("0"), only_if(boolean("1"), condition)], ALL, odds("direct", 2))


@heavy
def conditions_as_deep_as_may_be_on_every_question() -> bytes:
    condition = yes("0")
    for _ in range(7):
        condition = {"not": condition}
    fields = [boolean("0"), *(only_if(boolean(f"{i:x}"), condition) for i in range(1, 4096))]
    return questionnaire(fields, TWO, odds("direct", 2))


@heavy
def lists_inside_one_another() -> bytes:
    return b"[" * 2**17 + b"]" * 2**17


@heavy
def a_member_that_nobody_reads_as_deep_as_may_be() -> bytes:
    return b'{"format":1,"x":' + b'{"x":' * 900 + b"1" + b"}" * 900 + b"}"


@heavy
def millions_of_integers() -> bytes:
    return b'{"format":1,"x":[' + b"1," * 2_000_000 + b"1]}"


@heavy
def integers_of_thousands_of_digits() -> bytes:
    return b'{"format":1,"x":[' + (b"9" * 4299 + b",") * 970 + b"1]}"


@heavy
def a_decimal_of_millions_of_digits() -> bytes:
    return b'{"format":1,"x":0.' + b"1" * 4_000_000 + b"}"


@heavy
def twelve_thousand_keys() -> bytes:
    keys = ["A" * 342] * 12_000
    return campaign(
        booleans(2), ALL, odds("direct", 2), admission={"keys": keys, "kind": "invited"}
    )


@heavy
def a_condition_with_a_hundred_thousand_parts() -> bytes:
    return questionnaire(
        [boolean("0"), only_if(boolean("1"), {"or": [yes("0")] * 100_000})], ALL, odds("direct", 2)
    )


@heavy
def one_of_sixty_thousand_answers() -> bytes:
    values = [f"{i:x}" for i in range(40_000)]
    condition = {"field": "a", "oneOf": values[::2]}
    return questionnaire(
        [categorical("a", values), only_if(boolean("b"), condition)], ALL, odds("direct", 2)
    )


@heavy
def long_answers_compared_by_every_question() -> bytes:
    values = [f"{i}" + "é" * 400 for i in range(200)]
    condition = {"field": "city", "oneOf": values[:20]}
    fields = [
        categorical("city", values),
        *(only_if(boolean(f"{i:x}"), condition) for i in range(200)),
    ]
    return questionnaire(fields, TWO, odds("direct", 2))


@heavy
def conditions_that_contradict_each_other() -> bytes:
    never = {"and": [yes("0"), {"not": yes("0")}]}
    fields = [boolean("0"), *(only_if(boolean(f"{i:x}"), never) for i in range(1, 4096))]
    return questionnaire(fields, TWO, odds("direct", 2))


@heavy
def a_condition_on_itself_and_on_later_questions() -> bytes:
    fields = [only_if(boolean(f"{i:x}"), yes(f"{(i + 1) % 4096:x}")) for i in range(4096)]
    return questionnaire(fields, TWO, odds("direct", 2))


@heavy
def lists_of_too_many_options() -> bytes:
    return questionnaire([ticks("q", [f"{i:x}" for i in range(100_000)])], ALL, odds("direct", 1))


@heavy
def lists_whose_options_are_called_alike() -> bytes:
    fields = [ticks(f"q{i}", [f"{j}" + "é" * 200 for j in range(64)]) for i in range(64)]
    return questionnaire([*fields, ticks("q", [f"{j}" for j in range(64)])], TWO, odds("direct", 2))


@heavy
def weeks_of_a_thousand_years() -> bytes:
    weeks = [dated(f"w{i}", "week", "1500-W01", "2500-W01") for i in range(4)]
    return questionnaire(weeks, ALL, odds("direct", 4))


@heavy
def dates_beyond_the_calendar() -> bytes:
    return questionnaire(
        [dated(f"{i:x}", "year", -(10**i), 10**i) for i in range(1000)], TWO, odds("direct", 2)
    )


@heavy
def a_questionnaire_in_two_hundred_languages() -> bytes:
    fields = [ticks(f"q{i}", [f"{j}" for j in range(20)]) for i in range(40)]
    labels = {field["name"]: {f"{j}": "ç" for j in range(20)} for field in fields}
    tags = [f"x{a}{b}" for a in "abcdefghijklmno" for b in "abcdefghijklmn"]
    return questionnaire(
        fields, TWO, odds("direct", 2), translations={tag: {"labels": labels} for tag in tags}
    )


# ---- measuring


def loaded(data: bytes) -> str:
    try:
        Campaign.from_bytes(data)
    except CampaignError as error:
        return f"refused: {error}"
    return "loaded"


def measured(name: str) -> Json:
    """In a process of its own, which hears of nothing but the finished bytes."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        data = with_true_claim(HEAVY[name]())
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(data)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    reading, writing = os.pipe()
    if not (child := os.fork()):
        before = time.process_time()
        outcome = loaded(data)
        seconds = time.process_time() - before
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        os.write(
            writing,
            json.dumps(
                {"name": name, "outcome": outcome[:300], "seconds": seconds, "mebibytes": peak}
            ).encode(),
        )
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        found = json.loads(pipe.read() or b'{"outcome": "died"}')
    os.waitpid(child, 0)
    return {**found, "bytes": len(data)}


if __name__ == "__main__":
    for wanted in sys.argv[1:] or HEAVY:
        print(json.dumps(measured(wanted)), flush=True)
