"""Write: a draft is begun, uploaded and edited; whatever is wrong stands beside its field."""

import re
import secrets
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import Response

from lopub.campaign.schedule import day_of
from lopub.collector.keeping import KeptDraft, drop_draft, find_draft, keep_text, new_draft
from lopub.console import drafting
from lopub.console.buttons import changed
from lopub.console.desk import Answer, Desk, Screen, page, refused, to
from lopub.console.editing import aligned, edited, left_behind
from lopub.console.naming import finished
from lopub.console.showing import plain_terms, shown
from lopub.console.visits import Upload, Visit
from lopub.errors import DomainError, LopubError
from lopub.pages.templating import page_language
from lopub.questionnaire.advice import advice_on
from lopub.questionnaire.draft import Mistake, draft_of
from lopub.questionnaire.draft_template import template
from lopub.questionnaire.draft_text import parsed
from lopub.questionnaire.shorthand import Object
from lopub.questionnaire.xlsform import draft_from_xlsform

LONGEST_UPLOAD = 2**20
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
"""Of a draft, where it can be that of a file as well."""


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
        draft = draft_of(*parsed(finished(kept.text).encode()))
    except LopubError as error:
        return Remarks({"": [str(error)]}, {})
    return Remarks(_placed(draft.mistakes), _placed(advice_on(draft)))


