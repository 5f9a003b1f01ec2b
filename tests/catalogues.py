"""What the catalogues of translations have to hold: texts of pages, found by Babel's extractors; and sentences in the source.

    python tests/catalogues.py

brings the `.po` files up to date: new texts are added with an empty translation, those that are gone are left out.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po
from jinja2.ext import babel_extract

import lopub
from lopub import errors
from lopub.campaign.mechanisms import Mechanism
from lopub.errors import LopubError, Message, Reason
from lopub.jobs.queue import State
from lopub.pages.templating import LANGUAGES
from lopub.publication.numbers import QUANTILES

SOURCES = Path(lopub.__file__).parent
HEADER = """\
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Language: {language}\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

"""
JINJA = {
    "newstyle_gettext": "true",
    "trim_blocks": "true",
    "lstrip_blocks": "true",
    "silent": "false",
}
JINJA_WORDS = {"_": None, "gettext": None, "ngettext": (1, 2), "pgettext": ((1, "c"), 2)}
PYTHON = {"_": None, "gettext": None, "ngettext": (1, 2), "translatable": None}
SENTENCE = "sentence"
"""The context of what only `lopub.pages.finished_sentences` looks up."""
OTHERS = [language for language in LANGUAGES if language != "en"]
Id = str | tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """A folder of catalogues, with the packages whose pages they are for."""

    locale: Path
    packages: tuple[str, ...]
    rooms: tuple[str, ...] = ()
    """Whose sentences the pages show, some of them at least."""
    shown: tuple[str, ...] = ()
    """Modules of these rooms of which every sentence can reach a page."""
    named_elsewhere: tuple[str, ...] = ()
    """Texts that a page shows, and that are names first."""

    def entries(self, language: str) -> Catalog:
        """The catalogue as it is on disk."""
        return read_po(BytesIO((self.locale / f"{language}.po").read_bytes()), locale=language)

    def texts(self) -> set[Id]:
        """What its pages say of their own."""
        found: set[Id] = set(self.named_elsewhere)
        for path in self._files(".html"):
            found |= _extracted(path, babel_extract, JINJA_WORDS, JINJA)
        for path in self._files(".py"):
            found |= _extracted(path, "python", PYTHON, {})
        return found

    def _files(self, ending: str) -> list[Path]:
        return [path for one in self.packages for path in (SOURCES / one).rglob(f"*{ending}")]

    def sentences(self) -> list["Sentence"]:
        """What errors, refusals and the course of jobs say."""
        callers = _errors() | COURSE | {"refused"}
        found = [one for path in modules(self.shown) for one in _sentences(path, callers)]
        found += [one for path in modules(self.shown) for one in _constants(path)]
        return [one for one in found if not one.text.endswith(".html")]


CONSOLE = Place(
    SOURCES / "console" / "locale",
    ("console",),
    rooms=("console", "jobs", "collector"),
    shown=(
        "console",
        "jobs",
        *(f"collector/{name}.py" for name in ("campaigns", "drafts", "retention", "store")),
    ),
    named_elsewhere=(*State, *Reason),
)
PAGES = Place(
    SOURCES / "pages" / "locale",
    ("pages", "evaluation", "publication"),
    named_elsewhere=(*QUANTILES, *(kind.in_words for kind in Mechanism.known.values())),
)
PLACES = {"pages": PAGES, "console": CONSOLE}


def _extracted(path: Path, extractor: object, keywords: object, options: object) -> set[Id]:
    found = extract_from_file(extractor, path, keywords=keywords, options=options)  # type: ignore[arg-type]
    return {text for _, text, _, _ in found}


# ---- sentences


TEXT_AT = {"refused": 1, "Problem": 1, "ReportRejected": 1}
"""Which argument is the sentence, where it is not the first."""
BLANK = r"\{[^{}]*\}"
NAMED_BLANK = r"\{[a-z]\w*(![rs])?(:[^{}]+)?\}"
ACTIONS = {"what", "log"}
"""Arguments that say what somebody did, for the log of stewards."""
NO_BLANKS = {"headers", "members", "when", "status", "back", *ACTIONS}
"""Arguments by name that do not stand for a blank."""
COURSE = {"progress", "_progress", "told", "_say", "say", "record"}
"""Functions that are given a sentence that is kept, or shown as it is."""


@dataclass(frozen=True)
class Sentence:
    """A text in the source. parameters: what its blanks stand for; None where it is finished there already."""

    text: str
    parameters: frozenset[str] | None

    @property
    def names(self) -> set[str]:
        """What its blanks are called."""
        return {re.split("[!:]", blank)[0] for blank in re.findall(r"\{([^{}]*)\}", self.text)}


def normal(text: str) -> str:
    """With its blanks emptied, which have names in a template and none in a finished sentence."""
    return re.sub(BLANK, "{}", text)


def modules(rooms: Iterable[str]) -> Iterator[Path]:
    for room in rooms:
        path = SOURCES / room
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def course_of(rooms: Iterable[str]) -> set[str]:
    """What long work says of its progress."""
    found = (one for path in modules(rooms) for one in _sentences(path, COURSE))
    return {normal(one.text) for one in found}


@cache
def _errors() -> set[str]:
    """The names of everything that takes a template first: messages, and all errors of ours."""
    known = {one.__name__ for one in vars(errors).values() if isinstance(one, type)}
    known = {name for name in known if issubclass(getattr(errors, name), LopubError | Message)}
    for path in modules(CONSOLE.rooms):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and known & {ast.unparse(one) for one in node.bases}:
                known.add(node.name)
    return known


def _sentences(path: Path, callers: set[str]) -> Iterator[Sentence]:
    for node in ast.walk(ast.parse(path.read_text())):
        name = _name(node)
        if not isinstance(node, ast.Call):
            continue
        if name in callers - COURSE:
            given, parameters = node.args[TEXT_AT.get(name, 0) :][:1], _parameters(node)
        else:
            given, parameters = node.args if name in callers else [], frozenset()
        for one in (*given, *(word.value for word in node.keywords if word.arg in ACTIONS)):
            text, is_finished = literal(one), isinstance(one, ast.JoinedStr)
            if text and re.search("[a-z]{3}", text):
                yield Sentence(text, None if is_finished else parameters)


def _constants(path: Path) -> Iterator[Sentence]:
    """Templates that stand in a constant, and become messages elsewhere: several words, and a blank that has a name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.IfExp | ast.Dict):
            for one in ast.iter_child_nodes(node):
                found = Sentence("" if isinstance(one, ast.JoinedStr) else literal(one) or "", None)
                if re.search(NAMED_BLANK, found.text) and re.search(r"\w ", found.text):
                    yield Sentence(found.text, frozenset(found.names))


