"""How linear algebra runs here."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Small matrix products are faster on one thread, and their sums then do not depend on the machine's cores."""
    with _libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """All that are loaded. To look for them takes milliseconds, and is needed again only after an import: n_modules says so."""
    return ThreadpoolController()
