"""How many reports per second a service keeps: direct and through nginx, beside slow senders, in a flood.

`python benchmarks/service.py [--seconds S] [--rounds N] [--flood S] [--slow N] [--before DIRECTORY]` writes
benchmarks/results/service.csv. The collector runs on the first core; nginx and all senders on the
second. PostgreSQL runs where the system puts it. nginx is that of the tests, without TLS, because
senders in Python would spend more time on it than nginx. `--before` names a checkout of older code
(`git worktree add DIRECTORY 63d7e61`), whose peak is measured in the same run, without nginx.
"""

import argparse
import csv
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

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
from lopub.collector.campaigns import find_campaign, tally
from lopub.collector.database import store_at
from proxies import Nginx, running_nginx  # these four: tests
from sender_load import Load, Sent, flood, send_steadily
from servers import Postgres, postgres_cluster, postgres_programs
from slow_senders import slow_senders

RESULTS = Path(__file__).parent / "results" / "service.csv"
ROOT = Path(__file__).parent.parent
COLLECTOR_CORE, SENDERS_CORE = 0, 1
SENDERS = {1: 128, 100: 16}
"""Senders at a time, by the number of reports in a request."""
N_QUESTIONS = 15
BEFORE = "before, direct"
FLOOD = 3
"""How many times the peak a flood is."""


def campaign() -> Campaign:
    """Return a campaign of fifteen questions with 4 to 18 answers each: reports of some forty bytes."""
    questions = (IntegerRange(name=f"q{i}", minimum=0, maximum=3 + i) for i in range(N_QUESTIONS))
    return make_campaign(Domain(tuple(questions)), Terms(name="load"), CampaignRequest(epsilon=4))


@dataclass
class Served:
    """A collector's process on a database in which a campaign is open."""

    process: subprocess.Popen[str]
    port: int
    database: str


@contextmanager
def served(database: str, target: Campaign, source: Path = ROOT) -> Iterator[Served]:
    """Open a campaign with the code of a checkout, and run its collector on a core of its own."""
    environment = os.environ | {"PYTHONPATH": str(source / "src")}
    lopub = ["taskset", "-c", str(COLLECTOR_CORE), sys.executable, "-m", "lopub"]
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "campaign.json"
        file.write_bytes(target.canonical_bytes)
        opening = [*lopub, "collect", "open", str(file), "--database", database]
        subprocess.run(opening, env=environment, check=True, capture_output=True)
    alone = ["--alone"] if source == ROOT else ["--console", ""]
    command = [*lopub, "serve", "--database", database, "--port", "0", *alone]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        while not (
            found := re.search(
                r"listening on http://[\d.]+:(\d+)", line := process.stdout.readline()
            )
        ):
            assert line, "lopub serve did not start"
        yield Served(process, int(found[1]), database)
    finally:
        process.terminate()
        process.wait(60)


def peak_megabytes(*processes: int) -> float:
    """Return the most memory that these processes and their children have held."""
    found = 0
    for process in processes:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        for each in (process, *children):
            status = Path(f"/proc/{each}/status").read_text()
            found += int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])  # type: ignore[index]
    return found / 1000


