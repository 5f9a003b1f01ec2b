"""Virtual environments for tools that LoPub is compared with and does not depend on, kept between runs in .cache/."""

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

CACHE = Path(__file__).parent.parent / ".cache" / "environments"


def python_with(*requirements: str) -> Path:
    """The interpreter of an environment with these packages, made if it is not there; skips where they cannot be had."""
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE.parent / ".gitignore").write_text("*\n")
    directory = CACHE / "-".join(requirement.partition(">")[0] for requirement in requirements)
    python, ready = directory / "bin" / "python", directory / ".ready"
    wanted = "\n".join([sys.version, *requirements])
    with open(CACHE / f".{directory.name}.lock", "w") as lock:
        fcntl.flock(
            lock, fcntl.LOCK_EX
        )  # several test processes may want it at once; those that want another need not wait
        if not ready.exists() or ready.read_text() != wanted:
            _made(directory, python, requirements)
            ready.write_text(wanted)
    return python


def _made(directory: Path, python: Path, requirements: tuple[str, ...]) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(directory)], check=True)
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--retries",
        "1",
        *requirements,
    ]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        pytest.skip(f"{', '.join(requirements)} cannot be installed here: {reason}")


def output_of(python: Path, script: str, *arguments: str) -> str:
    """What a script prints when it is run there; its mistakes are ours."""
    done = subprocess.run([str(python), "-c", script, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
