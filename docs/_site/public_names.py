"""The directive `public-names`: what the docstrings say of names that `lopub` exports, as Markdown."""

import enum
import inspect
import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import lopub

ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class PublicNames(SphinxDirective):
    """Names, separated by spaces; every one with its signature, docstring, fields and methods."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        text = "\n\n".join("\n".join(_entry(name, getattr(lopub, name))) for name in " ".join(self.content).split())
        return self.parse_text_to_nodes(text)


def _entry(name: str, thing: Any) -> Iterator[str]:
    if not inspect.isclass(thing):
        yield from _block("function", name + _signature(thing), thing, level=4)
        return
    is_exception = issubclass(thing, BaseException)
    heading = name if is_exception or issubclass(thing, enum.Enum) else name + _signature(thing)
    yield f"::::::{{py:{'exception' if is_exception else 'class'}}} {heading}"
    if is_exception:
        yield f"\nBase classes: {', '.join(f'`{base.__name__}`' for base in thing.__bases__)}."
    yield from _prose(thing)
    for key, member in _members(thing):
        kind, shown = _described(key, member)
        yield from _block(kind, shown, member, level=4)
    yield "::::::"


def _block(kind: str, heading: str, thing: Any, *, level: int) -> Iterator[str]:
    fence = ":" * level
    yield f"{fence}{{py:{kind}}} {heading}"
    yield from _prose(thing)
    yield fence


def _members(thing: type) -> Iterator[tuple[str, Any]]:
    """What a class of ours defines or inherits from one of ours, that has a docstring, by name."""
    for key in sorted(dir(thing)):
        member = inspect.getattr_static(thing, key)
        home = next((base for base in thing.__mro__ if key in vars(base)), object)
        if not key.startswith("_") and home.__module__.startswith("lopub") and _bare(member).__doc__ and _is_ours(member):
            yield key, member


def _is_ours(member: Any) -> bool:
    return isinstance(member, property | classmethod | staticmethod) or inspect.isfunction(member)


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
    yield _parameters_listed(re.sub(r"(?ms)^(>>> .*?)(?=^\s*$|\Z)", r"```pycon\n\1\n```\n", text), thing)
    yield ""


def _parameters_listed(text: str, thing: Any) -> str:
    """A line that begins with a parameter and a colon begins an item of a list."""
    try:
        names = "|".join(inspect.signature(_bare(thing)).parameters) or "$"
    except (TypeError, ValueError):
        return text
    return re.sub(rf"(?m)^((?:{names})(?:, (?:{names}))*): ", lambda found: f"- `{found[1].replace(', ', '`, `')}`: ", text)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("public-names", PublicNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
