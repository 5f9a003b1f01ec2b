"""One thread for small products, also in libraries that an import brings later."""

import subprocess
import sys

LATER = """
import numpy
from threadpoolctl import threadpool_info
from lopub.estimation.blas import one_blas_thread

def threads():
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

with one_blas_thread():
    assert threads() and set(threads()) == {1}
before = threads()
import scipy.linalg
later = threads()
assert len(later) > len(before), "scipy brings a library of its own"
with one_blas_thread():
    assert set(threads()) == {1}, threads()
assert threads() == later, threads()  # two each, or one where there is a single core
"""


def test_libraries_that_are_loaded_later_run_on_one_thread_as_well() -> None:
    subprocess.run([sys.executable, "-c", LATER], check=True, env={"OPENBLAS_NUM_THREADS": "2"})