def _placed(remarks: list[Mistake] | tuple[Mistake, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for one in remarks:
        path = one.path
        place = (
            f"q{path[2]}"
            if path[:2] == ("schema", "fields") and len(path) > 2
            else str(path[0])
            if path
            else ""
        )
        found[place if place.startswith("q") or place in TERMS else ""].append(one.text)
    return dict(found)


TERMS = (
    "name", "language", "translations", "title", "description", "consent", "min_reports", "retention_days", "schedule", "licence",
)  # fmt: skip


def begin(desk: Desk, visit: Visit) -> Answer:
    """A new draft: empty, an example, or from a file."""
    upload = visit.files.get("file")
    try:
        if visit.form.get("from") == "file" or upload is not None:
            text = _uploaded(upload)
        elif visit.form.get("from") == "example":
            text = drafting.written(
                drafting.read_text(template("example", day_of(desk.store.today())))
            )
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
        for member in (
            "format",
            "mechanism",
            "privacy",
        ):  # a finished campaign becomes a draft of the same questions
            draft.pop(member, None)
        return drafting.written(draft)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "form.xlsx"
        path.write_bytes(upload.content)
        try:
            draft, _, _ = draft_from_xlsform(path)
        except DomainError as error:  # which names the file; where it lay is nobody's business
            raise DomainError(str(error).replace(str(path), "the file")) from None
    return drafting.written(draft)


def show_draft(desk: Desk, visit: Visit) -> Answer:
    """The draft as a form."""
    return _shown(desk, visit, find_draft(desk.store, visit.at["draft"]))


def fetch_draft(desk: Desk, visit: Visit) -> Answer:
    """The draft as a file, which can be uploaded elsewhere, or checked and made into a campaign by commands."""
    text = finished(find_draft(desk.store, visit.at["draft"]).text)
    name = str(drafting.read_text(text).get("name", ""))
    named = f"{name}.json" if NAME.fullmatch(name) else "draft.json"
    headers = {"Content-Disposition": f'attachment; filename="{named}"'}
    return Response(f"{text}\n", media_type="application/json", headers=headers)


def _shown(
    desk: Desk,
    visit: Visit,
    kept: KeptDraft,
    template: str = "write.html",
    *,
    is_stale: bool = False,
    was: Object | None = None,
) -> Answer:
    """was: the draft before it was saved, whose controls a page still shows."""
    draft = drafting.read_text(kept.text)
    questions = shown(draft)
    before = questions if was is None else shown(was)
    return page(
        visit,
        template,
        kept=kept,
        tab=visit.form.get("tab") or secrets.token_hex(8),
        is_stale=is_stale,
        can_undo=desk.changes.before(kept.id, kept.version) is not None,
        plain=plain_terms(draft),
        texts={
            key: drafting.in_languages(draft.get(key), drafting.languages_in(draft))
            for key in ("title", "description", "consent")
        },
        languages=drafting.languages_in(draft),
        questions=questions,
        retyped=[new for old, new in zip(before, questions, strict=False) if old.kind != new.kind],
        remarks=remarks_on(kept),
        places=TERMS,
        form=drafting,
    )


def _is_current(desk: Desk, visit: Visit, kept: KeptDraft) -> bool:
    """Whether a form was made of the draft as it is, or it was the form's own tab that changed it since."""
    version = visit.form.get("version", kept.version)
    return version == kept.version or desk.changes.is_own(
        kept.id, visit.form.get("tab", ""), kept.version
    )


def save_draft(desk: Desk, visit: Visit) -> Answer:
    """Keep what the form says, then do what its button says. Nobody overwrites what another tab has saved."""
    kept = find_draft(desk.store, visit.at["draft"])
    action = (
        "" if visit.is_part else visit.form.get("do", "")
    )  # a save by itself presses no button, wherever the focus is
    if action == "copy" or not _is_current(desk, visit, kept):
        return _apart(desk, visit, kept)
    old, today = drafting.read_text(kept.text), day_of(desk.store.today())
    desk.changes.remember(kept.id, left_behind(old, visit.form))
    before = drafting.written(edited(old, visit.form, today, desk.changes.earlier(kept.id)))
    if action == "language":
        action = f"language:{visit.form.get('new_language', '').strip()}"
    draft, place = changed(drafting.read_text(before), action, today)
    new = keep_text(desk.store, kept, drafting.written(draft))
    if new is None:
        return _apart(desk, visit, find_draft(desk.store, kept.id))
    desk.changes.wrote(kept.id, visit.form.get("tab", "") if visit.is_part else "", new.version)
    if new.text != before:
        desk.changes.did(kept.id, before, new.version)
    if visit.is_part:
        return _shown(desk, visit, new, "remarks.html", was=old)
    return to(
        drafting.step_of(kept.id, action, here="write") + ("" if place is None else f"#q{place}")
    )


def _apart(desk: Desk, visit: Visit, kept: KeptDraft) -> Answer:
    """Of a form that would overwrite what another tab saved: say so; where a button was pressed, keep it as another draft."""
    if visit.is_part:
        return _shown(desk, visit, kept, "remarks.html", is_stale=True)
    today = day_of(desk.store.today())
    draft = edited(
        aligned(drafting.read_text(kept.text), visit.form),
        visit.form,
        today,
        desk.changes.earlier(kept.id),
    )
    copy = new_draft(desk.store, drafting.written(draft), people=kept.people, epsilon=kept.epsilon)
    return page(visit, "apart.html", status=409, kept=kept, copy=copy)


def save_text(desk: Desk, visit: Visit) -> Answer:
    """Keep a draft that was edited as text."""
    kept = find_draft(desk.store, visit.at["draft"])
    try:
        text = drafting.written(drafting.read_text(visit.form.get("text", "")))
    except LopubError as error:
        return refused(visit, str(error), back=f"/console/drafts/{kept.id}")
    new = keep_text(desk.store, kept, text) if _is_current(desk, visit, kept) else None
    if new is None:
        copy = new_draft(desk.store, text, people=kept.people, epsilon=kept.epsilon)
        return page(visit, "apart.html", status=409, kept=kept, copy=copy)
    desk.changes.did(kept.id, kept.text, new.version)
    return to(f"/console/drafts/{kept.id}")


def undo(desk: Desk, visit: Visit) -> Answer:
    """Take back what the last button did, unless the draft was changed since."""
    kept = find_draft(desk.store, visit.at["draft"])
    before = desk.changes.before(kept.id, kept.version)
    if before is None or keep_text(desk.store, kept, before) is None:
        return refused(
            visit,
            "the draft was changed since; there is nothing to take back",
            back=f"/console/drafts/{kept.id}",
        )
    desk.changes.undone(kept.id)
    return to(f"/console/drafts/{kept.id}{'/plan' if visit.form.get('from') == 'plan' else ''}")


def drop(desk: Desk, visit: Visit) -> Answer:
    """Delete a draft, which cannot be undone: so somebody says that it is meant."""
    kept = find_draft(desk.store, visit.at["draft"])
    if "sure" not in visit.form:
        return refused(
            visit,
            "the draft stays: tick that it is to be deleted for good",
            back=f"/console/drafts/{kept.id}",
        )
    drop_draft(desk.store, kept.id)
    return to("/console")


SCREENS = (
    Screen("POST", "/console/drafts", begin, scope="manage", what="draft begun", makes=True),
    Screen("GET", "/console/drafts/{draft}", show_draft),
    Screen("GET", "/console/drafts/{draft}/file", fetch_draft, what="file fetched"),
    Screen("POST", "/console/drafts/{draft}", save_draft, scope="manage"),
    Screen("POST", "/console/drafts/{draft}/text", save_text, scope="manage"),
    Screen("POST", "/console/drafts/{draft}/undo", undo, scope="manage"),
    Screen("POST", "/console/drafts/{draft}/drop", drop, scope="manage", what="draft deleted"),
)
