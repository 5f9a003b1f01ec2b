"""Write: a draft is begun, uploaded and edited; whatever is wrong stands beside its field."""

import re
import secrets
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import Response

from lopub.campaign.schedule import day_of
from lopub.collector.drafts import KeptDraft, drop_draft, keep_text, new_draft
from lopub.console import drafts
from lopub.console.draft_buttons import changed
from lopub.console.draft_controls import plain_terms, shown
from lopub.console.draft_edits import aligned, edited, left_behind
from lopub.console.question_names import finished
from lopub.console.requests import PageRequest, Refusal, Upload, refusing
from lopub.console.responses import page, redirect
from lopub.console.routes import get, post
from lopub.errors import DomainError, LopubError, Message
from lopub.pages.templating import page_language
from lopub.questionnaire.advice import advice_on
from lopub.questionnaire.draft import Mistake, draft_of
from lopub.questionnaire.draft_template import template
from lopub.questionnaire.draft_text import parsed
from lopub.questionnaire.shorthand import Object
from lopub.questionnaire.xlsform import draft_from_xlsform

LONGEST_UPLOAD = 2**20
TERMS = (
    *("name", "language", "translations", "title", "description", "consent"),
    *("min_reports", "retention_days", "schedule", "licence"),
)
"""Members of a draft that have a place of their own in its form."""
NOT_OF_DRAFTS = ("format", "mechanism", "privacy")
"""Members of a campaign, which becomes a draft of the same questions without them."""
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
"""Of a draft, where it can be that of a file as well."""


@dataclass(frozen=True)
class Remarks:
    """What is wrong, or could be better, by place: a number of a question, a name of a term, or the
    whole."""

    mistakes: Mapping[str, Sequence[Message | str]]
    advice: Mapping[str, Sequence[Message | str]]

    @property
    def n_mistakes(self) -> int:
        return sum(map(len, self.mistakes.values()))


def remarks_on(kept: KeptDraft) -> Remarks:
    """All mistakes and advice, each beside what it is about."""
    try:
        draft = draft_of(*parsed(finished(kept.text).encode()))
    except LopubError as error:
        return Remarks({"": [error.message]}, {})
    return Remarks(_placed(draft.mistakes), _placed(advice_on(draft)))


