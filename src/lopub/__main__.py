"""The `lopub` script: a standard-library shim that starts the command line where its packages are installed, and ends it."""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

NEEDED = ("typer", "rich", "numpy", "pyarrow", "numba")
INTERRUPTED = 130
"""What a shell calls the end by Ctrl-C."""


def main() -> NoReturn:
    """Run the command line and leave with its exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)  # while packages load there is nothing to tidy up
    code = 1
    try:
        code = _run()
    except SystemExit as end:
        code = _code(end)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        if _is_of_memory(error):
            print("lopub: there is not enough memory for this", file=sys.stderr)
        else:
            sys.excepthook(*sys.exc_info())
    _leave(code)


def _run() -> int:
    from importlib.util import find_spec

    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(
            f"lopub: the command line needs {', '.join(missing)}; install it with: pip install 'lopub[cli]'."
            " The client itself, `from lopub import Client`, works without.",
            file=sys.stderr,
        )
        return 1
    from lopub.cli import run

    run(own_process=True)
    return 0


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    os._exit(INTERRUPTED)


def _is_of_memory(error: Exception) -> bool:
    """Whether there was none, also for a package that was to be loaded: an ImportError, with what the system's loader says."""
    return isinstance(error, MemoryError) or "failed to map segment" in str(error)


def _code(end: SystemExit) -> int:
    """As the interpreter reads it."""
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1


def _leave(code: int) -> NoReturn:
    """End the process without taking Python down.

    A thread of Arrow's that lets go of a Python object in that moment aborts the process (SIGABRT), after all was done and
    said. What is promised to run at the end runs, and what was printed is out.
    """
    import atexit
    from contextlib import suppress

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:  # closed by whoever started the command
                stream.flush()
        except OSError as error:  # what was said last did not get out: the disk is full, for one
            code = code or 1
            with suppress(OSError, AttributeError):
                print(f"lopub: {error}", file=sys.stderr, flush=True)
    os._exit(code)


if __name__ == "__main__":
    main()
