"""Plan, preview, open: what so many people at an epsilon will give, how it will look, and the campaign that comes of it."""

import base64
import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from starlette.responses import Response

from lopub.bulk.designs import Design
from lopub.campaign.budget import WEAK_EPSILON
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Domain, TickList
from lopub.campaign.fields import domain_of
from lopub.campaign.terms import Terms
from lopub.collector.campaigns import open_campaign
from lopub.collector.keeping import (
    EPSILON,
    PEOPLE,
    KeptDraft,
    drop_draft,
    find_draft,
    keep_plan,
    keep_text,
    set_goal,
)
from lopub.collector.queue import ask, jobs_of
from lopub.console.binning import binned, can_bin
from lopub.console.desk import Answer, Desk, Screen, page, refused, result_of, to
from lopub.console.drafting import fields_of, read_text, step_of, written
from lopub.console.naming import finished, names_in
from lopub.console.results import has_result
from lopub.console.visits import Visit
from lopub.errors import CampaignError, DomainError, LopubError
from lopub.pages import contribution
from lopub.pages.contribution import contribution_page, policy
from lopub.planning.design import brief_designs, ranked, ranked_at
from lopub.planning.merging import merges
from lopub.planning.outlook import Forecast, Outlook, outlook
from lopub.planning.population import Population
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.questionnaire.draft import draft_of
from lopub.questionnaire.draft_template import template
from lopub.questionnaire.draft_text import parsed

MOST_PEOPLE = 100_000_000
EPSILONS = (Decimal("0.1"), Decimal(20))
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Of the people that are asked for: what fewer or more would give."""
SHARED = "/console/contribute/"
"""Where the console has the files that every contributor's page shares; below its own address, as a proxy passes it on."""


def chosen(visit: Visit, kept: KeptDraft) -> tuple[int, str]:
    """People and epsilon, as asked for or as kept."""
    people = min(max(visit.number("people", _scaled(visit) or kept.people), 1), MOST_PEOPLE)
    try:
        epsilon = Decimal(visit.form.get("epsilon", visit.query.get("epsilon", kept.epsilon)))
    except InvalidOperation:
        epsilon = Decimal(kept.epsilon)
    if not epsilon.is_finite():
        epsilon = Decimal(kept.epsilon)
    low, high = EPSILONS
    return people, f"{min(max(epsilon, low), high).normalize():f}"


def _scaled(visit: Visit) -> int:
    """People by a slider whose steps are powers of ten, with two digits; 0 where there is none."""
    try:
        power = min(max(float(visit.form.get("scale", visit.query.get("scale", "nan"))), 0.0), 8.0)
    except ValueError:
        return 0
    return 0 if math.isnan(power) else int(float(f"{10**power:.1e}"))


@lru_cache(maxsize=32)
def _terms_of(text: str) -> tuple[Population, Terms]:
    """The people that forecasts are about, and the terms; made once for a text, so that a slider follows the hand."""
    draft = draft_of(*parsed(text.encode()))
    if draft.mistakes or draft.terms is None:
        raise CampaignError(
            f"the draft has mistakes ({len(draft.mistakes)}); mend them under Write first"
        )
    if draft.terms.repeat is not None and draft.terms.repeat.is_permanent:
        raise DomainError(
            "a campaign in mode permanent is made with `lopub campaign make --lifetime-epsilon`, for now"
        )
    domain = domain_of(draft.questions)
    domain.check_questionnaire()
    return Population.like_surveys(domain), draft.terms


@lru_cache(maxsize=64)
def _outlooks(text: str, epsilon: str) -> dict[Design, Outlook]:
    """The usual designs for a draft at an epsilon; how many people there will be does not matter yet."""
    population, _ = _terms_of(text)
    found = brief_designs(population.domain.sizes, float(epsilon))
    return {design: outlook(design, population, float(epsilon)) for design in found}


def forecasts(text: str, people: int, epsilon: str) -> list[tuple[Design, Forecast]]:
    """The usual designs by the closed form, the best first."""
    return ranked_at(_outlooks(text, epsilon).values(), people)


def warm() -> None:
    """Load what the first forecast of a process has to load, before somebody waits for it."""
    forecasts(template("example"), PEOPLE, EPSILON)


def show_plan(desk: Desk, visit: Visit) -> Answer:
    """What is to be expected; as a part of the page where a slider was moved."""
    return _forecast(desk, visit, find_draft(desk.store, visit.at["draft"]))


