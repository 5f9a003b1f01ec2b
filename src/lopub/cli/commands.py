"""Every command, in the order in which help lists them. Each loads when it is asked for, and none of the others with it."""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from lopub import __version__
from lopub.cli.console import out
from lopub.cli.next_steps import next_steps

COMMANDS = {
    "demo": "demo.demo",
    "draft": "draft.app",
    "campaign": "campaign.app",
    "plan": "plan.plan",
    "data": "data.data",
    "encode": "encode.encode",
    "count": "count.count",
    "estimate": "estimate.estimate",
    "query": "query.query",
    "publish": "publish.publish",
    "evaluate": "evaluate.evaluate",
    "serve": "serve.serve",
    "console": "serve_console.console",
    "worker": "worker.worker",
    "collect": "collect.app",
    "token": "token.app",
    "page": "page.page",
    "import": "import_reports.import_reports",
    "export": "export.export",
    "backup": "backup.backup",
    "restore": "backup.restore",
    "send": "send.send",
    "withdraw": "withdraw.withdraw",
    "forget": "forget.forget",
    "audit": "audit.audit",
}
"""What one types -> where it is: a function, or the Typer of a group of commands."""


def app_of(names: Iterable[str]) -> typer.Typer:
    """The command line with these commands."""
    app = typer.Typer(
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    for name in names:
        module, _, found = COMMANDS[name].partition(".")
        command = getattr(import_module(f"lopub.cli.{module}"), found)
        app.add_typer(command, name=name) if isinstance(command, typer.Typer) else app.command(
            name
        )(command)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"lopub {__version__}")
        raise typer.Exit


def root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and stop.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Learn about a crowd from answers that are randomized on each person's own device.

    A campaign says what is asked and how it is randomized; clients turn records into noisy reports.

    Exit codes: 0 done, 1 refused with one sentence, 2 wrong usage.

    More: README.md, docs/commands.md
    """
    if context.invoked_subcommand is None:
        _print_next_steps()


def _print_next_steps() -> None:
    out.print("What next?\n")
    for command, purpose in next_steps(Path.cwd()):
        out.print(f"  {command}\n      {purpose}", markup=False, highlight=False, soft_wrap=True)
    out.print("\nAll commands: lopub -h. Completion in your shell: lopub --install-completion.")
