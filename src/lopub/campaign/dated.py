"""Dates and times of day, each as the period that it lies in; nothing finer is ever published."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, date, datetime, time, timedelta
from functools import cached_property
from typing import ClassVar

from lopub.campaign.attribute import Attribute, Value
from lopub.campaign.canonical import Json
from lopub.errors import DomainError

_SPRING, _AUTUMN = (
    "January February March April May June",
    "July August September October November December",
)
MONTHS = (*_SPRING.split(), *_AUTUMN.split())
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOURS = tuple(f"{hour:02}" for hour in range(24))
CYCLES = {"monthOfYear": MONTHS, "weekday": WEEKDAYS, "hour": HOURS}
"""Periods that come again, with all their texts."""
SPANS = ("year", "quarter", "month", "week")
"""Periods that come once, from a first to a last one."""
TYPES = {
    "date": (*SPANS, "monthOfYear", "weekday"),
    "time": ("hour",),
    "datetime": (*SPANS, *CYCLES),
}
"""Type of the Table Schema -> its periods."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(r"\d{2}:\d{2}(:\d{2})?", re.ASCII)

Moment = tuple[date | None, int | None]
"""A day and an hour, each where the answer has one."""


def _week_text(day: date) -> str:
    """The week of ISO 8601, from Monday to Sunday, in the year of its Thursday."""
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


SPAN_TEXTS: dict[str, Callable[[date], str]] = {
    "year": lambda day: f"{day.year:04}",
    "quarter": lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "week": _week_text,
}
"""Period -> the text of the one that a day lies in: `2026`, `2026-Q2`, `2026-05`, `2026-W22`."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Dated(Attribute):
    """The period that a date or a time of day lies in."""

    type: ClassVar[str] = "date"
    kind: str = "date"
    """The Table Schema's type: date, time or datetime."""
    period: str
    first: str = ""
    """The first period, such as 2024-01, where it is one that comes once."""
    last: str = ""

    def __post_init__(self) -> None:
        if self.kind not in TYPES or self.period not in TYPES[self.kind]:
            allowed = ", ".join(TYPES.get(self.kind, ()))
            raise DomainError(
                f"attribute {self.name!r} must have a period that a {self.kind} lies in: {allowed}"
            )
        if self.period in CYCLES and (self.first or self.last):
            raise DomainError(
                f"attribute {self.name!r} has a period that comes again; it takes no minimum and no maximum"
            )
        if self.period not in CYCLES and self._start > self._end:
            raise DomainError(
                f"attribute {self.name!r} has the minimum {self.first} behind the maximum {self.last}"
            )
        super().__post_init__()

    @property
    def answers(self) -> tuple[Value, ...]:
        return self.answer_texts

    @property
    def ordered(self) -> bool:
        return self.period not in CYCLES

    @cached_property
    def answer_texts(self) -> tuple[str, ...]:
        if self.period in CYCLES:
            return CYCLES[self.period]
        return tuple(_periods(self.period, self._start, self._end))

    @property
    def _n_answers(self) -> int:
        """Counted, not listed: a campaign from a stranger may ask for very many."""
        if self.period in CYCLES:
            return len(CYCLES[self.period])
        if self.period == "week":
            return (self._end - self._start).days // 7 + 1
        months = 12 * (self._end.year - self._start.year) + self._end.month - self._start.month
        return months // {"year": 12, "quarter": 3, "month": 1}[self.period] + 1

    @cached_property
    def _start(self) -> date:
        return first_day(self.period, self.first, self.name, "minimum")

    @cached_property
    def _end(self) -> date:
        return first_day(self.period, self.last, self.name, "maximum")

    @cached_property
    def _place_of(self) -> dict[str, int]:
        return {text: place for place, text in enumerate(self.answer_texts)}

    def _answer_index(self, value: Value) -> int:
        if not isinstance(value, str):
            raise self._wrong_type("a text", value)
        if value in self._place_of:
            return self._place_of[value]
        text = self._text_of(moment(value))
        if text is None:
            shape = {"date": "2026-05-31", "time": "14:05", "datetime": "2026-05-31T14:05"}[
                self.kind
            ]
            raise DomainError(
                f"attribute {self.name!r} takes a {self.kind} such as {shape}, or one of its periods"
            )
        if text not in self._place_of:
            raise DomainError(
                f"attribute {self.name!r} takes dates from {self.first} to {self.last}; this one is outside"
            )
        return self._place_of[text]

    def _text_of(self, answer: Moment) -> str | None:
        """The period of an answer; None where the answer has no such period."""
        day, hour = answer
        if (day is None and self.kind != "time") or (hour is None and self.kind != "date"):
            return None
        if self.kind == "date" and hour is not None:
            return None
        if self.period == "hour":
            return None if hour is None else HOURS[hour]
        if day is None:
            return None
        if self.period in SPAN_TEXTS:
            return SPAN_TEXTS[self.period](day)
        return MONTHS[day.month - 1] if self.period == "monthOfYear" else WEEKDAYS[day.weekday()]

    def _parsed(self, text: str) -> Value:
        return text

    def to_json(self) -> dict[str, Json]:
        """The Table Schema field."""
        return super().to_json() | {"type": self.kind}

    def _constraints(self) -> dict[str, Json]:
        return {} if self.period in CYCLES else {"minimum": self.first, "maximum": self.last}

    def _members(self) -> dict[str, Json]:
        return {"period": self.period}


def moment(text: str) -> Moment:
    """The day and the hour of a text as ISO 8601 has them, without a time zone: `2026-05-31`, `14:05`, `2026-05-31T14:05:00`."""
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text), None
        if _TIME.fullmatch(text):
            return None, time.fromisoformat(text).hour
        day, sign, rest = text[:10], text[10:11], text[11:]
        if sign == "T" and _DATE.fullmatch(day) and _TIME.fullmatch(rest):
            whole = datetime.fromisoformat(text)
            return whole.date(), whole.hour
    except ValueError:
        pass
    return None, None


def first_day(period: str, text: str, name: str, key: str) -> date:
    """The first day of a period such as `2026-Q2`; refuses a text that does not name one."""
    shapes = {
        "year": r"(\d{4})",
        "quarter": r"(\d{4})-Q([1-4])",
        "month": r"(\d{4})-(\d{2})",
        "week": r"(\d{4})-W(\d{2})",
    }
    found = re.fullmatch(shapes[period], text, re.ASCII)
    try:
        if found is None:
            raise ValueError
        year, number = int(found[1]), int(found[2]) if found.re.groups > 1 else 1
        if year >= MAXYEAR:
            raise ValueError
        if period == "week":
            return date.fromisocalendar(year, number, 1)
        return date(year, 3 * number - 2 if period == "quarter" else number, 1)
    except ValueError:
        shape = {"year": "2026", "quarter": "2026-Q2", "month": "2026-05", "week": "2026-W22"}[
            period
        ]
        raise DomainError(
            f"attribute {name!r} needs a {key} that is a {period} such as {shape}"
        ) from None


def _periods(period: str, start: date, end: date) -> Iterator[str]:
    step = {"year": 366, "quarter": 92, "month": 31, "week": 7}[period]
    written, day = SPAN_TEXTS[period], start
    while day <= end:
        yield written(day)
        later = day + timedelta(days=step)
        day = later if period == "week" else _begin(period, later)


def _begin(period: str, day: date) -> date:
    """The first day of the year, quarter or month that a day lies in."""
    month = {"year": 1, "quarter": day.month - (day.month - 1) % 3, "month": day.month}[period]
    return date(day.year, month, 1)
