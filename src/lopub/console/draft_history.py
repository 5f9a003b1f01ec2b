"""What happened to drafts lately, in memory and bounded: which tab saved last, which texts a button
replaced, and what questions had when they were of another kind."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from lopub.questionnaire.shorthand import Object

MOST_DRAFTS = 200
MOST_STEPS = 20
MOST_EARLIER = 400
"""Questions of one draft that are kept as they were when they were of another kind."""


@dataclass
class _Recent:
    """The history of one draft."""

    writer: tuple[str, str] = ("", "")
    """The tab that saved last, and the version that it left."""
    steps: list[tuple[str, str]] = field(default_factory=list)
    """Texts before a button was pressed, each with the version that came of it."""
    earlier: dict[tuple[str, str], Object] = field(default_factory=dict)
    """Questions by name and kind."""


class DraftHistory:
    """The history of all drafts that were changed lately. A version names a text."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent: OrderedDict[str, _Recent] = OrderedDict()

    def set_writer(self, draft_id: str, tab: str, version: str) -> None:
        """Keep which tab saved last, whose page does not know yet which version came of it. tab:
        empty where the page is left."""
        with self._lock:
            self._of(draft_id).writer = (tab, version)

    def is_writer(self, draft_id: str, tab: str, version: str) -> bool:
        """Return whether it was this tab that left a draft in this version."""
        with self._lock:
            return bool(tab) and self._found(draft_id).writer == (tab, version)

    def add_step(self, draft_id: str, before: str, version: str) -> None:
        """Keep the text from before a button was pressed, which made this version."""
        with self._lock:
            steps = self._of(draft_id).steps
            steps.append((before, version))
            del steps[:-MOST_STEPS]

    def text_before(self, draft_id: str, version: str) -> str | None:
        """Return the text from before the last button; None where it was changed otherwise since."""
        with self._lock:
            steps = self._found(draft_id).steps
            return steps[-1][0] if steps and steps[-1][1] == version else None

    def remove_step(self, draft_id: str) -> None:
        """Forget the last button, which was taken back."""
        with self._lock:
            del self._found(draft_id).steps[-1:]

    def keep_questions(self, draft_id: str, questions: Mapping[tuple[str, str], Object]) -> None:
        """Keep questions, by name and kind, that get another kind now."""
        if questions:
            with self._lock:
                known = self._of(draft_id).earlier
                known |= questions
                while len(known) > MOST_EARLIER:
                    del known[next(iter(known))]

    def earlier_questions(self, draft_id: str) -> Mapping[tuple[str, str], Object]:
        """Return the questions of a draft as they were of other kinds, by name and kind."""
        with self._lock:
            return dict(self._found(draft_id).earlier)

    def _found(self, draft_id: str) -> _Recent:
        return self._recent.get(draft_id) or _Recent()

    def _of(self, draft_id: str) -> _Recent:
        """The history of a draft that is changed now; the one not changed for longest goes."""
        found = self._recent.setdefault(draft_id, _Recent())
        self._recent.move_to_end(draft_id)
        while len(self._recent) > MOST_DRAFTS:
            self._recent.popitem(last=False)
        return found
