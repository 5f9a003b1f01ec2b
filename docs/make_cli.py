"""Write docs/cli.md from the command line itself. `python docs/make_cli.py`; a test compares the two."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from lopub.cli import app

PAGE = Path(__file__).parent / "cli.md"


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, with its full name, in the order in which help lists them."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for key, value in inner.items():
        yield from commands(value, f"{name} {key}")


def parameters(command: Any) -> Iterator[str]:
    for parameter in command.params:
        if parameter.name == "help":
            continue
        names = ", ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts) if option.startswith("-"))
        several = "…" if parameter.nargs == -1 else ""
        shown = names or f"`{parameter.metavar or parameter.name.upper()}{several}`"
        value = f" `{parameter.metavar}`" if names and parameter.metavar else ""
        stated = isinstance(parameter.default, int | str | Path) and not isinstance(parameter.default, bool)
        tail = f" Default: `{parameter.default}`." if stated else ""
        yield f"- {shown}{value}: {getattr(parameter, 'help', '') or ''}{tail}"


def page() -> str:
    parts = [
        "# The command line",
        "Made by `docs/make_cli.py` from the program itself. Exit codes: 0 done, 1 refused with one sentence, 2 wrong usage.",
    ]
    for name, command in commands(get_command(app), "lopub"):
        help_text = "\n\n".join(" ".join(part.split()) for part in (command.help or "").strip().split("\n\n"))
        parts += [f"## {name}", help_text, "\n".join(parameters(command))]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
