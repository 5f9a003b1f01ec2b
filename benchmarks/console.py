"""How soon the console answers, and what it costs a collector: both stores.

`python benchmarks/console.py pages [--reports N]` fills a store with N reports, through the store's own way of writing, which
keeps the counters, and takes the time of the first pages and of a slider. `python benchmarks/console.py viewers [--seconds S]`
sends reports at full load, by turns without and with 200 people who watch the campaign, and compares the two within one run.
`python benchmarks/console.py cancels` stops jobs of every kind at random moments, and takes the time until each has ended.
Figures go to benchmarks/results/console.csv, one line for each store and figure.
"""

import argparse
import asyncio
import csv
import multiprocessing
import random
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from sqlalchemy import func, select

from consoles import Console, running_console  # tests/consoles.py
from lopub import Campaign, Client, Domain, IntegerRange, MemoryStore, Terms
from lopub.campaign.report import Report
from lopub.collector.campaigns import close_campaign, open_campaign
from lopub.collector.database import store_at
from lopub.collector.rows import tallies
from lopub.collector.store import ReportStore, StoredReport, Submission
from lopub.jobs.queue import State, ask, cancel, find_job
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.questionnaire.draft_template import template
from sender_load import Load, Sent, send_steadily
from servers import postgres_cluster, postgres_programs
from service import campaign

RESULTS = Path(__file__).parent / "results" / "console.csv"
N_CAMPAIGNS, N_DAYS, GROUP = 20, 60, 100_000
VIEWERS, EVERY_SECONDS = 200, 10
TURNS = 4
N_CANCELS = 20
N_HEAVY_QUESTIONS, N_HEAVY_REPORTS = 60, 300_000
Figures = dict[str, float]
AT_MOST = {"list_first_ms": 200.0, "list_most_ms": 200.0, "slider_most_ms": 200.0} | {
    f"{kind}_most_ms": 2000.0 for kind in ("publish", "heavy", "plan")
}
AT_LEAST = {"ratio_median": 0.9}
"""What must hold; where it does not, the benchmark says so, and ends with 1."""


def a_campaign(number: int) -> Campaign:
    return make_campaign(
        campaign().domain, Terms(name=f"load-{number:02}"), CampaignRequest(epsilon=4)
    )


def filled(address: str, n_reports: int) -> list[Campaign]:
    """A store with so many reports, written in the order of their hashes, so that it takes minutes, not hours."""
    store = store_at(address)
    targets = [a_campaign(i) for i in range(N_CAMPAIGNS)]
    each = n_reports // N_CAMPAIGNS
    for target in targets:
        fill(store, target, each)
    _check(store, each * N_CAMPAIGNS)
    store.close()
    return targets


def fill(store: ReportStore, target: Campaign, n_reports: int) -> None:
    """So many reports of one campaign, with the answers of one person."""
    entry, _ = open_campaign(store, target)
    report = Report.from_bytes(
        Client(target, store=MemoryStore())
        .encode(dict.fromkeys(target.domain.names, 0))
        .to_bytes(),
        target,
    )
    content = report.mask + report.payload
    for start in range(0, n_reports, GROUP):
        rows = [
            StoredReport(
                entry.number, _hash(i, n_reports), report.slot - i * N_DAYS // n_reports, content
            )
            for i in range(start, min(start + GROUP, n_reports))
        ]
        store.write([Submission(entry.number, rows)])


