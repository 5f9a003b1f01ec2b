"""Catalogues of translations in gettext's format: `.po` files, which Babel reads once per process, without a step that
compiles them.

English is what everything is written in. A catalogue is asked for three things: texts of pages, in templates and in Python
(`gettext`, `ngettext`); and messages that come from elsewhere, such as errors (`translated`).
"""

from functools import cache
from gettext import GNUTranslations
from io import BytesIO
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import EscapeFormatter, Markup, escape

from lopub.errors import LopubError, Message
from lopub.pages.finished_sentences import FormattedText, message_of

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

LOCALE = Path(__file__).parent / "locale"
"""The catalogues of the pages that everybody may read; the console has its own."""
SWAPPED = {"de": str.maketrans(",.", ".,")}
"""Languages that write 1.234,5 for 1,234.5."""


def translatable(text: str) -> str:
    """The same text, marked: it is translated where it is shown."""
    return text


def figures(text: str, language: str) -> str:
    """Digits that Python wrote, as people of a language write them."""
    return text.translate(SWAPPED.get(language, {}))


class Catalogue(GNUTranslations):
    """The translations of one place into one language. Fuzzy and empty entries count as missing."""

    def __init__(self, language: str, entries: "Catalog") -> None:
        from babel.messages.mofile import write_mo  # only where a page is made

        compiled = BytesIO()
        write_mo(compiled, entries)
        compiled.seek(0)
        super().__init__(compiled)
        self.language = language
        self.templates: dict[str, str] = {
            entry.id: str(entry.string)
            for entry in entries
            if isinstance(entry.id, str) and entry.id and entry.string and not entry.fuzzy
        }
        """Template of a message -> its translation. Those of finished sentences are among them."""

    def translated(self, message: Message | LopubError | str) -> Markup:
        """A message as HTML, with the figures and the messages in its blanks. What has no translation is marked as English."""
        if isinstance(message, LopubError):
            message = message.message
        if isinstance(message, str):
            message = Message(message)
        if not message.parameters:
            message = message_of(message.template, self.templates) or message
        template = self.templates.get(message.template)
        if template is None and self.language != "en":
            return Markup('<span lang="en">{}</span>').format(str(message))
        return self._filled(template or message.template, message)

    def _filled(self, template: str, message: Message) -> Markup:
        text, blanks = escape(template), message.parameters
        if not blanks:
            return text
        filled = _Blanks(self).vformat(text, tuple(blanks.values()), blanks)
        return Markup(filled)  # noqa: S704 # template and values are escaped


class _Blanks(EscapeFormatter):
    """Fills in what stands for the blanks of a template: as HTML, in the catalogue's language."""

    def __init__(self, catalogue: Catalogue) -> None:
        super().__init__(escape)
        self._catalogue = catalogue

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return (
            value if isinstance(value, FormattedText) else super().convert_field(value, conversion)
        )

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Message | LopubError):
            return self._catalogue.translated(value)
        language = self._catalogue.language
        if isinstance(value, FormattedText):
            return escape(figures(value, language) if value.is_figure else value)
        text = super().format_field(value, format_spec)
        return figures(text, language) if isinstance(value, Real) else text


@cache
def catalogue(language: str, locale: Path = LOCALE) -> Catalogue:
    """The catalogue of a language; one without entries where there is no file."""
    from babel.messages.catalog import Catalog
    from babel.messages.pofile import read_po

    path = locale / f"{language}.po"
    if not path.exists():
        return Catalogue(language, Catalog(language))
    with path.open("rb") as file:
        return Catalogue(language, read_po(file, locale=language, abort_invalid=True))
