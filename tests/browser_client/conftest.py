"""Fixtures for the page on which people take part: its campaigns, a collector behind a proxy, and a person in a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from contributing import Proxy, Visitor, chromium, made, proxied
from visiting import KINDS, NUMBER, SMALL, SMOKES, TO_NOON, Campaigns, day

from lopub.campaign.views import Sample

pytest.importorskip("starlette")

import load
from servers import Running, running_collector


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("campaigns")


@pytest.fixture(scope="module")
def campaigns(folder: Path) -> Campaigns:
    rounds = {"opens": day(0), "repeat": {"every_days": 7, "rounds": 4, "take_part": 4}}
    daily = {"opens": day(-1), "repeat": {"every_days": 1, "rounds": 2, "take_part": 2}}
    lasting = {
        "opens": day(-7),
        "repeat": {"every_days": 7, "rounds": 2, "take_part": 2, "mode": "permanent"},
    }
    permanent = {**SMALL, "name": "permanent", "schedule": lasting}
    each = {
        "kinds": made(KINDS, folder, epsilon=4),
        "small": made(SMALL, folder, epsilon=1),
        "early": made({**SMALL, "name": "early", "schedule": {"opens": day(3), "closes": day(9)}}, folder, epsilon=1),
        "over": made({**SMALL, "name": "over", "schedule": {"opens": day(-9), "closes": day(-3)}}, folder, epsilon=1),
        "rounds": made({**SMALL, "name": "rounds", "schedule": rounds}, folder, epsilon=1),
        "days": made({**SMALL, "name": "days", "schedule": daily}, folder, epsilon=1),
        "later": made(
            {**SMALL, "name": "later", "schedule": {"opens": day(-7), "repeat": {"every_days": 7, "rounds": 2, "take_part": 1}}},
            folder, epsilon=1,
        ),
        "permanent": made(permanent, folder, epsilon=1, lifetime_epsilon=2),
        "direct": made({**SMALL, "name": "direct"}, folder, epsilon=9, mechanism="direct"),
        "numbers": made(NUMBER, folder, epsilon=1),
        "cigarettes": made(SMOKES, folder, epsilon=2),
        "one": made({**SMOKES, "name": "one"}, folder, epsilon=2, view=Sample(1), jointly=True),
        "bloom": made({**SMALL, "name": "bloom"}, folder, flip_probability="0.5"),
        **{f"one of ten: {n}": made({**SMALL, "name": f"one-of-ten-{n}"}, folder, epsilon=2) for n in range(10)},
        "hashed": made({**SMALL, "name": "hashed"}, folder, epsilon=2, mechanism="hashed"),
    }  # fmt: skip
    return each


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory, campaigns: Campaigns) -> Iterator[Running]:
    address = f"sqlite:///{tmp_path_factory.mktemp('store')}/lopub.db"
    for campaign in campaigns.values():
        load.opened(address, campaign)
    with running_collector(address) as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    with chromium(tmp_path_factory.mktemp("profile")) as visitor:
        yield visitor


@pytest.fixture
def proxy(collector: Running) -> Iterator[Proxy]:
    with proxied(collector.port) as proxy:
        yield proxy


@pytest.fixture
def person(shared: Visitor) -> Iterator[Visitor]:
    """Somebody with an empty store, at a desk."""
    shared.size(1280).clock(TO_NOON)
    yield shared
    shared.as_before()
    shared.forget()