def _hash(i: int, n: int) -> bytes:
    """The i-th of n hashes in ascending order."""
    return (i * (2**64 // n)).to_bytes(8) + secrets.token_bytes(24)


def _check(store: ReportStore, n_reports: int) -> None:
    with store.reading() as connection:
        found = connection.execute(select(func.sum(tallies.c.n))).scalar_one()
    assert found == n_reports, found


def milliseconds(console: Console, paths: Iterator[str] | list[str], **headers: str) -> list[float]:
    """The times that pages took, in their order."""
    times = []
    for path in paths:
        started = time.perf_counter()
        console.get(path, **headers)
        times.append(1000 * (time.perf_counter() - started))
    return times


def pages(address: str, directory: Path, n_reports: int) -> Figures:
    targets = filled(address, n_reports)
    with running_console(address, directory) as console:  # signs in: the first request of all
        time.sleep(10)
        lists = milliseconds(console, ["/console"] * 20)
        campaigns = milliseconds(console, [f"/console/campaigns/{target.id}" for target in targets])
        draft = console.post("/console/drafts", {"from": "example"}).headers["location"]
        moves = [
            f"{draft}/plan?people={people}&epsilon={epsilon}"
            for people in (500, 5_000, 50_000)
            for epsilon in range(1, 9)
        ]
        slider = milliseconds(console, moves, HX_Request="true")
    return {
        "reports": n_reports,
        "list_first_ms": lists[0],
        "list_most_ms": max(lists),
        "campaign_median_ms": statistics.median(campaigns),
        "slider_most_ms": max(slider),
    }


def watch(home: str, cookie: str, path: str, seconds: float) -> list[float]:
    """People who watch a campaign, each asking as often as a page does; the times that it took."""
    host, _, port = home.partition("://")[2].partition(":")
    headers = f"Host: {host}:{port}\r\nCookie: lopub_console={cookie}\r\nHX-Request: true"
    request = f"GET {path} HTTP/1.1\r\n{headers}\r\n\r\n".encode()

    async def one(number: int, times: list[float]) -> None:
        until = time.perf_counter() + seconds
        await asyncio.sleep(EVERY_SECONDS * number / VIEWERS)
        reader, writer = await asyncio.open_connection(host, int(port))
        while time.perf_counter() < until:
            started = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = next(
                int(line[15:])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            )
            await reader.readexactly(length)
            times.append(1000 * (time.perf_counter() - started))
            await asyncio.sleep(EVERY_SECONDS)
        writer.close()

    async def every() -> list[float]:
        times: list[float] = []
        await asyncio.gather(*(one(number, times) for number in range(VIEWERS)))
        return times

    return asyncio.run(every())


def viewers(address: str, directory: Path, seconds: float) -> Figures:
    """Reports per second without and with people who watch, by turns."""
    target = filled(address, 200_000)[0]
    context = multiprocessing.get_context("spawn")
    report = Client(target, store=MemoryStore()).encode({f"q{i}": 0 for i in range(15)}).to_bytes()
    path = f"/console/campaigns/{target.id}/watch"
    rates: dict[bool, list[float]] = {False: [], True: []}
    waited: list[float] = []
    with running_console(address, directory) as console:
        time.sleep(10)
        load = Load(console.port, target.id, report, per_request=50, n_senders=16)
        with context.Pool(2) as pool:
            pool.starmap(send_steadily, [(load, 1.0)] * 2)  # so that both have loaded everything
            for turn in range(2 * TURNS):
                watched = turn % 2 == 1
                asked = (console.home, console.cookie, path, seconds)
                people = pool.apply_async(watch, asked) if watched else None
                sent: Sent = pool.apply(send_steadily, (load, seconds))
                rates[watched].append(sent.accepted / seconds)
                waited += people.get() if people else []
                print("watched" if watched else "alone", round(rates[watched][-1]), flush=True)
    pairs = [
        with_them / without for without, with_them in zip(rates[False], rates[True], strict=True)
    ]
    return {
        "alone_reports_per_second": statistics.median(rates[False]),
        "watched_reports_per_second": statistics.median(rates[True]),
        "ratio_median": statistics.median(pairs),
        "ratio_least": min(pairs),
        "watch_median_ms": statistics.median(waited),
    }


def heavy() -> Campaign:
    """Sixty questions of ten answers: 1,770 pairs to estimate, which takes minutes."""
    domain = Domain(
        tuple(IntegerRange(name=f"q{i:02}", minimum=0, maximum=9) for i in range(N_HEAVY_QUESTIONS))
    )
    return make_campaign(domain, Terms(name="heavy"), CampaignRequest(epsilon=4))


@contextmanager
def worker_at(address: str, home: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "lopub", "worker", "--database", address, "--files", str(home)]
    worker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield
    worker.terminate()
    worker.wait()


def cancel_times(
    store: ReportStore, home: Path, n: int, longest: float, *asked: Any
) -> list[float]:
    """Milliseconds from asking to cancel a job until it has ended and nothing is left of it, at moments drawn from a fixed seed.
    longest: seconds after which it is cancelled at the latest. A job that was done before does not count."""
    rng, times = random.Random(1), []
    while len(times) < n:
        job = ask(store, *asked)
        while find_job(store, job.number).state is State.WAITING:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, longest))
        started = time.perf_counter()
        cancel(store, job.number)
        while find_job(store, job.number).is_under_way:
            time.sleep(0.01)
        if find_job(store, job.number).state is State.CANCELLED:
            while (home / job.folder).exists():
                time.sleep(0.01)
            times.append(1000 * (time.perf_counter() - started))
    return times


