"""Loops that NumPy cannot say, compiled by numba. Their plain twins are in the tests."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

REORDERED = frozenset({"contract", "reassoc", "arcp", "nsz"})
"""Sums may be taken in any order, as BLAS takes them, to fill the processor's lanes; infinity stays what it is."""


def compiled(function: Function) -> Function:
    """Compiled at the first call and kept on disk; where no disk can be written, compiled anew in every process."""
    return _compiled(function, False)


def compiled_sums(function: Function) -> Function:
    """The same for sums of floats, whose order may change."""
    return _compiled(function, set(REORDERED))


def _compiled(function: Function, fastmath: bool | set[str]) -> Function:
    try:
        return cast(Function, njit(cache=True, nogil=True, error_model="numpy", fastmath=fastmath)(function))
    except RuntimeError:  # numba found no place for its cache
        return cast(Function, njit(nogil=True, error_model="numpy", fastmath=fastmath)(function))
