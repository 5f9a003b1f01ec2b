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
from tiers import FULL, HERE, group_of, is_slow

hypothesis.settings.register_profile(
    "suite", deadline=None, derandomize=True
)  # the same examples, however busy the machine
hypothesis.settings.load_profile("suite")
collect_ignore_glob = ["conftest.py", "*/conftest.py"]
"""They are loaded, but searched for no doctests: two modules of one name cannot be."""
EXPECTED_SKIPS = (
    "root writes everywhere",
    "its code does not tell",
    "no disk of its own can be mounted here",
    "LOPUB_DATA has no Data4-coarse.dat",
)
"""What cannot be tried as a superuser, or only as one who may mount, a case that makes no sense, and
the one public table that may not be passed on."""
unexpected: list[str] = []


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups right after
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if item.get_closest_marker("full") and not FULL]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
    for item in items:
        if isinstance(item, pytest.Function) and item.path.is_relative_to(HERE):
            _sort_in(item)
    items.sort(
        key=lambda item: item.get_closest_marker("slow") is None
    )  # quick ones fill the gaps at the end


def _sort_in(item: pytest.Function) -> None:
    slow = item.get_closest_marker("slow") is not None or is_slow(item)
    if slow:
        item.add_marker(pytest.mark.slow)
    group = group_of(item, slow=slow)
    if group is not None and item.get_closest_marker("xdist_group") is None:
        item.add_marker(pytest.mark.xdist_group(group))


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
    if unexpected:
        terminalreporter.section("skipped for want of a program or a table")
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