def sent_by(function: object, *arguments: object) -> Sent:
    """Run senders in a process of their own, on their core."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1, os.sched_setaffinity, (0, {SENDERS_CORE})) as pool:
        return pool.apply(function, arguments)  # type: ignore[arg-type]


class Measurements:
    """Figures of one store, as rows of the table."""

    def __init__(self, store: str, seconds: float, n_rounds: int) -> None:
        self.store, self.seconds, self.n_rounds = store, seconds, n_rounds
        self.rows: list[dict[str, object]] = []
        self.target = campaign()
        record = {f"q{i}": 0 for i in range(N_QUESTIONS)}
        self._template = Client(self.target, store=MemoryStore()).encode(record).to_bytes()

    def note(self, setting: str, per_request: int, **figures: float) -> None:
        """Keep and print figures."""
        for figure, value in figures.items():
            row = (
                self.store,
                setting,
                per_request,
                figure,
                f"{value:.4g}" if value < 100 else f"{value:.0f}",
            )
            self.rows.append(dict(zip(COLUMNS, row, strict=True)))
            print(*row, flush=True)

    def load(self, port: int, per_request: int, n: int | None = None) -> Load:
        """Return what senders need to know."""
        n_senders = SENDERS[per_request] if n is None else n
        return Load(port, self.target.id, self._template, per_request, n_senders)

    def peaks(self, ports: dict[str, int], per_request: int) -> dict[str, float]:
        """Return the reports per second of each setting: medians of rounds in which they take turns."""
        rounds: dict[str, list[Sent]] = {setting: [] for setting in ports}
        for _ in range(self.n_rounds):
            for setting, port in ports.items():
                sent = sent_by(send_steadily, self.load(port, per_request), self.seconds)
                rounds[setting].append(sent)
        for setting, all_sent in rounds.items():
            self.note(
                setting,
                per_request,
                reports_per_second=median(sent.accepted / self.seconds for sent in all_sent),
                p50_ms=median(sent.milliseconds(50) for sent in all_sent),
                p99_ms=median(sent.milliseconds(99) for sent in all_sent),
            )
        rates = {
            setting: median(sent.accepted / self.seconds for sent in all_sent)
            for setting, all_sent in rounds.items()
        }
        for setting in rates if BEFORE in rates else ():
            self.note(setting, per_request, share_of_before=rates[setting] / rates[BEFORE])
        return rates

    def beside_slow_senders(self, nginx: Nginx, n: int, undisturbed: float) -> None:
        """Measure honest senders beside as many slow heads, and slow bodies."""
        path = f"/campaigns/{self.target.id}/reports"
        with slow_senders(nginx.port, path, heads=n, bodies=n) as slow:
            os.sched_setaffinity(slow.pid, {SENDERS_CORE})
            sent = sent_by(send_steadily, self.load(nginx.port, 1), self.seconds)
        share = sent.accepted / self.seconds / undisturbed
        self.note(
            f"beside {n} slow heads and {n} slow bodies",
            1,
            share_of_undisturbed=share,
            given_up=sent.given_up,
            nginx_mb=peak_megabytes(nginx.process.pid),
        )

    def in_a_flood(self, nginx: Nginx, service: Served, peak: float, seconds: float) -> None:
        """Measure a flood of three times the peak, and how soon it is forgotten."""
        before = self._stored(service.database)
        rate = FLOOD * peak / 100
        sent = sent_by(flood, self.load(nginx.port, 100), rate, seconds)
        stored = self._stored(service.database) - before
        self.note(
            f"a flood of {FLOOD} times the peak, {seconds:.0f} s",
            100,
            share_of_peak=sent.accepted_in_flood / seconds / peak,
            offered_share=sent.offered / seconds / peak,
            honest_given_up=sent.given_up,
            acknowledged_and_lost=max(0, sent.accepted - stored),
            seconds_to_normal=sent.seconds_to_normal,
            collector_mb=peak_megabytes(service.process.pid),
            nginx_mb=peak_megabytes(nginx.process.pid),
        )

    def _stored(self, database: str) -> int:
        store = store_at(database)
        try:
            return tally(store, find_campaign(store, self.target.id)).n_reports
        finally:
            store.close()


COLUMNS = ("store", "setting", "reports_per_request", "figure", "value")


def measure(kind: str, databases: Iterator[str], arguments: argparse.Namespace) -> Measurements:
    """Return all figures of a kind of store."""
    found = Measurements(kind, arguments.seconds, arguments.rounds)
    prefix = ("taskset", "-c", str(SENDERS_CORE))
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        service = stack.enter_context(served(next(databases), found.target))
        nginx = stack.enter_context(
            running_nginx(Path(directory), service.port, prefix=prefix, tls=False)
        )
        ports = {"direct": service.port, "through nginx": nginx.port}
        if arguments.before:
            old = served(next(databases), found.target, arguments.before)
            ports[BEFORE] = stack.enter_context(old).port
        one, hundred = (found.peaks(ports, per_request) for per_request in SENDERS)
        found.beside_slow_senders(nginx, arguments.slow, one["through nginx"])
        found.in_a_flood(nginx, service, hundred["through nginx"], arguments.flood)
    return found


def databases_of(cluster: Postgres | None) -> Iterator[str]:
    """Yield addresses of new databases, SQLite's unless there is a cluster."""
    with tempfile.TemporaryDirectory() as directory:
        number = 0
        while True:
            number += 1
            yield cluster.new_database() if cluster else f"sqlite:///{directory}/{number}.db"


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=15, help="of every measurement of a rate")
    parser.add_argument(
        "--rounds", type=int, default=3, help="of these, of which medians are taken"
    )
    parser.add_argument("--flood", type=float, default=60, help="seconds of the flood")
    parser.add_argument("--slow", type=int, default=1500, help="slow heads, and as many bodies")
    parser.add_argument("--store", choices=["sqlite", "postgresql"], help="the other is left out")
    parser.add_argument("--before", type=Path, help="a checkout of older code")
    arguments = parser.parse_args()
    rows = []
    if arguments.store in (None, "sqlite"):
        rows += measure("sqlite", databases_of(None), arguments).rows
    if arguments.store in (None, "postgresql") and postgres_programs() is not None:
        with postgres_cluster(syncs=True) as cluster:
            rows += measure("postgresql", databases_of(cluster), arguments).rows
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
