"""Write `vectors.json`: what every client and every collector must agree on, in whatever language.

    .venv/bin/python tests/golden/make_vectors.py

The file holds campaigns, the candidates and Bloom positions of values, draws and whole reports with the random bytes
that they take, and what must be refused and why. It is written from the current code and nothing else: no clock, no
operating-system randomness, no hash seed. `tests/campaign/test_golden.py` checks that it comes out the same, byte for byte.
A change in it is a change of the format: it breaks the campaigns and reports that are out in the world.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from pathlib import Path
from typing import Any

from lopub import (
    AllAttributes,
    Binned,
    Boolean,
    Campaign,
    CampaignError,
    CampaignRequest,
    Categorical,
    Domain,
    DomainError,
    Fill,
    IntegerRange,
    Listed,
    Report,
    ReportRejected,
    Sample,
    Schedule,
    Terms,
    Translation,
    make_campaign,
)
from lopub.campaign.admission import KEY_BYTES, SIGNATURE_BYTES, Admission
from lopub.campaign.budget import UNIT, decimal_up, exact_decimal
from lopub.campaign.canonical import Members
from lopub.campaign.condition import Comparison
from lopub.campaign.mechanisms import Bloom, Direct, Subset, mechanism_from_json
from lopub.campaign.mechanisms.bloom import positions
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import ID_BYTES, base64url, framed, pack, unframed
from lopub.campaign.schedule import EPOCH
from lopub.client.noise import randomized

FILE = Path(__file__).with_name("vectors.json")
PLAIN_SLOT = 20_000  # 2024-10-04
LAST_SLOT = 2_932_896  # 9999-12-31
Item = dict[str, Any]


# ---- random bytes that are handed in


class Stream(Randomness):
    """These bytes in place of the operating system's, and how many of them were taken."""

    def __init__(self, data: bytes) -> None:
        self.data, self.n_taken = data, 0

    def take(self, n_bytes: int) -> bytes:
        taken = self.data[self.n_taken : self.n_taken + n_bytes]
        if len(taken) < n_bytes:
            raise AssertionError(f"{n_bytes} random bytes are wanted, {len(taken)} are left")
        self.n_taken += n_bytes
        return taken

    @property
    def used(self) -> str:
        """The bytes that were taken."""
        return self.data[: self.n_taken].hex()


