"""Write docs/cli.md from the command line itself. `python docs/make_cli.py`; a test compares the two."""

import re
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
        if parameter.name == "help" or getattr(parameter, "hidden", False):
            continue
        names = ", ".join(
            f"`{option}`"
            for option in (*parameter.opts, *parameter.secondary_opts)
            if option.startswith("-")
        )
        several = "…" if parameter.nargs == -1 else ""
        shown = names or f"`{parameter.metavar or parameter.name.upper()}{several}`"
        value = f" `{parameter.metavar}`" if names and parameter.metavar else ""
        stated = isinstance(parameter.default, int | str | Path) and not isinstance(
            parameter.default, bool
        )
        tail = f" Default: `{parameter.default}`." if stated and parameter.default != "" else ""
        yield f"- {shown}{value}: {options_as_code(getattr(parameter, 'help', '') or '')}{tail}"


def as_page(text: str) -> str:
    """Help as Markdown: one line per paragraph, options as code, and pages that say more as links."""
    lines = [" ".join(part.split()) for part in text.strip().split("\n\n")]
    return re.sub(r"\bdocs/([\w-]+)\.md", r"[\1](\1.md)", options_as_code("\n\n".join(lines)))


def options_as_code(text: str) -> str:
    """Two hyphens outside code would become a dash."""
    pieces = text.split("`")
    pieces[::2] = [re.sub(r"(?<![\w-])(--[a-z][a-z-]*)", r"`\1`", plain) for plain in pieces[::2]]
    return "`".join(pieces)


def overview(found: list[tuple[str, Any]]) -> str:
    """Every command in one line, with a link to its part of the page."""
    rows = [
        f"| [{name}](#{name.replace(' ', '-')}) | {as_page(command.help or '').splitlines()[0]} |"
        for name, command in found
    ]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def page() -> str:
    found = list(commands(get_command(app), "lopub"))
    parts = [
        "# The command line",
        "Every command with its options; `lopub COMMAND -h` prints the same. Exit codes: 0 done, 1 refused with one sentence, "
        "2 wrong usage. [What the commands share](commands.md) says how reports are named, and what `--json` prints. "
        "(`docs/make_cli.py` writes this page from the program itself.)",
        overview(found),
    ]
    for name, command in found:
        parts += [f"## {name}", as_page(command.help or ""), "\n".join(parameters(command))]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
