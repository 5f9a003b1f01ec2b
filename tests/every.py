"""One promise, many cases: a check of one case becomes a test of all of them, which names each that fails."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Signature, signature
from typing import Any

import pytest


def every(cases: Iterable[Any], name: Callable[[Any], str] = str) -> Callable[..., Any]:
    """Make a test of a check; a check of several arguments is handed the parts of a case."""
    held = list(cases)

    def made(check: Callable[..., None]) -> Callable[[], None]:
        @wraps(check)
        def test() -> None:
            found = [
                _failure(check, case, f"{i} {name(case)[:200]}") for i, case in enumerate(held)
            ]
            failures = [failure for failure in found if failure]
            if failures or not held:
                raise AssertionError("\n".join([f"{len(failures)} of {len(held)} fail", *failures]))

        test.__signature__ = Signature()  # type: ignore[attr-defined]  # so that no fixture is looked for
        return test

    return made


def _failure(check: Callable[..., None], case: Any, name: str) -> str:
    try:
        result = check(*case) if len(signature(check).parameters) > 1 else check(case)
        assert result is None, "a check asserts, and returns nothing"
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
        return f"{name}: {type(error).__name__}: {error}"
    return ""