def stream(label: str, n_bytes: int = 2**16) -> bytes:
    """Bytes that look random and are the same for ever: SHA-256 of label and counter."""
    blocks = [hashlib.sha256(f"{label}/{i}".encode()).digest() for i in range((n_bytes + 31) // 32)]
    return b"".join(blocks)[:n_bytes]


# ---- campaigns

SMALL = Domain(
    (
        Categorical(name="gender", values=("F", "M")),
        Categorical(name="colour", values=("red", "green", "blue")),
        Boolean(name="smoker"),
    )
)
WIDE = Domain(
    (
        IntegerRange(name="age", minimum=0, maximum=299),
        Categorical(name="size", values=("S", "M", "L", "XL", "XXL")),
        Binned(name="income", edges=("0", "10.5", "20", "40", "80", "160", "320", "640")),
        Boolean(name="member", missing=True),
    )
)
MIDDLE = Domain(
    (
        Categorical(name="month", values=tuple(f"{i:02}" for i in range(1, 13))),
        Categorical(name="size", values=("S", "M", "L", "XL", "XXL")),
        Binned(name="income", edges=("0", "10.5", "20", "40", "80", "160", "320", "640")),
        IntegerRange(name="children", minimum=0, maximum=5, missing=True),
    )
)
TEN = Domain(tuple(Boolean(name=f"b{i}") for i in range(10)))
"""A mask of two bytes; jointly, 1,024 cells."""
BROAD = Domain(
    (
        IntegerRange(name="n", minimum=1, maximum=100),
        IntegerRange(name="m", minimum=1, maximum=300),
        Boolean(name="b"),
    )
)
HUGE = Domain(
    (IntegerRange(name="n", minimum=1, maximum=280), IntegerRange(name="m", minimum=1, maximum=250))
)
"""70,000 cells."""
EDGES_OF_BYTES = {
    k: Domain((IntegerRange(name="n", minimum=0, maximum=k - 1),)) for k in (256, 257, 65_536)
}
MILLION = Domain(tuple(IntegerRange(name=name, minimum=1, maximum=1000) for name in "nm"))
SINGLE = {k: Domain((IntegerRange(name="n", minimum=1, maximum=k),)) for k in (6, 300)}
ASTRAL, FULL_WIDTH = (
    "\U0001d49c",
    "\uff5a",
)  # sorted one way by code points, the other way by UTF-16 units
EVERY_KIND = Domain(
    (
        Categorical(
            name="Größe",
            title="Körpergröße",
            question="Wie groß sind Sie?",
            description="Ohne Schuhe.",
            values=("klein", "mittelgroß", "groß"),
            labels={"klein": "unter 1,60 m", "groß": "über 1,80 m"},
            is_ordered=True,
        ),
        Categorical(name="ville", values=("Besançon", "Orléans", "東京", "🏝️"), missing=True),
        Boolean(name="smoker", missing=True),
        IntegerRange(name="children", minimum=-1, maximum=4),
        IntegerRange(name="cars", minimum=0, maximum=2, missing=True),
        Binned(name="income", edges=("-100.25", "0", "0.00001", "17.5", "1000000"), clamp=True),
        Binned(name="weight", edges=("0", "40", "60", "80", "300"), missing=True),
        Boolean(name="pet"),
        Categorical(
            name='quote " and \\ and / and \u2028', values=(" x ", "\u00e9", ASTRAL, FULL_WIDTH)
        ),
    )
)
GERMAN = Translation(
    title="Größen",
    description="Zeile 1\nZeile 2\t\u0001",
    consent="Ihre Antworten werden auf Ihrem Gerät verrauscht.",
    titles={"smoker": "Rauchen"},
    questions={"smoker": "Rauchen Sie?", "pet": "Haben Sie ein Haustier?"},
    labels={
        "smoker": {"false": "nein", "true": "ja", "": "keine Angabe"},
        "weight": {"[0, 40]": "bis 40 kg"},
    },
)
EVERY_TERM = Terms(
    name="every.kind-1_b",
    title="Sizes and cities",
    description="Everything that a campaign can say.",
    language="en-GB",
    consent="Your answers are made noisy on your own device.",
    translations={
        "de": GERMAN,
        "fr-CA": Translation(labels={EVERY_KIND.names[-1]: {ASTRAL: "A", FULL_WIDTH: "z"}}),
    },
    schedule=Schedule(opens=date(2026, 5, 1), closes=date(2026, 5, 31)),
    min_reports=1000,
    retention_days=365,
    licence="CC-BY-4.0",
    send_within_minutes=90,
)
SPELLINGS_OF_ONE = Domain(
    (
        Categorical(
            name="e\u0301",
            values=(
                "\u00e9",
                "e\u0301",
                "\u1ead",
                "a\u0323\u0302",
                "\u0378",
                "\ufffe",
                "q" + "\u0316" * 40,
            ),
        ),
        Boolean(name="\u00e9", only_if=Comparison("e\u0301", "equals", ("a\u0323\u0302",))),
    )
)
"""Texts that only their code points tell apart, unassigned ones, and what is no character: a campaign may hold them all."""


def key(label: str) -> bytes:
    """What may be an RSA modulus, as far as anybody looks."""
    inner = stream(f"key/{label}", KEY_BYTES)
    return bytes([inner[0] | 0x80]) + inner[1:-1] + bytes([inner[-1] | 1])


def campaigns() -> dict[str, Campaign]:
    """Every mechanism, every view, both ways to randomize, every kind of attribute and every member."""
    listed = Listed.of(
        SMALL, [(("smoker", "gender"), 3), (("colour",), 1), (("gender", "colour"), 2)]
    )
    wishes = {
        "bloom-all": (SMALL, CampaignRequest(flip_probability="0.5", n_bits=32, n_hashes=4)),
        "bloom-rate": (SMALL, CampaignRequest(epsilon="6", false_positive_rate=0.05)),
        "bloom-jointly": (
            SMALL,
            CampaignRequest(epsilon="3", n_bits=19, n_hashes=2, view=Sample(2), jointly=True),
        ),
        "unary-symmetric": (SMALL, CampaignRequest(flip_probability="0.4", mechanism="unary")),
        "unary-optimized": (
            MIDDLE,
            CampaignRequest(epsilon="4", mechanism="unary", view=AllAttributes(), jointly=False),
        ),
        "unary-jointly": (
            SMALL,
            CampaignRequest(epsilon="2", mechanism="unary", view=AllAttributes(), jointly=True),
        ),
        "subset-pairs": (
            MIDDLE,
            CampaignRequest(epsilon="2", mechanism="subset", view=Sample(2), jointly=True),
        ),
        "direct-fill": (
            MIDDLE,
            CampaignRequest(epsilon="8", mechanism="direct", view=Fill(496), jointly=True),
        ),
        "direct-pairs": (
            WIDE,
            CampaignRequest(epsilon="5.5", mechanism="direct", view=Sample(2), jointly=False),
        ),
        "subset-listed": (
            SMALL,
            CampaignRequest(epsilon="1.5", mechanism="subset", view=listed, jointly=False),
        ),
        "direct-listed": (
            SMALL,
            CampaignRequest(epsilon="1.5", mechanism="direct", view=listed, jointly=True),
        ),
    }
    made = {
        name: make_campaign(domain, Terms(name=name), wish)
        for name, (domain, wish) in wishes.items()
    }
    every_wish = CampaignRequest(epsilon="7.25", n_bits=11, n_hashes=3, view=Sample(3))
    made["every-member"] = make_campaign(EVERY_KIND, EVERY_TERM, every_wish)
    weak = Subset({1: UNIT + UNIT // 10})  # so little is kept that half of all cells are named
    made["subset-weak"] = Campaign(
        domain=SMALL,
        mechanism=weak,
        view=AllAttributes(),
        jointly=True,
        terms=Terms(name="subset-weak"),
    )
    made["spellings"] = Campaign(
        domain=SPELLINGS_OF_ONE,
        mechanism=Direct({1: 20 * UNIT}),
        view=AllAttributes(),
        jointly=True,
        terms=Terms(name="spellings", title="\n\u0303"),
    )
    made["slow"] = replace(
        made["direct-listed"], terms=Terms(name="slow", send_within_minutes=1440)
    )
    return (
        made
        | every_combination()
        | wide_campaigns()
        | {"bloom-costly-middle": costly_in_the_middle()}
    )


MECHANISMS: dict[str, Item] = {
    "bloom": {"flip_probability": "0.5", "n_bits": 128, "n_hashes": 4},
    "unary-symmetric": {"flip_probability": "0.5", "mechanism": "unary"},
    "unary-optimized": {"epsilon": "1.5", "mechanism": "unary"},
    "subset": {"epsilon": "2", "mechanism": "subset"},
    "direct": {"epsilon": "3", "mechanism": "direct"},
    "hashed": {"epsilon": "2", "mechanism": "hashed"},
}


def every_combination() -> dict[str, Campaign]:
    """Every mechanism with every view, jointly and, but for `fill`, separately."""
    names = TEN.names
    listed = Listed.of(
        TEN, [(names[8:], 1), ((names[0], names[9]), 2), (names[1:9:2], 300), (names, 5)]
    )
    views = {"all": AllAttributes(), "sample": Sample(3), "fill": Fill(64), "listed": listed}
    made = {}
    for mechanism, wish in MECHANISMS.items():
        for kind, view in views.items():
            for jointly in (True, False)[: 1 if kind == "fill" else 2]:
                name = f"{mechanism}-{kind}-{'jointly' if jointly else 'separately'}"
                made[name] = make_campaign(
                    TEN, Terms(name=name), CampaignRequest(**wish, view=view, jointly=jointly)
                )
    return made


def wide_campaigns() -> dict[str, Campaign]:
    """Blocks that are wider than a word, a byte or two bytes."""
    one, pair = Sample(1), Sample(2)
    wishes = {
        "wide-bloom-128": (BROAD, CampaignRequest(flip_probability="0.5")),
        "wide-bloom-1024": (
            BROAD,
            CampaignRequest(flip_probability="0.75", n_bits=1024, n_hashes=8, view=one),
        ),
        "wide-unary-symmetric": (
            BROAD,
            CampaignRequest(flip_probability="0.5", mechanism="unary", view=pair, jointly=False),
        ),
        "wide-unary-optimized": (
            BROAD,
            CampaignRequest(epsilon="2", mechanism="unary", view=one, jointly=False),
        ),
        "wide-subset": (
            BROAD,
            CampaignRequest(epsilon="1", mechanism="subset", view=one, jointly=False),
        ),
        "wide-direct": (
            BROAD,
            CampaignRequest(epsilon="5", mechanism="direct", view=pair, jointly=False),
        ),
        "wide-direct-70000": (
            HUGE,
            CampaignRequest(epsilon="9", mechanism="direct", view=AllAttributes(), jointly=True),
        ),
        "wide-direct-1000000": (
            MILLION,
            CampaignRequest(epsilon="2", mechanism="direct", view=AllAttributes(), jointly=True),
        ),
        **{
            f"wide-direct-{k}": (
                domain,
                CampaignRequest(
                    epsilon="4", mechanism="direct", view=AllAttributes(), jointly=True
                ),
            )
            for k, domain in EDGES_OF_BYTES.items()
        },
        "wide-hashed-6": (
            SINGLE[6],
            CampaignRequest(epsilon="1", mechanism="hashed", view=AllAttributes(), jointly=True),
        ),
        "wide-hashed-300": (
            SINGLE[300],
            CampaignRequest(epsilon="0.1", mechanism="hashed", view=AllAttributes(), jointly=True),
        ),
        "wide-hashed": (
            BROAD,
            CampaignRequest(epsilon="5", mechanism="hashed", view=pair, jointly=False),
        ),
        "wide-hashed-70000": (
            HUGE,
            CampaignRequest(epsilon="2", mechanism="hashed", view=AllAttributes(), jointly=True),
        ),
        "wide-hashed-1000000": (
            MILLION,
            CampaignRequest(epsilon="12", mechanism="hashed", view=AllAttributes(), jointly=True),
        ),
        "wide-hashed-small-epsilon": (
            MILLION,
            CampaignRequest(epsilon="0.25", mechanism="hashed", view=AllAttributes(), jointly=True),
        ),
    }
    return {
        name: make_campaign(domain, Terms(name=name), wish)
        for name, (domain, wish) in wishes.items()
    }


def costly_in_the_middle() -> Campaign:
    """Jointly randomized filters of seven views, of which the fourth alone costs the most."""
    names = [
        ("gender",),
        ("colour",),
        ("smoker",),
        ("gender", "colour"),
        ("gender", "smoker"),
        ("colour", "smoker"),
        SMALL.names,
    ]
    mechanism = Bloom({1: UNIT // 4}, 12, 5, "4")
    view = Listed.of(SMALL, [(each, 1) for each in names])
    return Campaign(
        domain=SMALL,
        mechanism=mechanism,
        view=view,
        jointly=True,
        terms=Terms(name="bloom-costly-middle"),
    )


def campaign_item(name: str, campaign: Campaign) -> Item:
    return {
        "campaign": name,
        "text": campaign.canonical_bytes.decode(),
        "id": campaign.id,
        "epsilon": decimal_up(campaign.loss),
        "longest_report": campaign.longest_report,
        "mask_bytes": campaign.mask_bytes,
        "candidates": {
            attribute.name: list(attribute.texts)
            for attribute in campaign.domain.attributes
            if attribute.size <= 300
        },
    }


def epsilon_items(made: Mapping[str, Campaign]) -> list[Item]:
    return [
        {
            "campaign": name,
            "attribute": attribute,
            "epsilon": decimal_up(campaign.loss_of(attribute)),
        }
        for name, campaign in made.items()
        for attribute in campaign.domain.names
    ]


def cap_items(made: Mapping[str, Campaign]) -> list[Item]:
    """Caps on both sides of epsilon: by a millionth, by the 40th decimal, and very far."""
    items = []
    for name, campaign in made.items():
        for places, rounding in (
            (6, ROUND_CEILING),
            (6, ROUND_FLOOR),
            (40, ROUND_CEILING),
            (40, ROUND_FLOOR),
        ):
            cap = campaign.loss.quantize(
                Decimal((0, (1,), -places)), context=Context(prec=100, rounding=rounding)
            )
            items.append(
                {"campaign": name, "cap": str(cap), "allowed": allowed(campaign, str(cap))}
            )
        items.append(
            {"campaign": name, "cap": "0.000001", "allowed": allowed(campaign, "0.000001")}
        )
        items.append({"campaign": name, "cap": "1000000", "allowed": allowed(campaign, "1000000")})
    return items


def invited_campaigns(made: Mapping[str, Campaign]) -> dict[str, Campaign]:
    """In which a report carries a signature."""
    one = Admission((key("one"),))
    return {
        f"invited-{name}": replace(
            made[name], terms=replace(made[name].terms, name=f"invited-{name}", admission=one)
        )
        for name in ("bloom-all", "direct-pairs")
    }


def allowed(campaign: Campaign, cap: str) -> bool:
    """Whether an app with this cap takes the campaign."""
    return campaign.lifetime_loss <= exact_decimal(cap, "cap")


# ---- values

VALUES: list[tuple[str, str, list[Any]]] = [
    ("every-member", "Größe", ["klein", "mittelgroß", "groß", "gro\u00df", "mittelgroß"]),
    (
        "every-member",
        "ville",
        ["Besançon", "Besanc\u0327on", "Orléans", "Orle\u0301ans", "東京", "🏝️", None],
    ),
    ("every-member", "smoker", [False, True, None]),
    ("every-member", "children", [-1, 0, 4]),
    ("every-member", "cars", [0, 2, None]),
    (
        "every-member",
        "income",
        [-100.25, -100, 0, -0.0, 1e-05, 1.0000000000000002e-05, 17.5, 17.500000000000004, 1000000],
    ),
    ("every-member", "income", [-1e300, -101, 1000000.0000000001, 1e300, 2**70]),
    ("every-member", "weight", [0, 40, 40.00000000000001, 60, 299.99999999999994, 300, None]),
    (
        "every-member",
        'quote " and \\ and / and \u2028',
        [" x ", "\u00e9", "e\u0301", ASTRAL, FULL_WIDTH],
    ),
    ("direct-pairs", "age", [0, 299]),
    ("spellings", "e\u0301", ["\u00e9", "e\u0301", "\u1ead", "a\u0323\u0302", "a\u0302\u0323"]),
    ("spellings", "e\u0301", ["\u1ea1\u0302", "\u0378", "\ufffe", "q" + "\u0316" * 40]),
]
UNFIT_VALUES: list[tuple[str, str, list[Any]]] = [
    ("every-member", "Größe", ["", "Groß", "riesig", None, True, 1, 1.5]),
    ("every-member", "smoker", ["true", 0, 1, ""]),
    ("every-member", "children", [-2, 5, "0", True, None, 0.5]),
    ("every-member", "weight", [-0.1, 300.00000000000006, "40", False]),
    ("direct-pairs", "age", [-1, 300, 10**30]),
    ("spellings", "e\u0301", ["e", "\u0379", "q" + "\u0316" * 39, "a\u0323\u0302\u0302"]),
]


def value_items(made: Mapping[str, Campaign]) -> list[Item]:
    return [
        {
            "campaign": name,
            "attribute": attribute,
            "value": value,
            "candidate": made[name].domain[attribute].index(value),
        }
        for name, attribute, values in VALUES
        for value in values
    ]


def unfit_items(made: Mapping[str, Campaign]) -> list[Item]:
    items = []
    for name, attribute, values in UNFIT_VALUES:
        for value in values:
            try:
                made[name].domain[attribute].index(value)
            except DomainError:
                items.append({"campaign": name, "attribute": attribute, "value": value})
            else:
                raise AssertionError(f"{name}.{attribute} takes {value!r}")
    return items


# ---- positions and draws

CODED: list[tuple[str, tuple[str, ...], tuple[str, ...], int, int]] = [
    ("0", ("gender",), ("F",), 8, 2),
    ("0", ("gender",), ("M",), 8, 2),
    ("1", ("gender",), ("F",), 8, 2),
    ("0", ("gender", "colour"), ("F", "red"), 128, 4),
    ("0", ("gendercolour",), ("Fred",), 128, 4),
    ("0", ("ville",), ("",), 128, 4),
    ("0", ("ville",), ("東京",), 128, 4),
    ("salz & Größe", ("weight",), ("(40, 60]",), 1000, 6),
    ("0", ("a",), ("b",), 5, 5),
    ("0", ("a",), ("b",), 65_536, 3),
    ("0", ("a",), ("b",), 60_000, 40),
    (
        "17166",
        ("a",),
        ("b",),
        65_175,
        3,
    ),  # the second word lies in the biased tail and is thrown away
]


def position_items() -> list[Item]:
    return [
        {
            "salt": salt,
            "names": list(names),
            "texts": list(texts),
            "bits": n_bits,
            "hashes": n_hashes,
            "positions": list(positions(salt, names, texts, n_bits=n_bits, n_hashes=n_hashes)),
        }
        for salt, names, texts, n_bits, n_hashes in CODED
    ]


DRAWS: list[tuple[Item, bytes]] = [
    ({"draw": "below", "n": "1"}, b""),
    ({"draw": "below", "n": "2"}, b"\xfe"),
    ({"draw": "below", "n": "2"}, b"\x03"),
    ({"draw": "below", "n": "6"}, b"\x07\xfd"),
    ({"draw": "below", "n": "256"}, b"\xff"),
    ({"draw": "below", "n": "257"}, b"\x01\x01\xff\x00"),
    ({"draw": "below", "n": "300"}, b"\xff\x2b"),
    ({"draw": "below", "n": str(10**30)}, stream("below", 26)),
    ({"draw": "changes", "bits": 8, "change_units": 2**30}, b"\x0f\x33"),
    ({"draw": "changes", "bits": 8, "change_units": 3 * 2**29}, b"\x0f\x33\x55"),
    ({"draw": "changes", "bits": 3, "change_units": 2**31 - 2**28}, b"\xff\xff\xff\xff"),
    ({"draw": "changes", "bits": 11, "change_units": 1}, b"\xff\x05" * 32),
    ({"draw": "changes", "bits": 20, "change_units": 858_993_460}, stream("twenty", 90)),
    ({"draw": "prefix", "n": 5, "size": 3}, b"\x02\x03\x01"),
    ({"draw": "prefix", "n": 5, "size": 5}, b"\x07\x04\x01\x02\x00"),
    ({"draw": "prefix", "n": 1, "size": 1}, b""),
    ({"draw": "below", "n": "65536"}, b"\xff\xfe"),
    ({"draw": "below", "n": "65537"}, b"\x01\x00\x01\xff\x00\x00"),
    ({"draw": "below", "n": str(2**64)}, b"\xff" * 8),
    ({"draw": "below", "n": str(2**64 + 1)}, b"\x01" + bytes(7) + b"\x01" + b"\x01" + bytes(8)),
    ({"draw": "below", "n": str(2**330)}, stream("odds", 42)),
    (
        {"draw": "below", "n": str(2**330 + 2**49)},
        b"\x04" + bytes(34) + b"\x02" + bytes(6) + stream("more odds", 84),
    ),
    ({"draw": "changes", "bits": 128, "change_units": 2**30}, stream("paper", 32)),
    ({"draw": "changes", "bits": 1024, "change_units": 2**31 - 2**28}, stream("wide", 512)),
    ({"draw": "changes", "bits": 300, "change_units": 858_993_459}, stream("odd", 38 * 32)),
    ({"draw": "prefix", "n": 300, "size": 20}, stream("prefix", 200)),
    ({"draw": "prefix", "n": 4096, "size": 3}, b"\x0f\xff\x0f\xff\x0f\xfe\x00\x01"),
    ({"draw": "prefix", "n": 70_000, "size": 2}, b"\x01\x11\x6f\x01\x11\x6f\x01\x11\x6e"),
]


def drawn(item: Item, randomness: Randomness) -> Any:
    """The result of one draw from these bytes."""
    if item["draw"] == "below":
        return str(randomness.below(int(item["n"])))  # a text, as large as odds are
    if item["draw"] == "changes":
        mask = randomness.changes(item["bits"], item["change_units"], UNIT)
        return (
            mask if item["bits"] <= 48 else mask.to_bytes((item["bits"] + 7) // 8, "little").hex()
        )
    return randomness.prefix(item["n"], item["size"])


def draw_items() -> list[Item]:
    items = []
    for item, random in DRAWS:
        result = drawn(item, source := Stream(random))
        items.append({**item, "random": source.used, "result": result})
    return items


# ---- single blocks, on both sides of every threshold

ODDS = 3 * UNIT // 2
LETTERS = ["a", "b", "c", "d", "e", "f"]
BY_ODDS = {
    name: {"name": name, "odds": {"1": str(ODDS)}} for name in ("direct", "hashed", "subset")
}
OPTIMIZED = {"name": "unary", "variant": "optimized", "odds": {"1": str(ODDS)}}
SYMMETRIC = {"name": "unary", "variant": "symmetric", "change_units": {"1": 3 * UNIT // 8}}
FILTERS = {
    "name": "bloom",
    "bits": 11,
    "hashes": 3,
    "salt": "0",
    "change_units": {"1": 3 * UNIT // 8},
}


def five(*draws: int) -> bytes:
    """Draws of more than 32 and at most 40 bits."""
    return b"".join(draw.to_bytes(5) for draw in draws)


BLOCKS: list[tuple[Item, str, bytes]] = [
    *(
        (BY_ODDS["direct"], value, five(draw))
        for value in "acf"
        for draw in (0, UNIT // 2 - 1, UNIT // 2, 13 * UNIT // 2 - 1)
    ),
    *((BY_ODDS["direct"], "c", five(3 * UNIT // 2 + i)) for i in (-1, 0)),
    (BY_ODDS["direct"], "c", five(13 * UNIT // 2, 2**40 - 1, 1)),
    *(
        (BY_ODDS["subset"], value, five(draw) + b"\x04\x03")
        for value in "acf"
        for draw in (0, 3 * UNIT - 1, 3 * UNIT)
    ),
    (BY_ODDS["subset"], "c", five(7 * UNIT, 7 * UNIT - 1) + b"\x05\x02\x03"),
    *(
        (OPTIMIZED, value, coin + five(UNIT - 1, UNIT, 0, 5 * UNIT // 2, 7, UNIT, UNIT - 1))
        for value in "abf"
        for coin in (b"\0", b"\1")
    ),
    # g = 3: a function of two digits, then the value, kept, moved by 1 or by 2.
    *(
        (BY_ODDS["hashed"], value, function + five(draw))
        for value, function in (("a", b"\x05"), ("c", b"\x05"), ("f", b"\x08"))
        for draw in (0, ODDS - 1, ODDS, ODDS + UNIT - 1, ODDS + UNIT, ODDS + 2 * UNIT - 1)
    ),
    (BY_ODDS["hashed"], "f", b"\x09\xff\xf7" + five(ODDS + 2 * UNIT, 2**40 - 1, 2**36 + 7)),
    *((SYMMETRIC, value, b"\x0f\x33\x55") for value in "acf"),
    *((FILTERS, value, b"\x0f\xff\x33\xff\x55\xff") for value in "acf"),
]


def block_payload(item: Item, randomness: Randomness) -> bytes:
    """One block alone, as it stands in a report of one block."""
    attribute = Categorical(name=item["attribute"], values=tuple(item["candidates"]))
    channel = mechanism_from_json(Members(item["mechanism"], "mechanism")).channel((attribute,), 1)
    return pack([channel.randomize(attribute.index(item["value"]), randomness)], [channel])


def block_items() -> list[Item]:
    items = []
    for mechanism, value, random in BLOCKS:
        item = {
            "mechanism": mechanism,
            "attribute": "letter",
            "candidates": LETTERS,
            "value": value,
        }
        payload = block_payload(item, source := Stream(random))
        items.append({**item, "random": source.used, "payload": payload.hex()})
    return items


# ---- reports

SMALL_RECORDS: list[Item] = [
    {"gender": "F", "colour": "red", "smoker": False},
    {"gender": "M", "colour": "blue", "smoker": True},
    {"gender": "M", "colour": "green", "smoker": False},
]
WIDE_RECORDS: list[Item] = [
    {"age": 0, "size": "S", "income": 0, "member": None},
    {"age": 299, "size": "XXL", "income": 640, "member": True},
    {"age": 41, "size": "L", "income": 10.5, "member": False},
]
MIDDLE_RECORDS: list[Item] = [
    {"month": "01", "size": "S", "income": 0, "children": 0},
    {"month": "12", "size": "XXL", "income": 639.5, "children": None},
    {"month": "07", "size": "M", "income": 20.25, "children": 3},
]
ODD_NAME = EVERY_KIND.names[-1]
EVERY_RECORD: Item = {
    "Größe": "mittelgroß",
    "ville": "Besançon",
    "smoker": None,
    "children": -1,
    "cars": None,
    "income": 1e9,
    "weight": 79.5,
    "pet": True,
    ODD_NAME: "\u00e9",
}
EVERY_RECORDS: list[Item] = [
    EVERY_RECORD,
    {**EVERY_RECORD, "ville": "Besanc\u0327on", ODD_NAME: "e\u0301"},  # the same, decomposed
    {
        **EVERY_RECORD,
        "Größe": "groß",
        "ville": None,
        "smoker": True,
        "children": 4,
        "cars": 1,
        "income": -5,
        "weight": None,
    },
]
TEN_RECORDS: list[Item] = [
    {f"b{i}": i % 3 == 0 for i in range(10)},
    {f"b{i}": i >= 8 for i in range(10)},
]
BROAD_RECORDS: list[Item] = [{"n": 100, "m": 300, "b": True}, {"n": 65, "m": 257, "b": False}]
HUGE_RECORDS: list[Item] = [
    {"n": 280, "m": 250},
    {"n": 263, "m": 37},
]  # the last cell, and the first that takes 17 bits
RECORDS = {
    SMALL: SMALL_RECORDS,
    WIDE: WIDE_RECORDS,
    MIDDLE: MIDDLE_RECORDS,
    EVERY_KIND: EVERY_RECORDS,
    TEN: TEN_RECORDS,
    BROAD: BROAD_RECORDS,
    HUGE: HUGE_RECORDS,
    SPELLINGS_OF_ONE: [
        {"e\u0301": "\u00e9"},
        {"e\u0301": "a\u0323\u0302", "\u00e9": True},
    ],
    MILLION: [
        {"n": 1000, "m": 1000},
        {"n": 66, "m": 537},
    ],  # the last cell, and the first that takes 17 bits
    **{domain: [{"n": k}, {"n": 1}] for k, domain in SINGLE.items()},
    **{domain: [{"n": k - 1}, {"n": 0}] for k, domain in EDGES_OF_BYTES.items()},
}


def slot_of(campaign: Campaign) -> int:
    """A day on which the campaign takes reports."""
    schedule = campaign.terms.schedule
    return PLAIN_SLOT if schedule is None else (schedule.closes - EPOCH).days


def encoded(
    campaign: Campaign, record: Item, random_id: bytes, source: Stream, slot: int
) -> Report:
    """The report of this record on this day: its id from one stream, its view and blocks from another."""
    candidates = campaign.domain.indices(record)
    return randomized(campaign, candidates, report_id=random_id, slot=slot, randomness=source)


def report_item(
    name: str, campaign: Campaign, record: Item, random: bytes, slot: int | None = None
) -> Item:
    """random: first the id, then what the view and the blocks take."""
    slot = slot_of(campaign) if slot is None else slot
    random_id, source = random[:ID_BYTES], Stream(random[ID_BYTES:])
    report = encoded(campaign, record, random_id, source, slot)
    return {
        "campaign": name,
        "record": record,
        "slot": slot,
        "random_id": random_id.hex(),
        "random": source.used,
        "bytes": report.to_bytes().hex(),
        "twin": json.loads(report.to_json()),
    }


def report_items(made: Mapping[str, Campaign]) -> list[Item]:
    """Every campaign with every record: on plain bytes, and on bytes that begin, behind the id, with many ones, so that
    draws are rejected."""
    items = []
    for name, campaign in made.items():
        for i, record in enumerate(RECORDS[campaign.domain]):
            for n_ones in (0, 3, 12) if len(RECORDS[campaign.domain]) == 3 else (0, 3):
                # The two spellings of one record take the same bytes, and so must give the same report.
                random = stream(f"{name}/{'same' if record in EVERY_RECORDS[:2] else i}/{n_ones}")
                items.append(
                    report_item(
                        name, campaign, record, random[:16] + b"\xff" * n_ones + random[16:]
                    )
                )
    for slot in (
        0,
        255,
        256,
        65_536,
        LAST_SLOT,
    ):  # days of one to three bytes, up to the last that a clock can tell
        items.append(
            report_item(
                "direct-listed",
                made["direct-listed"],
                SMALL_RECORDS[0],
                stream(f"slot/{slot}"),
                slot,
            )
        )
    for name in ("wide-direct-70000", "wide-direct-1000000"):
        (channel,) = made[name].channels((0, 1))
        n_bytes = ((channel.all_units - 1).bit_length() + 7) // 8
        for draw in (channel.all_units - 1, channel.all_units - 1 - UNIT, channel.kept_units):
            random = stream(f"{name}/last")[:ID_BYTES] + draw.to_bytes(n_bytes)
            items.append(report_item(name, made[name], {"n": 1, "m": 1}, random))
    return items


def signed_items(invited: Mapping[str, Campaign]) -> list[Item]:
    """Reports with a signature, to be read and written: who makes them is not part of these vectors."""
    items = []
    for name, campaign in invited.items():
        for number, record in enumerate(RECORDS[campaign.domain]):
            report = signed(name, campaign, record, str(number))
            items.append(
                {
                    "campaign": name,
                    "signature": report.signature.hex(),
                    "bytes": report.to_bytes().hex(),
                    "twin": json.loads(report.to_json()),
                }
            )
    return items


def signed(name: str, campaign: Campaign, record: Item, label: str) -> Report:
    random = stream(f"{name}/{label}")
    plain = encoded(
        campaign, record, random[:ID_BYTES], Stream(random[ID_BYTES:]), slot_of(campaign)
    )
    return replace(plain, signature=stream(f"{name}/{label}/signature", SIGNATURE_BYTES))


# ---- what must be refused


def reason_of(read: Any) -> str:
    try:
        read()
    except ReportRejected as error:
        return str(error.reason)
    raise AssertionError("this report is not refused")


def malformed_reports(made: Mapping[str, Campaign]) -> list[Item]:
    """Reports that differ from a good one in what the comment says; the reason is the code's."""
    wire = {name: encoded_bytes(name, campaign) for name, campaign in made.items()}
    unsigned = wire["invited-direct-pairs"]
    good = signed(
        "invited-direct-pairs", made["invited-direct-pairs"], WIDE_RECORDS[0], "spoilt"
    ).to_bytes()
    spoilt: list[tuple[str, bytes]] = [
        ("bloom-all", b""),
        ("bloom-all", wire["bloom-all"][:28]),  # the header is cut off
        ("bloom-all", wire["bloom-all"][:-1]),
        ("bloom-all", wire["bloom-all"] + b"\0"),
        ("direct-pairs", wire["direct-pairs"][:29]),  # no mask
        ("direct-pairs", wire["direct-pairs"] + b"\0"),
        ("bloom-all", b"\0" + wire["bloom-all"][1:]),
        ("bloom-all", b"\2" + wire["bloom-all"][1:]),
        ("every-member", b"\xff" + wire["every-member"][1:]),
        ("bloom-all", wire["unary-jointly"]),
        (
            "bloom-all",
            wire["bloom-all"][:8] + bytes([wire["bloom-all"][8] ^ 1]) + wire["bloom-all"][9:],
        ),
        ("every-member", with_slot(wire["every-member"], 20_573)),  # the day before it opens
        ("every-member", with_slot(wire["every-member"], 20_605)),  # the day after it closes
        ("every-member", with_slot(wire["every-member"], 2**32 - 1)),
        ("direct-pairs", with_mask(wire["direct-pairs"], b"\0")),
        ("direct-pairs", with_mask(wire["direct-pairs"], b"\x01")),
        ("direct-pairs", with_mask(wire["direct-pairs"], b"\x07")),
        ("direct-pairs", with_mask(wire["direct-pairs"], b"\x11")),  # there is no fifth attribute
        ("every-member", with_mask(wire["every-member"], b"\x03\x80")),
        ("direct-fill", with_mask(wire["direct-fill"], b"\x03")),  # the third would still fit
        ("direct-fill", with_mask(wire["direct-fill"], b"\x0f")),  # more than 496 cells
        ("subset-listed", with_mask(wire["subset-listed"], b"\x06")),  # not on the list
        ("unary-symmetric", wire["unary-symmetric"][:-1] + b"\x80"),
        ("bloom-jointly", wire["bloom-jointly"][:-1] + b"\x08"),
        ("every-member", wire["every-member"][:-1] + bytes([wire["every-member"][-1] | 0x80])),
        ("direct-pairs", with_mask(wire["direct-pairs"], b"\x0a")[:30] + b"\x05\x00"),
        ("direct-pairs", with_mask(wire["direct-pairs"], b"\x0a")[:30] + b"\x00\x03"),
        ("direct-pairs", with_mask(wire["direct-pairs"], b"\x03")[:30] + b"\x01\x2c\x00"),
        ("direct-listed", with_mask(wire["direct-listed"], b"\x05")[:30] + b"\x04"),
        ("subset-pairs", with_mask(wire["subset-pairs"], b"\x03")[:30] + bytes(8)),
        ("subset-pairs", with_mask(wire["subset-pairs"], b"\x03")[:30] + b"\xff" * 7 + b"\x0f"),
        ("subset-listed", with_mask(wire["subset-listed"], b"\x05")[:30] + b"\x03"),
        ("invited-direct-pairs", unsigned),
        ("invited-direct-pairs", good[:-1]),
        ("invited-direct-pairs", good + b"\0"),
        ("invited-direct-pairs", good[:29] + good[-SIGNATURE_BYTES + 1 :]),  # a signature too short
        ("invited-direct-pairs", with_mask(good, b"\x07")),
        ("direct-pairs", wire["direct-pairs"] + bytes(SIGNATURE_BYTES)),
        # Two faults at once: the earlier check decides.
        ("bloom-all", b"\2" + wire["bloom-all"][1:28]),
        ("bloom-all", b"\2" + bytes(60)),
        ("every-member", with_mask(with_slot(wire["every-member"], 0), b"\0\0")),
        ("direct-pairs", with_mask(wire["direct-pairs"], b"\0") + bytes(9)),
        ("every-member", wire["every-member"][:-1] + b"\xff\xff"),
        ("subset-listed", with_mask(wire["subset-listed"], b"\x05")[:30] + b"\xff"),
        # Past a byte, a word, two bytes.
        ("wide-direct-70000", wire["wide-direct-70000"][:29] + (70_000).to_bytes(3)),
        ("wide-direct-70000", wire["wide-direct-70000"][:29] + b"\xff\0\0"),
        ("wide-direct-257", wire["wide-direct-257"][:29] + (257).to_bytes(2)),
        ("wide-hashed-6", wire["wide-hashed-6"][:29] + (27).to_bytes(1)),  # g = 3, t = 2
        ("wide-hashed-70000", wire["wide-hashed-70000"][:29] + (7**7).to_bytes(3)),
        ("wide-hashed-1000000", wire["wide-hashed-1000000"][:29] + (65_521**3).to_bytes(6)),
        ("wide-hashed-1000000", wire["wide-hashed-1000000"][:29] + b"\xff" * 6),
        (
            "subset-all-jointly",
            wire["subset-all-jointly"][:-1] + bytes([wire["subset-all-jointly"][-1] ^ 0x80]),
        ),
        (
            "direct-sample-separately",
            with_mask(wire["direct-sample-separately"], b"\x03\x04"),
        ),  # there is no eleventh
        (
            "direct-sample-separately",
            with_mask(wire["direct-sample-separately"], b"\x07\x02"),
        ),  # four
        (
            "direct-listed-jointly",
            with_mask(wire["direct-listed-jointly"], b"\x00\x01"),
        ),  # not on the list
        ("direct-fill-jointly", with_mask(wire["direct-fill-jointly"], b"\xff\x03")),  # too many
        (
            "direct-fill-jointly",
            with_mask(wire["direct-fill-jointly"], b"\x1f\x00"),
        ),  # a sixth would still fit
    ]
    return [
        {
            "campaign": name,
            "bytes": data.hex(),
            "reason": reason_of(lambda d=data, n=name: Report.from_bytes(d, made[n])),
        }
        for name, data in spoilt
    ]


def frame_items(made: Mapping[str, Campaign]) -> list[Item]:
    """Reports one behind the other; of none, of different lengths, and of lengths on both sides of a byte."""
    wires = [
        encoded_bytes(name, made[name]) for name in ("bloom-all", "direct-pairs", "wide-bloom-1024")
    ]
    framings = [[], wires[:1], wires[:2] * 2, wires, [bytes(255)], [bytes(256), bytes(257)], [b""]]
    return [
        {"reports": [wire.hex() for wire in each], "bytes": framed(each).hex()} for each in framings
    ]


def malformed_frames(made: Mapping[str, Campaign]) -> list[Item]:
    """What ends within a report, or within its length."""
    whole = framed([encoded_bytes("bloom-all", made["bloom-all"])] * 2)
    spoilt = [
        whole[:-1],
        whole[: len(whole) // 2 + 1],
        whole[: len(whole) // 2 + 2],
        whole + b"\0",
        b"\0",
        b"\0\1",
        b"\xff\xff\0",
    ]
    return [
        {"bytes": data.hex(), "reason": reason_of(lambda d=data: list(unframed(d)))}
        for data in spoilt
    ]


def encoded_bytes(name: str, campaign: Campaign) -> bytes:
    random = stream(f"{name}/spoilt")
    record, source = RECORDS[campaign.domain][0], Stream(random[ID_BYTES:])
    return encoded(campaign, record, random[:ID_BYTES], source, slot_of(campaign)).to_bytes()


def with_slot(wire: bytes, slot: int) -> bytes:
    return wire[:25] + slot.to_bytes(4) + wire[29:]


def with_mask(wire: bytes, mask: bytes) -> bytes:
    return wire[:29] + mask + wire[29 + len(mask) :]


def malformed_twins(made: Mapping[str, Campaign]) -> list[Item]:
    """Twins that differ from a good one in one member, or are no such object at all."""
    good = report_item("direct-pairs", made["direct-pairs"], WIDE_RECORDS[0], stream("twin"))[
        "twin"
    ]
    without: list[Item] = [
        {key: value for key, value in good.items() if key != left_out} for left_out in good
    ]
    changes: list[Item] = [
        {"version": 2},
        {"version": 0},
        {"version": "1"},
        {"version": True},
        {"version": 256},
        {"slot": -1},
        {"slot": 2**32},
        {"slot": 20000.5},
        {"slot": "20000"},
        {"slot": None},
        {"campaign": good["campaign"][:-1]},
        {"campaign": good["campaign"].upper()},
        {"campaign": made["direct-pairs"].id},
        {"campaign": made["bloom-all"].id[:16]},
        {"campaign": 12},
        {"id": good["id"][:-2]},
        {"id": good["id"] + "=="},
        {"id": good["id"][:-1] + "_"},  # low bits that stand for nothing are not zero
        {"id": "*" + good["id"][1:]},
        {"id": []},
        {"view": base64url(b"\x07")},
        {"view": "AA=="},
        {"view": {}},
        {"view": ""},
        {"view": good["view"] + "AAAA"},
        {"payload": "A"},
        {"payload": "AA+/"},
        {"payload": ""},
        {"payload": good["payload"] + "AAAA"},
        {"comment": ""},
        {"signature": base64url(bytes(SIGNATURE_BYTES))},
        {"signature": ""},
    ]
    texts = ["", "{", "[]", "null", '"twin"', "1", json.dumps([good]), "[" * 100_000, "9" * 5000]
    texts += [json.dumps(good | change) for change in changes]
    texts += [json.dumps(item) for item in without]
    texts += [json.dumps(good)[:-1] + ', "slot": 20000}']  # named twice
    invited = json.loads(
        signed(
            "invited-direct-pairs", made["invited-direct-pairs"], WIDE_RECORDS[0], "twin"
        ).to_json()
    )
    unsigned = {key: value for key, value in invited.items() if key != "signature"}
    signatures = (bytes(SIGNATURE_BYTES - 1), bytes(SIGNATURE_BYTES + 1), b"")
    of_invited = [unsigned, *(unsigned | {"signature": base64url(one)} for one in signatures)]
    of_invited += [
        unsigned | {"signature": invited["signature"] + "=="},
        unsigned | {"signature": 1},
    ]
    return [
        {
            "campaign": name,
            **spelt(text),
            "reason": reason_of(lambda t=text, n=name: Report.from_json(t, made[n])),
        }
        for name, text in (
            *(("direct-pairs", text) for text in texts),
            *(("invited-direct-pairs", json.dumps(twin)) for twin in of_invited),
        )
    ]


def spelt(text: str) -> Item:
    """The text; where it is one character many times over, the character and how often."""
    return {"text": text} if len(text) < 4000 else {"repeated": text[0], "times": len(text)}


SPELLINGS: list[tuple[str, str, str]] = [
    ("another format", '"format":1', '"format":2'),
    ("a false claim, too low", '"epsilon":"26.366695"', '"epsilon":"26.366694"'),
    ("a false claim, too high", '"epsilon":"26.366695"', '"epsilon":"26.366696"'),
    ("a claim with fewer decimals", '"epsilon":"26.366695"', '"epsilon":"26.4"'),
    ("a claim that is a number", '"epsilon":"26.366695"', '"epsilon":26'),
    ("a decimal as a number", '"min_reports":1', '"min_reports":1.0'),
    ("an exponent", '"min_reports":1', '"min_reports":1e0'),
    ("a number that is none", '"min_reports":1', '"min_reports":NaN'),
    ("null", '"min_reports":1', '"min_reports":null'),
    ("a truth for a number", '"min_reports":1', '"min_reports":true'),
    ("minus zero", '"min_reports":1', '"min_reports":-0'),
    ("a number above 53 bits", '"min_reports":1', '"min_reports":9007199254740992'),
    ("a space", '"format":1', '"format": 1'),
    ("a member twice", '"format":1', '"format":1,"format":1'),
    ("an unknown member", '"format":1', '"format":1,"formerly":1'),
    ("an unknown member of a field", '"name":"gender"', '"name":"gender","rank":1'),
    ("keys out of order", '"format":1,"language":"en"', '"language":"en","format":1'),
    ("an escape that is not needed", '"gender"', '"g\\u0065nder"'),
    ("an escaped solidus", '"title":"a/b"', '"title":"a\\/b"'),
    ("half a surrogate pair", '"title":"a/b"', '"title":"\\ud800"'),
    ("a default that goes without saying", '"title":"a/b"', '"title":""'),
    ("enum and categories that differ", '"enum":["F","M"]', '"enum":["M","F"]'),
    ("the same candidate twice", '"M"', '"F"'),
    ("hashes above bits", '"hashes":4', '"hashes":33'),
    ("no hashes", '"hashes":4', '"hashes":0'),
    ("no noise", '"change_units":{"3":1073741824}', '"change_units":{"3":0}'),
    ("nothing kept", '"change_units":{"3":1073741824}', '"change_units":{"3":2147483648}'),
    ("no noise for 3 blocks", '"change_units":{"3":1073741824}', '"change_units":{"2":1073741824}'),
    ("a number of blocks with a leading zero", '{"3":1073741824}', '{"03":1073741824}'),
    ("noise for reports that nobody makes", '{"3":1073741824}', '{"2":1073741824,"3":1073741824}'),
    ("bits that do not name every attribute", '"bits":32', '"bits":{"colour":32,"gender":32}'),
    (
        "bits of an attribute that is not asked",
        '"bits":32',
        '"bits":{"age":32,"colour":32,"gender":32,"smoker":32}',
    ),
    ("an unknown mechanism", '"name":"bloom"', '"name":"blossom"'),
    ("an unknown view", '{"kind":"all"}', '{"kind":"some"}'),
    ("more attributes than there are", '{"kind":"all"}', '{"attributes":4,"kind":"sample"}'),
    ("no attributes", '{"kind":"all"}', '{"attributes":0,"kind":"sample"}'),
    ("fill, separately", '{"kind":"all"}', '{"cells":9,"kind":"fill"}'),
    ("neither jointly nor separately", '"separately"', '"apart"'),
    (
        "a schedule that repeats",
        '"title"',
        '"schedule":{"closes":"2026-05-31","opens":"2026-05-01","repeat":"daily"},"title"',
    ),
    (
        "closing before opening",
        '"title"',
        '"schedule":{"closes":"2026-04-30","opens":"2026-05-01","repeat":"once"},"title"',
    ),
    (
        "a day that is none",
        '"title"',
        '"schedule":{"closes":"2026-05-32","opens":"2026-05-01","repeat":"once"},"title"',
    ),
    (
        "a translation of what is not asked",
        '"title":"a/b"',
        '"title":"a/b","translations":{"de":{"titles":{"age":"Alter"}}}',
    ),
]


GOOD_KEY = base64url(key("good"))


def admission(*keys: str, **members: Any) -> str:
    inner = {"keys": list(keys), "kind": "invited"} | members
    return f'"admission":{json.dumps(inner, separators=(",", ":"), sort_keys=True)},"format":1'


SPELLINGS += [
    ("minutes that are the default", '"title"', '"send_within_minutes":0,"title"'),
    ("minutes below zero", '"title"', '"send_within_minutes":-1,"title"'),
    ("more minutes than a day has", '"title"', '"send_within_minutes":1441,"title"'),
    ("minutes that are a text", '"title"', '"send_within_minutes":"5","title"'),
    ("minutes that are a truth", '"title"', '"send_within_minutes":true,"title"'),
    ("minutes that are a decimal", '"title"', '"send_within_minutes":0.5,"title"'),
    ("an admission that says nothing", '"format":1', '"admission":{},"format":1'),
    ("an admission that is a text", '"format":1', '"admission":"invited","format":1'),
    ("an admission of everybody", '"format":1', admission(GOOD_KEY, kind="open")),
    ("an admission without keys", '"format":1', admission()),
    ("two keys without rounds", '"format":1', admission(GOOD_KEY, base64url(key("other")))),
    ("an admission with another member", '"format":1', admission(GOOD_KEY, exponent=3)),
    ("keys that are no list", '"format":1', admission(keys=GOOD_KEY)),
    ("a key that is no text", '"format":1', admission(keys=[1])),
    ("a key with padding", '"format":1', admission(GOOD_KEY + "==")),
    ("a key in plain base64", '"format":1', admission("//" + GOOD_KEY[2:])),
    ("a key with bits to spare", '"format":1', admission(GOOD_KEY[:-1] + "_")),
    ("a key of 255 bytes", '"format":1', admission(base64url(key("good")[:254] + b"\1"))),
    ("a key of 257 bytes", '"format":1', admission(base64url(key("good") + b"\1"))),
    ("an even key", '"format":1', admission(base64url(key("good")[:-1] + b"\2"))),
    ("a key of 2,047 bits", '"format":1', admission(base64url(b"\x7f" + key("good")[1:]))),
]


def refused_campaigns() -> list[Item]:
    """One good campaign (the first), and what becomes of it."""
    good = make_campaign(
        SMALL,
        Terms(name="good", title="a/b"),
        CampaignRequest(flip_probability="0.5", n_bits=32, n_hashes=4),
    )
    text = good.canonical_bytes.decode()
    items: list[tuple[str, bytes]] = []
    for why, old, new in SPELLINGS:
        if old not in text:
            raise AssertionError(f"{old} is not in the campaign")
        items.append((why, text.replace(old, new).encode()))
    items += [
        ("printed prettily", json.dumps(json.loads(text), indent=2).encode()),
        ("a line end behind it", text.encode() + b"\n"),
        ("a byte order mark before it", b"\xef\xbb\xbf" + text.encode()),
        ("cut off", text.encode()[:-1]),
        ("nothing", b""),
        ("a list", b"[]"),
        ("not UTF-8", text.encode().replace(b"a/b", b"\xff")),
        ("UTF-16", text.encode("utf-16")),
        ("lists without end", b"[" * 2**18),
        (
            "a language of 101 characters",
            text.replace('"en"', f'"{"aa" + "-abcdefgh" * 11}"').encode(),
        ),
    ]
    return [
        {"why": "", **campaign_bytes(text.encode())},
        *(refused(why, data) for why, data in items),
        refused("another id", text.encode(), "0" * 64),
        refused("too many lists", b"[" * (2**18 + 1)),
    ]


def refused(why: str, data: bytes, expected_id: str | None = None) -> Item:
    """The bytes, the announced id where there is one, and the reason that everybody gives."""
    announced = {} if expected_id is None else {"id": expected_id}
    try:
        Campaign.from_bytes(data, expected_id=expected_id)
    except CampaignError as error:
        return {"why": why, **campaign_bytes(data), **announced, "reason": str(error.reason)}
    raise AssertionError(f"this campaign is not refused: {why}")


def campaign_bytes(data: bytes) -> Item:
    """As text where it is one, else as base64; what would be long, as what is repeated."""
    if len(data) > 100_000 and data == data[:1] * len(data):
        return {"repeated": data[:1].decode(), "times": len(data)}
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


# ---- the file


def vectors() -> Item:
    made = campaigns()
    invited = invited_campaigns(made)
    every = made | invited
    spellings = refused_campaigns()
    return {
        "format": 1,
        "campaigns": [campaign_item(name, campaign) for name, campaign in every.items()],
        "values": value_items(made),
        "unfit_values": unfit_items(made),
        "positions": position_items(),
        "draws": draw_items(),
        "blocks": block_items(),
        "reports": report_items(made),
        "signed_reports": signed_items(invited),
        "malformed_reports": malformed_reports(every),
        "malformed_twins": malformed_twins(every),
        "spelt_campaign": spellings[0]["text"],
        "refused_campaigns": spellings[1:],
        "attribute_epsilons": epsilon_items(every),
        "caps": cap_items(every),
        "frames": frame_items(made),
        "malformed_frames": malformed_frames(made),
    }


def file_text() -> str:
    """One item a line, so that a change shows which."""
    sections = []
    for key, value in vectors().items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(item, sort_keys=True) for item in value)
            sections.append(f"{json.dumps(key)}: [\n{lines}\n]")
        else:
            sections.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(sections) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(file_text(), encoding="ascii")
