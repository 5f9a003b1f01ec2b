"""Load for a collector: many valid reports in whole requests, and uploaders that know which were acknowledged.

The figures that tests of endurance find are noted in benchmarks/results/endurance.csv.
"""

import csv
import fcntl
import hashlib
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from lopub import Campaign, CampaignRequest, Domain, IntegerRange, Terms, make_campaign
from lopub.campaign.report import FRAMED_TYPE, unframed
from lopub.collector.campaigns import Entry, find_campaign, open_campaign, tally
from lopub.collector.database import store_at
from lopub.collector.store import ReportStore, today
from lopub.collector.submissions import Submission
from lopub.errors import CampaignClosed
from lopub.reports.batch import ReportBatch
from lopub.reports.batch.report_files import framed_bytes
from lopub.reports.dataset import Dataset
from lopub.reports.simulation import simulate
from tiers import FULL

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results" / "endurance.csv"
PER_REQUEST = 100
N_UPLOADERS = 16
DOMAIN = Domain(tuple(IntegerRange(name=f"q{i}", minimum=0, maximum=3 + i) for i in range(6)))


def campaign(name: str = "load") -> Campaign:
    return make_campaign(DOMAIN, Terms(name=name), CampaignRequest(epsilon=4))


def population(target: Campaign, n: int, *, seed: int) -> ReportBatch:
    """The reports of so many made-up people, made today."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, size, n) for size in target.domain.sizes])
    return simulate(Dataset(target.domain, codes), target, seed=seed, slot=today())


def bodies_of(batch: ReportBatch, per_request: int = PER_REQUEST) -> list[bytes]:
    """The reports as the bodies of requests."""
    return [
        framed_bytes(batch[start : start + per_request])
        for start in range(0, len(batch), per_request)
    ]


def rows_of(bodies: Sequence[bytes]) -> dict[bytes, bytes]:
    """What a store must keep of these reports: slot, mask and payload by the SHA-256 of the id."""
    reports = (report for body in bodies for report in unframed(body))
    return {hashlib.sha256(report[9:25]).digest(): report[25:] for report in reports}


def opened(address: str, *targets: Campaign) -> None:
    store = store_at(address)
    for target in targets:
        open_campaign(store, target)
    store.close()


def kept_rows(address: str, target: Campaign) -> list[tuple[bytes, bytes]]:
    """Every accepted report that a store has, as `rows_of` has them; as many as its own count says."""
    store = store_at(address)
    try:
        entry = find_campaign(store, target.id)
        with store.reading() as connection:
            blocks = list(store.rows(connection, entry.number))
        rows = [(bytes(row[0]), row[1].to_bytes(4) + row[2]) for block in blocks for row in block]
        assert tally(store, entry).n_reports == len(rows)
        return rows
    finally:
        store.close()


def lost_and_doubled(
    address: str, target: Campaign, acknowledged: Sequence[bytes]
) -> tuple[int, int]:
    """How many acknowledged reports a store has not, or has otherwise; and how many it has more than once."""
    rows = kept_rows(address, target)
    kept, expected = dict(rows), rows_of(acknowledged)
    return sum(kept.get(name) != content for name, content in expected.items()), len(rows) - len(
        kept
    )


# ---- requests


def request_of(target: Campaign, body: bytes, media_type: str = FRAMED_TYPE) -> bytes:
    line = f"POST /campaigns/{target.id}/reports HTTP/1.1"
    return (
        "\r\n".join(
            [line, "Host: x", f"Content-Type: {media_type}", f"Content-Length: {len(body)}", "", ""]
        ).encode()
        + body
    )


def answer_from(connection: socket.socket) -> tuple[int, bytes]:
    """The status and body of the next answer; OSError where the connection ends before it does."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _fresh(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
    while len(body) < length:
        body += _fresh(connection)
    return int(head[9:12]), body


