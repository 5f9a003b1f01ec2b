"""Whether the lowest versions that pyproject.toml allows are enough: an environment with just these, in which LoPub shows itself.

`python tests/lowest_versions.py [--keep DIRECTORY]`; part of `make test-full`. Needs a package index.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
BOUND = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?>=([0-9.]+)")
QUICK = [
    "tests",
    *(
        f"--ignore=tests/{each}"
        for each in (
            "browser_client",
            "reports/test_dask.py",
            "reports/test_spark.py",
            "documentation",
            "pages",
        )
    ),
    "--ignore=tests/publication/test_package.py",
]
"""All but what needs Node, a browser or packages that LoPub does not install."""
SLOW = [
    "tests/collector/test_collector_ingest.py",
    "tests/cli/test_cli_publish.py",
]
TOOLS = [
    "pytest<9.2",
    "pytest-xdist",
    "hypothesis",
    "jsonschema",
    "networkx",
    "opendp",
    "httpx",
    "markdown-it-py",
    "pandas",
    "polars",
    "pyyaml",
]
"""What these tests need beside what users install."""


def lowest() -> list[str]:
    """Every lower bound of what users install, as a constraint."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    bounds = [
        BOUND.match(each)
        for extra in ("analysis", "cli", "service", "xlsform")
        for each in extras[extra]
    ]
    return sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--demo-only", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = asked.keep or Path(temporary) / "venv"
        venv.create(home, with_pip=True)
        constraints = Path(temporary) / "constraints.txt"
        constraints.write_text("\n".join(lowest()) + "\n")
        print(*lowest(), sep="\n", flush=True)
        pip = [
            str(home / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "-c",
            str(constraints),
        ]
        steps = [
            [*pip, "--editable", str(ROOT) + "[all]"],
            [str(home / "bin" / "lopub"), "demo", "--force", "-o", str(Path(temporary) / "demo")],
        ]
        if not asked.demo_only:
            steps += [
                [*pip, *TOOLS],
                [
                    str(home / "bin" / "python"),
                    "-m",
                    "pytest<9.2",
                    "-q",
                    "-n",
                    "2",
                    "-m",
                    "not slow",
                    *QUICK,
                ],
                [str(home / "bin" / "python"), "-m", "pytest", "-q", *SLOW],
            ]
        environment = os.environ | {"NUMBA_CACHE_DIR": str(Path(temporary) / "kernels")}
        environment.pop("LOPUB_FULL", None)  # quick tests at their usual size
        for step in steps:
            done = subprocess.run(step, cwd=ROOT, env=environment, check=False)
            if done.returncode:
                print("failed:", *step, file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
