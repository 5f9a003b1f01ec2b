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

import mmap
import sys
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

REORDERED = frozenset({"contract", "reassoc", "nsz"})
"""Sums may be taken in any order, as BLAS takes them, to fill the processor's lanes; infinity stays what it is, and a division
is not approximated."""


ROOM = 320 * 2**20
"""Bytes of address space that numba, and what it loads in turn, take up."""


class Later:
    """A function as numba makes it, made at its first call or when a kernel that calls it is compiled. Before that not even
    numba is loaded, which would take up half of a short command's time."""

    __wrapped__: Callable[..., Any]

    def __init__(
        self, function: Callable[..., Any], make: Callable[[Callable[..., Any]], Any]
    ) -> None:
        update_wrapper(self, function)
        self._make = make

    @cached_property
    def made(self) -> Any:
        return self._make(self.__wrapped__)

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.made(*arguments)
        except OSError:  # the disk is full: what was compiled is there, and could not be kept
            return self.made(*arguments)


def compiled(function: Function) -> Function:
    """Compiled at the first call and kept on disk; where no disk can be written, compiled anew in every process."""
    return cast(Function, Later(function, lambda it: _compiled(it, fastmath=False, inline="never")))


def compiled_sums(function: Function) -> Function:
    """The same for sums of floats, whose order may change."""
    return cast(
        Function, Later(function, lambda it: _compiled(it, fastmath=set(REORDERED), inline="never"))
    )


def inlined_sums(function: Function) -> Function:
    """The same for a part of other kernels: copied into those that call it, and a kernel of its own where Python calls it."""
    return cast(
        Function,
        Later(function, lambda it: _compiled(it, fastmath=set(REORDERED), inline="always")),
    )


def instruction(describe: Callable[..., Any]) -> Any:
    """What the processor itself can do, described as numba wants it; for kernels alone to call."""
    return Later(describe, _intrinsic)


def _intrinsic(describe: Callable[..., Any]) -> Any:
    from numba.extending import intrinsic

    return intrinsic(describe)


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    _need_room()
    from numba import njit

    _make_parts(function)
    try:
        return njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    except RuntimeError:  # numba found no place for its cache
        return njit(nogil=True, error_model="numpy", **options)(function)


def _need_room() -> None:
    """MemoryError where numba cannot be loaded: a library that it loads, OpenBLAS, would ask for memory for ever."""
    try:
        if "numba" not in sys.modules:
            mmap.mmap(-1, ROOM).close()
    except OSError:
        raise MemoryError from None


def _make_parts(function: Callable[..., Any]) -> None:
    """Put what numba made in place of what is to be made later, under each name that the function uses: numba looks there."""
    names = function.__globals__
    for name in function.__code__.co_names:
        if isinstance(part := names.get(name), Later):
            names[name] = part.made
