"""The client and a real collector, with a proxy between them that loses answers after the collector has committed.

`make test-full` takes 20,000 people, `make test` 200.
"""

import hashlib
import random
import socket
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from lopub import (
    Boolean,
    CampaignRequest,
    Categorical,
    Client,
    Domain,
    MemoryStore,
    ReportRejected,
    Terms,
    make_campaign,
)
from lopub.campaign.report import unframed
from lopub.client.address import Address
from lopub.client.sending import Patience, send_report

pytest.importorskip("starlette")

from test_sending import received

from load import note_figures, opened
from lopub.collector.batches import batch_of
from lopub.collector.campaigns import find_campaign
from lopub.collector.database import store_at
from servers import Running, running_collector
from tiers import FULL

N_PEOPLE = 20_000 if FULL else 200
N_AT_ONCE = 8
LOST = 0.2
DOMAIN = Domain((Categorical(name="city", values=("Bonn", "Oslo", "Rome")), Boolean(name="smoker")))
CAMPAIGN = make_campaign(DOMAIN, Terms(name="survey"), CampaignRequest(epsilon=2))
QUICK = {"patience": 600, "timeout": 60}


class LossyProxy:
    """Passes whole requests on, waits for the whole answer, and loses every fifth of them or so."""

    def __init__(self, port: int) -> None:
        self.n_lost = 0
        self.sent: defaultdict[bytes, list[bytes]] = defaultdict(list)
        self._collector, self._rng, self._lock = port, random.Random(1), threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/campaigns/{CAMPAIGN.id}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                threading.Thread(target=self._pass_on, args=(sock,), daemon=True).start()

    def _pass_on(self, sock: socket.socket) -> None:
        with (
            suppress(OSError),
            sock,
            socket.create_connection(("127.0.0.1", self._collector)) as inner,
        ):
            request = received(sock)
            inner.sendall(request)
            answer = b""
            while data := inner.recv(65536):
                answer += data
            (report,) = unframed(request.partition(b"\r\n\r\n")[2])
            with self._lock:
                self.sent[report[9:25]].append(request)
                lost = self._rng.random() < LOST
                self.n_lost += lost
            if not lost:
                sock.sendall(answer)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def collector(tmp_path: Path):
    address = f"sqlite:///{tmp_path / 'lopub.db'}"
    opened(address, CAMPAIGN)
    with running_collector(address) as running:
        yield running


def kept_by(running: Running):
    store = store_at(running.address)
    try:
        return batch_of(store, find_campaign(store, CAMPAIGN.id))
    finally:
        store.close()


def test_every_person_counts_once_though_every_fifth_answer_is_lost(collector):
    proxy = LossyProxy(collector.port)

    def take_part(number: int) -> tuple[bytes, int]:
        client = Client(CAMPAIGN, store=MemoryStore())
        report = client.encode(
            {"city": ("Bonn", "Oslo", "Rome")[number % 3], "smoker": number % 2 == 0}
        )
        return report.id, client.send(proxy.url, **QUICK)

    with ThreadPoolExecutor(N_AT_ONCE) as pool:
        people = list(pool.map(take_part, range(N_PEOPLE)))
    proxy.close()
    attempts = sum(n for _, n in people)
    assert attempts == N_PEOPLE + proxy.n_lost
    assert abs(proxy.n_lost / attempts - LOST) < 6.5 * (LOST * (1 - LOST) / attempts) ** 0.5
    assert set(proxy.sent) == {report_id for report_id, _ in people}
    assert all(len(set(requests)) == 1 for requests in proxy.sent.values())
    kept = kept_by(collector)
    note_figures(
        "lost-answers",
        "sqlite",
        people=N_PEOPLE,
        reports=len(kept),
        attempts=attempts,
        answers_lost=proxy.n_lost,
    )
    assert len(kept) == N_PEOPLE


def test_a_withdrawn_report_is_gone_and_stays_away(collector):
    url = f"http://127.0.0.1:{collector.port}/campaigns/{CAMPAIGN.id}"
    gone, stays = (Client(CAMPAIGN, store=MemoryStore()) for _ in range(2))
    for client in (gone, stays):
        client.encode({"city": "Rome", "smoker": True})
        assert (client.send(url), client.send(url)) == (1, 0)
    (report,) = gone.sent()
    gone.withdraw(url)
    gone.withdraw(url)
    assert gone.send(url) == 0
    with pytest.raises(ReportRejected, match="withdrawn"):  # on its way from elsewhere
        send_report(report.to_bytes(), Address.of(url), Patience(60, 60))
    report = stays.kept()
    assert report is not None
    assert [row.tobytes() for row in kept_by(collector).ids] == [hashlib.sha256(report.id).digest()]