def _placed(remarks: list[Mistake] | tuple[Mistake, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for one in remarks:
        path = one.path
        if path[:2] == ("schema", "fields") and len(path) > 2:
            place = f"q{path[2]}"
        else:
            place = str(path[0]) if path and path[0] in TERMS else ""
        found[place].append(one.text)
    return dict(found)


def begin(request: PageRequest) -> Response:
    """A new draft: empty, an example, or from a file."""
    upload = request.files.get("file")
    if request.form.get("from") == "file" or upload is not None:
        text = _uploaded(upload)
    elif request.form.get("from") == "example":
        text = template("example", day_of(request.store.today()))
        text = drafts.written(drafts.read_text(text))  # without its comments
    else:
        text = drafts.written(drafts.blank("survey", page_language(request.languages)))
    return redirect(f"/console/drafts/{new_draft(request.store, text).id}")


def _uploaded(upload: Upload | None) -> str:
    """The draft that a file is: JSON, or an XLSForm."""
    if upload is None:
        raise DomainError("choose a file: a draft (.json) or an XLSForm (.xlsx)")
    if len(upload.content) > LONGEST_UPLOAD:
        raise DomainError("a file may have at most {n:,} bytes", n=LONGEST_UPLOAD)
    if not upload.content.startswith(b"PK"):
        value, _ = parsed(upload.content)
        draft = value if isinstance(value, dict) else {}
        for member in NOT_OF_DRAFTS:
            draft.pop(member, None)
        return drafts.written(draft)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "form.xlsx"
        path.write_bytes(upload.content)
        try:
            draft, _, _ = draft_from_xlsform(path)
        except DomainError as error:  # which names the file; where it lay is nobody's business
            raise DomainError(str(error).replace(str(path), "the file")) from None
    return drafts.written(draft)


def show_draft(request: PageRequest) -> Response:
    """The draft as a form."""
    return _shown(request, request.draft())


def fetch_draft(request: PageRequest) -> Response:
    """The draft as a file, which can be uploaded elsewhere, or checked and made into a campaign by
    commands."""
    text = finished(request.draft().text)
    name = str(drafts.read_text(text).get("name", ""))
    named = f"{name}.json" if NAME.fullmatch(name) else "draft.json"
    headers = {"Content-Disposition": f'attachment; filename="{named}"'}
    return Response(f"{text}\n", media_type="application/json", headers=headers)


def _shown(
    request: PageRequest,
    kept: KeptDraft,
    template: str = "write.html",
    *,
    is_stale: bool = False,
    was: Object | None = None,
) -> Response:
    """was: the draft before it was saved, whose controls a page still shows."""
    draft = drafts.read_text(kept.text)
    questions = shown(draft)
    before = questions if was is None else shown(was)
    return page(
        request,
        template,
        kept=kept,
        tab=request.form.get("tab") or secrets.token_hex(8),
        is_stale=is_stale,
        can_undo=request.history.text_before(kept.id, kept.version) is not None,
        plain=plain_terms(draft),
        texts={
            key: drafts.in_languages(draft.get(key), drafts.languages_in(draft))
            for key in ("title", "description", "consent")
        },
        languages=drafts.languages_in(draft),
        questions=questions,
        retyped=[new for old, new in zip(before, questions, strict=False) if old.kind != new.kind],
        remarks=remarks_on(kept),
        places=TERMS,
        form=drafts,
    )


def _is_current(request: PageRequest, kept: KeptDraft) -> bool:
    """Whether a form was made of the draft as it is, or it was the form's own tab that changed it
    since."""
    version = request.form.get("version", kept.version)
    return version == kept.version or request.history.is_writer(
        kept.id, request.form.get("tab", ""), kept.version
    )


def save_draft(request: PageRequest) -> Response:
    """Keep what the form says, then do what its button says. Nobody overwrites what another tab has
    saved."""
    kept = request.draft()
    # a save by itself presses no button, wherever the focus is
    action = "" if request.is_part else request.form.get("do", "")
    if action == "copy" or not _is_current(request, kept):
        return _conflict(request, kept)
    old, today = drafts.read_text(kept.text), day_of(request.store.today())
    request.history.keep_questions(kept.id, left_behind(old, request.form))
    before = drafts.written(
        edited(old, request.form, today, request.history.earlier_questions(kept.id))
    )
    if action == "language":
        action = f"language:{request.form.get('new_language', '').strip()}"
    draft, place = changed(drafts.read_text(before), action, today)
    new = keep_text(request.store, kept, drafts.written(draft))
    if new is None:
        return _conflict(request, request.draft())
    request.history.set_writer(
        kept.id, request.form.get("tab", "") if request.is_part else "", new.version
    )
    if new.text != before:
        request.history.add_step(kept.id, before, new.version)
    if request.is_part:
        return _shown(request, new, "remarks.html", was=old)
    return redirect(
        drafts.step_of(kept.id, action, here="write") + ("" if place is None else f"#q{place}")
    )


def _conflict(request: PageRequest, kept: KeptDraft) -> Response:
    """Of a form that would overwrite what another tab saved: say so; where a button was pressed,
    keep it as another draft."""
    if request.is_part:
        return _shown(request, kept, "remarks.html", is_stale=True)
    today = day_of(request.store.today())
    draft = edited(
        aligned(drafts.read_text(kept.text), request.form),
        request.form,
        today,
        request.history.earlier_questions(kept.id),
    )
    copy = new_draft(request.store, drafts.written(draft), people=kept.people, epsilon=kept.epsilon)
    return page(request, "conflict.html", status=409, kept=kept, copy=copy)


def save_text(request: PageRequest) -> Response:
    """Keep a draft that was edited as text."""
    kept = request.draft()
    with refusing(back=f"/console/drafts/{kept.id}"):
        text = drafts.written(drafts.read_text(request.form.get("text", "")))
    new = keep_text(request.store, kept, text) if _is_current(request, kept) else None
    if new is None:
        copy = new_draft(request.store, text, people=kept.people, epsilon=kept.epsilon)
        return page(request, "conflict.html", status=409, kept=kept, copy=copy)
    request.history.add_step(kept.id, kept.text, new.version)
    return redirect(f"/console/drafts/{kept.id}")


def undo(request: PageRequest) -> Response:
    """Take back what the last button did, unless the draft was changed since."""
    kept = request.draft()
    before = request.history.text_before(kept.id, kept.version)
    if before is None or keep_text(request.store, kept, before) is None:
        raise Refusal(
            "the draft was changed since; there is nothing to take back",
            back=f"/console/drafts/{kept.id}",
        )
    request.history.remove_step(kept.id)
    return redirect(
        f"/console/drafts/{kept.id}{'/plan' if request.form.get('from') == 'plan' else ''}"
    )


def drop(request: PageRequest) -> Response:
    """Delete a draft, which cannot be undone: so somebody says that it is meant."""
    kept = request.draft()
    if "sure" not in request.form:
        raise Refusal(
            "the draft stays: tick that it is to be deleted for good",
            back=f"/console/drafts/{kept.id}",
        )
    drop_draft(request.store, kept.id)
    return redirect("/console")


ROUTES = [
    post("/console/drafts", begin, log="draft begun", logs_result=True),
    get("/console/drafts/{draft}", show_draft),
    get("/console/drafts/{draft}/file", fetch_draft, log="file fetched"),
    post("/console/drafts/{draft}", save_draft),
    post("/console/drafts/{draft}/text", save_text),
    post("/console/drafts/{draft}/undo", undo),
    post("/console/drafts/{draft}/drop", drop, log="draft deleted"),
]
