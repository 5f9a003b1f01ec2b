"""Which tests run when: `make check` leaves out what is slow, `make test` what is full, `make test-full` nothing.

A test is **slow** if it starts a process, a server or a browser, asks a database, or publishes: whatever it reaches by its
fixtures, and by the functions of these files that it calls, is looked through. A test that computes for more than a second
without any of that is marked: `@pytest.mark.slow`.

A test is **full** if it finds out how far something bends, and another test keeps the promise itself: `@pytest.mark.full`.
"""

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

FULL = os.environ.get("LOPUB_FULL", "0") not in ("", "0")
"""Whether full tests run, and others at their full size."""
HERE = Path(__file__).parent
SLOW_MODULES = frozenset(
    {"subprocess", "multiprocessing", "selenium", "distributed", "pyspark", "sphinx", "uvicorn"}
)
SLOW_FUNCTIONS = frozenset({"publish", "publish_rounds", "published"})
"""Of `lopub`: each publishes."""
SLOW_FIXTURES = frozenset({"database", "postgres"})


def is_slow(item: pytest.Function) -> bool:
    """Whether a test starts something, publishes or asks a database."""
    if not SLOW_FIXTURES.isdisjoint(item.fixturenames):
        return True
    fixtures = [one for found in item._fixtureinfo.name2fixturedefs.values() for one in found]
    return any(
        reaches_slow(function) for function in (item.function, *(one.func for one in fixtures))
    )


@cache
def reaches_slow(function: Callable[..., Any]) -> bool:
    """Whether a function of these files names something slow, or calls one that does."""
    seen: set[Callable[..., Any]] = set()
    waiting = [function]
    while waiting:
        function = _inner(waiting.pop())
        if function in seen or not hasattr(function, "__code__"):
            continue
        seen.add(function)
        for name in _names(function.__code__):
            found = function.__globals__.get(name)
            if _is_slow_name(name, found):
                return True
            waiting += _ours(found)
    return False


def _inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a function is wrapped around, also by Hypothesis."""
    handle = getattr(function, "hypothesis", None)
    return inspect.unwrap(function if handle is None else handle.inner_test)


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function uses, with those of functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_slow_name(name: str, found: Any) -> bool:
    home = getattr(found, "__module__", None) or getattr(found, "__name__", None) or name
    is_publishing = name in SLOW_FUNCTIONS and isinstance(found, FunctionType)
    return str(home).partition(".")[0] in SLOW_MODULES or (
        is_publishing and home.startswith("lopub.")
    )


def _ours(found: Any) -> list[Callable[..., Any]]:
    """A function of these files, or the methods of a class of theirs."""
    if isinstance(found, type) and _is_here(found):
        return [one for one in vars(found).values() if isinstance(one, FunctionType)]
    found = _inner(found) if callable(found) else found
    return [found] if isinstance(found, FunctionType) and _is_here(found) else []


@cache
def _is_here(found: Any) -> bool:
    file = getattr(sys.modules.get(found.__module__), "__file__", None)
    return file is not None and Path(file).is_relative_to(HERE)


def group_of(item: pytest.Function, *, slow: bool) -> str | None:
    """Tests of one group run one after the other in one process: those of a file whose fixtures are made once for the file, and
    quick ones of a file. Slow tests that share nothing are spread over the processes."""
    fixtures = [one for found in item._fixtureinfo.name2fixturedefs.values() for one in found]
    shares = any(one.scope in ("class", "module", "package") for one in fixtures)
    return str(item.path.relative_to(HERE)) if shares or not slow else None