def _fresh(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise ConnectionError("the collector hung up")
    return data


def withdraw(store: ReportStore, entry: Entry, hashed_id: bytes) -> bool:
    """Withdraw a report by the hash of its id, as a collector does; whether the store had it until then."""
    written = store.write([Submission(entry.number, [], withdrawn=[hashed_id])])
    if written.outcomes[0].closed:
        raise CampaignClosed("the campaign is closed")
    return written.n_withdrawn == 1


def set_day(store: ReportStore, day: int) -> None:
    """Have both clocks of a store show this day: the collector's and the database's."""
    store.today = lambda: day
    store.day_there = lambda connection: day  # type: ignore[method-assign]


class Uploaders:
    """Threads that send each body until it is acknowledged: always the same bytes, on connections that are kept.

    Where a collector is started again, `port` is to be set to its new one.
    """

    def __init__(
        self,
        port: int,
        target: Campaign,
        bodies: Sequence[bytes],
        *,
        n: int = N_UPLOADERS,
        connect: Callable[[], socket.socket] | None = None,
        later: Sequence[int] = (503, 507),
    ) -> None:
        """connect: how to reach a collector other than at the port. later: answers after which
        the same is sent again."""
        self.acknowledged: list[int] = []
        """Places of the bodies that were answered with 200 and nothing refused."""
        self.statuses: Counter[int] = Counter()
        self.faults: list[bytes] = []
        """Answers that should not have come."""
        self.port, self._target, self._bodies = port, target, bodies
        self._connect, self._later = connect or self._to_port, later
        self._places, self._over, self._lock = (
            iter(range(len(bodies))),
            threading.Event(),
            threading.Lock(),
        )
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(n)]
        for thread in self._threads:
            thread.start()

    @property
    def bodies(self) -> list[bytes]:
        """Those that were acknowledged."""
        return [self._bodies[place] for place in self.acknowledged]

    @property
    def n_running(self) -> int:
        return sum(thread.is_alive() for thread in self._threads)

    def wait_for(self, n: int, *, seconds: float = 300) -> None:
        """Wait until so many bodies were acknowledged."""
        until = time.monotonic() + seconds
        while len(self.acknowledged) < n:
            assert time.monotonic() < until and not self.faults, (
                len(self.acknowledged),
                self.statuses,
                self.faults[:3],
            )
            time.sleep(0.002)

    def join(self, *, give_up: bool = False, seconds: float = 600) -> None:
        """Wait until all bodies are acknowledged, or until everyone has given up."""
        if give_up:
            self._over.set()
        for thread in self._threads:
            thread.join(seconds)
        assert self.n_running == 0 and not self.faults, self.faults[:3]

    def _next(self) -> Iterator[int]:
        while not self._over.is_set():
            with self._lock:
                place = next(self._places, None)
            if place is None:
                return
            yield place

    def _run(self) -> None:
        connection: socket.socket | None = None
        for place in self._next():
            request = request_of(self._target, self._bodies[place])
            while not self._over.is_set():
                try:
                    connection = connection or self._connect()
                    connection.sendall(request)
                    status, answer = answer_from(connection)
                except OSError:
                    connection = _closed(connection)
                    time.sleep(0.02)
                    continue
                if self._is_settled(place, status, answer):
                    break
                time.sleep(0.02)
        _closed(connection)

    def _to_port(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def _is_settled(self, place: int, status: int, answer: bytes) -> bool:
        """Whether there is nothing left to do for a body."""
        self.statuses[status] += 1
        if status == 200 and answer.endswith(b'"refused":[]}'):
            self.acknowledged.append(place)
            return True
        if status not in self._later:
            self.faults.append(answer)
            return True
        return False


def _closed(connection: socket.socket | None) -> None:
    if connection is not None:
        with suppress(OSError):
            connection.close()


def uploaded(port: int, target: Campaign, bodies: Sequence[bytes]) -> Uploaders:
    """All bodies, acknowledged."""
    uploaders = Uploaders(port, target, bodies)
    uploaders.join()
    return uploaders


# ---- figures


def note_figures(test: str, store: str, **figures: float) -> None:
    """Write measured figures of the full profile down, in place of those of an earlier run."""
    if not FULL:
        return
    RESULTS.touch()
    with RESULTS.open("r+", newline="") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # tests may run beside each other
        others = [row for row in list(csv.reader(file))[1:] if row[:2] != [test, store]]
        rows = others + [
            [test, store, name, f"{value:.6g}" if isinstance(value, float) else str(value)]
            for name, value in figures.items()
        ]
        file.seek(0)
        file.truncate()
        csv.writer(file, lineterminator="\n").writerows(
            [["test", "store", "figure", "value"], *sorted(rows, key=lambda row: row[:2])]
        )


def kind_of(address: str) -> str:
    return address.partition(":")[0]
