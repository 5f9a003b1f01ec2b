"""Drafts: questions and terms as people write them. Whatever is wrong with one, and what could be better, is told at once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar, cast

from lopub.campaign.canonical import Json, Members
from lopub.campaign.domain import Domain, Question
from lopub.campaign.fields import domain_of, question_from_json
from lopub.campaign.schedule import ONCE
from lopub.campaign.terms import Terms, check_translations, terms_from_json
from lopub.errors import CampaignError, DomainError, StoreError, all_of
from lopub.files import kind_of
from lopub.questionnaire import draft_text
from lopub.questionnaire.draft_text import Lines
from lopub.questionnaire.shorthand import Object, long_field, long_schedule, long_terms

_TOGETHER = {
    "name",
    "type",
    "constraints",
    "categories",
    "categoriesOrdered",
    "bins",
    "none",
    "period",
}
"""The members of a field that only make sense with one another."""
_OWN_LANGUAGE = "en"

Result = TypeVar("Result")


class FinishedCampaign(CampaignError):
    """A campaign where a draft of one is expected."""


@dataclass(frozen=True)
class Mistake:
    """What is wrong, or could be better, and where: the path of the value in the draft."""

    text: str
    path: draft_text.Path = ()


@dataclass(frozen=True, eq=False)
class Draft:
    """What was read of a draft, as far as it can be."""

    questions: tuple[Question, ...]
    terms: Terms | None
    mistakes: tuple[Mistake, ...]
    lines: Lines
    places: Mapping[str, int]
    """Name of a question -> its number among the fields."""

    def line_of(self, mistake: Mistake) -> int | None:
        """The line of the nearest value around the mistake that has one; None where it is about the whole."""
        for end in range(len(mistake.path), 0, -1):
            if mistake.path[:end] in self.lines:
                return self.lines[mistake.path[:end]]
        return None


def draft_from_file(path: str | Path) -> tuple[Domain, Terms]:
    """The fields and terms of a draft: a campaign without mechanism and privacy, in any spelling of JSON, with comments.

    Whatever is wrong with it is told at once, field by field.
    """
    draft = read_draft(path)
    if draft.mistakes or draft.terms is None:
        raise CampaignError(
            f"{path}: {all_of([mistake.text for mistake in draft.mistakes], 'the draft')}"
        )
    return domain_of(draft.questions), draft.terms


def read_draft(path: str | Path) -> Draft:
    """A draft with all its mistakes; refuses a file that is none."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read draft {path}: {error.strerror}") from None
    try:
        return draft_of(*draft_text.parsed(data))
    except FinishedCampaign as error:
        raise FinishedCampaign(f"{path}: {error}") from None
    except (CampaignError, DomainError) as error:
        if (kind := kind_of(draft_text.without_comments(data).lstrip())) != "JSON":
            raise CampaignError(f"{path} is not a draft, but {kind}") from None
        raise CampaignError(f"{path}: {error}") from None


def draft_of(value: Json, lines: Lines) -> Draft:
    """The draft that a parsed text is."""
    members = Members(value, "")
    if "format" in members and "mechanism" in members:
        raise FinishedCampaign(
            "this is a finished campaign, not a draft; for another campaign with the same questions, take format, mechanism and"
            " privacy out of it"
        )
    mistakes: list[Mistake] = []
    given = cast(Object, value)
    language = given.get("language", _OWN_LANGUAGE)
    translations = _copied(given.get("translations", {}))
    questions = _questions(members, mistakes, str(language), translations)
    terms = _terms(given, mistakes, str(language), translations)
    places = _places(given)
    domain = _noting(mistakes, lambda: domain_of(questions)) if not mistakes or questions else None
    if domain is not None:
        rules = domain.questionnaire_mistakes()
        mistakes += [
            Mistake(text, ("schema", "fields", places[name], "onlyIf")) for name, text in rules
        ]
        if terms is not None and len(questions) == len(places):
            _noting(
                mistakes,
                lambda: check_translations(terms.translations.values(), domain),
                path=("translations",),
            )
    return Draft(tuple(questions), terms, tuple(mistakes), lines, places)


def _places(given: Object) -> dict[str, int]:
    schema = given.get("schema")
    fields = schema.get("fields") if isinstance(schema, dict) else None
    listed = enumerate(fields) if isinstance(fields, list) else ()
    return {
        str(field["name"]): i for i, field in listed if isinstance(field, dict) and "name" in field
    }


