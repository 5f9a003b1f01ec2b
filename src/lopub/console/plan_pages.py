"""Plan, preview, open: what so many people at an epsilon will give, how it will look, and the
campaign that comes of it."""

import base64
import math
from decimal import Decimal, InvalidOperation

from starlette.responses import Response

from lopub.campaign.budget import WEAK_EPSILON
from lopub.campaign.campaign import Campaign
from lopub.collector.campaigns import open_campaign
from lopub.collector.drafts import KeptDraft, drop_draft, keep_plan, keep_text, set_goal
from lopub.console.drafts import fields_of, read_text, step_of, written
from lopub.console.forecasts import (
    advised,
    by_question,
    curve_of,
    forecasts,
    lifetime_of,
    outlooks,
    terms_of,
)
from lopub.console.question_bins import binned
from lopub.console.question_names import finished, names_in
from lopub.console.requests import PageRequest, Refusal, refusing
from lopub.console.responses import page, redirect, result_of
from lopub.console.routes import get, post
from lopub.errors import DomainError
from lopub.jobs.queue import ask, jobs_of
from lopub.jobs.result_files import has_result
from lopub.pages import contribution
from lopub.pages.contribution import contribution_page, policy
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.questionnaire.draft import draft_of
from lopub.questionnaire.draft_text import parsed

MOST_PEOPLE = 100_000_000
EPSILONS = (Decimal("0.1"), Decimal(20))
SHARED = "/console/contribute/"
"""Where the console has the files that every contributor's page shares; below its own address, as a
proxy passes it on."""


def chosen(request: PageRequest, kept: KeptDraft) -> tuple[int, str]:
    """People and epsilon, as asked for or as kept."""
    people = min(max(request.number("people", _scaled(request) or kept.people), 1), MOST_PEOPLE)
    try:
        epsilon = Decimal(request.form.get("epsilon", request.query.get("epsilon", kept.epsilon)))
    except InvalidOperation:
        epsilon = Decimal(kept.epsilon)
    if not epsilon.is_finite():
        epsilon = Decimal(kept.epsilon)
    low, high = EPSILONS
    return people, f"{min(max(epsilon, low), high).normalize():f}"


def _scaled(request: PageRequest) -> int:
    """People by a slider whose steps are powers of ten, with two digits; 0 where there is none."""
    try:
        power = min(
            max(float(request.form.get("scale", request.query.get("scale", "nan"))), 0.0), 8.0
        )
    except ValueError:
        return 0
    return 0 if math.isnan(power) else int(float(f"{10**power:.1e}"))


def show_plan(request: PageRequest) -> Response:
    """What is to be expected; as a part of the page where a slider was moved."""
    return _forecast(request, request.draft())


def _forecast(request: PageRequest, kept: KeptDraft) -> Response:
    people, epsilon = chosen(request, kept)
    with refusing(back=f"/console/drafts/{kept.id}"):
        text = finished(kept.text)
        population, terms = terms_of(text)
        reports = max(terms.reports_together(people), 1)
        found = forecasts(text, reports, epsilon)
    tried = jobs_of(request.store, kept.id, kind="plan", most=1)
    answer = page(
        request,
        "forecast.html" if request.is_part else "plan.html",
        kept=kept,
        terms=terms,
        people=people,
        epsilon=epsilon,
        is_scaled="scale" in {**request.query, **request.form},
        scale=f"{math.log10(people):.1f}",
        sure=1 / (1 + math.exp(-float(epsilon))),
        reports=reports,
        lifetime=lifetime_of(terms, epsilon),
        is_weak=Decimal(lifetime_of(terms, epsilon)) > WEAK_EPSILON,
        best=found[0][1],
        design=str(found[0][0]),
        questions=by_question(population.domain, found[0][1]),
        curve=curve_of(outlooks(text, epsilon)[found[0][0]], reports),
        job=tried[0] if tried else None,
        enough=reports >= terms.min_reports,
        can_undo=request.history.text_before(kept.id, kept.version) is not None,
    )
    answer.headers["HX-Trigger"] = "planned"  # the advice on the page is about these people, too
    return answer


def _tried(text: str, people: int, epsilon: str) -> dict[str, str | int]:
    """The choices of a job that tries a plan."""
    return {"draft": text, "people": people, "epsilon": epsilon}


def show_advice(request: PageRequest) -> Response:
    """What would help: a part of the page that comes after it, since it takes longer than a slider
    may; or a page of its own."""
    kept = request.draft()
    people, epsilon = chosen(request, kept)
    name = "advice.html" if request.is_part else "advised.html"
    return page(request, name, kept=kept, advised=advised(finished(kept.text), people, epsilon))


