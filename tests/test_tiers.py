"""The rule by which tests are slow, and run together, finds what it is to find."""

import os
import subprocess
import sys
from functools import cache

import pytest

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


def computes() -> None:
    sum(range(10))


@pytest.mark.parametrize(
    "function",
    [
        starts,
        starts_by_another,
        starts_inside,
        starts_for_every,
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
