"""The same reports give the same counts and the same published bytes, whichever way they came in."""

import json
import random
from pathlib import Path

import pytest
from test_collector_cli import lopub

import load
from load import note_figures
from lopub import (
    Campaign,
    CampaignRequest,
    Domain,
    IntegerRange,
    Report,
    Sample,
    Terms,
    make_campaign,
)
from lopub.campaign.report import FRAMED_TYPE, JSON_TYPE, framed, unframed
from lopub.collector.batches import batch_of
from lopub.collector.campaigns import find_campaign
from lopub.collector.database import store_at
from lopub.collector.tokens import new_token
from lopub.publication import publish
from lopub.reports.batch import ReportBatch
from servers import Postgres, Running, running_collector

pytestmark = pytest.mark.full
DOMAIN = Domain(tuple(IntegerRange(name=f"q{i}", minimum=0, maximum=2 + i) for i in range(5)))
CAMPAIGN = make_campaign(
    DOMAIN,
    Terms(name="agreement", min_reports=100),
    CampaignRequest(epsilon=3, mechanism="subset", view=Sample(2), jointly=True),
)


def damaged(report: bytes, target: Campaign) -> list[bytes]:
    """One report for each reason for which a report can be refused by itself, but for its slot."""
    mask = 29 + target.mask_bytes
    return [
        report[:20],
        report + b"\x00",
        b"\x09" + report[1:],
        report[:1] + bytes(8) + report[9:],
        report[:29] + b"\x1f" + report[mask:],
        report[:-1] + bytes([report[-1] | 0x80]),
        report[:mask] + bytes(len(report) - mask),
    ]


def sent(collector: Running, body: bytes, media_type: str) -> int:
    """How many of the reports of a body were refused."""
    answer = collector.ask(
        "POST", f"/campaigns/{CAMPAIGN.id}/reports", body, Content_Type=media_type
    )
    assert answer.status == 200
    return len(answer.json["refused"])


def as_twins(reports: list[bytes]) -> bytes:
    twins = [json.loads(Report.from_bytes(report, CAMPAIGN).to_json()) for report in reports]
    return json.dumps({"reports": twins}).encode()


def collected(address: str, good: list[bytes], bad: list[bytes], *, seed: int) -> object:
    """All reports over HTTP: in an order of their own, some as twins, some twice, in requests of any size; their counts."""
    rng = random.Random(seed)
    left = rng.sample(good, len(good))
    load.opened(address, CAMPAIGN)
    with running_collector(address) as collector:
        assert sent(collector, framed(rng.sample(bad, len(bad))), FRAMED_TYPE) == len(bad)
        while left:
            n = rng.choice((1, 30, 100, 400))
            part, left = left[:n], left[n:]
            is_twins = rng.random() < 0.3
            assert (
                sent(
                    collector,
                    as_twins(part) if is_twins else framed(part),
                    JSON_TYPE if is_twins else FRAMED_TYPE,
                )
                == 0
            )
            if rng.random() < 0.2:
                assert sent(collector, framed(part), FRAMED_TYPE) == 0
        return counts_over_http(collector)


def imported(address: str, directory: Path) -> object:
    """The reports of a file in a database; their counts."""
    lopub("import", "campaign.json", "reports.bin", "--database", address, directory=directory)
    with running_collector(address) as collector:
        return counts_over_http(collector)


def counts_over_http(collector: Running) -> object:
    store = store_at(collector.address)
    token = new_token(store, scope="read", days=1)
    store.close()
    answer = collector.ask(
        "GET", f"/campaigns/{CAMPAIGN.id}/counts", Authorization=f"Bearer {token}"
    )
    assert answer.status == 200
    return answer.json


def batch_from(address: str) -> ReportBatch:
    store = store_at(address)
    try:
        return batch_of(store, find_campaign(store, CAMPAIGN.id))
    finally:
        store.close()


def published_files(batch: ReportBatch, directory: Path) -> dict[str, bytes]:
    """Every file of the publication, by its path."""
    publish(batch, seed=5).save(directory)
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def reports() -> tuple[list[bytes], list[bytes]]:
    """Good ones, and some of every bad kind."""
    good = list(unframed(load.bodies_of(load.population(CAMPAIGN, 30_000, seed=6), 10**9)[0]))
    return good, [each for i in range(20) for each in damaged(good[i], CAMPAIGN)]


def test_either_store_and_a_file_give_equal_counts_and_publications(
    reports: tuple[list[bytes], list[bytes]], tmp_path: Path, postgres: Postgres
):
    good, bad = reports
    addresses = {"sqlite": f"sqlite:///{tmp_path}/sent.db", "postgresql": postgres.new_database()}
    counts = [
        collected(address, good, bad, seed=seed) for seed, address in enumerate(addresses.values())
    ]
    (tmp_path / "reports.bin").write_bytes(framed([*bad, *good]))
    CAMPAIGN.save(tmp_path / "campaign.json")
    addresses["import"] = f"sqlite:///{tmp_path}/imported.db"
    counts.append(imported(addresses["import"], tmp_path))
    assert counts[0] == counts[1] == counts[2]
    batches = {name: batch_from(address) for name, address in addresses.items()}
    batches["file"] = ReportBatch.load(tmp_path / "reports.bin", CAMPAIGN)
    files = {name: published_files(batch, tmp_path / name) for name, batch in batches.items()}
    n_files = len(files["file"])
    assert n_files > 10
    differing = [
        f"{name}/{path}"
        for name in files
        for path in files["file"]
        if files[name].get(path) != files["file"][path]
    ]
    note_figures(
        "agreement",
        "all",
        reports=len(good),
        refused=len(bad),
        files=n_files,
        differing=len(differing),
    )
    assert differing == []
    assert all(set(each) == set(files["file"]) for each in files.values())