def _forecast(desk: Desk, visit: Visit, kept: KeptDraft) -> Answer:
    people, epsilon = chosen(visit, kept)
    try:
        text = finished(kept.text)
        population, terms = _terms_of(text)
        reports = max(terms.reports_together(people), 1)
        found = forecasts(text, reports, epsilon)
    except LopubError as error:
        return refused(visit, str(error), back=f"/console/drafts/{kept.id}")
    tried = jobs_of(desk.store, kept.id, kind="plan", most=1)
    answer = page(
        visit,
        "forecast.html" if visit.is_part else "plan.html",
        kept=kept,
        terms=terms,
        people=people,
        epsilon=epsilon,
        is_scaled="scale" in {**visit.query, **visit.form},
        scale=f"{math.log10(people):.1f}",
        sure=1 / (1 + math.exp(-float(epsilon))),
        reports=reports,
        lifetime=_lifetime(terms, epsilon),
        is_weak=Decimal(_lifetime(terms, epsilon)) > WEAK_EPSILON,
        best=found[0][1],
        design=str(found[0][0]),
        questions=by_question(population.domain, found[0][1]),
        curve=_curve(_outlooks(text, epsilon)[found[0][0]], reports),
        job=tried[0] if tried else None,
        enough=reports >= terms.min_reports,
        can_undo=desk.changes.before(kept.id, kept.version) is not None,
    )
    answer.headers["HX-Trigger"] = "planned"  # the advice on the page is about these people, too
    return answer


def by_question(domain: Domain, forecast: Forecast) -> list[tuple[str, str, float]]:
    """What is asked, the option of a list, which is a question of its own to people, and the expected error of its shares."""
    errors = dict(zip(domain.names, forecast.share_errors.tolist(), strict=True))
    found: list[tuple[str, str, float]] = []
    for one in domain.questions:
        asked = one.question or one.title or one.name
        if isinstance(one, TickList):
            found += [
                (asked, one.labels[value], errors[part.name])
                for value, part in zip(one.values, one.options, strict=True)
            ]
        else:
            found.append((asked, "", errors[one.name]))
    return found


def _lifetime(terms: Terms, epsilon: str) -> str:
    """Epsilon of all reports of one device, with this one for each."""
    return epsilon if terms.repeat is None else f"{Decimal(epsilon) * terms.repeat.take_part:f}"


def _curve(best: Outlook, people: int) -> list[tuple[int, float]]:
    """People and expected error of shares."""
    return [
        (n, best.shares_at(n))
        for n in sorted({max(1, math.ceil(factor * people)) for factor in FACTORS})
    ]


def _tried(text: str, people: int, epsilon: str) -> dict[str, str | int]:
    """What a job that tries a plan is told."""
    return {"draft": text, "people": people, "epsilon": epsilon}


@dataclass(frozen=True)
class Advised:
    """A question with many answers, and what fewer would give. can_bin: whether a button can do it."""

    name: str
    place: int
    size: int
    n: int
    before: float
    after: float
    can_bin: bool


def advised(text: str, people: int, epsilon: str) -> list[Advised]:
    """Which questions to ask in bins, by the closed form, the largest gain first."""
    (population, terms), draft = _terms_of(text), read_text(text)
    people = max(terms.reports_together(people), 1)
    before = forecasts(text, people, epsilon)[0][1].pairs
    names, sizes = population.domain.names, population.domain.sizes

    def error_with(position: int, n: int) -> float:
        merged = population.merged(position, n)
        return ranked(
            brief_designs(merged.domain.sizes, float(epsilon)),
            merged,
            float(epsilon),
            people=people,
        )[0][1].pairs

    places = {str(field.get("name")): place for place, field in enumerate(fields_of(draft))}
    found = [
        Advised(
            names[p],
            places[names[p]],
            sizes[p],
            one.n_candidates,
            before,
            one.error,
            can_bin(draft, names[p]),
        )
        for one in merges(sizes, before, error_with)
        if names[p := one.position] in places
    ]
    return sorted(found, key=lambda one: one.after)


def show_advice(desk: Desk, visit: Visit) -> Answer:
    """What would help: a part of the page that comes after it, since it takes longer than a slider may; or a page of its own."""
    kept = find_draft(desk.store, visit.at["draft"])
    people, epsilon = chosen(visit, kept)
    name = "advice.html" if visit.is_part else "advised.html"
    return page(visit, name, kept=kept, advised=advised(finished(kept.text), people, epsilon))


def bin_question(desk: Desk, visit: Visit) -> Answer:
    """One question in fewer answers, by a button; it can be taken back."""
    kept = find_draft(desk.store, visit.at["draft"])
    back = f"/console/drafts/{kept.id}/plan"
    draft = read_text(kept.text)
    keys = {
        name: str(field["name"])
        for name, field in zip(names_in(draft), fields_of(draft), strict=True)
    }
    draft = binned(draft, keys.get(visit.form.get("question", ""), ""), visit.number("n", 0))
    if visit.form.get("version") != kept.version:
        return refused(
            visit,
            "the draft was changed meanwhile; look at the plan once more",
            status=409,
            back=back,
        )
    text = written(draft)
    if text == kept.text or draft_of(*parsed(text.encode())).mistakes:
        return refused(
            visit,
            "this question cannot be binned by a button; change its answers under Write",
            back=back,
        )
    new = keep_text(desk.store, kept, text)
    if new is None:
        return refused(
            visit,
            "the draft was changed meanwhile; look at the plan once more",
            status=409,
            back=back,
        )
    desk.changes.did(kept.id, kept.text, new.version)
    return to(back)


