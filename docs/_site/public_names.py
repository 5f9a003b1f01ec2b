"""The directive `public-names`: what the docstrings say of names that `lopub` exports, as Markdown."""

import ast
import dataclasses
import enum
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import lopub

PLAIN_TYPES = [
    "bool",
    "bytes",
    "dict",
    "float",
    "int",
    "list",
    "set",
    "str",
    "tuple",
    "None",
    "Iterator",
    "Mapping",
    "Sequence",
]
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class PublicNames(SphinxDirective):
    """Names, separated by spaces, each with its signature and docstring; or, on a line of its own, `Name: members`, of which a
    reader is shown these and no others: what else a class has is for the library itself."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        text = "\n\n".join(
            "\n".join(_entry(name, getattr(lopub, name), members))
            for name, members in listed(self.content)
        )
        return self.parse_text_to_nodes(text)


def listed(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Every name of a list, with the members that are shown."""
    for line in lines:
        names, colon, members = line.partition(":")
        if colon and len(names.split()) != 1:
            raise ValueError(f"members must be those of one class, got {line!r}")
        yield from ((name, members.split()) for name in names.split())


def _entry(name: str, thing: Any, members: list[str]) -> Iterator[str]:
    if not inspect.isclass(thing):
        yield from _block("function", name + _signature(thing), thing, level=4)
        return
    is_exception = issubclass(thing, BaseException)
    heading = name if is_exception or issubclass(thing, enum.Enum) else name + _signature(thing)
    yield f"::::::{{py:{'exception' if is_exception else 'class'}}} {heading}"
    if is_exception:
        yield f"\nBase classes: {', '.join(f'`{base.__name__}`' for base in thing.__bases__)}."
    yield from _prose(thing)
    yield from (f"- `{field}`: {told}" for field, told in fields_of(thing).items())
    yield ""
    for key in members:
        member = inspect.getattr_static(thing, key)
        kind, shown = _described(key, member)
        yield from _block(kind, shown, member, level=4)
    yield "::::::"


def fields_of(thing: type) -> dict[str, str]:
    """What is written below the fields of a class that can be given when one is made, those of its bases first."""
    given = (
        {field.name for field in dataclasses.fields(thing) if field.init}
        if dataclasses.is_dataclass(thing)
        else set()
    )
    found: dict[str, str] = {}
    for kind in reversed([kind for kind in thing.__mro__ if kind.__module__.startswith("lopub.")]):
        body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
        for field, below in pairwise(body):
            match field, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                    value=ast.Constant(value=str(told))
                ) if name in given:
                    found[name] = " ".join(told.split())
    return found


def _block(kind: str, heading: str, thing: Any, *, level: int) -> Iterator[str]:
    fence = ":" * level
    yield f"{fence}{{py:{kind}}} {heading}"
    yield from _prose(thing)
    yield fence


def _bare(member: Any) -> Any:
    return member.__func__ if isinstance(member, classmethod | staticmethod) else member


def _described(key: str, member: Any) -> tuple[str, str]:
    if isinstance(member, property):
        return "property", key
    kind = {classmethod: "classmethod", staticmethod: "staticmethod"}.get(type(member), "method")
    return kind, key + _signature(_bare(member), bound=not isinstance(member, staticmethod))


def _signature(thing: Any, *, bound: bool = False) -> str:
    """Parameters with their defaults, without types: those are in the code, and would fill the line."""
    parameters = list(inspect.signature(thing).parameters.values())[1 if bound else 0 :]
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    return ADDRESS.sub("", str(inspect.Signature(bare)))


def _prose(thing: Any) -> Iterator[str]:
    """The docstring, with examples fenced. A dataclass without one has its signature for a docstring, which says nothing."""
    text = inspect.getdoc(_bare(thing)) or ""
    if inspect.isclass(thing) and text.startswith(f"{thing.__name__}("):
        text = ""
    yield ""
    yield _parameters_listed(
        re.sub(r"(?ms)^(>>> .*?)(?=^\s*$|\Z)", r"```pycon\n\1\n```\n", text), thing
    )
    if returned := _returned(thing):
        yield f"\nReturns: {f'{{py:class}}`{returned}`' if returned in lopub.__all__ else f'`{returned}`'}."
    yield ""


def _returned(thing: Any) -> str:
    """What a function, a method or a property returns, if a reader can know all of its names; else nothing."""
    bare = _bare(thing.fget if isinstance(thing, property) else thing)
    if inspect.isclass(bare):
        return ""
    annotation = inspect.signature(bare).return_annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    short = re.sub(r"(?:\w+\.)+(\w+)", r"\1", text)
    names = set(re.findall(r"\w+", short))
    return short if names != {"None"} and names <= {*lopub.__all__, *PLAIN_TYPES} else ""


def _parameters_listed(text: str, thing: Any) -> str:
    """A line that begins with a parameter and a colon begins an item of a list."""
    try:
        names = "|".join(inspect.signature(_bare(thing)).parameters) or "$"
    except (TypeError, ValueError):
        return text
    return re.sub(
        rf"(?m)^((?:{names})(?:, (?:{names}))*): ",
        lambda found: f"- `{found[1].replace(', ', '`, `')}`: ",
        text,
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("public-names", PublicNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
