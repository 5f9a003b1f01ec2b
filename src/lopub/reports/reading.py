"""What Arrow says about files that it cannot read, in one sentence of ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from lopub.errors import LopubError, StoreError


@contextmanager
def reading(path: str | Path, damaged: str) -> Iterator[None]:
    """Within, Arrow reads the file. damaged: the sentence, where the system says nothing else. That memory ran out, which Arrow
    calls an ArrowException, too, says nothing about the file."""
    try:
        yield
    except (MemoryError, LopubError):
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None)
        raise StoreError(f"cannot read {path}: {reason}" if reason else damaged) from None
