"""A crowd through the page: real Chromium, real collector, both stores, the page from the collector and from another origin.

A fifth lose the collector's answer, a fifth reload while the collector is down, some withdraw. LOPUB_FULL=1 takes 200 people
for each store and place; otherwise six people come to one of each.
"""

import hashlib
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contributing import Proxy, Visitor, chromium, hosted, made, needs_chromium, proxied
from test_collector_cli import lopub

from lopub import Campaign
from lopub.campaign.report import framed
from lopub.campaign.views import AllAttributes
from lopub.collector.campaigns import find_campaign, tally
from lopub.collector.database import store_at

pytest.importorskip("starlette")

import load
from load import note_figures, withdraw
from servers import running_collector
from tiers import FULL

pytestmark = needs_chromium
N_PEOPLE = 200 if FULL else 6
DRAFT: dict[str, Any] = {
    "name": "crowd",
    "schema": {"fields": [
        {"name": "smoker", "type": "boolean", "question": "Smoke?"},
        {"name": "city", "type": "string", "question": "City?", "categories": ["Bonn", "Oslo", "Rome"]},
        {"name": "packs", "type": "integer", "question": "Packs?", "constraints": {"minimum": 1, "maximum": 4},
         "onlyIf": {"field": "smoker", "equals": True}},
        {"name": "reads", "type": "list", "question": "Reads?", "categories": ["books", "blogs"],
         "constraints": {"required": False}},
    ]},
}  # fmt: skip


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


class Crowd:
    """Everybody who took part, with what each of them saw."""

    def __init__(self, visitor: Visitor, proxy: Proxy, address: str) -> None:
        self.visitor, self.proxy, self.address = visitor, proxy, address
        self.sent: list[bytes] = []
        self.withdrawn: list[bytes] = []
        self.n_lost = self.n_reloaded = 0
        self._rng = random.Random(1)

    def person(self, number: int) -> None:
        """One of them, from opening the page to leaving it."""
        rng, visitor = self._rng, self.visitor
        visitor.open(self.address).answer(
            {"Smoke?": "Yes" if number % 3 else "No", "City?": rng.choice(["Bonn", "Oslo", "Rome"])}
        )
        if number % 3:
            visitor.answer({"Packs?": str(rng.randint(1, 4))})
        visitor.answer(
            {
                "Reads?": rng.choice(
                    [["books"], ["books", "blogs"], ["None of these"], ["No answer"]]
                )
            }
        )
        if number % 5 == 1:
            self.proxy.lose, self.n_lost = rng.choice((1, 2)), self.n_lost + 1
        visitor.look()
        if number % 5 == 2:
            self.proxy.instead = lambda method, path: (
                (503, {"Retry-After": "60"}, b"") if method == "POST" else None
            )
            before = len(self.proxy.posted("/reports"))
            visitor.agree("waiting").until_asked(self.proxy, "/reports", before + 1)
            self.proxy.instead = lambda *_: None
            visitor.open(self.address).stage("sent")
            self.n_reloaded += 1
        else:
            visitor.agree()
        report = visitor.sent()
        self.sent.append(report)
        if number % 10 == 3:
            visitor.withdraw().stage("withdrawn")
            self.withdrawn.append(report)
        visitor.forget()

    @property
    def counted(self) -> list[bytes]:
        return [report for report in self.sent if report not in self.withdrawn]


@pytest.mark.parametrize(
    ("database", "place"),
    [
        ("sqlite", "elsewhere"),
        *(
            pytest.param(*each, marks=pytest.mark.full)
            for each in (
                ("sqlite", "collector"),
                ("postgresql", "collector"),
                ("postgresql", "elsewhere"),
            )
        ),
    ],
    indirect=["database"],
)
def test_a_crowd_is_counted_exactly_and_published_as_if_imported(
    database: str, place: str, visitor: Visitor, tmp_path: Path
):
    campaign = made(
        DRAFT, tmp_path, epsilon=3, mechanism="direct", view=AllAttributes(), jointly=True
    )  # so that all questions are covered
    campaign.save(tmp_path / "campaign.json")
    load.opened(database, campaign)
    with running_collector(database) as collector, proxied(collector.port) as proxy:
        lopub(
            "page", "campaign.json", "-o", "site", "--collector", proxy.address, directory=tmp_path
        )
        with hosted(tmp_path / "site") as site:
            crowd = Crowd(
                visitor,
                proxy,
                f"{proxy.address}/c/{campaign.id}" if place == "collector" else f"{site}/",
            )
            began = time.monotonic()
            for number in range(N_PEOPLE):
                crowd.person(number)
            seconds = time.monotonic() - began
        assert set(proxy.reports) == set(crowd.sent)
        assert (
            len(proxy.reports) >= N_PEOPLE + crowd.n_lost
        )  # those who lost the answer have sent the same bytes again
        preflights = [request for request in proxy.requests if request.startswith(b"OPTIONS")]
        assert bool(preflights) == (place == "elsewhere")
        assert b"cookie:" not in b"".join(proxy.requests).lower()
    check_counts(database, campaign, crowd)
    check_publication(database, campaign, crowd, tmp_path)
    figures = {
        "people": N_PEOPLE,
        "lost": crowd.n_lost,
        "reloaded": crowd.n_reloaded,
        "withdrawn": len(crowd.withdrawn),
    }
    note_figures(
        f"page from {place}",
        database.partition(":")[0],
        **figures,
        requests=len(proxy.requests),
        seconds=seconds,
    )


def check_counts(database: str, campaign: Campaign, crowd: Crowd) -> None:
    store = store_at(database)
    counts = tally(store, find_campaign(store, campaign.id))
    store.close()
    assert (counts.n_reports, counts.n_withdrawn, dict(counts.refused)) == (
        len(crowd.counted),
        len(crowd.withdrawn),
        {},
    )
    hashes = {hashed for hashed, _ in load.kept_rows(database, campaign)}
    assert hashes == {hashlib.sha256(report[9:25]).digest() for report in crowd.counted}


def check_publication(database: str, campaign: Campaign, crowd: Crowd, folder: Path) -> None:
    """The same reports, put in by `lopub import`, are published as the same bytes."""
    (folder / "reports.bin").write_bytes(framed(sorted(crowd.sent)))
    other = f"sqlite:///{folder}/imported.db"
    lopub("import", "campaign.json", "reports.bin", "--database", other, directory=folder)
    store = store_at(other)
    for report in crowd.withdrawn:
        withdraw(store, find_campaign(store, campaign.id), hashlib.sha256(report[9:25]).digest())
    store.close()
    for name, source in (("page", database), ("import", other)):
        lopub("publish", "campaign.json", source, "-o", name, "--rows", "50", directory=folder)
    published = contents(folder / "page")
    assert published == contents(folder / "import") and len(published) > 5


def contents(folder: Path) -> dict[Path, bytes]:
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
