"""Clients with the mistakes that have been published of others, each as a run of `lopub audit` sees it.

A mutant is a function: campaign -> client. `python mutants.py NAME CAMPAIGN` is the same as a program.
"""

import json
import os
import random
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unittest.mock import patch

from lopub.campaign.campaign import Campaign
from lopub.campaign.mechanisms import Channel
from lopub.campaign.mechanisms.direct import DirectChannel
from lopub.campaign.mechanisms.subset import SubsetChannel
from lopub.campaign.mechanisms.unary import OptimizedChannel, SymmetricChannel
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import Report, mask_of, pack
from lopub.campaign.views import AllAttributes, Sample
from lopub.client import client as module
from lopub.client.client import Client
from lopub.client.store import MemoryStore

Run = Callable[[Sequence[Any]], list[bytes]]
Patches = Callable[[], AbstractContextManager[Any]]


def client(
    campaign: Campaign,
    patches: Patches = nullcontext,
    changed: Callable[[bytes, Any], bytes] | None = None,
) -> Run:
    """Our own client under a patch; changed: what becomes of a finished report."""

    def run(lines: Sequence[Any]) -> list[bytes]:
        found = []
        with patches():
            for line in lines:
                if line != "again":
                    mine, record = Client(campaign, store=MemoryStore()), line
                wire = mine.encode(record).to_bytes()
                found.append(
                    changed(wire, list(campaign.domain.indices(record))) if changed else wire
                )
        return found

    return run


def randomizing(kind: type[Channel], wrong: Callable[..., int]) -> Patches:
    return lambda: patch.object(kind, "randomize", wrong)


def bare_bit(self: SymmetricChannel, candidate: int, randomness: Randomness) -> int:
    last = 1 << (self.n_candidates - 1)
    return 1 << candidate ^ (
        randomness.changes(self.n_candidates, self.change_units, 2**32) & ~last
    )


def kept_ones(self: SymmetricChannel, candidate: int, randomness: Randomness) -> int:
    return 1 << candidate | randomness.changes(self.n_candidates, self.change_units, 2**32)


def kept_zeros(self: SymmetricChannel, candidate: int, randomness: Randomness) -> int:
    return 1 << candidate & ~randomness.changes(self.n_candidates, self.change_units, 2**32)


def bare_last(self: DirectChannel, candidate: int, randomness: Randomness) -> int:
    drawn = randomness.below(self.n_candidates)
    return self.output(candidate if candidate == self.n_candidates - 1 or drawn == 0 else drawn)


def kept_twice(self: DirectChannel, candidate: int, randomness: Randomness) -> int:
    """Not content with the first draw, it takes another."""
    first = HONEST_DIRECT(self, candidate, randomness)
    return first if first == self.output(candidate) else HONEST_DIRECT(self, candidate, randomness)


def always_held(self: SubsetChannel, candidate: int, randomness: Randomness) -> int:
    drawn = randomness.prefix(self.n_candidates - 1, self.subset_size)
    return sum({1 << (cell + (cell >= candidate)) for cell in drawn[:-1]}) | 1 << candidate


def loud_coin(self: OptimizedChannel, candidate: int, randomness: Randomness) -> int:
    """The true bit is kept as if it were flipped, not tossed."""
    noise = sum(
        (randomness.below(self.odds + 2**32) < 2**32) << i for i in range(self.n_candidates)
    )
    return noise & ~(1 << candidate) | (randomness.below(20) > 0) << candidate


HONEST_DIRECT = DirectChannel.randomize


def whole_budget(
    campaign: Campaign,
    candidates: Sequence[int],
    *,
    report_id: bytes,
    slot: int,
    randomness: Randomness,
) -> Report:
    """Every block has the noise of a report of one block."""
    view = campaign.view.draw(campaign.domain.sizes, randomness)
    loud = [
        DirectChannel(channel.n_candidates, channel.odds**2 >> 32)
        for channel in campaign.channels(view)
    ]  # type: ignore[attr-defined]
    outputs = [
        channel.randomize(candidates[i], randomness) for channel, i in zip(loud, view, strict=True)
    ]
    return Report(
        campaign=campaign.prefix,
        id=report_id,
        slot=slot,
        mask=b"",
        payload=pack(outputs, loud),
    )


def telling_view(
    campaign: Campaign,
    candidates: Sequence[int],
    *,
    report_id: bytes,
    slot: int,
    randomness: Randomness,
) -> Report:
    """Draws again where it does not like the view: a first answer of zero is rather not told."""
    for _ in range(4):
        view = campaign.view.draw(campaign.domain.sizes, randomness)
        if candidates[0] or 0 not in view:
            break
    number = 0
    for i in view:
        number = number * campaign.domain.sizes[i] + candidates[i]
    channels = campaign.channels(view)
    payload = pack([channels[0].randomize(number, randomness)], channels)
    mask = mask_of(view, campaign.mask_bytes)
    return Report(
        campaign=campaign.prefix,
        id=report_id,
        slot=slot,
        mask=mask,
        payload=payload,
    )


