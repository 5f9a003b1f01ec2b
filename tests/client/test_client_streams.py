"""A report takes two streams of random bytes, its id from one and all else from the other; nothing can be seeded."""

import inspect
import os
import random

import pytest

from lopub import Boolean, CampaignRequest, Client, Domain, MemoryStore, Terms, make_campaign
from lopub.campaign.randomness import Randomness


def test_the_client_takes_no_seed_or_source() -> None:
    names = {*inspect.signature(Client).parameters, *inspect.signature(Client.encode).parameters}
    assert not names & {"rng", "random", "randomness", "seed", "source"}


def test_every_report_takes_its_id_and_its_noise_from_streams_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bytes left over from an id or a report would link it to the next."""
    source, asked = random.Random(1), []
    domain = Domain((Boolean(name="a"), Boolean(name="b")))
    campaign = make_campaign(domain, Terms(name="t"), CampaignRequest(epsilon=1))
    stores = [MemoryStore() for _ in range(5)]
    monkeypatch.setattr(Randomness, "_CHUNK", 64)
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(source.randbytes(n)) or asked[-1])
    ids = [Client(campaign, store=store).encode({"a": True, "b": False}).id for store in stores]
    assert ids == [chunk[:16] for chunk in asked[::2]]
    assert len(asked) == 10
