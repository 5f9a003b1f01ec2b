"""Threads, where there is memory to begin them."""

import os
from concurrent.futures import ThreadPoolExecutor

SPARE = 2**24
"""Bytes for the stack and the first objects of a thread, and some more."""


def threads(n: int | None = None) -> ThreadPoolExecutor:
    """A pool of so many threads, by default one for each core. MemoryError where there is no memory for them: a thread that
    cannot make its first object tries again for ever in Python 3.11, and whoever began it waits as long."""
    n = n or os.cpu_count() or 1
    bytearray(n * SPARE)
    return ThreadPoolExecutor(n)
