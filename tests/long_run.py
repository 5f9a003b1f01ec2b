"""A long run: an hour of mixed traffic, withdrawals and retention; whether memory, handles, log and counts are as they should be.

`python tests/long_run.py [--minutes M] [--reports N] [--database URL] [--looks FILE]`; `make test-full` runs
five minutes of it. So many reports are
spread over the time: whole requests and single ones, framed and JSON, some of them again, some withdrawn, some nonsense. Beside
them, once a minute, a campaign whose retention is over, which the collector has to find and to erase. Prints one line per minute.
At the end: the growth of memory and of open handles after the first sixth of the time, in its standard errors, the errors in the
log, and whether every count is exact. Exits with 1 if anything is not.
"""

import argparse
import csv
import hashlib
import http.client
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from sqlalchemy import func, select, update

sys.path.insert(0, str(Path(__file__).parent))

import load
from lopub import Campaign, CampaignRequest, Terms, make_campaign
from lopub.campaign.report import JSON_TYPE, Report, base64url, framed, unframed
from lopub.collector.campaigns import find_campaign, open_campaign, tally
from lopub.collector.database import store_at
from lopub.collector.rows import campaigns, reports
from lopub.collector.submissions import Submission
from lopub.collector.wire import row_of
from servers import Running, running_collector

CAMPAIGN = load.campaign("long-run")
PER_ROUND, N_SINGLE, N_AGAIN, N_WITHDRAWN, N_OVERDUE = 20_000, 40, 5, 3, 500
SWEEP_SECONDS = 30
SWEEPING = f"""
import lopub.collector.collector as collector
collector.RETENTION_SECONDS = {SWEEP_SECONDS}
from lopub.__main__ import main
main()
"""
"""The collector, which looks for what is to be erased twice a minute and not once an hour."""
BLOCK_MINUTES = 5
"""What is kept for a request or two is gone in the mean of so many."""
NOISE = 3.4
"""Standard errors of a growth: with ten blocks, one in a hundred random walks goes beyond, upwards; mere noise never does."""


# ---- what is watched


