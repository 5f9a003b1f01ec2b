"""What an engine is asked to do: one exchange. Every part of a source is looked at once, wherever
the engine likes; what it gives is merged, and what it sends out arrives, range by range, in the
order of the parts."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

from lopub.campaign.campaign import Campaign
from lopub.reports.batch import ReportBatch
from lopub.reports.progress import Progress


class Partition(Protocol):
    """Some of a source's reports, described so that another process can read them; it must be
    picklable."""

    @property
    def n_reports(self) -> int:
        """About how many."""
        ...

    def walk(self) -> Iterator[ReportBatch]:
        """The reports in blocks, always in the same order; at least one block."""
        ...


N_HASHES = 2**64
"""How many values the first 8 bytes of a hash can have."""


@dataclass(frozen=True)
class HashRange:
    """A range of the hashes that name reports (SHA-256 of their ids), by their first 8 bytes as a
    number below 2^64.

    Hashes are random, so the reports of a range are a random sample for whoever draws the range
    after the ids were sent.
    """

    start: int = 0
    stop: int = N_HASHES
    """One above the last."""

    @staticmethod
    def drawn(draw: int, n_reports: int, most: int) -> "HashRange":
        """A range with about `most` of so many reports, chosen by a number below 2^64; the range of
        all where there are no more than that."""
        if n_reports <= most:
            return HashRange()
        width = N_HASHES * most // n_reports
        start = draw * (N_HASHES - width) // N_HASHES
        return HashRange(start, start + width)

    @property
    def low(self) -> bytes:
        """The first hash, as far as it is given."""
        return self.start.to_bytes(8)

    @property
    def high(self) -> bytes | None:
        """The first hash above the range; None where there is none."""
        return None if self.stop == N_HASHES else self.stop.to_bytes(8)


class Source(Protocol):
    """Where reports come from."""

    @property
    def campaign(self) -> Campaign: ...

    @property
    def n_reports(self) -> int:
        """About how many, refused ones too."""
        ...

    def parts(self, n: int) -> Sequence[Partition]:
        """The source cut into about so many parts, at least one. All of a part comes before all of
        the next, and the reports come in the same order into however many parts they are cut."""
        ...

    def within(self, hashes: HashRange) -> Sequence[Partition]:
        """Parts with all reports whose hashes lie in a range, and no others."""
        ...


@dataclass(frozen=True)
class Sent:
    """What a job makes of one part: a result of its own, and parcels for some of the ranges."""

    result: bytes
    parcels: Mapping[int, bytes]


class Job(Protocol):
    """What is done in an exchange. It must be picklable, and the same parts must give the same
    bytes, as often as it runs."""

    @property
    def doing(self) -> str:
        """What it does, in the words that progress is told."""
        ...

    @property
    def n_ranges(self) -> int: ...

    def split(self, part: Partition) -> Sent:
        """What becomes of one part."""
        ...

    def merge(self, results: Sequence[bytes]) -> bytes:
        """One result of several, in whatever order they come."""
        ...

    def gather(self, parcels: Sequence[bytes]) -> bytes:
        """What comes of one range's parcels, in the order of the parts."""
        ...


@dataclass(frozen=True)
class Exchanged:
    """The merged result, and what came of every range that was sent anything."""

    result: bytes
    gathered: Sequence[bytes]


class Engine(ABC):
    """Something that can run an exchange."""

    name: ClassVar[str]
    keys_at_once: ClassVar[int] = 2**23
    """Keys of reports that one range may have: how much one worker holds of them."""

    @property
    @abstractmethod
    def n_workers(self) -> int: ...

    @abstractmethod
    def exchange(self, parts: Sequence[Partition], job: Job, progress: Progress) -> Exchanged:
        """Run the job on every part, wherever the engine likes. progress: told in parts."""

    def close(self) -> None:  # noqa: B027 (most have nothing to let go)
        """Let go of what was started for this engine, and of nothing else."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
