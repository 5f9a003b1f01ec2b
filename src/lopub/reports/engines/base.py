"""What an engine is asked to do: one exchange. Every part of a source is looked at once, wherever the engine likes; what it gives
is merged, and what it sends out arrives, range by range, in the order of the parts."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

from lopub.campaign.campaign import Campaign
from lopub.reports.batch import ReportBatch
from lopub.reports.progress import Progress


class Partition(Protocol):
    """Some of a source's reports, described so that another process can read them; it must be picklable."""

    @property
    def n_reports(self) -> int:
        """About how many."""
        ...

    def walk(self) -> Iterator[ReportBatch]:
        """The reports in blocks, always in the same order; at least one block."""
        ...


class Source(Protocol):
    """Where reports come from."""

    @property
    def campaign(self) -> Campaign: ...

    @property
    def n_reports(self) -> int:
        """About how many, refused ones too."""
        ...

    def parts(self, n: int) -> Sequence[Partition]:
        """The source cut into about so many parts, at least one. All of a part comes before all of the next, and the reports
        come in the same order into however many parts they are cut."""
        ...


@dataclass(frozen=True)
class Sent:
    """What a job makes of one part: a result of its own, and parcels for some of the ranges."""

    result: bytes
    parcels: Mapping[int, bytes]


class Job(Protocol):
    """What is done in an exchange. It must be picklable, and the same parts must give the same bytes, as often as it runs."""

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
