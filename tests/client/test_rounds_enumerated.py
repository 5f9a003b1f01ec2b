"""The client itself, enumerated: everything that it can send in four rounds, for every history of answers, with its exact chance.

The operating system's bytes are replaced by a script that takes every branch of every draw in turn. So the largest ratio over all
pairs of histories is that of the program, and not of a formula about it. With LOPUB_FULL=1 all sizes are enumerated.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from itertools import combinations

import pytest

from lopub import (
    AllAttributes,
    Boolean,
    Campaign,
    CampaignRequest,
    Categorical,
    Client,
    Domain,
    Listed,
    MemoryStore,
    Repeat,
    Schedule,
    Terms,
    make_campaign,
)
from lopub.campaign.budget import UNIT, log_up
from lopub.campaign.randomness import Randomness
from lopub.campaign.schedule import EPOCH
from lopub.client import noise, rounds
from lopub.client.noise import memorized, new_id, refreshed
from lopub.client.rounds import DeviceRounds
from lopub.client.rows import Rows
from tiers import FULL

OPENS, ROUNDS = date(2028, 2, 27), 4  # over a leap day
TWO = Domain((Boolean(name="a"), Boolean(name="b")))
EVEN = 64
"""Up to here every value of a uniform draw is a branch; above, the draw is that of `direct`, whose branches are its cells."""

Record = dict[str, object]
Kept = tuple[tuple[tuple[object, ...], ...], ...]
"""What a store holds: the rows of its tables."""
Seen = tuple[tuple[int, bytes, bytes], ...]
"""What an observer sees of one device, for ever: the slot, the view and the payload of every report."""


def campaign_of(
    mode: str, domain: Domain, take_part: int, mechanism: str = "direct", **wish: object
) -> Campaign:
    repeat = Repeat(every_days=1, rounds=ROUNDS, take_part=take_part, mode=mode)
    terms = Terms(name="enumerated", min_reports=200, schedule=Schedule.in_rounds(OPENS, repeat))
    lifetime = {"lifetime_epsilon": "1.5"} if mode == "permanent" else {}
    asked = {
        "epsilon": "0.75",
        "mechanism": mechanism,
        "view": AllAttributes(),
        "jointly": True,
        **lifetime,
        **wish,
    }
    return make_campaign(domain, terms, CampaignRequest(**asked))


def answers_of(size: int) -> Domain:
    return Domain((Categorical(name="answer", values=tuple("abcd"[:size])),))


# ---- every branch of every draw


@dataclass
class Script:
    """Which branch each draw takes; those behind the end of the path take the first."""

    path: list[int] = field(default_factory=list)
    arities: list[int] = field(default_factory=list)
    chance: Fraction = Fraction(1)

    def choose(self, chances: list[Fraction]) -> int:
        place = len(self.arities)
        taken = self.path[place] if place < len(self.path) else 0
        self.arities.append(len(chances))
        self.chance *= chances[taken]
        return taken

    def following(self) -> list[int] | None:
        """The path to the next branch; None behind the last."""
        path = self.path + [0] * (len(self.arities) - len(self.path))
        while path and path[-1] + 1 == self.arities[len(path) - 1]:
            path.pop()
        return [*path[:-1], path[-1] + 1] if path else None


class Scripted(Randomness):
    """In the place of the operating system. All ids are the same: that they differ, and tell nothing, is tested elsewhere."""

    script, cells = Script(), 2

    def take(self, n_bytes: int) -> bytes:
        return bytes(n_bytes)

    def below(self, n: int) -> int:
        if n <= EVEN:
            return self.script.choose([Fraction(1, n)] * n)
        kept = n - self.cells * UNIT
        drawn = self.script.choose([Fraction(kept, n)] + [Fraction(UNIT, n)] * self.cells)
        return kept + (drawn - 1) * UNIT if drawn else 0

    def prefix(self, n: int, size: int) -> list[int]:
        chosen = list(combinations(range(n), size))
        return list(chosen[self.script.choose([Fraction(1, len(chosen))] * len(chosen))])

    def changes(self, n_bits: int, change_units: int, unit: int) -> int:
        change = Fraction(change_units, unit)
        ones = [bits.bit_count() for bits in range(2**n_bits)]
        return self.script.choose([change**n * (1 - change) ** (n_bits - n) for n in ones])


def branches(work: Callable[[], Kept]) -> Iterator[tuple[Kept, Fraction]]:
    path: list[int] | None = []
    while path is not None:
        Scripted.script = Script(path)
        done = work()
        yield done, Scripted.script.chance
        path = Scripted.script.following()


# ---- a device, from what its store holds before a round to what it holds after


class Device:
    """The client of a campaign, which begins every round from a store alone, as a program that was started again does."""

    def __init__(self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
        self.campaign, self._patch = campaign, monkeypatch
        self._after: dict[tuple[Kept, int, int], list[tuple[Kept, Fraction]]] = {}
        self.records = list(records_of(campaign.domain))
        (block, *_) = campaign.channels(next(iter(campaign.view.views(campaign.domain.sizes))))
        monkeypatch.setattr(Scripted, "cells", block.law().n_candidates)
        for module in (noise, rounds):
            monkeypatch.setattr(module, "Randomness", Scripted)

    def round(self, kept: Kept, number: int, answer: int) -> list[tuple[Kept, Fraction]]:
        """What its store may hold after a round, and how likely."""
        if (kept, number, answer) not in self._after:
            now = ((OPENS - EPOCH).days + number) * 86_400.0
            self._patch.setattr(time, "time", lambda: now)
            found: Counter[Kept] = Counter()
            for after, chance in branches(lambda: self._lived(kept, self.records[answer])):
                found[after] += chance
            self._after[kept, number, answer] = list(found.items())
        return self._after[kept, number, answer]

    def _lived(self, kept: Kept, record: Record) -> Kept:
        store = stored(kept)
        client = Client(self.campaign, store=store)
        if client.due() is not None:
            client.encode(record)
        with store.reading() as rows:
            return tuple(tuple(rows._execute(f"SELECT * FROM {table}")) for table in TABLES)

    def seen(self, kept: Kept) -> Seen:
        made = Client(self.campaign, store=stored(kept)).reports()
        return tuple((report.slot, report.mask, report.payload) for report in made)


TABLES = {"series": 6, "reports": 4}
"""And their columns."""


def stored(kept: Kept) -> MemoryStore:
    store = MemoryStore()
    with store.writing() as rows:
        for (table, n_columns), own in zip(TABLES.items(), kept, strict=True):
            for row in own:
                rows._execute(f"INSERT INTO {table} VALUES ({', '.join('?' * n_columns)})", row)
    return store


def records_of(domain: Domain) -> Iterator[Record]:
    values = [
        attribute.values if isinstance(attribute, Categorical) else (False, True)
        for attribute in domain.attributes
    ]
    names = domain.names
    if len(names) == 1:
        yield from ({names[0]: value} for value in values[0])
    else:
        yield from ({names[0]: one, names[1]: other} for one in values[0] for other in values[1])


def laws_of(device: Device) -> list[dict[Seen, Fraction]]:
    """For every history, how likely everything is that can be seen."""
    found: list[dict[Kept, Fraction]] = [{((), ()): Fraction(1)}]
    for number in range(ROUNDS):
        longer = []
        for before in found:
            for answer in range(len(device.records)):
                after: dict[Kept, Fraction] = defaultdict(Fraction)
                for kept, chance in before.items():
                    for then, own in device.round(kept, number, answer):
                        after[then] += chance * own
                longer.append(after)
        found = longer
    seen = {kept: device.seen(kept) for law in found for kept in law}
    told = []
    for law in found:
        own: dict[Seen, Fraction] = defaultdict(Fraction)
        for kept, chance in law.items():
            own[seen[kept]] += chance
        told.append(own)
    return told


def largest_ratio(laws: list[dict[Seen, Fraction]]) -> Fraction:
    """Over all pairs of histories, and everything that can be seen."""
    everything = {outcome for law in laws for outcome in law}
    assert all(law.keys() == everything for law in laws)  # nothing rules a history out
    return max(
        max(law[outcome] for law in laws) / min(law[outcome] for law in laws)
        for outcome in everything
    )


# ---- what is stated


def check_stated(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    laws = laws_of(Device(campaign, monkeypatch))
    assert len(laws) == len(list(records_of(campaign.domain))) ** ROUNDS
    assert all(sum(law.values()) == 1 for law in laws)
    repeat, loss = campaign.terms.repeat, log_up(largest_ratio(laws))
    assert all(len(seen) == repeat.take_part for law in laws for seen in law)
    assert loss <= campaign.lifetime_loss
    nearly = Fraction(10**9 - 1, 10**9) * Fraction(campaign.lifetime_loss)
    if not repeat.is_permanent:
        assert loss > nearly  # attained
    elif repeat.take_part == 1:
        assert Fraction(10**9 - 1, 10**9) * Fraction(campaign.loss) < loss <= campaign.loss
    else:
        assert campaign.loss < loss < nearly  # attained by no number of reports


SIZES = [(2, 1), (2, 2), (2, 4), (3, 2)]
ALL_SIZES = [(size, m) for size in (2, 3, 4) for m in (1, 2, 3, 4)]


@pytest.mark.parametrize("mode", ["sampled", "permanent"])
@pytest.mark.parametrize(("size", "take_part"), ALL_SIZES if FULL else SIZES)
def test_four_rounds_reveal_what_is_stated_for_all_pairs_of_histories(
    mode, size, take_part, monkeypatch
):
    check_stated(campaign_of(mode, answers_of(size), take_part), monkeypatch)


@pytest.mark.parametrize(
    ("mode", "mechanism"), [("sampled", "bloom"), ("permanent", "bloom"), ("permanent", "unary")]
)
@pytest.mark.parametrize("take_part", [1, 2, 3, 4] if FULL else [2])
def test_four_rounds_of_bits_reveal_what_is_stated_for_all_pairs_of_histories(
    mode, mechanism, take_part, monkeypatch
):
    filters = {"n_bits": 2, "n_hashes": 1} if mechanism == "bloom" else {}
    check_stated(campaign_of(mode, answers_of(2), take_part, mechanism, **filters), monkeypatch)


@pytest.mark.parametrize("mode", ["sampled", "permanent"])
@pytest.mark.parametrize("take_part", [2, 4] if FULL else [1])
def test_four_rounds_with_views_reveal_what_is_stated_for_all_pairs_of_histories(
    mode, take_part, monkeypatch
):
    """A view is drawn anew in every report of mode sampled, and once in mode permanent; it depends on no answer."""
    view = Listed.of(TWO, [(("a",), 1), (("b",), 1)])
    check_stated(campaign_of(mode, TWO, take_part, view=view), monkeypatch)


# ---- what would not be


def redrawn(
    self: DeviceRounds, rows: Rows, key: str, candidates: tuple[int, ...], slot: int
) -> object:
    drawn, randomness = (
        memorized(self.campaign, candidates, rounds.Randomness()),
        rounds.Randomness(),
    )
    return refreshed(self.campaign, drawn, report_id=new_id(), slot=slot, randomness=randomness)


def test_permanent_noise_that_is_drawn_anew_reveals_more_than_is_stated(monkeypatch):
    campaign = campaign_of("permanent", answers_of(2), ROUNDS)
    monkeypatch.setattr(DeviceRounds, "report", redrawn)
    monkeypatch.setattr(DeviceRounds, "check", lambda *_: None)
    monkeypatch.setattr(Client, "_needs_record", lambda self, made: True)
    assert log_up(largest_ratio(laws_of(Device(campaign, monkeypatch)))) > campaign.lifetime_loss


def test_a_report_too_many_reveals_more_than_is_stated(monkeypatch):
    campaign = campaign_of("sampled", answers_of(2), 1)
    monkeypatch.setattr(
        Repeat, "draw", lambda self, randomness: tuple(randomness.prefix(self.rounds, 2))
    )
    monkeypatch.setattr(
        DeviceRounds,
        "slots",
        lambda self, kept: tuple(self.schedule.slots[number] for number in kept[1::2]),
    )
    assert log_up(largest_ratio(laws_of(Device(campaign, monkeypatch)))) > campaign.lifetime_loss
