"""A device in rounds that dies at every step: between two operations on files, in the middle of a write, before and after a send.

What died does nothing any more; then the device starts again, with another record and the clock set back to the first round. With
LOPUB_FULL=1 the second life ends at every step, too, and a third one follows.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from itertools import count
from pathlib import Path

import pytest

from lopub import (
    Boolean,
    Campaign,
    CampaignRequest,
    Client,
    Domain,
    FileStore,
    Repeat,
    Schedule,
    Terms,
    make_campaign,
)
from lopub.campaign.schedule import EPOCH
from tiers import FULL

OPENS = date(2028, 2, 28)  # the next day is a leap day
ROUNDS, TAKE_PART = 3, 2
OPERATIONS = ("open", "fsync", "link", "replace", "unlink", "mkdir", "utime", "chmod")


def campaign_of(mode: str) -> Campaign:
    repeat = Repeat(every_days=1, rounds=ROUNDS, take_part=TAKE_PART, mode=mode)
    terms = Terms(name="crashes", min_reports=100, schedule=Schedule.in_rounds(OPENS, repeat))
    lifetime = {"lifetime_epsilon": "2"} if mode == "permanent" else {}
    return make_campaign(
        Domain((Boolean(name="a"),)),
        terms,
        CampaignRequest(epsilon="1", mechanism="direct", **lifetime),
    )


CAMPAIGNS = {mode: campaign_of(mode) for mode in ("sampled", "permanent")}


class Death(BaseException):
    """Not an error that anything could handle."""


class World:
    """A disk on which a life ends at a given step, and a collector that remembers what came."""

    def __init__(self, campaign: Campaign, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.campaign, self.store, self._patch = campaign, store, monkeypatch
        self.received: list[bytes] = []
        self.charged: list[bool] = []
        self._ends: int | None = None
        self._steps: Iterator[int] = count()

    def step(self) -> None:
        if self._ends is not None and next(self._steps) >= self._ends:
            raise Death

    @contextmanager
    def life(self, ends: int | None) -> Iterator[None]:
        """One that ends before this step, and at no other one where there is none."""
        self._ends, self._steps = ends, count()
        with self._patch.context() as patch:
            for name in OPERATIONS:
                patch.setattr(
                    os,
                    name,
                    self._deadly(getattr(os, name) if name != "fsync" else lambda descriptor: None),
                )
            patch.setattr(Path, "write_bytes", lambda path, data: self._torn(path, data))
            patch.setattr("lopub.client.client.send_report", self._arrives)
            yield

    def _deadly(self, real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            self.step()
            return real(*arguments, **options)

        return call

    def _torn(self, path: Path, data: bytes) -> None:
        with open(path, "wb", buffering=0) as file:
            file.write(data[: len(data) // 2])
            self.step()
            file.write(data[len(data) // 2 :])

    def _arrives(self, report: bytes, address: object, patience: object) -> int:
        self.step()
        self.received.append(report)
        spent = self.client().spent().epsilon
        self.charged.append(spent >= self.campaign.lifetime_loss)
        self.step()
        return 1

    def client(self) -> Client:
        return Client(self.campaign, store=FileStore(self.store))

    def walk(self, record: dict[str, object]) -> None:
        """Through all rounds: make what is due, send what waits."""
        for number in range(ROUNDS):
            now = ((OPENS - EPOCH).days + number) * 86_400.0 + 1
            self._patch.setattr(time, "time", lambda now=now: now)
            client = self.client()
            if client.due() is not None:
                client.encode(record)
                self.charged.append(client.spent().epsilon >= self.campaign.lifetime_loss)
            if client.waiting():
                client.send(f"https://collector.example/campaigns/{self.campaign.id}")

    def dies(self, record: dict[str, object], ends: int | None) -> bool:
        try:
            with self.life(ends):
                self.walk(record)
        except Death:
            return True
        return False


def check(world: World) -> None:
    """Whatever happened: as many reports as rounds, one for each, all of them counted, once."""
    client, first = world.client(), world.campaign.terms.schedule.slots[0]
    by_slot = {int.from_bytes(report[25:29]): report for report in world.received}
    assert len(by_slot) == len(set(world.received)) == TAKE_PART
    assert sorted(by_slot) == [(day - EPOCH).days for day in client.rounds()]
    assert [report.to_bytes() for report in client.reports()] == [
        by_slot[slot] for slot in sorted(by_slot)
    ]
    assert min(by_slot) >= first and all(world.charged)
    assert client.spent().epsilon == world.campaign.lifetime_loss and client.spent().n_unknown == 0
    assert client.waiting() == ()


@pytest.mark.parametrize("mode", ["permanent", pytest.param("sampled", marks=pytest.mark.full)])
def test_a_device_that_dies_at_any_step_sends_one_report_a_round_and_counts_it(
    mode, tmp_path, monkeypatch
):
    for n in count():
        world = World(CAMPAIGNS[mode], tmp_path / str(n), monkeypatch)
        died = world.dies({"a": True}, n)
        seconds = count() if died and FULL and n % 3 == 0 else iter(())
        for k in seconds:
            again = World(CAMPAIGNS[mode], tmp_path / f"{n} {k}", monkeypatch)
            again.dies({"a": True}, n)
            still = again.dies({"a": False}, k)
            assert not again.dies({"a": True}, None)
            check(again)
            if not still:
                break
        assert not world.dies({"a": False}, None)
        check(world)
        if not died:
            break
    assert n > 60  # of steps, there are so many
