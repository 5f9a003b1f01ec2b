"""Every exception of LoPub.

    LopubError
    ├── CampaignError (ValueError)      a campaign, or a request for one, that cannot be
    │   ├── CodesCollide                two candidates share a code; another salt may part them
    │   ├── EpsilonTooHigh              a campaign that reveals more than the app allows
    │   ├── NoCampaign                  a campaign that a collector does not have
    │   └── CampaignClosed              one that takes no more reports, and lets none be withdrawn
    ├── DomainError (ValueError)        a value, a record or an attribute that does not fit
    ├── TooFewReports (ValueError)      nothing may be, or can be, estimated from so few
    ├── NeedsReports (ValueError)       counts are not enough for what is asked
    ├── ReportRejected (ValueError)     a report to refuse; carries its Reason; counted, not retried
    ├── CollectorError (OSError)        a collector that refuses a request, or answers otherwise than agreed
    │   └── TryLater                    one that gave no answer in time, or asked for patience; send the same again
    ├── EngineError (OSError)           an engine that is not installed, out of reach, or broke down
    └── StoreError (OSError)            a file, directory or database that cannot be read or written
        ├── StorageFull                 no space is left; the same may be tried again
        └── StoreUnavailable            a database that is out of reach for now; the same may be tried again

    LopubWarning (UserWarning)
    └── NoiseWarning                    the noise drowns what is asked for

All but the last four errors are the caller's or the sender's mistake, those the machine's or the network's. An option that a
function does not take is a TypeError, as everywhere in Python. Anything else that comes out of LoPub is a bug of ours. No message
quotes an answer. One about a record can still tell something about it: a question that "does not apply" tells what was answered
to another. Such a message is for the person who answers, and belongs in no log.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar, cast

MOST_LISTED = 20
"""Mistakes that one message lists."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Message:
    """A sentence for people: a template, which a translation is looked up by, and what its blanks stand for.

    >>> str(Message("there is no job {number}", {"number": 7}))
    'there is no job 7'
    """

    template: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    """Names, figures, or other messages. Without any, the template is the sentence, braces and all."""

    def __str__(self) -> str:
        return self.template.format_map(self.parameters) if self.parameters else self.template


class LopubError(Exception):
    """Anything that LoPub raises on purpose. It keeps its message's template, so that pages can say it in another language."""

    def __init__(self, template: str, /, **parameters: object) -> None:
        """template: a sentence with a blank, as in "there is no job {number}", for each of the parameters."""
        self.message = Message(template, parameters)
        super().__init__(str(self.message))


class CampaignRefusal(StrEnum):
    """Why a campaign is refused, for programs that tell people what to do about it. The words never change."""

    ID = "id"
    """The bytes are not those of the campaign that was announced."""
    FORMAT = "format"
    """A format that this program does not know; a newer one may."""
    VIEW = "view"
    """A view that devices would keep over all rounds, and by which they could be told apart."""
    CLAIM = "claim"
    """An epsilon other than the one that follows from the campaign."""
    INVALID = "invalid"
    """Everything else: bytes that no maker of campaigns writes."""


class CampaignError(LopubError, ValueError):
    """A campaign that does not hold together."""

    reason: CampaignRefusal = CampaignRefusal.INVALID
    """Why, where a whole campaign was refused."""


class CodesCollide(CampaignError):
    """Two candidates of one block share a code, so that no report could tell them apart."""


class EpsilonTooHigh(CampaignError):
    """A campaign whose epsilon is above the cap that the app set."""


class NoCampaign(CampaignError):
    """A campaign that a collector does not have."""


class CampaignClosed(CampaignError):
    """A campaign that takes no more reports, and lets none be withdrawn any more."""


class DomainError(LopubError, ValueError):
    """An attribute, a value or a record that does not fit. The message names the question and never quotes the answer; but which
    question does not fit, and how, can tell something about the answers. Show it to the person who answers; never log it."""


