"""Rounds by their law: which are drawn, what their reports say together; and eight mutants of the client that must be found out.

A crowd of devices is walked through four rounds. Half of them change their answer in the middle. What is wrong with what they
sent is told in words; of the real client nothing is.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date

import pytest
from scipy.special import bdtr, bdtrc

from lopub import (
    Boolean,
    Campaign,
    CampaignRequest,
    Client,
    Domain,
    Listed,
    MemoryStore,
    Repeat,
    Report,
    Schedule,
    Terms,
    make_campaign,
)
from lopub.bulk.view_laws import Repeatable
from lopub.campaign.randomness import Randomness
from lopub.campaign.schedule import EPOCH
from lopub.client import noise, rounds
from lopub.client.noise import memorized, refreshed
from lopub.client.rounds import DeviceRounds

ALPHA = 1e-9
ROUNDS, DEVICES = 4, 800
OPENS = date(2026, 1, 5)
DOMAIN = Domain((Boolean(name="a"), Boolean(name="b")))
VIEW = Listed.of(DOMAIN, [(("a",), 1), (("b",), 1)])


def campaign_of(mode: str) -> Campaign:
    repeat = Repeat(every_days=1, rounds=ROUNDS, take_part=2, mode=mode)
    terms = Terms(name="laws", min_reports=200, schedule=Schedule.in_rounds(OPENS, repeat))
    lifetime = {"lifetime_epsilon": "4"} if mode == "permanent" else {}
    return make_campaign(
        DOMAIN,
        terms,
        CampaignRequest(epsilon="2", mechanism="direct", view=VIEW, jointly=True, **lifetime),
    )


SAMPLED, PERMANENT = campaign_of("sampled"), campaign_of("permanent")


@dataclass(frozen=True)
class Device:
    """What one device answered in each round, and what it sent."""

    answers: tuple[bool, ...]
    reports: tuple[Report, ...]


def crowd(campaign: Campaign, monkeypatch) -> list[Device]:
    """Devices with a stream of randomness each, the same in every run."""
    streams = itertools.count()
    for module in (noise, rounds):
        monkeypatch.setattr(
            module, "Randomness", lambda: Repeatable(b"device stream %d" % next(streams))
        )
    found = []
    for number in range(DEVICES):
        answers = ((bool(number & 1),) * 2) + ((bool(number & 1) ^ bool(number & 2),) * 2)
        client, made = Client(campaign, store=MemoryStore()), []
        for turn, answer in enumerate(answers):
            monkeypatch.setattr(
                time, "time", lambda turn=turn: ((OPENS - EPOCH).days + turn) * 86_400.0
            )
            ANSWER[0] = answer
            if client.due() is not None:
                made.append(client.encode({"a": answer, "b": answer}))
        found.append(Device(answers, tuple(made)))
    return found


ANSWER = [False]
"""What the device at hand would answer: for the mutant that looks at it too early."""


def fits(count: int, n: int, chance: float) -> bool:
    return (
        bool(bdtr(count, n, chance) > ALPHA and bdtrc(count - 1, n, chance) > ALPHA) if n else True
    )


def says(report: Report) -> bool:
    return bool(report.payload[0])


def numbers(device: Device) -> tuple[int, ...]:
    return tuple(report.slot - (OPENS - EPOCH).days for report in device.reports)


# ---- what can be wrong


def wrong(devices: list[Device], campaign: Campaign) -> set[str]:
    """What is wrong with what a crowd sent; nothing of a client that obeys the law."""
    found = set()
    if any(len(device.reports) != 2 or len(set(numbers(device))) != 2 for device in devices):
        found.add("number of reports")
    ids = Counter(report.id for device in devices for report in device.reports)
    if max(ids.values()) > 1:
        found.add("an id twice")
    pairs = [device for device in devices if len(device.reports) == 2]
    for answer in (False, True):
        own = [numbers(device) for device in pairs if device.answers[0] is answer]
        each = Counter(own)
        if not all(
            fits(each[chosen], len(own), 1 / 6)
            for chosen in itertools.combinations(range(ROUNDS), 2)
        ):
            found.add("which rounds")
    return found | (
        wrong_permanent(pairs, campaign)
        if campaign.mechanism.permanent
        else wrong_sampled(pairs, campaign)
    )


def wrong_sampled(pairs: list[Device], campaign: Campaign) -> set[str]:
    """Every report: a fresh view and fresh noise over the answer of its own round."""
    (channel,) = campaign.channels((0,))
    true = float(channel.law().p)
    told = [
        says(report) == device.answers[turn]
        for device in pairs
        for turn, report in zip(numbers(device), device.reports, strict=True)
    ]
    both = sum(
        all(
            says(r) == device.answers[t]
            for t, r in zip(numbers(device), device.reports, strict=True)
        )
        for device in pairs
    )
    same_view = sum(device.reports[0].mask == device.reports[1].mask for device in pairs)
    found = (
        set() if fits(sum(told), len(told), true) and fits(both, len(pairs), true**2) else {"noise"}
    )
    return found | (set() if fits(same_view, len(pairs), 0.5) else {"view"})


def wrong_permanent(pairs: list[Device], campaign: Campaign) -> set[str]:
    """One view; what both reports say, of the first answer, by the two layers."""
    found = set()
    if any(device.reports[0].mask != device.reports[1].mask for device in pairs):
        found.add("view")
    (channel,) = campaign.channels((0,))
    below = replace(channel, odds=channel.permanent, permanent=None).law()
    above = replace(channel, permanent=None).law()
    kept, told = float(below.p), float(above.p)
    both = kept * told**2 + (1 - kept) * (1 - told) ** 2
    agree = told**2 + (1 - told) ** 2
    for changed in (False, True):
        own = [device for device in pairs if (device.answers[0] != device.answers[-1]) is changed]
        first = [device.answers[numbers(device)[0]] for device in own]
        n_both = sum(
            says(d.reports[0]) == says(d.reports[1]) == x for d, x in zip(own, first, strict=True)
        )
        n_agree = sum(says(d.reports[0]) == says(d.reports[1]) for d in own)
        if not fits(n_both, len(own), both) or not fits(n_agree, len(own), agree):
            found.add("noise")
    return found


def test_the_client_obeys_the_law_of_sampled_rounds(monkeypatch):
    assert wrong(crowd(SAMPLED, monkeypatch), SAMPLED) == set()


def test_the_client_obeys_the_law_of_permanent_answers(monkeypatch):
    assert wrong(crowd(PERMANENT, monkeypatch), PERMANENT) == set()


# ---- mutants


def rounds_by_the_answer(monkeypatch):
    real = Repeat.draw

    def draw(self, randomness):
        drawn = real(self, randomness)
        return (0, 1) if ANSWER[0] and drawn == (0, 2) else drawn

    monkeypatch.setattr(Repeat, "draw", draw)


def one_round_more(monkeypatch):
    monkeypatch.setattr(
        Repeat,
        "draw",
        lambda self, randomness: tuple(sorted(randomness.prefix(ROUNDS, self.take_part + 1))),
    )
    monkeypatch.setattr(
        DeviceRounds,
        "slots",
        lambda self, kept: tuple(self.schedule.slots[number] for number in kept[1::2]),
    )


def rounds_redrawn(monkeypatch):
    def slots(self):
        own = self._rounds
        return tuple(own.schedule.slots[number] for number in own.repeat.draw(rounds.Randomness()))

    real_slots, real = Client._slots, Client._made
    monkeypatch.setattr(Client, "_slots", lambda self: (real_slots(self), slots(self))[1])
    monkeypatch.setattr(DeviceRounds, "check", lambda *_: None)
    monkeypatch.setattr(Client, "_made", lambda self, record: retried(lambda: real(self, record)))


def retried(make: Callable[[], Report]) -> Report:
    while True:
        try:
            return make()
        except ValueError:
            continue


def an_id_twice(monkeypatch):
    real = DeviceRounds.report

    def report(self, rows, key, candidates, slot):
        made, kept = real(self, rows, key, candidates, slot), rows.series(key).reports
        return replace(made, id=kept[0].data[9:25]) if kept else made

    monkeypatch.setattr(DeviceRounds, "report", report)


def over(self: DeviceRounds, answer: bytes, slot: int) -> Report:
    return refreshed(
        self.campaign,
        answer,
        report_id=noise.new_id(),
        slot=slot,
        randomness=rounds.Randomness(),
    )


def with_view(self: DeviceRounds, candidates: tuple[int, ...], view: bytes) -> bytes:
    """A permanent answer that is drawn anew, with the view of another one."""
    while True:
        drawn = memorized(self.campaign, candidates, rounds.Randomness())
        if drawn[:1] == view:
            return drawn


def permanent_noise_redrawn(monkeypatch):
    real = DeviceRounds.report

    def report(self, rows, key, candidates, slot):
        answer = rows.series(key).answer
        if not answer:
            return real(self, rows, key, candidates, slot)
        return over(self, with_view(self, candidates, answer[:1]), slot)

    monkeypatch.setattr(DeviceRounds, "report", report)
    monkeypatch.setattr(Client, "_needs_record", lambda self, made: True)


def no_fresh_layer(monkeypatch):
    real = rounds.refreshed

    def same(campaign, answer, **options):
        made = real(campaign, answer, **options)
        return replace(made, payload=answer[campaign.mask_bytes :])

    monkeypatch.setattr(rounds, "refreshed", same)


def a_permanent_answer_that_follows(monkeypatch):
    """Memorized per answer, as often done: the same noise for the same answer, other noise for another one."""
    real, drawn = DeviceRounds.report, {}

    def report(self, rows, key, candidates, slot):
        answer = rows.series(key).answer
        if not answer:
            made = real(self, rows, key, candidates, slot)
            drawn.clear()
            drawn[candidates] = rows.series(key).answer
            return made
        if candidates not in drawn:
            drawn[candidates] = with_view(self, candidates, answer[:1])
        return over(self, drawn[candidates], slot)

    monkeypatch.setattr(DeviceRounds, "report", report)
    monkeypatch.setattr(Client, "_needs_record", lambda self, made: True)


def view_redrawn(monkeypatch):
    real = DeviceRounds.report

    def report(self, rows, key, candidates, slot):
        if not rows.series(key).answer:
            return real(self, rows, key, candidates, slot)
        return over(self, memorized(self.campaign, candidates, rounds.Randomness()), slot)

    monkeypatch.setattr(DeviceRounds, "report", report)
    monkeypatch.setattr(DeviceRounds, "check", lambda *_: None)
    monkeypatch.setattr(Client, "_needs_record", lambda self, made: True)


@pytest.mark.parametrize(
    ("mutant", "campaign", "expected"),
    [
        (rounds_by_the_answer, SAMPLED, "which rounds"),
        pytest.param(one_round_more, SAMPLED, "number of reports", marks=pytest.mark.full),
        pytest.param(rounds_redrawn, SAMPLED, "number of reports", marks=pytest.mark.full),
        (an_id_twice, SAMPLED, "an id twice"),
        pytest.param(an_id_twice, PERMANENT, "an id twice", marks=pytest.mark.full),
        (permanent_noise_redrawn, PERMANENT, "noise"),
        pytest.param(no_fresh_layer, PERMANENT, "noise", marks=pytest.mark.full),
        pytest.param(a_permanent_answer_that_follows, PERMANENT, "noise", marks=pytest.mark.full),
        (view_redrawn, PERMANENT, "view"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_mutant_of_the_client_is_found_out(mutant, campaign, expected, monkeypatch):
    mutant(monkeypatch)
    assert expected in wrong(crowd(campaign, monkeypatch), campaign)


def test_randomness_is_the_operating_systems_own():
    assert rounds.Randomness is noise.Randomness is Randomness
