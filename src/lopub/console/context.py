"""Context: what every page of the console shares, beside the request that it answers."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from lopub.campaign.schedule import GRACE_DAYS
from lopub.collector.store import ReportStore
from lopub.console.draft_history import DraftHistory
from lopub.console.sessions import Attempts
from lopub.errors import LopubError
from lopub.jobs.alarm_checks import AlarmChecks

Slow = Literal["", "question", "advice", "download"]
"""Kinds of pages that take seconds of a core, or much memory; empty: a page like most."""
HERE = ("localhost", "::1", "0.0.0.0", "::")  # noqa: S104 (nothing listens here)
"""Hosts of addresses that mean the machine on which somebody opens them; 127.… are others."""
MOST_WAITING = 8
"""Requests for slow pages of one kind that wait for their turn; one more is refused."""


class Busy(LopubError):
    """Too many requests for a slow page wait already."""


class Turns:
    """One slow page of each kind at a time. The others wait without a thread, so that no other page
    waits for them."""

    def __init__(self) -> None:
        self._turns: defaultdict[Slow, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(1)
        )
        self._n: defaultdict[Slow, int] = defaultdict(int)

    @asynccontextmanager
    async def turn(self, kind: Slow) -> AsyncIterator[None]:
        """Wait for a turn; Busy where too many wait already."""
        if self._n[kind] > MOST_WAITING:
            raise Busy("the console is busy; try again in a minute")
        self._n[kind] += 1
        try:
            async with self._turns[kind]:
                yield
        finally:
            self._n[kind] -= 1


@dataclass(frozen=True, kw_only=True)
class Context:
    """A store, what an operator chose, and what is kept in memory."""

    store: ReportStore
    files: Path
    """Where the results of jobs lie."""
    public: str
    """The address by which contributors reach the collector."""
    embed: str = ""
    """Sites whose pages may show the contributor's page in a frame, separated by spaces."""
    grace_days: int = GRACE_DAYS
    """Days between the end of a campaign's schedule and its close."""
    is_demo: bool = False
    """Whether everything here is made up."""
    is_here_only: bool = field(init=False)
    """Whether no other machine reaches the collector by its address."""
    attempts: Attempts = field(default_factory=Attempts)
    history: DraftHistory = field(default_factory=DraftHistory)
    alarm_checks: AlarmChecks = field(default_factory=AlarmChecks)
    turns: Turns = field(default_factory=Turns)

    def __post_init__(self) -> None:
        host = urlsplit(self.public).hostname or ""
        is_here = host in HERE or host.startswith("127.")
        object.__setattr__(self, "is_here_only", is_here)
