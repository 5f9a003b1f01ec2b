"""Signing in and out, and the choice of a language."""

from starlette.responses import Response

from lopub.collector.steward_log import record
from lopub.collector.tokens import grant_of
from lopub.console.requests import LANGUAGE_COOKIE, PageRequest, place_within
from lopub.console.responses import page, redirect
from lopub.console.routes import get, post
from lopub.console.sessions import COOKIE, LIFE_SECONDS, end_session, new_session
from lopub.pages.templating import LANGUAGES

YEAR = 31_536_000


def show_sign_in(request: PageRequest) -> Response:
    """Where a token is asked for."""
    return _sign_in_page(request, request.query.get("back", ""))


def sign_in(request: PageRequest) -> Response:
    """Let in whoever brings a token that is known and not expired, and lead back to where they
    were. While somebody guesses, wrong tokens are not written down, and a right one still gets in,
    or a stranger could keep everybody out."""
    back = place_within(request.form.get("back", ""))
    token = request.form.get("token", "").strip()
    grant = grant_of(request.store, token)
    if grant is not None and not grant.expired:
        record(request.store, grant.name, "sign-in")
        answer = redirect(back)
        _set(answer, COOKIE, new_session(request.store, token), LIFE_SECONDS, request.is_secure)
        return answer
    attempts = request.context.attempts
    if not attempts.are_few():
        return _sign_in_page(request, back, status=429, problem="often")
    attempts.count()
    record(request.store, "", "sign-in refused")
    return _sign_in_page(request, back, status=403, problem="expired" if grant else "unknown")


def _sign_in_page(
    request: PageRequest, back: str, *, status: int = 200, problem: str = ""
) -> Response:
    return page(request, "sign_in.html", status=status, problem=problem, back=place_within(back))


def sign_out(request: PageRequest) -> Response:
    """End the session. No page of it was kept: each said so."""
    end_session(request.store, request.cookie)
    answer = redirect("/console/sign-in")
    answer.delete_cookie(COOKIE, path="/console", httponly=True, samesite="lax")
    return answer


def choose_language(request: PageRequest) -> Response:
    """Keep the language that a reader wants, and show the same page in it."""
    answer = redirect(place_within(request.form.get("back", "")))
    wanted = request.form.get("language", "")
    if wanted in LANGUAGES:
        _set(answer, LANGUAGE_COOKIE, wanted, YEAR, request.is_secure)
    return answer


def _set(answer: Response, name: str, value: str, seconds: int, is_secure: bool) -> None:
    answer.set_cookie(
        name,
        value,
        max_age=seconds,
        path="/console",
        httponly=True,
        samesite="lax",
        secure=is_secure,
    )


ROUTES = [
    get("/console/sign-in", show_sign_in, scope=""),
    post("/console/sign-in", sign_in, scope=""),
    post("/console/sign-out", sign_out, scope="read", log="sign-out"),
    post("/console/language", choose_language, scope=""),
]
