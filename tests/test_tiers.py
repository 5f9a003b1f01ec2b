"""The rule by which tests are slow, and run together, finds what it is to find; and a test of every case tries every case."""

import os
import subprocess
import sys
from functools import cache

import pytest
from hypothesis import given
from hypothesis.strategies import integers

from every import every
from lopub import publish
from tiers import reaches_slow


def starts() -> None:
    subprocess.run([sys.executable, "--version"], check=True)


def starts_by_another() -> None:
    starts()


@cache
def starts_once() -> None:
    starts()


def starts_inside() -> None:
    def inside() -> None:
        starts()

    inside()


@every([1])
def starts_for_every(case: int) -> None:
    starts()


def publishes() -> None:
    publish()  # type: ignore[call-arg]


class Starter:
    def begin(self) -> None:
        starts()


def makes_a_starter() -> None:
    Starter()


@given(integers())
def starts_for_any(number: int) -> None:
    starts()


def computes() -> None:
    sum(range(10))


@pytest.mark.parametrize(
    "function",
    [
        starts,
        starts_by_another,
        starts_inside,
        starts_for_every,
        starts_for_any,
        publishes,
        makes_a_starter,
        lambda: starts_once(),
    ],
)
def test_a_test_that_starts_something_or_publishes_is_slow(function):
    assert reaches_slow(function)


def test_a_test_that_only_computes_is_quick():
    assert not reaches_slow(computes)


@pytest.fixture(scope="module")
def made_in() -> int:
    return os.getpid()


def test_tests_that_share_a_fixture_of_their_file_run_in_one_process(
    made_in: int, request: pytest.FixtureRequest
):
    """A fixture would be made in each process, where xdist lost the groups, and no test would fail."""
    group = request.node.get_closest_marker("xdist_group").args
    assert group == ("test_tiers.py",)
    if getattr(request.config.option, "loadgroup", False):
        assert request.node.nodeid.endswith("@test_tiers.py")


def fails(case: int) -> None:
    assert case < 2, "too large"


def returns(case: int) -> bool:
    return False


def skips(case: int) -> None:
    pytest.skip("not here")


def test_a_test_of_every_case_names_each_that_fails():
    with pytest.raises(
        AssertionError, match=r"(?s)2 of 4 fail\n2 2: .*too large.*\n3 3: "
    ) as failure:
        every(range(4))(fails)()
    assert "\n1 1" not in str(failure.value)


@pytest.mark.parametrize("check", [returns, skips])
def test_a_case_that_is_skipped_or_only_returns_fails(check):
    with pytest.raises(AssertionError, match="1 of 1 fail"):
        every([1])(check)()


def test_a_test_of_every_case_without_a_case_fails():
    with pytest.raises(AssertionError, match="0 of 0 fail"):
        every([])(computes)()


def test_a_test_of_every_case_whose_cases_pass_passes():
    every([0, 1])(fails)()