class TooFewReports(LopubError, ValueError):
    """Fewer reports than the campaign's min_reports, or none about what is asked."""


class NeedsReports(LopubError, ValueError):
    """What is asked cannot be read off counts; it needs the reports themselves."""


class LopubWarning(UserWarning):
    """Anything that LoPub warns of."""


class NoiseWarning(LopubWarning):
    """An estimate that is mostly noise, with its expected error."""


class CollectorError(LopubError, OSError):
    """A collector that refuses a request as a whole; the same request would be refused again."""


class TryLater(CollectorError):
    """A collector that gave no answer that can be relied on, or asked to come again: send the same bytes later."""


class EngineError(LopubError, OSError):
    """An engine for counting that is not installed, cannot be reached, or broke down."""


class StoreError(LopubError, OSError):
    """A file, directory or database that cannot be read or written."""


class StorageFull(StoreError):
    """A store without space; what was not acknowledged was not kept, and may be sent again."""


class StoreUnavailable(StoreError):
    """A store that is out of reach for now; what was not acknowledged may be sent again."""


class Reason(StrEnum):
    """Why a report is refused. The words are part of the format: they never change."""

    LENGTH = "length"
    """Fewer or more bytes than this campaign and this view need."""
    VERSION = "version"
    """The first byte names a report version that this program does not know."""
    CAMPAIGN = "campaign"
    """The report was made for another campaign."""
    SLOT = "slot"
    """The day lies outside the campaign's schedule."""
    VIEW = "view"
    """The view mask names a set of attributes that this campaign cannot draw."""
    PADDING = "padding"
    """A padding bit behind the last bit is not zero."""
    RANGE = "range"
    """A number is not below the number of cells of its block."""
    WEIGHT = "weight"
    """A `subset` block has the wrong number of ones."""
    JSON = "json"
    """The JSON twin is no such object, or a member has the wrong type or alphabet."""
    CONFLICT = "conflict"
    """Another report with the same id is kept already; a retry must resend the same bytes."""
    WITHDRAWN = "withdrawn"
    """The report with this id was withdrawn."""


class ReportRejected(LopubError, ValueError):
    """A report that must not be counted, with the enumerated reason. when: of a round's, whether it came early or late, if that
    was said."""

    def __init__(self, reason: Reason, message: str, *, when: str = "") -> None:
        super().__init__(message)
        self.reason, self.when = reason, when


def all_of(mistakes: Sequence[str], what: str) -> str:
    """One message about all mistakes: the sentence itself where there is one, else one line each.

    >>> print(all_of(["age is missing", "name must be a text"], "the draft"))
    the draft has 2 mistakes:
    - age is missing
    - name must be a text
    """
    if len(mistakes) == 1:
        return mistakes[0]
    lines = [f"- {mistake}" for mistake in mistakes[:MOST_LISTED]]
    if len(mistakes) > MOST_LISTED:
        lines.append(f"- and {len(mistakes) - MOST_LISTED:,} more")
    return "\n".join([f"{what} has {len(mistakes):,} mistakes:", *lines])


def checks_options(target: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same function or class, with a TypeError that names the nearest option where a keyword is not one of its own."""
    if isinstance(target, type):
        type.__setattr__(target, "__init__", _checked(vars(target)["__init__"], target.__name__))
        return cast(Callable[Arguments, Result], target)
    return _checked(target, target.__name__)


def _checked(function: Callable[Arguments, Result], name: str) -> Callable[Arguments, Result]:
    takes = signature(function).parameters.values()
    own = [
        one.name for one in takes if one.kind != Parameter.POSITIONAL_ONLY and one.name != "self"
    ]

    @wraps(function)
    def checked(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        for option in options:
            if option not in own:
                raise TypeError(f"{name}() has no option {option!r}; {_next_step(option, own)}")
        return function(*arguments, **options)

    return checked


def _next_step(option: str, own: Sequence[str]) -> str:
    near = get_close_matches(option, own, n=1)
    return f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(own) or 'none'}"
