"""How linear algebra runs here."""

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Small matrix products are faster on one thread, and their sums then do not depend on the machine's cores."""
    with threadpool_limits(1, user_api="blas"):
        yield
