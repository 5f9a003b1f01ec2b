"""Dask: every part is a task, parcels go from worker to worker, and counts add up in a tree. What a worker had when it was lost
is done again by another one."""

import gc
import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any, ClassVar

import dask
from distributed import Client, Future, LocalCluster, as_completed
from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from lopub.errors import EngineError
from lopub.reports.engines.base import Engine, Exchanged, Job, Partition, Sent
from lopub.reports.progress import Progress

TOGETHER = 8
"""Results that are merged at once."""
PATIENCE = 15
"""Seconds that a cluster has to answer."""
WITHOUT_WORKERS = 60
"""Seconds that a cluster may be without any worker before we give up: those that died are started again, which takes a while."""
LOOK, LOOKS = 0.02, 50
"""Seconds after which we look for what is done, and how many times until we ask which workers there are: every second."""


class DaskEngine(Engine):
    """A client of a cluster; the cluster, too, where it was started here."""

    name: ClassVar[str] = "dask"

    def __init__(self, client: Client, *, closing: Sequence[Any] = ()) -> None:
        self._client = client
        self._closing = closing

    @classmethod
    def at(cls, address: str | None) -> "DaskEngine":
        """The engine on a running cluster with this address."""
        if address is None:
            return cls.here()
        client = _reached(address)
        if client is None:
            gc.collect()
            raise EngineError(
                f"engine dask cannot be reached at {address}; is its scheduler running?"
            )
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            client.close()
            raise EngineError(f"engine dask has no workers at {address}; start some") from None
        return cls(client, closing=[client])

    @classmethod
    def here(
        cls, n_workers: int | None = None, *, memory_limit: str | int = "auto"
    ) -> "DaskEngine":
        """On a cluster of its own, a process for each core."""
        settings = (
            ExitStack()
        )  # Dask would close for good what is not back after 15 seconds, or dies again just then
        settings.enter_context(dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"}))
        cluster = LocalCluster(
            n_workers=n_workers or len(os.sched_getaffinity(0)),
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # a port that is free
            memory_limit=memory_limit,
            silence_logs=logging.CRITICAL,
        )
        client = Client(cluster, set_as_default=False)
        return cls(client, closing=[client, cluster, settings])

    @property
    def address(self) -> str:
        return str(self._client.scheduler_info()["address"])

    @property
    def n_workers(self) -> int:
        return max(1, int(sum(self._client.nthreads().values())))

    def exchange(self, parts: Sequence[Partition], job: Job, progress: Progress) -> Exchanged:
        try:
            return self._exchange(parts, job, progress)
        except (KilledWorker, FutureCancelledError):
            raise EngineError(
                "engine dask lost its workers again and again; they may need more memory, or more parts"
            ) from None
        except CommClosedError:
            raise EngineError(
                "engine dask cannot be reached any more; is its scheduler still running?"
            ) from None
        except ImportError:
            raise EngineError(
                "engine dask has workers that cannot load LoPub; install the same version there"
            ) from None

    def _exchange(self, parts: Sequence[Partition], job: Job, progress: Progress) -> Exchanged:
        given = self._submit(
            _given, job
        )  # a task, so that it is made again where the worker that has it is lost
        sent = [self._submit(_split, given, part) for part in parts]
        results = [self._submit(_result, each) for each in sent]
        parcels = [
            [self._submit(_parcel, each, number) for each in sent] for number in range(job.n_ranges)
        ]
        gathered = [self._submit(_gather, given, of_range) for of_range in parcels]
        for n_done, future in enumerate(self._awaited(sent), start=1):
            if future.status == "error":
                future.result()  # raises what the part raised
            progress(job.doing, n_done, len(parts))
        del sent, parcels
        found = [each for each in self._fetched(gathered) if each is not None]
        return Exchanged(self._merged(given, results), found)

    def _awaited(self, futures: "list[Future[Any]]") -> "Iterator[Future[Any]]":
        """As they are done; an error where all workers are lost, and none comes back."""
        left, n_looks, n_missed = as_completed(list(futures), loop=self._client.loop), 0, 0
        while not left.is_empty():
            yield from left.next_batch(block=False)
            time.sleep(LOOK)
            n_looks += 1
            if n_looks % LOOKS == 0:
                n_missed = 0 if self._client.nthreads() else n_missed + 1
            if n_missed >= WITHOUT_WORKERS:
                raise EngineError(
                    "engine dask has lost all of its workers, and none came back; they may need more memory"
                )

    def _fetched(self, futures: "list[Future[Any]]") -> list[Any]:
        """What they gave, in their order. What was lost between its end and now is awaited once more."""
        while True:
            for _ in self._awaited(futures):
                pass
            with suppress(TimeoutError):
                return [future.result(timeout=PATIENCE) for future in futures]

    def _merged(self, job: "Future[Job]", results: "list[Future[bytes]]") -> bytes:
        """In a tree, on the workers."""
        while len(results) > 1:
            results = [
                self._submit(_merge, job, results[at : at + TOGETHER])
                for at in range(0, len(results), TOGETHER)
            ]
        merged: bytes = self._fetched(results)[0]
        return merged

    def _submit(self, function: Any, *arguments: Any) -> "Future[Any]":
        return self._client.submit(function, *arguments, pure=False)

    def close(self) -> None:
        for each in self._closing:
            each.close()


def _reached(address: str) -> Client | None:
    """A client of the cluster; None where it cannot be reached. A client that failed closes itself when it is collected, and if
    that happens while another one starts, both wait for one lock for ever: so whoever gets None collects it at once."""
    try:
        return Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError):
        return None


def _given(job: Job) -> Job:
    return job


def _split(job: Job, part: Partition) -> Sent:
    return job.split(part)


def _result(sent: Sent) -> bytes:
    return sent.result


def _parcel(sent: Sent, number: int) -> bytes | None:
    return sent.parcels.get(number)


def _gather(job: Job, parcels: list[bytes | None]) -> bytes | None:
    found = [parcel for parcel in parcels if parcel is not None]
    return job.gather(found) if found else None


def _merge(job: Job, results: list[bytes]) -> bytes:
    return job.merge(results)