def _copied(translations: Json) -> Object:
    """The translations that a draft spells out, to which those beside the texts are added."""
    if not isinstance(translations, dict):
        return {}
    return {
        key: _copied(value) if isinstance(value, dict) else value
        for key, value in translations.items()
    }


def _noting(
    mistakes: list[Mistake],
    read: Callable[[], Result],
    prefix: str = "",
    path: draft_text.Path = (),
) -> Result | None:
    """What comes of reading; a mistake is noted, and nothing comes of it."""
    try:
        return read()
    except (CampaignError, DomainError) as error:
        text = str(error)
        mistakes.append(
            Mistake(text if text.startswith(("attribute ", "list '")) else f"{prefix}{text}", path)
        )
        return None


def _questions(
    members: Members, mistakes: list[Mistake], language: str, translations: Object
) -> list[Question]:
    """The fields that can be; what is wrong with the others goes to the mistakes, by name."""
    schema = _noting(mistakes, lambda: members.members("schema"), path=("schema",))
    fields = (
        _noting(mistakes, lambda: schema.items("fields"), path=("schema", "fields"))
        if schema is not None
        else None
    )
    if schema is not None:
        _noting(mistakes, schema.done, path=("schema",))
    numbers: dict[str, str] = {}
    found = []
    for i, item in enumerate(fields or []):
        own: list[Mistake] = []
        found.append(
            _question(
                item,
                f"schema.fields[{i}]",
                own,
                lambda one: long_field(one, language, translations, numbers),
            )
        )
        mistakes += [
            replace(mistake, path=("schema", "fields", i, *mistake.path)) for mistake in own
        ]
    return [question for question in found if question is not None]


def _question(
    item: Json, where: str, mistakes: list[Mistake], longer: Callable[[Object], Object]
) -> Question | None:
    """A field. Members that hang together are read together, every other one alone."""
    if not isinstance(item, dict) or not isinstance(name := item.get("name"), str):
        return _noting(mistakes, lambda: question_from_json(item, where))
    prefix = f"field {name!r}: "
    long = _noting(
        mistakes, lambda: longer(item), f"field {name!r} ", ("type",) if "type" in item else ()
    )
    if long is None:
        return None
    together: Object = {key: value for key, value in long.items() if key in _TOGETHER}
    _noting(mistakes, lambda: question_from_json(together, ""), prefix)
    for key in sorted(set(long) - set(together)):
        alone: Json = {"name": "alone", "type": "boolean", key: long[key]}
        _noting(mistakes, lambda alone=alone: question_from_json(alone, ""), prefix, (key,))  # type: ignore[misc]
    return question_from_json(long, where) if not mistakes else None


def _terms(
    given: Object, mistakes: list[Mistake], language: str, translations: Object
) -> Terms | None:
    """The terms, each of which is read alone first."""
    own: list[Mistake] = []
    plain = {key: value for key, value in given.items() if key != "schema"}
    long = _noting(own, lambda: long_terms(plain, language, translations))
    given = (plain if long is None else long) | (
        {"translations": translations} if translations else {}
    )
    if _says_repeat(
        given
    ):  # where that cannot be, what would follow from it is no mistake of its own
        in_rounds = _noting(
            own,
            lambda: long_schedule(cast(Object, given.pop("schedule"))),
            path=("schedule", "repeat"),
        )
        given |= {} if in_rounds is None else {"schedule": in_rounds}

    def read(values: Object) -> Terms:
        rest = Members(values, "")
        terms = terms_from_json(rest)
        rest.done()
        return terms

    _noting(
        own,
        lambda: read({key: value for key, value in given.items() if key == "name"}),
        path=("name",),
    )
    for key in sorted(set(given) - {"name"}):
        alone: Object = {"name": "alone", key: given[key]}
        _noting(own, lambda alone=alone: read(alone), path=(key,))  # type: ignore[misc]
    mistakes += own
    return read(given) if not own else None


def _says_repeat(draft: Json) -> bool:
    """Whether a draft's members say anything but that it is asked once, be that an object or not."""
    schedule = draft.get("schedule") if isinstance(draft, dict) else None
    return isinstance(schedule, dict) and schedule.get("repeat", ONCE) != ONCE
