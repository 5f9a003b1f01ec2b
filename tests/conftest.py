"""Fixtures that several files share; and on the gate's machine, no test is skipped unless it is expected."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

os.environ.setdefault(
    "OPENBLAS_NUM_THREADS", "1"
)  # before NumPy loads: threads of two workers wait for each other on two cores
sys.path += [
    str(group) for group in sorted(Path(__file__).parent.iterdir()) if group.is_dir()
]  # files borrow from each other

from servers import Postgres, postgres_cluster, postgres_programs

hypothesis.settings.register_profile(
    "suite", deadline=None, derandomize=True
)  # the same examples, however busy the machine
hypothesis.settings.load_profile("suite")
EXPECTED_SKIPS = (
    *(
        "root writes everywhere",
        "LOPUB_FULL=1",
        "its code does not tell",
        "its counts have no",
        "two planes show",
    ),
    "LOPUB_DATA has no Data4-coarse.dat",
)
"""What cannot be tried as a superuser, what only `make test-full` runs, cases of a table of cases that make no sense, and the one
public table that may not be passed on."""
unexpected: list[str] = []
HERE = Path(__file__).parent
SLOW = frozenset((HERE / "slow.txt").read_text().split())
"""What `make check` leaves out, as its file or as its file::function. The rule: a function whose cases together take more than
0.3 s of CPU time, with that of the processes that they start; and a file whose fixtures take more than half a second. Whatever
needs PostgreSQL is slow without being listed; a new test is quick until it is listed."""
FIRST = (
    "test_determinism.py",
    "test_reproduce.py",
    "test_collector_fuzz.py",
    "test_collector_endurance.py",
    "test_cli_ending.py",
)
"""Files with the longest tests. They begin first: one that began last would keep one core busy and leave the other idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        function = item.nodeid.partition("[")[0].removeprefix("tests/")
        if (
            not SLOW.isdisjoint((function, function.partition("::")[0]))
            or "postgresql" in item.name
        ):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.path.name not in FIRST)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _notice(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _notice(report)


def _notice(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not any(words in reason for words in EXPECTED_SKIPS):
            unexpected.append(f"{report.nodeid}: {reason}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With LOPUB_GATE set, a test that was skipped for want of a program or a table is a failure."""
    if unexpected and os.environ.get("LOPUB_GATE") and not hasattr(session.config, "workerinput"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if unexpected and os.environ.get("LOPUB_GATE"):
        terminalreporter.section("skipped, which the gate does not accept")
        for line in unexpected:
            terminalreporter.line(line)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server of its own, for all tests of this process."""
    if postgres_programs() is None:
        pytest.skip("PostgreSQL's programs (initdb, pg_ctl) are not installed")
    with postgres_cluster() as cluster:
        yield cluster


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/lopub.db"
    cluster: Postgres = request.getfixturevalue("postgres")
    return cluster.new_database()
