"""Pages from templates: every text escaped, every number with its exact value, the page's own words in the reader's language."""

import json
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from lopub.campaign.wording import PAGE_LANGUAGES, chosen_language

HERE = Path(__file__).parent
LANGUAGES = PAGE_LANGUAGES
COMMAS = {"de"}
"""Languages that write 1.234,5 for 1,234.5."""


EXACT = 1e-6
"""Of the last digit of an epsilon: what its conversion to a binary number may have added."""


LAST, MOST_DIGITS = 1e-9, 9
"""Of a probability that is rounded up: what its conversion may have added, and the digits after which it may be certain."""


def page_language(wanted: Sequence[str]) -> str:
    """The language of a page's own words: the first wanted one that there is, else English."""
    return chosen_language(wanted, LANGUAGES)


@cache
def environment(language: str, templates: Path, words: Path = HERE / "words") -> Environment:
    """Where a page's templates lie, beside those that all pages share; and where its words do."""
    loader = ChoiceLoader([FileSystemLoader(templates), FileSystemLoader(HERE / "templates")])
    found = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    known = translations(language, words)

    def one(text: str) -> str:
        return known.get(text, text)

    def many(single: str, plural: str, n: int) -> str:
        return one(single if n == 1 else plural)

    found.install_gettext_callables(one, many, newstyle=True)  # type: ignore[attr-defined] # added by the extension
    figures = Figures(language)
    found.filters |= {
        "number": figures.number,
        "share": figures.share,
        "at_most": figures.at_most,
        "between": figures.between,
        "told": figures.told,
        "guaranteed": figures.guaranteed,
        "about": figures.about,
        "apart": figures.apart,
        "between_apart": figures.between_apart,
        "points": figures.points,
        "between_points": figures.between_points,
        "percent": percent,
    }
    found.globals["language"] = language
    return found


def said_in(language: str, text: str) -> str:
    """One of the pages' own texts in a language."""
    return translations(language).get(text, text)


@cache
def translations(language: str, words: Path = HERE / "words") -> dict[str, str]:
    """English -> another language; empty for English."""
    if language == "en":
        return {}
    found: dict[str, str] = json.loads((words / f"{language}.json").read_text(encoding="utf-8"))
    return found


def rendered(
    template: str, templates: Path, language: str, *, words: Path = HERE / "words", **context: Any
) -> bytes:
    """A whole page."""
    return environment(language, templates, words).get_template(template).render(**context).encode()


class Figures:
    """Numbers as people of a language read them, each in an element that carries the exact value."""

    def __init__(self, language: str) -> None:
        self._swapped = str.maketrans(",.", ".,") if language in COMMAS else {}

    def _shown(self, text: str) -> str:
        return text.translate(self._swapped)

    def number(self, value: float, form: str = ",") -> Markup:
        """A number. form: as Python's formats have it."""
        return self.told(value, f"{value:{form}}")

    def told(self, value: float, digits: str) -> Markup:
        """A number whose digits were chosen elsewhere, in English."""
        return Markup('<data value="{}">{}</data>').format(repr(value), self._shown(digits))

    def guaranteed(self, value: float) -> Markup:
        """An epsilon with four digits, rounded up: a guarantee is never told better than it is."""
        unit = 10.0 ** (math.floor(math.log10(value)) - 3) if value > 0 else 1.0
        return self.told(value, f"{math.ceil(value / unit - EXACT) * unit:.4g}")

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
        return self.told(value, f"{100 * abs(value):.1f}")

    def between_apart(self, ends: tuple[float, float]) -> Markup:
        """An interval of sizes of differences, in percentage points."""
        return Markup('<span class="whole">{}–{}</span>').format(
            *map(self.apart, sorted(ends, key=abs))
        )

    def points(self, value: float) -> Markup:
        """A difference of shares in percentage points, with its sign."""
        return self.told(value, f"{100 * value:+.1f}")

    def between_points(self, ends: tuple[float, float]) -> Markup:
        """An interval of differences, in percentage points."""
        low, high = map(self.points, ends)
        return Markup('<span class="whole">{} … {}</span>').format(low, high)


def percent(value: float) -> str:
    """A length, for a style; within 0 and 100 %."""
    return f"{100 * min(max(value, 0.0), 1.0):.1f}%"
