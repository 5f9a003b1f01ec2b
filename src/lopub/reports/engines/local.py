"""This machine: a loop on one core, or threads on all of them. The loops are compiled and let go of Python's lock, so threads do
as well as processes, share what is loaded, and leave nothing behind where the process is killed."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import IO, ClassVar

from lopub.errors import DomainError, StoreError
from lopub.reports.engines.base import Engine, Exchanged, Job, Partition, Sent
from lopub.reports.progress import Progress
from lopub.reports.threads import threads

IN_MEMORY = 2**26
"""Bytes of parcels that are held before they go to a file."""


class LocalEngine(Engine):
    """n_workers: threads; by default one for each core that the process may use."""

    name: ClassVar[str] = "local"
    keys_at_once: ClassVar[int] = 2**22

    def __init__(self, n_workers: int | None = None) -> None:
        if n_workers is not None and n_workers < 1:
            raise DomainError(f"n_workers must be at least 1, got {n_workers}")
        self._n_workers = n_workers or len(os.sched_getaffinity(0))

    @property
    def n_workers(self) -> int:
        return self._n_workers

    def exchange(self, parts: Sequence[Partition], job: Job, progress: Progress) -> Exchanged:
        merged, pool = b"", threads(self._n_workers)
        try:
            with tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
                parcels = Parcels(file)
                for n_done, (number, sent) in enumerate(self._split(parts, job, pool), start=1):
                    merged = job.merge([merged, sent.result]) if merged else sent.result
                    parcels.put(number, sent)
                    progress(job.doing, n_done, len(parts))
                return Exchanged(merged, list(self._gathered(parcels, job, pool)))
        finally:
            pool.shutdown(
                cancel_futures=True
            )  # where something went wrong, what has not begun does not begin

    def _split(
        self, parts: Sequence[Partition], job: Job, pool: ThreadPoolExecutor
    ) -> Iterator[tuple[int, Sent]]:
        """What comes of every part, with its number, as soon as it is there; on one core, in this thread."""
        if self._n_workers == 1:
            yield from ((number, job.split(part)) for number, part in enumerate(parts))
            return
        number_of: dict[Future[Sent], int] = {
            pool.submit(job.split, part): number for number, part in enumerate(parts)
        }
        for future in as_completed(list(number_of)):
            yield number_of.pop(future), future.result()

    def _gathered(self, parcels: "Parcels", job: Job, pool: ThreadPoolExecutor) -> Iterator[bytes]:
        """Of as many ranges at a time as there are workers, so that few parcels are held."""
        ranges = parcels.ranges()
        for start in range(0, len(ranges), self._n_workers):
            yield from pool.map(
                job.gather,
                [parcels.of(number) for number in ranges[start : start + self._n_workers]],
            )


class Parcels:
    """What parts sent to ranges, one behind the other in a file. It has no name, and goes when the process goes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._places: dict[int, list[tuple[int, int, int]]] = {}
        self._end = 0

    def put(self, number: int, sent: Sent) -> None:
        """Add a parcel behind those that its range has already."""
        try:
            self._file.seek(self._end)
            for of_range, parcel in sorted(sent.parcels.items()):
                self._file.write(parcel)
                self._places.setdefault(of_range, []).append((number, self._end, len(parcel)))
                self._end += len(parcel)
        except OSError as error:
            raise StoreError(
                f"cannot write to the temporary directory {tempfile.gettempdir()}: {error.strerror}"
            ) from None

    def ranges(self) -> list[int]:
        """The parcels of each range that was sent any, in the order of the parts."""
        return sorted(self._places)

    def of(self, of_range: int) -> list[bytes]:
        """In the order of the parts."""
        found = []
        for _, start, length in sorted(self._places[of_range]):
            self._file.seek(start)
            found.append(self._file.read(length))
        return found
