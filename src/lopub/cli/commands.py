"""Every command, in the order in which help lists them."""

from pathlib import Path
from typing import Annotated

import typer

from lopub import __version__
from lopub.cli import (
    audit,
    backup,
    campaign,
    collect,
    count,
    data,
    demo,
    draft,
    encode,
    estimate,
    evaluate,
    export,
    import_reports,
    page,
    plan,
    publish,
    query,
    reproduce,
    send,
    serve,
    token,
    withdraw,
    worker,
)
from lopub.cli.console import out
from lopub.cli.next_steps import next_steps

app = typer.Typer(
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.add_typer(draft.app, name="draft")
app.add_typer(campaign.app, name="campaign")
app.command()(plan.plan)
app.command()(data.data)
app.command()(encode.encode)
app.command()(count.count)
app.command()(estimate.estimate)
app.command()(query.query)
app.command()(publish.publish)
app.command()(evaluate.evaluate)
app.command()(reproduce.reproduce)
app.command()(serve.serve)
app.command()(worker.worker)
app.add_typer(collect.app, name="collect")
app.add_typer(token.app, name="token")
app.command()(page.page)
app.command("import")(import_reports.import_reports)
app.command()(export.export)
app.command()(backup.backup)
app.command()(backup.restore)
app.command()(send.send)
app.command()(withdraw.withdraw)
app.command()(audit.audit)


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"lopub {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
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
