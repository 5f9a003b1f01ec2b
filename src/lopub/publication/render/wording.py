"""What every descriptor of a publication says alike: its title, days, noise, citation."""

from datetime import date, timedelta

from lopub import __version__
from lopub.campaign.budget import decimal_up
from lopub.campaign.campaign import Campaign
from lopub.campaign.schedule import EPOCH
from lopub.publication.stages import Publication

PAPER = (
    "Ren et al., LoPub: High-Dimensional Crowdsourced Data Publication with Local Differential Privacy,"
    " IEEE Transactions on Information Forensics and Security 13(9), 2018"
)


def title_of(campaign: Campaign) -> str:
    """The campaign's title on one line; its name where it has none."""
    return one_line(campaign.terms.title) or campaign.terms.name


def one_line(text: str) -> str:
    """The text with every run of white space, line ends included, as one space."""
    return " ".join(text.split())


def day_of(slot: int | None) -> date | None:
    """The day of a slot; None where there is none, no calendar reaches it, or it is 0: a simulation that names no day."""
    return EPOCH + timedelta(days=slot) if slot and slot <= (date.max - EPOCH).days else None


def publication_days(publication: Publication) -> tuple[date | None, date | None]:
    """The first and the last day on which its reports were made; of a round, those of the round."""
    first, last, schedule = (
        publication.first_slot,
        publication.last_slot,
        publication.campaign.terms.schedule,
    )
    is_round = schedule is not None and schedule.repeat is not None
    return day_of(first), day_of(
        schedule.last_day(last) if schedule and is_round and last else last
    )


def shown_epsilon(campaign: Campaign, attribute: str | None = None) -> str:
    """Epsilon of a whole report, or of one attribute, with six decimals, rounded up: as in the campaign file."""
    return decimal_up(campaign.loss if attribute is None else campaign.loss_of(attribute))


def mechanism_in_words(campaign: Campaign) -> str:
    """How one report is randomized."""
    name = campaign.mechanism.name
    each = (
        "all attributes of a report at once, with the whole budget"
        if campaign.jointly
        else "each attribute with its share"
    )
    said = f": {campaign.mechanism.in_words}" if campaign.mechanism.in_words else ""
    return f"mechanism {name}{said}; view {campaign.view}, {each}"


def abstract(publication: Publication) -> str:
    """What the publication is, in two sentences."""
    told = "reports that were randomized on each person's own device"
    if publication.origin.is_simulated:
        told = "simulated reports (a program played the people, from a file that it read, which protects nobody)"
    return (
        f"A synthetic table of {len(publication.synthetic):,} records with {len(publication.campaign.domain)} attributes, and the"
        f" estimates that it rests on, made from {publication.n_reports:,} {told}"
        f" (local differential privacy, epsilon {shown_epsilon(publication.campaign)}). No record belongs to a person."
    )


def margins_in_words(publication: Publication) -> str:
    """What was taken as known instead of estimated; empty where nothing was."""
    named = "; ".join(" and ".join(names) for names in publication.margins)
    return (
        f"Public margins took the place of estimates, and the rest was raked to them: {named}."
        if named
        else ""
    )


def languages_in_words(publication: Publication) -> str:
    """In which language the campaign's texts are shown, and what stands in for those that are not there; empty where there is
    only one."""
    wording, terms = publication.wording, publication.campaign.terms
    if not terms.translations:
        return ""
    if wording.is_own:
        others = ", ".join(sorted(terms.translations))
        return f"Questions and labels are shown in the campaign's own language, {terms.language}; it has texts in {others}, too."
    return (
        f"Questions and labels are shown in {wording.language};"
        f" what is not translated, in the campaign's own, {terms.language}."
    )


def citation(publication: Publication) -> str:
    """How to name the publication: by what it was made from, so that it can be told from every other one."""
    campaign = publication.campaign
    day = day_of(publication.last_slot)
    until = f", the last of {day}" if day else ""
    return (
        f"{title_of(campaign)}: synthetic data from {publication.n_reports:,} locally randomized reports{until}."
        f" Campaign {campaign.id}, seed {publication.settings.seed}, LoPub {__version__}."
    )
