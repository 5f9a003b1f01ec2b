"""Loops that NumPy cannot say, compiled by numba. Their plain twins are in the tests.

The same numbers must come out in every process, whether a kernel was compiled in it or loaded from the cache, and wherever its
arrays lie in memory. That takes three rules:

- A kernel calls no other compiled function. What kernels share is inlined: copied into them before compilation. Of a function
  that two kernels call, each would carry a version of its own, rounded in its own way, and which one runs would depend on what
  else was compiled or loaded. So kernels work on numbers, never on whole arrays: numba makes such a function of an expression of
  arrays, or of a method such as `sum`.
- A loop that adds up floats stores nothing, and one that stores adds up nothing. The compiled code checks whether a stored array
  may overlap with another, and takes a slower loop for arrays that merely lie side by side; that loop adds in another order.
- What is inlined lies in the file of its kernels: a change of that file is what makes numba compile them anew.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

REORDERED = frozenset({"contract", "reassoc", "nsz"})
"""Sums may be taken in any order, as BLAS takes them, to fill the processor's lanes; infinity stays what it is, and a division
is not approximated."""


def compiled(function: Function) -> Function:
    """Compiled at the first call and kept on disk; where no disk can be written, compiled anew in every process. Before that
    call not even numba is loaded, which takes seconds: making a campaign needs none of it."""
    kernel: Function | None = None

    @wraps(function)
    def call(*arguments: Any) -> Any:
        nonlocal kernel
        if kernel is None:
            kernel = _compiled(function, fastmath=False, inline="never")
        return kernel(*arguments)

    return cast(Function, call)


def compiled_sums(function: Function) -> Function:
    """The same for sums of floats, whose order may change."""
    return _compiled(function, fastmath=set(REORDERED), inline="never")


def inlined_sums(function: Function) -> Function:
    """The same for a part of other kernels: copied into those that call it, and a kernel of its own where Python calls it."""
    return _compiled(function, fastmath=set(REORDERED), inline="always")


def _compiled(function: Function, **options: Any) -> Function:
    from numba import njit

    try:
        return cast(Function, njit(cache=True, nogil=True, error_model="numpy", **options)(function))
    except RuntimeError:  # numba found no place for its cache
        return cast(Function, njit(nogil=True, error_model="numpy", **options)(function))
