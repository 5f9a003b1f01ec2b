"""Signing in and out, and the choice of a language."""

from starlette.responses import Response

from lopub.collector.keeping import record
from lopub.collector.tokens import Grant, grant_among, grant_of, grants_of
from lopub.console.desk import Answer, Desk, Screen, page, to
from lopub.console.gate import COOKIE, LIFE_SECONDS
from lopub.console.visits import LANGUAGE_COOKIE, Visit, place_within
from lopub.pages.templating import LANGUAGES

YEAR = 31_536_000


def show_sign_in(desk: Desk, visit: Visit) -> Answer:
    """Where a token is asked for."""
    return _asked(desk, visit, visit.query.get("back", ""))


def sign_in(desk: Desk, visit: Visit) -> Answer:
    """Let in whoever brings a token that is known and not expired, and lead back to where they were."""
    back = place_within(visit.form.get("back", ""))
    token, is_calm = visit.form.get("token", "").strip(), desk.gate.may_try()
    grant = grant_of(desk.store, token) if is_calm else _grant_at_hand(desk, token)
    if grant is None or grant.expired:
        if not is_calm:
            return _asked(desk, visit, back, status=429, problem="often")
        desk.gate.failed()
        record(desk.store, "", "sign-in refused")
        return _asked(desk, visit, back, status=403, problem="expired" if grant else "unknown")
    record(desk.store, grant.name, "sign-in")
    answer = to(back)
    _set(answer, COOKIE, desk.gate.enter(token), LIFE_SECONDS, secure=visit.is_secure)
    return answer


def _grant_at_hand(desk: Desk, token: str) -> Grant | None:
    """What a token allows, as the store had it a moment ago: while somebody guesses, the store is not asked and nothing is
    written, and whoever brings a right token still gets in, or a stranger could keep everybody out."""
    return grant_among(desk.grants.of("sign-in", lambda: grants_of(desk.store)), token)


def _asked(desk: Desk, visit: Visit, back: str, *, status: int = 200, problem: str = "") -> Answer:
    return page(
        visit,
        "sign_in.html",
        status=status,
        problem=problem,
        is_demo=desk.is_demo,
        back=place_within(back),
    )


def sign_out(desk: Desk, visit: Visit) -> Answer:
    """End the session. No page of it was kept: each said so."""
    desk.gate.leave(visit.cookie)
    answer = to("/console/sign-in")
    answer.delete_cookie(COOKIE, path="/console", httponly=True, samesite="strict")
    return answer


def choose_language(desk: Desk, visit: Visit) -> Answer:
    """Keep the language that a reader wants, and show the same page in it."""
    answer = to(place_within(visit.form.get("back", "")))
    wanted = visit.form.get("language", "")
    if wanted in LANGUAGES:
        _set(answer, LANGUAGE_COOKIE, wanted, YEAR, secure=visit.is_secure)
    return answer


def _set(answer: Response, name: str, value: str, seconds: int, *, secure: bool) -> None:
    answer.set_cookie(
        name,
        value,
        max_age=seconds,
        path="/console",
        httponly=True,
        samesite="strict",
        secure=secure,
    )


SCREENS = (
    Screen("GET", "/console/sign-in", show_sign_in, scope=""),
    Screen("POST", "/console/sign-in", sign_in, scope=""),
    Screen("POST", "/console/sign-out", sign_out, what="sign-out"),
    Screen("POST", "/console/language", choose_language, scope=""),
)