def choose_plan(desk: Desk, visit: Visit) -> Answer:
    """Keep people and epsilon; and show what they give, try them out, or go on, as the control or the button says."""
    kept = find_draft(desk.store, visit.at["draft"])
    people, epsilon = chosen(visit, kept)
    keep_plan(desk.store, kept.id, people=people, epsilon=epsilon)
    if visit.is_part:
        return _forecast(desk, visit, kept)
    action = visit.form.get("do", "")
    if action == "try":
        ask(desk.store, "plan", kept.id, _tried(finished(kept.text), people, epsilon))
    return to(step_of(kept.id, action, here="plan"))


def campaign_of(desk: Desk, kept: KeptDraft) -> Campaign:
    """The campaign that a draft and its plan make: as it was tried out, else the best of the usual designs for so many people."""
    text = finished(kept.text)
    for job in jobs_of(desk.store, kept.id, kind="plan"):
        if has_result(desk.home, job) and job.choices == _tried(text, kept.people, kept.epsilon):
            return Campaign.load(result_of(desk, job) / "campaign.json")
    population, terms = _terms_of(text)
    design = forecasts(text, max(terms.reports_together(kept.people), 1), kept.epsilon)[0][0]
    request = CampaignRequest(
        epsilon=kept.epsilon, mechanism=design.mechanism, view=design.view, jointly=design.jointly
    )
    return make_campaign(population.domain, terms, request)


def show_preview(desk: Desk, visit: Visit) -> Answer:
    """The contributor's own page in a frame, and the button that opens the campaign."""
    kept = find_draft(desk.store, visit.at["draft"])
    try:
        campaign = campaign_of(desk, kept)
    except LopubError as error:
        return refused(visit, str(error), back=f"/console/drafts/{kept.id}")
    terms = campaign.terms
    lifetime = _lifetime(terms, kept.epsilon)
    return page(
        visit,
        "preview.html",
        kept=kept,
        campaign=campaign,
        title=terms.title or terms.name,
        lifetime=lifetime,
    )


def show_page(desk: Desk, visit: Visit) -> Answer:
    """The page on which people will take part. It has its questions in itself, keeps nothing, and knows of no collector."""
    campaign = campaign_of(desk, find_draft(desk.store, visit.at["draft"]))
    questions = (
        f"data:application/json;base64,{base64.b64encode(campaign.canonical_bytes).decode()}"
    )
    content = contribution_page(
        campaign, questions=questions, collector="", preview=True, folder=SHARED
    )
    headers = contribution.HEADERS | {"Content-Security-Policy": policy("data:", framed=True)}
    return Response(content, media_type="text/html; charset=utf-8", headers=headers)


def open_draft(desk: Desk, visit: Visit) -> Answer:
    """The campaign of a draft takes reports from now on, or from the first day of its schedule; the draft is gone."""
    kept = find_draft(desk.store, visit.at["draft"])
    try:
        campaign = campaign_of(desk, kept)
        if visit.form.get("campaign", campaign.id) != campaign.id:
            raise DomainError(
                "the draft was changed after this preview was shown; look at it once more, then open it"
            )
        entry, _ = open_campaign(
            desk.store, campaign, grace_days=desk.collector.settings.grace_days
        )
    except LopubError as error:
        return refused(visit, str(error), back=f"/console/drafts/{kept.id}/preview")
    set_goal(desk.store, entry.number, kept.people)
    drop_draft(desk.store, kept.id)
    return to(f"/console/campaigns/{campaign.id}")


SCREENS = (
    Screen("GET", "/console/drafts/{draft}/plan", show_plan),
    Screen("POST", "/console/drafts/{draft}/plan", choose_plan, scope="manage"),
    Screen("GET", "/console/drafts/{draft}/advice", show_advice),
    Screen("POST", "/console/drafts/{draft}/bin", bin_question, scope="manage"),
    Screen("GET", "/console/drafts/{draft}/preview", show_preview),
    Screen("GET", "/console/drafts/{draft}/page", show_page),
    Screen(
        "POST",
        "/console/drafts/{draft}/open",
        open_draft,
        scope="manage",
        what="campaign opened",
        makes=True,
    ),
)
