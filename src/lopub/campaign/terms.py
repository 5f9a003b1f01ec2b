"""The terms of a campaign: its texts in every language, its consent, its schedule, what becomes of the reports."""

import re
from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass, field, replace

from lopub.campaign.admission import Admission, admission_from_json
from lopub.campaign.canonical import LARGEST_INTEGER, Json, Members, text_at, without_empty
from lopub.campaign.domain import Domain
from lopub.campaign.schedule import Repeat, Schedule, schedule_from_json
from lopub.campaign.texts import one_line
from lopub.errors import CampaignError

MOST_TRANSLATIONS = 4096
LONGEST_LANGUAGE = 100
MOST_MINUTES = 1440
"""Within which a report is sent: a day."""

PAGE_LANGUAGES = ("en", "de")
"""Of the words of our own on pages on which people take part and read. English is what they are written in; the others stand in
the words/ of pages and of the console, and in words.ts of the page."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


def check_language(tag: str) -> str:
    """Return the tag of a language; refuses any other text."""
    if len(tag) > LONGEST_LANGUAGE or not _LANGUAGE.fullmatch(tag):
        raise CampaignError(f"a language must be a tag such as en or pt-BR, got {tag[:40]!r}")
    return tag


@dataclass(frozen=True, kw_only=True)
class Translation:
    """The texts of a campaign in another language; where one is left out, the campaign's own is shown."""

    title: str = ""
    description: str = ""
    consent: str = ""
    titles: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Attribute -> its title."""
    questions: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Attribute -> its question."""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)
    """Attribute -> candidate's text -> what people are shown."""

    def __repr__(self) -> str:
        return one_line(
            self,
            repr(self.title),
            f"texts of {len({*self.titles, *self.questions, *self.labels})} attributes",
        )

    def to_json(self) -> dict[str, Json]:
        """One member of `translations` in a campaign."""
        labels: dict[str, Json] = {name: dict(texts) for name, texts in self.labels.items()}
        members: dict[str, Json] = {
            "title": self.title,
            "description": self.description,
            "consent": self.consent,
            "titles": dict(self.titles),
            "questions": dict(self.questions),
            "labels": labels,
        }
        return without_empty(members)


def check_translations(translations: Iterable[Translation], domain: Domain) -> None:
    """Every question and every candidate, or option, that is translated must be there."""
    asked = {question.name: question for question in domain.questions}
    names = set(asked)
    texts_of: dict[str, frozenset[str]] = {}
    for translation in translations:
        for name in sorted(
            {*translation.titles, *translation.questions, *translation.labels} - names
        ):
            raise CampaignError(
                f"a translation names attribute {name[:100]!r}, which the campaign does not ask for"
            )
        for name, labels in translation.labels.items():
            if name not in texts_of:
                texts_of[name] = frozenset(asked[name].texts)
            if not texts_of[name].issuperset(labels):
                raise CampaignError(
                    f"a translation of attribute {name!r} labels a value that it does not list"
                )


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Everything in a campaign that is not the questions or the noise."""

    name: str
    title: str = ""
    description: str = ""
    language: str = "en"
    consent: str = ""
    """What people agree to, in the campaign's language."""
    translations: Mapping[str, Translation] = field(default_factory=dict, hash=False)
    schedule: Schedule | None = None
    min_reports: int = 1
    """Nothing is estimated or shown from fewer reports."""
    retention_days: int = 0
    """Days after the close at which reports are deleted; 0: kept until somebody deletes them."""
    licence: str = ""
    """Under which the publication may be used: an SPDX identifier or an address."""
    send_within_minutes: int = 0
    """Minutes, from the opening of the page, within which the report is sent at a random moment; 0: at once."""
    admission: Admission | None = None
    """Who may take part; None: everybody."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise CampaignError(
                "name must be 1 to 100 small letters, digits, dots, hyphens or underscores, the first a letter or digit"
            )
        if self.min_reports < 1:
            raise CampaignError(f"min_reports must be at least 1, got {self.min_reports}")
        if self.retention_days < 0:
            raise CampaignError(f"retention_days must be at least 0, got {self.retention_days}")
        if max(self.min_reports, self.retention_days) > LARGEST_INTEGER:
            raise CampaignError(f"min_reports and retention_days must be at most {LARGEST_INTEGER}")
        if not 0 <= self.send_within_minutes <= MOST_MINUTES:
            raise CampaignError(
                f"send_within_minutes must lie in 0..{MOST_MINUTES}, got {self.send_within_minutes}"
            )
        if self.admission is not None:
            self.admission.check_rounds(self.repeat.rounds if self.repeat else 1)
        _check_number(self.translations)
        for language in (self.language, *self.translations):
            check_language(language)

    def __repr__(self) -> str:
        return one_line(self, repr(self.name))

    @property
    def repeat(self) -> Repeat | None:
        """The rounds, where there are any."""
        return self.schedule.repeat if self.schedule else None

    @property
    def once(self) -> "Terms":
        """The same terms where everybody is asked once."""
        return replace(self, schedule=None, admission=None)

    def reports_together(self, people: int) -> int:
        """How many reports of this many people are studied together: all, or those of one round."""
        return people if self.repeat is None else self.repeat.reports_a_round(people)

    def to_json(self) -> dict[str, Json]:
        """The members of a campaign that are its terms."""
        translations: dict[str, Json] = {
            language: text.to_json() for language, text in self.translations.items()
        }
        optional: dict[str, Json] = {
            "title": self.title,
            "description": self.description,
            "consent": self.consent,
            "licence": self.licence,
            "retention_days": self.retention_days,
            "translations": translations,
            "schedule": self.schedule.to_json() if self.schedule else {},
            "send_within_minutes": self.send_within_minutes,
            "admission": self.admission.to_json() if self.admission else {},
        }
        required: dict[str, Json] = {
            "name": self.name,
            "language": self.language,
            "min_reports": self.min_reports,
        }
        return required | without_empty(optional)


def terms_from_json(members: Members) -> Terms:
    """The terms among a campaign's members."""
    return Terms(
        name=members.text("name"),
        title=members.text("title", ""),
        description=members.text("description", ""),
        language=members.text("language", "en"),
        consent=members.text("consent", ""),
        translations=_translations(members) if "translations" in members else {},
        schedule=schedule_from_json(members.members("schedule")) if "schedule" in members else None,
        min_reports=members.integer("min_reports", 1),
        retention_days=members.integer("retention_days", 0),
        licence=members.text("licence", ""),
        send_within_minutes=members.integer("send_within_minutes", 0),
        admission=(
            admission_from_json(members.members("admission")) if "admission" in members else None
        ),
    )


def _translations(members: Members) -> dict[str, Translation]:
    each = members.members("translations")
    _check_number(each)  # before any is read
    return each.every(_translation)


def _check_number(translations: Sized) -> None:
    if len(translations) > MOST_TRANSLATIONS:
        raise CampaignError(
            f"translations may name at most {MOST_TRANSLATIONS:,} languages, got {len(translations):,}"
        )


def _translation(value: Json, where: str) -> Translation:
    members = Members(value, where)
    texts = {key: members.text(key, "") for key in ("title", "description", "consent")}
    by_name = {
        key: members.mapping(key, text_at) if key in members else {}
        for key in ("titles", "questions")
    }
    labels = members.mapping("labels", _texts) if "labels" in members else {}
    members.done()
    return Translation(**texts, **by_name, labels=labels)  # type: ignore[arg-type]


def _texts(value: Json, where: str) -> dict[str, str]:
    return Members(value, where).every(text_at)