def bin_question(request: PageRequest) -> Response:
    """One question in fewer answers, by a button; it can be taken back."""
    kept = request.draft()
    back = f"/console/drafts/{kept.id}/plan"
    draft = read_text(kept.text)
    keys = {
        name: str(field["name"])
        for name, field in zip(names_in(draft), fields_of(draft), strict=True)
    }
    draft = binned(draft, keys.get(request.form.get("question", ""), ""), request.number("n", 0))
    if request.form.get("version") != kept.version:
        raise Refusal(
            "the draft was changed meanwhile; look at the plan once more",
            status=409,
            back=back,
        )
    text = written(draft)
    if text == kept.text or draft_of(*parsed(text.encode())).mistakes:
        raise Refusal(
            "this question cannot be binned by a button; change its answers under Write",
            back=back,
        )
    new = keep_text(request.store, kept, text)
    if new is None:
        raise Refusal(
            "the draft was changed meanwhile; look at the plan once more",
            status=409,
            back=back,
        )
    request.history.add_step(kept.id, kept.text, new.version)
    return redirect(back)


def choose_plan(request: PageRequest) -> Response:
    """Keep people and epsilon; and show what they give, try them out, or go on, as the control or
    the button says."""
    kept = request.draft()
    people, epsilon = chosen(request, kept)
    keep_plan(request.store, kept.id, people=people, epsilon=epsilon)
    if request.is_part:
        return _forecast(request, kept)
    action = request.form.get("do", "")
    if action == "try":
        ask(request.store, "plan", kept.id, _tried(finished(kept.text), people, epsilon))
    return redirect(step_of(kept.id, action, here="plan"))


def campaign_of(request: PageRequest, kept: KeptDraft) -> Campaign:
    """The campaign that a draft and its plan make: as it was tried out, else the best of the usual
    designs for so many people."""
    text = finished(kept.text)
    for job in jobs_of(request.store, kept.id, kind="plan"):
        if has_result(request.context.files, job) and job.choices == _tried(
            text, kept.people, kept.epsilon
        ):
            return Campaign.load(result_of(request, job) / "campaign.json")
    population, terms = terms_of(text)
    design = forecasts(text, max(terms.reports_together(kept.people), 1), kept.epsilon)[0][0]
    wanted = CampaignRequest(
        epsilon=kept.epsilon, mechanism=design.mechanism, view=design.view, jointly=design.jointly
    )
    return make_campaign(population.domain, terms, wanted)


def show_preview(request: PageRequest) -> Response:
    """The contributor's own page in a frame, and the button that opens the campaign."""
    kept = request.draft()
    with refusing(back=f"/console/drafts/{kept.id}"):
        campaign = campaign_of(request, kept)
    terms = campaign.terms
    lifetime = lifetime_of(terms, kept.epsilon)
    return page(
        request,
        "preview.html",
        kept=kept,
        campaign=campaign,
        title=terms.title or terms.name,
        lifetime=lifetime,
    )


def show_page(request: PageRequest) -> Response:
    """The page on which people will take part. It has its questions in itself, keeps nothing, and
    knows of no collector."""
    campaign = campaign_of(request, request.draft())
    questions = (
        f"data:application/json;base64,{base64.b64encode(campaign.canonical_bytes).decode()}"
    )
    content = contribution_page(
        campaign, questions=questions, collector="", preview=True, folder=SHARED
    )
    headers = contribution.HEADERS | {"Content-Security-Policy": policy("data:", framed=True)}
    return Response(content, media_type="text/html; charset=utf-8", headers=headers)


def open_draft(request: PageRequest) -> Response:
    """The campaign of a draft takes reports from now on, or from the first day of its schedule; the
    draft is gone."""
    kept = request.draft()
    with refusing(back=f"/console/drafts/{kept.id}/preview"):
        campaign = campaign_of(request, kept)
        if request.form.get("campaign", campaign.id) != campaign.id:
            raise DomainError(
                "the draft was changed after this preview was shown; look at it once more,"
                " then open it"
            )
        entry, _ = open_campaign(request.store, campaign, grace_days=request.context.grace_days)
    set_goal(request.store, entry.number, kept.people)
    drop_draft(request.store, kept.id)
    return redirect(f"/console/campaigns/{campaign.id}")


ROUTES = [
    get("/console/drafts/{draft}/plan", show_plan),
    post("/console/drafts/{draft}/plan", choose_plan),
    get("/console/drafts/{draft}/advice", show_advice, slow="advice"),
    post("/console/drafts/{draft}/bin", bin_question),
    get("/console/drafts/{draft}/preview", show_preview),
    get("/console/drafts/{draft}/page", show_page),
    post("/console/drafts/{draft}/open", open_draft, log="campaign opened", logs_result=True),
]
