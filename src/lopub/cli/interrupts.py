"""Ctrl-C: when it may strike, so that a command ends with 130 and tidied up, and says nothing else."""

import signal
import sys
from types import FrameType

STRANGERS = frozenset({"importlib", "numba", "llvmlite"})
"""Packages in which an interrupt gets lost or breaks something: a module that was loaded by half is an ImportError, a compiler
that was left in the middle answers with errors of its own, and has ended the process with SIGSEGV."""

ASKED_AGAIN_S = 0.02


def take_interrupts() -> None:
    """From here on Ctrl-C raises KeyboardInterrupt, so that half-written files are taken away, once packages and kernels that
    are being loaded in that moment are there. Pressed again, it ends at once."""
    at_once = signal.getsignal(signal.SIGINT)
    if not callable(at_once):
        return  # whoever started the command wants Ctrl-C to be ignored

    def interrupted(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, at_once)
        end(number, frame)

    def end(_number: int, frame: FrameType | None) -> None:
        if hasattr(signal, "setitimer") and _among_strangers(frame):
            signal.setitimer(signal.ITIMER_REAL, ASKED_AGAIN_S)
        else:
            raise KeyboardInterrupt

    def unraisable(what: "sys.UnraisableHookArgs") -> None:
        """An interrupt that came while Python was tidying up an object, and was dropped there, comes again."""
        if what.exc_type is KeyboardInterrupt:
            signal.signal(signal.SIGINT, interrupted)
            signal.raise_signal(signal.SIGINT)
        else:
            sys.__unraisablehook__(what)

    signal.signal(signal.SIGINT, interrupted)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, end)
    sys.unraisablehook = unraisable


def _among_strangers(frame: FrameType | None) -> bool:
    """Whether one of them is at work, or called what is."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in STRANGERS:
            return True
        frame = frame.f_back
    return False
