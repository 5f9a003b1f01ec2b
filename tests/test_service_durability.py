"""Killed at random moments while sixteen uploaders send: nothing acknowledged is lost, nothing counts twice.

The short profile has 5 kills; LOPUB_KILLS=50 asks for the full one.
"""

import http.client
import os
import random
import signal
import threading
import time
from hashlib import sha256

import people
from lopub.report import framed
from lopub.service.campaigns import find_campaign, open_campaign
from lopub.service.database import store_at
from lopub.service.wire import FRAMED
from servers import Running, free_port, start_collector

CAMPAIGN = people.campaign()
N_UPLOADERS = 16
PER_REQUEST = 50
READY_SECONDS = 3.0


class Uploader(threading.Thread):
    """Sends reports until it is told to stop; one that gets no good answer is sent again, the same bytes."""

    def __init__(self, port: int, template: bytes, number: int, ending: threading.Event) -> None:
        super().__init__()
        self._port, self._template, self._ending = port, template, ending
        self._next = number * 10**9
        self.acknowledged: list[int] = []

    def run(self) -> None:
        while not self._ending.is_set():
            numbers = range(self._next, self._next + PER_REQUEST)
            body = framed([people.with_another_id(self._template, number) for number in numbers])
            while not self._sent(body):
                if self._ending.is_set():
                    return
                time.sleep(0.02)
            self.acknowledged.extend(numbers)
            self._next += PER_REQUEST

    def _sent(self, body: bytes) -> bool:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
            connection.request("POST", f"/campaigns/{CAMPAIGN.id}/reports", body, {"Content-Type": FRAMED})
            answer = connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        assert answer.status in (200, 503), said
        if answer.status == 200:
            assert said == b'{"received": %d, "refused": []}' % PER_REQUEST
        return answer.status == 200


def restarted(database: str, port: int) -> tuple[Running, float]:
    """The collector again, and after how many seconds it was ready."""
    started = time.monotonic()
    return start_collector(database, port=port), time.monotonic() - started


def test_kills_at_random_moments_lose_nothing_and_double_nothing(database: str):
    store = store_at(database)
    open_campaign(store, CAMPAIGN)
    (template,) = people.reports(CAMPAIGN, 1)
    port, ending = free_port(), threading.Event()
    collector, _ = restarted(database, port)
    uploaders = [Uploader(port, template, number, ending) for number in range(N_UPLOADERS)]
    for uploader in uploaders:
        uploader.start()
    rng, delays = random.Random(7), []
    for _ in range(int(os.environ.get("LOPUB_KILLS", "5"))):
        time.sleep(rng.uniform(0.2, 1.0))
        assert collector.stop(signal.SIGKILL) == -signal.SIGKILL
        collector, delay = restarted(database, port)
        delays.append(delay)
    ending.set()
    for uploader in uploaders:
        uploader.join()
    assert collector.stop() == 0
    acknowledged = [number for uploader in uploaders for number in uploader.acknowledged]
    with store.reading() as connection:
        kept = [row[0] for block in store.rows(connection, find_campaign(store, CAMPAIGN.id).number) for row in block]
    store.close()
    assert len(acknowledged) > 1000
    assert len(kept) == len(set(kept))
    assert {sha256(number.to_bytes(16)).digest() for number in acknowledged} <= set(kept)
    assert len(kept) <= len(acknowledged) + N_UPLOADERS * PER_REQUEST  # those under way at the end
    assert max(delays) < READY_SECONDS, delays
