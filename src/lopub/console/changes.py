"""What happened to drafts a moment ago: which tab wrote last, what a button can take back, and what questions had when they
were of another kind. In memory, and bounded."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from lopub.questionnaire.shorthand import Object

MOST_DRAFTS = 200
MOST_STEPS = 20
MOST_EARLIER = 400
"""Questions of one draft that are remembered as they were when they were of another kind."""


@dataclass
class _Recent:
    """Of one draft. writer: the tab that wrote last, and the version that it left; steps: texts, each with the version that
    came of it; earlier: questions by name and kind."""

    writer: tuple[str, str] = ("", "")
    steps: list[tuple[str, str]] = field(default_factory=list)
    earlier: dict[tuple[str, str], Object] = field(default_factory=dict)


class Changes:
    """Of all drafts that were changed lately. A version names a text."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent: OrderedDict[str, _Recent] = OrderedDict()

    def _of(self, draft_id: str) -> _Recent:
        found = self._recent.setdefault(draft_id, _Recent())
        self._recent.move_to_end(draft_id)
        while len(self._recent) > MOST_DRAFTS:
            self._recent.popitem(last=False)
        return found

    def wrote(self, draft_id: str, tab: str, version: str) -> None:
        """A tab saved; its page does not know yet which version came of it. tab: empty where the page is left."""
        with self._lock:
            self._of(draft_id).writer = (tab, version)

    def is_own(self, draft_id: str, tab: str, version: str) -> bool:
        """Whether it was this tab that left a draft in this version."""
        with self._lock:
            return (
                bool(tab)
                and draft_id in self._recent
                and self._recent[draft_id].writer == (tab, version)
            )

    def did(self, draft_id: str, before: str, version: str) -> None:
        """A button made this version of a text."""
        with self._lock:
            steps = self._of(draft_id).steps
            steps.append((before, version))
            del steps[:-MOST_STEPS]

    def before(self, draft_id: str, version: str) -> str | None:
        """The text from before the last button; None where it was changed in another way since."""
        with self._lock:
            steps = self._recent[draft_id].steps if draft_id in self._recent else []
            return steps[-1][0] if steps and steps[-1][1] == version else None

    def undone(self, draft_id: str) -> None:
        """The last button was taken back."""
        with self._lock:
            steps = self._of(draft_id).steps
            if steps:
                steps.pop()

    def remember(self, draft_id: str, questions: Mapping[tuple[str, str], Object]) -> None:
        """Some questions get another kind; they were so before."""
        if questions:
            with self._lock:
                known = self._of(draft_id).earlier
                known |= questions
                while len(known) > MOST_EARLIER:
                    del known[next(iter(known))]

    def earlier(self, draft_id: str) -> Mapping[tuple[str, str], Object]:
        """The questions of a draft as they were when they were of another kind, by name and kind."""
        with self._lock:
            return dict(self._recent[draft_id].earlier) if draft_id in self._recent else {}
