"""Pages from templates: every text escaped, every number with its exact value, the page's own words in the reader's language."""

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from lopub.campaign.terms import PAGE_LANGUAGES
from lopub.pages.translation import LOCALE, catalogue, figures
from lopub.pages.wording import chosen_language

HERE = Path(__file__).parent
LANGUAGES = PAGE_LANGUAGES


EXACT = 1e-6
"""Of the last digit of an epsilon: what its conversion to a binary number may have added."""


LAST, MOST_DIGITS = 1e-9, 9
"""Of a probability that is rounded up: what its conversion may have added, and the digits after which it may be certain."""


def page_language(wanted: Sequence[str]) -> str:
    """The language of a page's own words: the first wanted one that there is, else English."""
    return chosen_language(wanted, LANGUAGES)


@cache
def environment(language: str, templates: Path, locale: Path = LOCALE) -> Environment:
    """Where a page's templates lie, beside those that all pages share; and where its translations do."""
    loader = ChoiceLoader([FileSystemLoader(templates), FileSystemLoader(HERE / "templates")])
    found = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    words = catalogue(language, locale)
    found.install_gettext_translations(words, newstyle=True)  # type: ignore[attr-defined] # added by the extension
    own = Figures(language)
    found.filters |= {
        "number": own.number,
        "share": own.share,
        "at_most": own.at_most,
        "between": own.between,
        "written_as": own.written_as,
        "guaranteed": own.guaranteed,
        "about": own.about,
        "apart": own.apart,
        "between_apart": own.between_apart,
        "points": own.points,
        "between_points": own.between_points,
        "percent": percent,
        "translated": words.translated,
    }
    found.globals["language"] = language
    return found


def rendered(
    template: str, templates: Path, language: str, *, locale: Path = LOCALE, **context: Any
) -> bytes:
    """A whole page."""
    return (
        environment(language, templates, locale).get_template(template).render(**context).encode()
    )


class Figures:
    """Numbers as people of a language read them, each in an element that carries the exact value."""

    def __init__(self, language: str) -> None:
        self._language = language

    def _shown(self, text: str) -> str:
        return figures(text, self._language)

    def number(self, value: float, form: str = ",") -> Markup:
        """A number. form: as Python's formats have it."""
        return self.written_as(value, f"{value:{form}}")

    def written_as(self, value: float, digits: str) -> Markup:
        """A number whose digits were chosen elsewhere, in English."""
        return Markup('<data value="{}">{}</data>').format(repr(value), self._shown(digits))

    def guaranteed(self, value: float) -> Markup:
        """An epsilon with four digits, rounded up: a guarantee is never shown better than it is."""
        unit = 10.0 ** (math.floor(math.log10(value)) - 3) if value > 0 else 1.0
        return self.written_as(value, f"{math.ceil(value / unit - EXACT) * unit:.4g}")

    def share(self, value: float) -> Markup:
        """A share in per cent."""
        return Markup('<data value="{}">{}&nbsp;%</data>').format(
            repr(value), self._shown(f"{100 * value:.1f}")
        )

    def at_most(self, value: float) -> Markup:
        """A probability in per cent, rounded up, with as many digits as it takes not to be taken for certain: so the page on
        which people take part tells it, too."""
        digits = 0
        while (
            value < 1
            and math.ceil(100 * value * 10**digits - LAST) >= 100 * 10**digits
            and digits < MOST_DIGITS
        ):
            digits += 1
        up = math.ceil(100 * value * 10**digits - LAST) / 10**digits
        return Markup('<data value="{}">{}&nbsp;%</data>').format(
            repr(value), self._shown(f"{up:.{digits}f}")
        )

    def between(self, ends: tuple[float, float]) -> Markup:
        """An interval of shares in per cent."""
        low, high = (
            Markup('<data value="{}">{}</data>').format(repr(end), self._shown(f"{100 * end:.1f}"))
            for end in ends
        )
        return Markup('<span class="whole">{}–{}&nbsp;%</span>').format(low, high)

    def about(self, share: float, people: int) -> str:
        """How many people a share is: no figure of its own, but the share as it is shown, in per cent with one digit, said
        otherwise. Whoever multiplies the two comes to the same number, as round as the last digit of the share allows."""
        unit = 10 ** max(math.floor(math.log10(max(people / 1000, 1.0))), 0)
        shown = round(100 * share, 1) / 100 * people
        return self._shown(f"{round(shown / unit) * unit:,}")

    def apart(self, value: float) -> Markup:
        """The size of a difference of shares, in percentage points."""
        return self.written_as(value, f"{100 * abs(value):.1f}")

    def between_apart(self, ends: tuple[float, float]) -> Markup:
        """An interval of sizes of differences, in percentage points."""
        return Markup('<span class="whole">{}–{}</span>').format(
            *map(self.apart, sorted(ends, key=abs))
        )

    def points(self, value: float) -> Markup:
        """A difference of shares in percentage points, with its sign."""
        return self.written_as(value, f"{100 * value:+.1f}")

    def between_points(self, ends: tuple[float, float]) -> Markup:
        """An interval of differences, in percentage points."""
        low, high = map(self.points, ends)
        return Markup('<span class="whole">{} … {}</span>').format(low, high)


def percent(value: float) -> str:
    """A length, for a style; within 0 and 100 %."""
    return f"{100 * min(max(value, 0.0), 1.0):.1f}%"