def _name(node: ast.AST) -> str:
    """What is called, without the object that it is called on."""
    called = getattr(node, "func", None)
    return str(getattr(called, "attr", getattr(called, "id", "")))


def _parameters(call: ast.Call) -> frozenset[str]:
    """By name, or as the mapping of a message."""
    found = {word.arg for word in call.keywords if word.arg} - NO_BLANKS
    for mapping in call.args:
        if isinstance(mapping, ast.Dict):
            found |= {key.value for key in mapping.keys if isinstance(key, ast.Constant)}
    return frozenset(map(str, found))


def literal(node: ast.AST) -> str | None:
    """A text in the source, with blanks where something is put into it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
        )
    return None


def literals(rooms: Iterable[str]) -> set[str]:
    """Every text in the source of some rooms, with its blanks emptied."""
    trees = (ast.parse(path.read_text()) for path in modules(rooms))
    found = (literal(node) for tree in trees for node in ast.walk(tree))
    return {normal(text) for text in found if text}


def blanks_of(text: str) -> tuple[str, ...]:
    """What a translation has to have, too: blanks of all kinds, tags, and per cent signs."""
    kinds = r"%\(\w+\)s", r"%s", "%%", r"</?\w+>", BLANK
    return tuple(sorted(found for kind in kinds for found in re.findall(kind, text)))


# ---- files


def as_po(catalog: Catalog) -> bytes:
    """A catalogue in the form that it has in the repository, which does not depend on when it was made."""
    body = BytesIO()
    write_po(body, catalog, width=100, omit_header=True, no_location=True, sort_output=True)
    language = str(catalog.locale_identifier)
    return HEADER.format(language=language).encode() + body.getvalue().strip(b"\n") + b"\n"


def updated(place: Place, language: str) -> Catalog:
    """The catalogue with every text that pages say, and without those that nothing says any more. Where the source now calls the
    blanks of a sentence otherwise, so does its translation."""
    old, new, known = place.entries(language), Catalog(language), literals(place.rooms)
    templates = {one.text for one in place.sentences() if one.parameters is not None}
    texts = place.texts() | templates
    spoken = {normal(text) for text in templates}
    for entry in old:
        sentence = normal(str(entry.id))
        is_said = entry.id in texts or sentence in known - spoken
        if entry.id and (sentence not in spoken if entry.context == SENTENCE else is_said):
            new.add(entry.id, entry.string, context=entry.context, flags=entry.flags)
    for text in texts:
        if text not in new:
            new.add(text, _translation(text, old) if text in templates else "")
    return new


def _translation(template: str, catalog: Catalog) -> str:
    """That of the same sentence with other names for its blanks."""
    for entry in catalog:
        if isinstance(entry.id, str) and normal(entry.id) == normal(template):
            return renamed(str(entry.string), entry.id, template)
    return ""


def renamed(translation: str, old: str, new: str) -> str:
    """The translation of a template for another one, which differs from it in its blanks alone."""
    before, after = (re.findall(BLANK, text) for text in (old, new))
    in_order = iter(after)

    def blank(found: re.Match[str]) -> str:
        name = found[0]
        if name == "{}":
            return str(next(in_order))
        return str(after[int(name[1:-1]) if name[1:-1].isdigit() else before.index(name)])

    return re.sub(BLANK, blank, translation)


def main() -> None:
    for place in PLACES.values():
        for language in OTHERS:
            catalog = updated(place, language)
            (place.locale / f"{language}.po").write_bytes(as_po(catalog))


if __name__ == "__main__":
    main()
