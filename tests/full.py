"""`make test-full`: how far everything bends. Every test at its full size, fuzzing, a long run, and the lowest versions.

`python tests/full.py [PART …]`. A line per part says what it shows and how long it took here; a part that fails does not
keep the others from running. Exits with 1 if any failed.
"""

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SPREAD = ("-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder")
"""For tests that do not measure; those of a collector have the machine for themselves."""


@dataclass(frozen=True)
class Part:
    """A command, and what it shows."""

    name: str
    shows: str
    minutes: int
    """On two cores: measured for privacy, analysis, browser and pages, estimated for the others."""
    commands: tuple[tuple[str, ...], ...]


def pytest_on(*folders: str, alone: bool = False) -> tuple[str, ...]:
    """The command that runs the tests of these folders."""
    return ("-m", "pytest", *(() if alone else SPREAD), *(f"tests/{folder}" for folder in folders))


TOP_LEVEL = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").glob("test_*.py"))
PARTS = (
    Part(
        "privacy",
        "laws and enumerations of every mechanism, view and rule; crashes of the client's store at every step",
        3,
        (pytest_on("campaign", "client", "bulk"),),
    ),
    Part(
        "analysis",
        "estimates, intervals, counts, plans and publications over many collections, engines and processors",
        8,
        (
            pytest_on(
                "reports",
                "estimation",
                "queries",
                "synthesis",
                "questionnaire",
                "planning",
                "publication",
                "evaluation",
            ),
            ("-m", "pytest", *SPREAD, "src", "reproduction", *TOP_LEVEL),
        ),
    ),
    Part(
        "browser",
        "the browser client: 10,000 random campaigns, 10,000 damaged ones, a million reports per law, a crowd of pages",
        13,
        (pytest_on("browser_client"),),
    ),
    Part(
        "pages",
        "console and pages: both stores, two widths, keyboard, axe on every page, schemathesis on every form",
        9,
        (pytest_on("console", "pages", "jobs"),),
    ),
    Part(
        "commands",
        "interrupts at 79 moments, kills while publishing, the documentation in a browser, installing what was built",
        25,
        (pytest_on("cli", "documentation", "reproduction"),),
    ),
    Part(
        "collector",
        "kills, cut power, full disks, lost databases, hostile senders, overload, rolling upgrades, schemathesis in full",
        30,
        (
            pytest_on("collector", alone=True),
            ("tests/long_run.py", "--minutes", "5", "--reports", "500000"),
        ),
    ),
    Part(
        "fuzzing",
        "everything that reads what strangers wrote, 20,000 times each; more with tests/fuzzing.py",
        10,
        (
            ("-m", "pip", "install", "--quiet", "--editable", ".[fuzz]"),
            ("tests/fuzzing.py", "all", "--runs", "20000"),
        ),
    ),
    Part(
        "versions",
        "all quick tests with the lowest versions that pyproject.toml allows",
        10,
        (("tests/lowest_versions.py",),),
    ),
)


def run(part: Part) -> bool:
    """Run a part, and say how it ended."""
    print(f"== {part.name}: {part.shows} (about {part.minutes} minutes)", flush=True)
    begun = time.monotonic()
    environment = {**os.environ, "LOPUB_FULL": "1"}
    ended = [
        subprocess.run([sys.executable, *command], cwd=ROOT, env=environment).returncode
        for command in part.commands
    ]
    passed = not any(ended)
    print(
        f"== {part.name}: {'passed' if passed else 'FAILED'} in {(time.monotonic() - begun) / 60:.1f} minutes",
        flush=True,
    )
    return passed


def main() -> int:
    """Run the parts that are asked for, in their order; all unless some are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=", ".join(part.name for part in PARTS),
    )
    known = [part.name for part in PARTS]
    asked = parser.parse_args().parts or known
    if unknown := set(asked) - set(known):
        parser.error(f"unknown part {min(unknown)!r}; known parts: {', '.join(known)}")
    failed = [part.name for part in PARTS if part.name in asked and not run(part)]
    print(f"failed: {', '.join(failed)}" if failed else f"{len(asked)} parts passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