def forgetful(campaign: Campaign) -> Run:
    def run(lines: Sequence[Any]) -> list[bytes]:
        found, record = [], None
        for line in lines:
            record = record if line == "again" else line
            found.append(Client(campaign, store=MemoryStore()).encode(record).to_bytes())
        return found

    return run


def seeded(campaign: Campaign) -> Run:
    """Each run begins with the same seed."""
    return lambda lines: client(
        campaign, lambda: patch.object(os, "urandom", random.Random(1).randbytes)
    )(lines)


def seeded_noise(campaign: Campaign) -> Run:
    """The id is drawn well, the noise is not."""
    fresh = os.urandom
    return lambda lines: client(
        campaign,
        lambda: patch.object(os, "urandom", random.Random(1).randbytes),
        lambda wire, _: wire[:9] + fresh(16) + wire[25:],
    )(lines)


def with_id(wire: bytes, candidates: Any) -> bytes:
    return wire[:9] + bytes([wire[9] & 0xF8 | candidates[0] + 2 * candidates[1]]) + wire[10:]


def with_day(wire: bytes, candidates: Any) -> bytes:
    return wire[:28] + bytes([wire[28] ^ (candidates[1] == 2)]) + wire[29:]


def longer(wire: bytes, candidates: Any) -> bytes:
    return wire + bytes(candidates[1])


def with_padding(wire: bytes, candidates: Any) -> bytes:
    return wire[:-1] + bytes([wire[-1] | (candidates[1] == 2) << 7])


SYMMETRIC: dict[str, object] = {"flip_probability": "0.7", "mechanism": "unary", "jointly": True}
DIRECT: dict[str, object] = {
    "epsilon": 2,
    "mechanism": "direct",
    "view": Sample(2),
    "jointly": True,
}
MUTANTS: dict[str, tuple[dict[str, object], Callable[[Campaign], Run]]] = {
    "a bit left bare": (SYMMETRIC, lambda c: client(c, randomizing(SymmetricChannel, bare_bit))),
    "a one that never turns zero": (
        SYMMETRIC,
        lambda c: client(c, randomizing(SymmetricChannel, kept_ones)),
    ),
    "a zero that never turns one": (
        SYMMETRIC,
        lambda c: client(c, randomizing(SymmetricChannel, kept_zeros)),
    ),
    "one answer sent as it is": (
        DIRECT,
        lambda c: client(c, randomizing(DirectChannel, bare_last)),
    ),
    "drawn again where not kept": (
        DIRECT,
        lambda c: client(c, randomizing(DirectChannel, kept_twice)),
    ),
    "noise redrawn on a retry": (DIRECT, forgetful),
    "a seeded generator": (DIRECT, seeded),
    "seeded noise under random ids": (DIRECT, seeded_noise),
    "a view that depends on the answer": (
        DIRECT | {"view": Sample(1)},
        lambda c: client(c, lambda: patch.object(module, "randomized", telling_view)),
    ),
    "an answer in the id": (DIRECT | {"epsilon": 1}, lambda c: client(c, changed=with_id)),
    "an answer in the day": (DIRECT | {"epsilon": 4}, lambda c: client(c, changed=with_day)),
    "a length that depends on the answer": (
        DIRECT | {"epsilon": 4},
        lambda c: client(c, changed=longer),
    ),
    "an answer in the padding": (
        SYMMETRIC | {"jointly": False},
        lambda c: client(c, changed=with_padding),
    ),
    "a true cell that is always held": (
        {"epsilon": 3, "mechanism": "subset", "jointly": True},
        lambda c: client(c, randomizing(SubsetChannel, always_held)),
    ),
    "a true bit without its coin": (
        {"epsilon": 1, "mechanism": "unary", "jointly": True},
        lambda c: client(c, randomizing(OptimizedChannel, loud_coin)),
    ),
    "the whole budget for every block": (
        {"epsilon": 2, "mechanism": "direct", "view": AllAttributes(), "jointly": False},
        lambda c: client(c, lambda: patch.object(module, "randomized", whole_budget)),
    ),
}


if __name__ == "__main__":
    run = MUTANTS[sys.argv[1]][1](Campaign.load(sys.argv[2]))
    for wire in run([json.loads(line) for line in sys.stdin]):
        sys.stdout.write(wire.hex() + "\n")
