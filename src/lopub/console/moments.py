"""What many people look at at once is made once in two seconds."""

import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

FRESH_SECONDS = 2.0
MOST_KEPT = 256
Made = TypeVar("Made")


class FreshThings(Generic[Made]):
    """Things by their keys, each at most two seconds old."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[Hashable, tuple[float, Made]] = {}

    def of(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The thing of a key: as it was a moment ago, or made now, while others who want it wait."""
        with self._lock:
            if (found := self.at_hand(key)) is not None:
                return found
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            new = make()
            self._kept[key] = (time.monotonic(), new)
            return new

    def at_hand(self, key: Hashable) -> Made | None:
        """The thing of a key as it was a moment ago, if somebody wanted it then; waits for nobody."""
        made, found = self._kept.get(key, (0.0, None))
        return found if time.monotonic() - made < FRESH_SECONDS else None
