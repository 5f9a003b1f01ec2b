"""Finished English sentences, turned back into messages, so that they can be translated.

Errors keep their template and what stands for its blanks. Some rooms still give sentences in which the blanks are filled:
`campaign`, `questionnaire`, `planning.advice`, `publication`, the progress of long work, and what a job has stored of its course.
Here such a sentence is compared with the templates of a catalogue; those that nothing else needs are marked there by the
context "sentence". This module goes with the last of these rooms.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from lopub.errors import Message

_BLANK = re.compile(r"\{[^{}]*\}")
_FIGURE = re.compile(r"\d[\d,]*(\.\d+)?")


class FormattedText(str):
    """What stood in a blank of a finished sentence: formatted already."""

    @property
    def is_figure(self) -> bool:
        """Whether it is a number, as in 1,234.5."""
        return _FIGURE.fullmatch(self) is not None


def message_of(text: str, templates: Mapping[str, str]) -> Message | None:
    """The message whose sentence a text is; None if no template fits."""
    if text in templates:
        return Message(text)
    for template, pattern in _patterns(tuple(templates)):
        if found := pattern.fullmatch(text):
            filled = zip(_names(template), found.groups(), strict=True)
            return Message(template, {name: _part(part, templates) for name, part in filled})
    return None


@lru_cache(maxsize=8)
def _patterns(templates: tuple[str, ...]) -> list[tuple[str, re.Pattern[str]]]:
    """Those with the most words of their own first, so that one that is a part of another is tried after it."""
    with_blanks = [one for one in templates if _BLANK.search(one)]
    return [
        (one, re.compile("(.+?)".join(map(re.escape, _BLANK.split(one))), re.DOTALL))
        for one in sorted(with_blanks, key=lambda one: -len(_BLANK.sub("", one)))
    ]


def _names(template: str) -> Iterator[str]:
    """What the blanks are called; those without a name by their place."""
    for place, blank in enumerate(_BLANK.findall(template)):
        yield re.split("[!:]", blank[1:-1])[0] or str(place)


def _part(text: str, templates: Mapping[str, str]) -> FormattedText | Message:
    """What stands in a blank: a sentence that is known; or a figure or a name, which stays as it is."""
    part = FormattedText(text)
    return part if part.is_figure else message_of(text, templates) or part