def memory(collector: Running, part: str = "VmRSS") -> float:
    """In megabytes; or a part of it, by the name that the system has for it."""
    lines = Path(f"/proc/{collector.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(part)) / 1024


def handles(collector: Running) -> int:
    return len(os.listdir(f"/proc/{collector.process.pid}/fd"))


@dataclass
class Watched:
    """What was seen of a process: by the minute since the start."""

    minutes: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    of_files: list[float] = field(default_factory=list)
    """The part of it that is pages of programs and libraries, which the system could take back."""
    n_handles: list[float] = field(default_factory=list)

    def look(self, collector: Running, minute: float) -> None:
        self.minutes.append(minute)
        self.megabytes.append(memory(collector))
        self.of_files.append(memory(collector, "RssFile"))
        self.n_handles.append(handles(collector))

    def save(self, path: Path) -> None:
        """All looks, one line each."""
        rows = zip(self.minutes, self.megabytes, self.of_files, self.n_handles, strict=True)
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([("minute", "megabytes", "of_files", "handles"), *rows])


def trend(minutes: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """The growth by the hour after the first sixth of the time, and how many standard errors that is.

    From the steps between means of blocks, not from the distances to a line: memory keeps what a step once took, so that its
    distances from any line go together for the whole hour, and their standard error is far too small.
    """
    blocks: dict[int, list[float]] = {}
    for minute, value in zip(minutes, values, strict=True):
        if minute >= minutes[-1] / 6:
            blocks.setdefault(int((minute - minutes[-1] / 6) // BLOCK_MINUTES), []).append(value)
    means = [statistics.fmean(blocks[number]) for number in sorted(blocks)]
    steps = [later - earlier for earlier, later in pairwise(means)]
    if len(steps) < 3:
        return 0.0, 0.0
    growth, error = statistics.fmean(steps), statistics.stdev(steps) / math.sqrt(len(steps))
    return growth * 60 / BLOCK_MINUTES, growth / error if error else math.copysign(
        math.inf, growth
    ) if growth else 0.0


# ---- traffic


@dataclass
class Traffic:
    """What was sent, and what must be there for it."""

    collector: Running
    n_sent: int = 0
    n_refused: int = 0
    withdrawn: set[bytes] = field(default_factory=set)

    def send(self, seed: int) -> None:
        """One round of everything."""
        bodies = load.bodies_of(load.population(CAMPAIGN, PER_ROUND, seed=seed))
        singles = [*unframed(bodies.pop())][:N_SINGLE]
        load.uploaded(self.collector.port, CAMPAIGN, [*bodies, *bodies[:N_AGAIN]])
        for place, report in enumerate(singles):
            self._one(report, as_json=place % 2 == 0)
        self.n_sent += load.PER_REQUEST * len(bodies) + len(singles)
        self._post("reports", b"nonsense", load.FRAMED_TYPE, 422)
        self.n_refused += 1
        for report in [*unframed(bodies[0])][:N_WITHDRAWN]:
            self._post(
                "withdrawals", f'{{"id": "{base64url(report[9:25])}"}}'.encode(), JSON_TYPE, 204
            )
            self.withdrawn.add(hashlib.sha256(report[9:25]).digest())
            self._one(report, status=422)  # which is refused, and counted as such
            self.n_refused += 1
        for path in ("/", "/ready", f"/campaigns/{CAMPAIGN.id}", "/nowhere"):
            self.collector.ask("GET", path)

    def _one(self, report: bytes, *, as_json: bool = False, status: int = 200) -> None:
        """On a connection of its own, as people come."""
        if as_json:
            self._post(
                "reports", Report.from_bytes(report, CAMPAIGN).to_json().encode(), JSON_TYPE, status
            )
        else:
            self._post("reports", framed([report]), load.FRAMED_TYPE, status)

    def _post(self, what: str, body: bytes, media_type: str, expected: int) -> None:
        for _ in range(100):
            try:
                answer = self.collector.ask(
                    "POST", f"/campaigns/{CAMPAIGN.id}/{what}", body, Content_Type=media_type
                )
            except (OSError, http.client.HTTPException):
                answer = None
            if answer is not None and answer.status != 503:
                break
            time.sleep(0.1)
        assert answer is not None and answer.status == expected, answer


def overdue_campaign(database: str, number: int) -> Campaign:
    """A campaign that closed ten days ago, with reports that should be gone."""
    terms = Terms(name=f"overdue-{number}", retention_days=1, min_reports=1)
    target = make_campaign(load.DOMAIN, terms, CampaignRequest(epsilon=4))
    batch = load.population(target, N_OVERDUE, seed=number)
    store = store_at(database)
    try:
        entry, _ = open_campaign(store, target)
        store.write(
            [
                Submission(
                    entry.number, [row_of(batch.report(i), entry.number) for i in range(N_OVERDUE)]
                )
            ]
        )
        with store.writing() as connection:
            this = campaigns.c.number == entry.number
            connection.execute(update(campaigns).where(this).values(closed=store.today() - 10))
    finally:
        store.close()
    return target


# ---- the end


def rows_in(database: str, target: Campaign) -> int:
    store = store_at(database)
    try:
        with store.reading() as connection:
            kept = (
                reports.c.campaign == find_campaign(store, target.id).number,
                reports.c.content.is_not(None),
            )
            return int(
                connection.execute(
                    select(func.count()).select_from(reports).where(*kept)
                ).scalar_one()
            )
    finally:
        store.close()


def counts_are_exact(database: str, traffic: Traffic, overdue: Sequence[Campaign]) -> bool:
    store = store_at(database)
    found = tally(store, find_campaign(store, CAMPAIGN.id))
    erased = [find_campaign(store, target.id).erased is not None for target in overdue]
    store.close()
    kept, left = rows_in(database, CAMPAIGN), sum(rows_in(database, target) for target in overdue)
    refused = sum(found.refused.values())
    print(
        f"{traffic.n_sent:,} sent, {len(traffic.withdrawn):,} withdrawn, {kept:,} kept, {found.n_reports:,} by the tally"
    )
    print(f"{refused:,} counted as refused, {traffic.n_refused:,} expected")
    print(
        f"{sum(erased):,} of {len(overdue):,} overdue campaigns erased, {left:,} of their reports left"
    )
    if refused != traffic.n_refused or found.n_withdrawn != len(traffic.withdrawn):
        return False
    return (
        kept == found.n_reports == traffic.n_sent - len(traffic.withdrawn)
        and all(erased)
        and left == 0
    )


def run(
    collector: Running, minutes: float, n_reports: int
) -> tuple[Watched, Traffic, list[Campaign]]:
    """The traffic, spread over the time."""
    watched, traffic, overdue, started, lines = (
        Watched(),
        Traffic(collector),
        list[Campaign](),
        time.monotonic(),
        0,
    )
    while traffic.n_sent < n_reports:
        traffic.send(seed=1 + traffic.n_sent)
        minute = (time.monotonic() - started) / 60
        watched.look(collector, minute)
        if minute >= lines:
            lines += 1
            overdue.append(overdue_campaign(collector.address, lines))
            seen = f"{watched.megabytes[-1]:.1f} MB, {watched.n_handles[-1]:.0f} handles"
            print(f"{minute:5.1f} min: {traffic.n_sent:,} reports, {seen}", flush=True)
        time.sleep(max(0.0, started + 60 * minutes * traffic.n_sent / n_reports - time.monotonic()))
    time.sleep(2 * SWEEP_SECONDS + 5)
    return watched, traffic, overdue


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--reports", type=int, default=10_000_000)
    parser.add_argument("--database")
    parser.add_argument(
        "--looks", type=Path, help="a file for everything that was seen of memory and handles"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        database = asked.database or f"sqlite:///{directory}/lopub.db"
        load.opened(database, CAMPAIGN)
        with running_collector(database, program=("-c", SWEEPING)) as collector:
            watched, traffic, overdue = run(collector, asked.minutes, asked.reports)
        if asked.looks:
            watched.save(asked.looks)
        is_exact = counts_are_exact(database, traffic, overdue)
    errors = [
        line
        for line in collector.errors
        if '"level": "error"' in line or '"level": "warning"' in line
    ]
    (megabytes, of_memory), (n_handles, of_handles) = (
        trend(watched.minutes, values) for values in (watched.megabytes, watched.n_handles)
    )
    print(*errors[:5], sep="")
    print(
        f"by the hour: {megabytes:+.2f} MB ({of_memory:+.1f} standard errors), {n_handles:+.2f} handles ({of_handles:+.1f})"
    )
    load.note_figures(
        "long-run",
        load.kind_of(database),
        minutes=asked.minutes,
        reports=traffic.n_sent,
        withdrawn=len(traffic.withdrawn),
        overdue_campaigns_erased=len(overdue),
        counts_exact=int(is_exact),
        errors_in_log=len(errors),
        megabytes_at_the_end=watched.megabytes[-1],
        megabytes_per_hour=megabytes,
        megabytes_in_standard_errors=of_memory,
        handles_per_hour=n_handles,
        handles_in_standard_errors=of_handles,
    )
    return 0 if is_exact and not errors and max(of_memory, of_handles) < NOISE else 1


if __name__ == "__main__":
    sys.exit(main())
