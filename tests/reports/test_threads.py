"""Threads begin only where there is memory for them."""

import subprocess
import sys

import pytest

from lopub.reports.threads import threads


def test_a_pool_does_what_it_is_given():
    with threads(2) as pool:
        assert list(pool.map(abs, [-1, 2])) == [1, 2]


def test_without_memory_no_thread_is_begun():
    """Forbids to wait for ever for one that cannot make its first object."""
    with pytest.raises(MemoryError):
        threads(2**30)


def test_a_command_without_memory_says_so():
    fails = "import lopub.cli as cli\ndef run(**_): raise MemoryError\ncli.run = run\nfrom lopub.__main__ import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", fails], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "lopub: there is not enough memory for this\n")
