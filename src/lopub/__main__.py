"""The `lopub` script: a standard-library shim that starts the command line where its packages are installed."""

import sys
from importlib.util import find_spec

NEEDED = ("typer", "rich", "numpy", "pyarrow", "numba")


def main() -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(
            f"lopub: the command line needs {', '.join(missing)}; install it with: pip install 'lopub[cli]'."
            " The client itself, `from lopub import Client`, works without.",
            file=sys.stderr,
        )
        sys.exit(1)
    from lopub.cli import run

    run()


if __name__ == "__main__":
    main()
