"""How many reports a second a collector keeps: both stores, fifty a request and one, the load beside it on the same cores.

`python benchmarks/service.py [--seconds S]` starts `lopub serve` as its own process and a load generator as another, and writes
benchmarks/results/service.csv. The machine's own rate of one-row durable commits stands beside the figures: on a slow disk
it is what bounds them. PostgreSQL's programs are looked for in the usual places; without them only SQLite is measured.
"""

import argparse
import asyncio
import csv
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias, cast

import uvloop

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from lopub import (
    Campaign,
    CampaignRequest,
    Client,
    Domain,
    IntegerRange,
    MemoryStore,
    Terms,
    make_campaign,
)
from lopub.campaign.report import FRAMED_TYPE, Report, framed
from lopub.collector.campaigns import open_campaign
from lopub.collector.database import store_at
from lopub.collector.store import StoredReport, Submission
from servers import (
    Running,
    postgres_programs,
    running_collector,
    running_postgres,
)  # tests/servers.py

RESULTS = Path(__file__).parent / "results" / "service.csv"
SENDERS = {1: 128, 50: 16}
"""Senders at a time, by the number of reports in a request."""
Answers: TypeAlias = "multiprocessing.Queue[list[float]]"


def campaign() -> Campaign:
    """Fifteen questions with 4 to 18 answers each: reports of some forty bytes."""
    questions = tuple(IntegerRange(name=f"q{i}", minimum=0, maximum=3 + i) for i in range(15))
    return make_campaign(Domain(questions), Terms(name="load"), CampaignRequest(epsilon=4))


def request_bytes(target: Campaign, template: bytes, per_request: int) -> bytes:
    """A whole HTTP request with new report ids."""
    reports = [template[:9] + os.urandom(16) + template[25:] for _ in range(per_request)]
    body = framed(reports)
    line = f"POST /campaigns/{target.id}/reports HTTP/1.1"
    head = [line, "Host: x", f"Content-Type: {FRAMED_TYPE}", f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(head).encode() + body


class Sender(asyncio.Protocol):
    """One sender: the next request when the last one was answered."""

    def __init__(
        self,
        requests: Iterator[bytes],
        until: float,
        times: list[float],
        done: "asyncio.Future[None]",
    ) -> None:
        self._requests, self._until, self._times, self._done = requests, until, times, done
        self._answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._send()

    def _send(self) -> None:
        self._started = time.perf_counter()
        self._transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        self._answer += data
        if not self._answer.endswith(b"}"):
            return
        now = time.perf_counter()
        if not self._answer.startswith(b"HTTP/1.1 200") or not self._answer.endswith(
            b'"refused": []}'
        ):
            self._done.set_exception(RuntimeError(self._answer.decode()))
        self._answer = b""
        self._times.append(now - self._started)
        if now < self._until:
            self._send()
        elif not self._done.done():
            self._transport.close()
            self._done.set_result(None)


async def senders(
    port: int, requests: Iterator[bytes], seconds: float, n_senders: int
) -> list[float]:
    """The times that all requests of all senders took."""
    loop, times, until = asyncio.get_running_loop(), list[float](), time.perf_counter() + seconds
    done = [loop.create_future() for _ in range(n_senders)]
    for future in done:
        await loop.create_connection(
            lambda future=future: Sender(requests, until, times, future), "127.0.0.1", port
        )
    await asyncio.gather(*done)
    return times


def load(
    port: int, target: bytes, template: bytes, per_request: int, seconds: float, answer: Answers
) -> None:
    """The load generator's process: the times that its requests took."""
    found = Campaign.from_bytes(target)
    fresh = iter(lambda: request_bytes(found, template, per_request), b"")
    answer.put(uvloop.run(senders(port, fresh, seconds, SENDERS[per_request])))


def measured(
    running: Running, target: Campaign, per_request: int, seconds: float
) -> dict[str, float]:
    """Reports a second, and the quantiles of the time that a request took, in milliseconds."""
    record = {f"q{i}": 0 for i in range(15)}
    template = Client(target, store=MemoryStore()).encode(record).to_bytes()
    context = multiprocessing.get_context("spawn")
    answer: Answers = context.Queue()
    arguments = (running.port, target.canonical_bytes, template, per_request, seconds, answer)
    process = context.Process(target=load, args=arguments)
    process.start()
    times = answer.get(timeout=seconds + 60)
    process.join()
    cuts = statistics.quantiles(times, n=100)
    return {
        "reports_per_second": len(times) * per_request / seconds,
        "p50_ms": 1000 * cuts[49],
        "p99_ms": 1000 * cuts[98],
    }


def one_row_commits(address: str, target: Campaign, seconds: float) -> float:
    """Durable commits of one report each, a second, without any HTTP."""
    store = store_at(address)
    entry, _ = open_campaign(store, target)
    template = Report.from_bytes(
        Client(target, store=MemoryStore()).encode({f"q{i}": 0 for i in range(15)}).to_bytes(),
        target,
    )
    n, until = 0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        store.write(
            [
                Submission(
                    entry.number,
                    [
                        StoredReport(
                            entry.number,
                            os.urandom(32),
                            template.slot,
                            template.mask + template.payload,
                        )
                    ],
                )
            ]
        )
        n += 1
    store.close()
    return n / seconds


@contextmanager
def addresses() -> Iterator[list[tuple[str, str]]]:
    """The databases to measure, by the kind of their store."""
    with tempfile.TemporaryDirectory() as directory:
        found = [("sqlite", f"sqlite:///{directory}/lopub.db")]
        if postgres_programs() is None:
            yield found
            return
        with running_postgres() as address:
            yield [*found, ("postgresql", address)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15)
    seconds = parser.parse_args().seconds
    target, rows = campaign(), []
    with addresses() as databases:
        for kind, address in databases:
            commits = one_row_commits(address, target, min(seconds, 5))
            with running_collector(address) as running:
                for per_request in (50, 1):
                    figures = measured(running, target, per_request, seconds)
                    needed = (
                        min(9000, 40 * commits) if per_request == 50 else min(2700, 12 * commits)
                    )
                    row = {
                        "store": kind,
                        "reports_per_request": per_request,
                        **figures,
                        "needed": needed,
                    }
                    row["one_row_commits_per_second"] = commits
                    rows.append(
                        {
                            key: round(value, 1) if isinstance(value, float) else value
                            for key, value in row.items()
                        }
                    )
                    print(rows[-1])
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