def cancels(address: str, directory: Path) -> Figures:
    """How long it takes until a job of each kind has stopped; `heavy` is a publication that takes minutes."""
    target, large, home = filled(address, 200_000)[0], heavy(), directory / "files"
    fill(store := store_at(address), large, N_HEAVY_REPORTS)
    for campaign_id in (target.id, large.id):
        close_campaign(store, campaign_id)
    draft = {"draft": template("work"), "people": 2_000_000, "epsilon": 4}
    kinds: dict[str, tuple[float, tuple[Any, ...]]] = {
        "publish": (4, ("publish", target.id)),
        "heavy": (20, ("publish", large.id)),
        "plan": (4, ("plan", "draft", draft)),
    }
    found: Figures = {}
    with worker_at(address, home):
        for kind, (longest, asked) in kinds.items():
            times = cancel_times(store, home, N_CANCELS, longest, *asked)
            found |= {
                f"{kind}_cancels": len(times),
                f"{kind}_median_ms": statistics.median(times),
                f"{kind}_most_ms": max(times),
            }
            print(kind, *(round(one) for one in times), flush=True)
    store.close()
    assert not list(home.rglob("*.part"))
    return found


@contextmanager
def addresses() -> Iterator[list[tuple[str, str]]]:
    """A new database of each kind that there is here."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        found = [("sqlite", f"sqlite:///{directory}/lopub.db")]
        if postgres_programs() is not None:
            cluster = stack.enter_context(postgres_cluster(syncs=True))
            found.append(("postgresql", cluster.new_database()))
        yield found


def broken(figures: Figures) -> list[str]:
    """What should hold and does not."""
    above = [
        f"{name} is {figures[name]:.4g}, above {most:g}"
        for name, most in AT_MOST.items()
        if figures.get(name, 0) > most
    ]
    return above + [
        f"{name} is {figures[name]:.4g}, below {least:g}"
        for name, least in AT_LEAST.items()
        if figures.get(name, 1) < least
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["pages", "viewers", "cancels"])
    parser.add_argument("--reports", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--store", choices=["sqlite", "postgresql"])
    options = parser.parse_args()
    kept = list(csv.reader(RESULTS.open())) if RESULTS.exists() else []
    wrong: list[str] = []
    with addresses() as databases:
        for kind, address in databases:
            if options.store not in (None, kind):
                continue
            with tempfile.TemporaryDirectory() as directory:
                if options.what == "pages":
                    figures = pages(address, Path(directory), options.reports)
                elif options.what == "cancels":
                    figures = cancels(address, Path(directory))
                else:
                    figures = viewers(address, Path(directory), options.seconds)
            rows = [
                [kind, options.what, name, f"{value:.4g}" if value < 1000 else f"{value:.0f}"]
                for name, value in figures.items()
            ]
            print(*rows, sep="\n", flush=True)
            wrong += [f"{kind}: {one}" for one in broken(figures)]
            kept = [
                row for row in kept if row[:2] not in ([kind, options.what], ["store", "what"])
            ] + rows
    with RESULTS.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [["store", "what", "figure", "value"], *sorted(kept)]
        )
    if wrong:
        sys.exit("does not hold:\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
