"""Spark: parts are rows, `mapInArrow` makes parcels of them, and Spark's own shuffle brings those of one range together. A task
that fails is tried again by Spark."""

import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import lopub.errors
from lopub.errors import EngineError, LopubError
from lopub.reports.engines.base import Engine, Exchanged, Job, Partition
from lopub.reports.progress import Progress

ROWS = "range int, number int, data binary"
_SCHEMA = pa.schema([("range", pa.int32()), ("number", pa.int32()), ("data", pa.binary())])
MISTAKES, RESULTS = -1, -2
"""In place of a range: what parts raised; and, from there down, results, which are merged in groups."""
MASTER = "spark://"
PATIENCE = 10
"""Seconds that a master has to answer."""
TRIES = 4
"""Of a task, on this machine; a cluster has its own number."""
SECONDS_BETWEEN_LOOKS = 0.5
TOGETHER = 8
"""Results that are merged at once."""
HERE = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # Java passes bytes on: it should start quickly
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "16",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
}
"""For a session of our own, which nobody else reaches."""


class SparkEngine(Engine):
    """A session; it is stopped in the end where it was started here."""

    name: ClassVar[str] = "spark"

    def __init__(self, session: SparkSession, *, own: bool = False) -> None:
        self._session = session
        self._own = own

    @classmethod
    def at(cls, address: str | None) -> "SparkEngine":
        """address: of a master, as in spark://host:7077 or yarn, or of a Spark Connect server, as in sc://host; None: the session
        that is active, or else one on all cores of this machine."""
        if address is None and (active := SparkSession.getActiveSession()) is not None:
            return cls(active)
        if (
            not _is_remote(address)
            and not os.environ.get("JAVA_HOME")
            and shutil.which("java") is None
        ):
            raise EngineError("engine spark needs Java 17 or newer, in PATH or in JAVA_HOME")
        if not _answers(address):
            raise EngineError(
                f"engine spark cannot be reached at {address}; is its master running?"
            )
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        try:
            return cls(_built(address), own=True)
        except ImportError:
            raise EngineError(
                "engine spark lacks packages for Spark Connect; install pyspark[connect]"
            ) from None
        except (PySparkException, Py4JError, ValueError, OSError):
            if address is None:
                raise EngineError("engine spark cannot start; is its Java 17 or newer?") from None
            raise EngineError(
                f"engine spark cannot be reached at {address}; is its master running?"
            ) from None

    @property
    def n_workers(self) -> int:
        try:
            return max(1, self._session.sparkContext.defaultParallelism)
        except PySparkException:  # Spark Connect does not tell
            return os.cpu_count() or 1

    def exchange(self, parts: Sequence[Partition], job: Job, progress: Progress) -> Exchanged:
        numbers = self._session.range(0, len(parts), 1, len(parts))
        sent = numbers.mapInArrow(_splitter(parts, job), ROWS)
        gathered = sent.groupBy("range").applyInArrow(_gatherer(job), ROWS)
        try:
            rows = self._watched(gathered.collect, len(parts), partial(progress, job.doing))
        except (PySparkException, Py4JError) as error:
            raise EngineError(
                f"engine spark gave up ({type(error).__name__}); its own log says why"
            ) from None
        mistakes = [(row.number, bytes(row.data)) for row in rows if row.range == MISTAKES]
        if mistakes:
            raise _error(min(mistakes)[1].decode())
        results = [bytes(row.data) for row in sorted(rows) if row.range <= RESULTS]
        return Exchanged(
            job.merge(results), [bytes(row.data) for row in sorted(rows) if row.range >= 0]
        )

    def _watched(
        self, collect: Callable[[], list[Any]], n_parts: int, done: Callable[[int, int], None]
    ) -> list[Any]:
        """Told on the way how many parts are done, where the session is one that tells."""
        done(0, n_parts)
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(collect)
            while not future.done():
                wait([future], timeout=SECONDS_BETWEEN_LOOKS)
                with suppress(PySparkException, Py4JError):
                    done(_tasks_done(self._session, n_parts), n_parts)
        done(n_parts, n_parts)
        return future.result()

    def close(self) -> None:
        if self._own:
            self._session.stop()


def _is_remote(address: str | None) -> bool:
    """Whether it is that of a Spark Connect server, which needs no Java here."""
    return address is not None and address.startswith("sc://")


def _answers(address: str | None) -> bool:
    """Whether somebody listens at one of a standalone master's addresses, spark://HOST:PORT,…; true of all others. Spark itself
    would ask for more than a minute, and tell of it in Java's words."""
    if address is None or not address.startswith(MASTER):
        return True
    places = [place.rpartition(":") for place in address.removeprefix(MASTER).split(",")]
    for host, _, port in places:
        with (
            suppress(OSError, ValueError),
            socket.create_connection((host, int(port)), timeout=PATIENCE),
        ):
            return True
    return False


def _built(address: str | None) -> SparkSession:
    builder: Any = SparkSession.builder
    builder = builder.appName("lopub")
    if address is not None:
        started: SparkSession = (
            builder.remote(address) if address.startswith("sc://") else builder.master(address)
        ).getOrCreate()
        return started
    builder = builder.master(f"local[{len(os.sched_getaffinity(0))},{TRIES}]")
    for key, value in HERE.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    return session


def _tasks_done(session: SparkSession, n_parts: int) -> int:
    tracker = session.sparkContext.statusTracker()
    found = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return max(
        (stage.numCompletedTasks for stage in found if stage and stage.numTasks == n_parts),
        default=0,
    )


def _splitter(
    parts: Sequence[Partition], job: Job
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def split(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            try:
                sent = job.split(parts[number])
            except LopubError as error:  # ours: to try again would not help
                yield _row(MISTAKES, number, f"{type(error).__name__}:{error}".encode())
            else:
                yield _row(RESULTS - number // TOGETHER, number, sent.result)
                for of_range, parcel in sorted(sent.parcels.items()):
                    yield _row(of_range, number, parcel)

    return split


def _gatherer(job: Job) -> Callable[[pa.Table], pa.Table]:
    def gather(table: pa.Table) -> pa.Table:
        of_range = table.column("range")[0].as_py()
        found = sorted(
            zip(table.column("number").to_pylist(), table.column("data").to_pylist(), strict=True)
        )
        parcels = [parcel for _, parcel in found]
        if of_range == MISTAKES:
            return pa.Table.from_batches([_row(of_range, found[0][0], parcels[0])])
        data = job.gather(parcels) if of_range >= 0 else job.merge(parcels)
        return pa.Table.from_batches([_row(of_range, found[0][0], data)])

    return gather


def _row(of_range: int, number: int, data: bytes) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array([value]) for value in (of_range, number, data)], names=_SCHEMA.names
    ).cast(_SCHEMA)


def _error(told: str) -> LopubError:
    """What a part raised, out of its name and its words."""
    name, _, words = told.partition(":")
    kind = getattr(lopub.errors, name, EngineError)
    try:
        error: LopubError = kind(words)
    except TypeError:
        return EngineError(words)
    return error
