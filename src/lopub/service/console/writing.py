"""Write: a draft is begun, uploaded and edited; whatever is wrong stands beside its field."""

import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from lopub.errors import DomainError, LopubError
from lopub.forecast.advice import advice_on
from lopub.forecast.draft import Mistake, draft_of
from lopub.forecast.draft_template import template
from lopub.forecast.draft_text import parsed
from lopub.forecast.xlsform import draft_from_xlsform
from lopub.pages.templating import page_language
from lopub.service.console import drafting
from lopub.service.console.desk import Answer, Desk, Screen, page, refused, to
from lopub.service.console.keeping import KeptDraft, change_draft, drop_draft, find_draft, new_draft
from lopub.service.console.visits import Upload, Visit

LONGEST_UPLOAD = 2**20


@dataclass(frozen=True)
class Remarks:
    """What is wrong, or could be better, by place: a number of a question, a name of a term, or the whole."""

    mistakes: dict[str, list[str]]
    advice: dict[str, list[str]]

    @property
    def n_mistakes(self) -> int:
        return sum(map(len, self.mistakes.values()))


def remarks_on(kept: KeptDraft) -> Remarks:
    """All mistakes and advice, each beside what it is about."""
    try:
        draft = draft_of(*parsed(kept.text.encode()))
    except LopubError as error:
        return Remarks({"": [str(error)]}, {})
    return Remarks(_placed(draft.mistakes), _placed(advice_on(draft)))


def _placed(remarks: list[Mistake] | tuple[Mistake, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for one in remarks:
        path = one.path
        place = f"q{path[2]}" if path[:2] == ("schema", "fields") and len(path) > 2 else str(path[0]) if path else ""
        found[place if place.startswith("q") or place in _SHOWN else ""].append(one.text)
    return dict(found)


_SHOWN = ("name", "language", "title", "description", "consent", "min_reports", "retention_days", "schedule", "licence")


def begin(desk: Desk, visit: Visit) -> Answer:
    """A new draft: empty, an example, or from a file."""
    upload = visit.files.get("file")
    try:
        if visit.form.get("from") == "file" or upload is not None:
            text = _uploaded(upload)
        elif visit.form.get("from") == "example":
            text = drafting.written(drafting.read_text(template("example")))
        else:
            text = drafting.written(drafting.blank("survey", page_language(visit.languages)))
        return to(f"/console/drafts/{new_draft(desk.store, text).id}")
    except LopubError as error:
        return refused(visit, str(error))


def _uploaded(upload: Upload | None) -> str:
    """The draft that a file is: JSON, or an XLSForm."""
    if upload is None:
        raise DomainError("choose a file: a draft (.json) or an XLSForm (.xlsx)")
    if len(upload.content) > LONGEST_UPLOAD:
        raise DomainError(f"a file may have at most {LONGEST_UPLOAD:,} bytes")
    if not upload.content.startswith(b"PK"):
        value, _ = parsed(upload.content)
        draft = value if isinstance(value, dict) else {}
        for member in ("format", "mechanism", "privacy"):  # a finished campaign becomes a draft of the same questions
            draft.pop(member, None)
        return drafting.written(draft)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "form.xlsx"
        path.write_bytes(upload.content)
        draft, _, _ = draft_from_xlsform(path)
    return drafting.written(draft)


def show_draft(desk: Desk, visit: Visit) -> Answer:
    """The draft as a form."""
    return _shown(visit, find_draft(desk.store, visit.at["draft"]))


def _shown(visit: Visit, kept: KeptDraft, template: str = "write.html") -> Answer:
    draft = drafting.read_text(kept.text)
    return page(
        visit,
        template,
        kept=kept,
        plain=drafting.plain_terms(draft),
        texts={
            key: drafting.in_languages(draft.get(key), drafting.languages_in(draft))
            for key in ("title", "description", "consent")
        },
        languages=drafting.languages_in(draft),
        questions=drafting.shown(draft),
        remarks=remarks_on(kept),
        form=drafting,
    )


def save_draft(desk: Desk, visit: Visit) -> Answer:
    """Keep what the form says, then do what its button says."""
    kept = find_draft(desk.store, visit.at["draft"])
    draft = drafting.edited(drafting.read_text(kept.text), visit.form)
    action = visit.form.get("do", "")
    if action == "language":
        action = f"language:{visit.form.get('new_language', '').strip()}"
    draft, place = drafting.changed(draft, action)
    change_draft(desk.store, kept.id, text=drafting.written(draft))
    if visit.is_part:
        return _shown(visit, find_draft(desk.store, kept.id), "remarks.html")
    if action == "plan":
        return to(f"/console/drafts/{kept.id}/plan")
    return to(f"/console/drafts/{kept.id}{'' if place is None else f'#q{place}'}")


def save_text(desk: Desk, visit: Visit) -> Answer:
    """Keep a draft that was edited as text."""
    kept = find_draft(desk.store, visit.at["draft"])
    try:
        text = drafting.written(drafting.read_text(visit.form.get("text", "")))
    except LopubError as error:
        return refused(visit, str(error), back=f"/console/drafts/{kept.id}")
    change_draft(desk.store, kept.id, text=text)
    return to(f"/console/drafts/{kept.id}")


def drop(desk: Desk, visit: Visit) -> Answer:
    """Delete a draft."""
    drop_draft(desk.store, visit.at["draft"])
    return to("/console")


SCREENS = (
    Screen("POST", "/console/drafts", begin, scope="manage", what="draft begun"),
    Screen("GET", "/console/drafts/{draft}", show_draft),
    Screen("POST", "/console/drafts/{draft}", save_draft, scope="manage"),
    Screen("POST", "/console/drafts/{draft}/text", save_text, scope="manage"),
    Screen("POST", "/console/drafts/{draft}/drop", drop, scope="manage", what="draft deleted"),
)
