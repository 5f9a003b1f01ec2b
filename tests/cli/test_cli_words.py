"""The same words for the same things in every command, and help that a person in a hurry can use."""

import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from commands import all_commands, options_of

ROOT = Path(__file__).parents[2]
COMMANDS = all_commands()
WITHOUT_JSON = {
    "demo": "tells a story to a person, and its files are there to be read by programs",
    "serve": "runs until it is stopped; its log and its HTTP interface are for programs",
    "console": "runs until it is stopped; its log is for programs",
    "worker": "runs until it is stopped; its log, and the jobs in the database, are for programs",
}
ALIKE = {"--json", "--force", "--domain", "--margin", "--grace-days"}
"""Options that mean the same wherever they are, and so have the same help."""
METAVARS_MAY_DIFFER = {"--output", "--from"}
"""A file, a directory, or either; a file, or any source of reports."""


def uses() -> dict[str, dict[str, Any]]:
    """Every option, and the commands that have it."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for command, body in COMMANDS.items():
        for name, option in options_of(body).items():
            found[name][command] = option
    return found


@pytest.mark.parametrize("name", sorted(uses()))
def test_an_option_has_the_same_letters_and_metavar_in_every_command(name: str):
    options = uses()[name].values()
    assert len({(tuple(option.opts), tuple(option.secondary_opts)) for option in options}) == 1
    if name not in METAVARS_MAY_DIFFER:
        assert len({option.metavar for option in options}) == 1


@pytest.mark.parametrize("name", sorted(ALIKE))
def test_an_option_that_means_the_same_has_the_same_help(name: str):
    assert len({option.help for option in uses()[name].values()}) == 1


def test_every_option_that_takes_a_value_says_which_kind():
    for command, body in COMMANDS.items():
        for name, option in options_of(body).items():
            assert option.is_flag or option.metavar, f"{command} {name}"


def test_every_command_prints_json_or_has_a_reason_not_to():
    assert {name for name, body in COMMANDS.items() if "--json" not in options_of(body)} == set(
        WITHOUT_JSON
    )


def test_every_command_that_writes_a_file_can_be_forced():
    for name, body in COMMANDS.items():
        assert ("--output" in options_of(body)) == ("--force" in options_of(body)), name


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_what_a_command_does_and_has_an_example_and_a_page(name: str):
    text = " ".join((COMMANDS[name].help or "").split())
    assert re.match(r"[A-Z].*?[.:]( |$)", text)
    assert f"Example: `lopub {name}" in text
    pages = re.findall(r"docs/[\w-]+\.md", text.partition("More: ")[2])
    assert pages and all((ROOT / page).is_file() for page in pages)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_of_a_command_uses_options_that_it_has(name: str):
    text = " ".join((COMMANDS[name].help or "").split())
    known = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    for example in re.findall(r"`(lopub [^`]+)`", text.partition("Example: ")[2]):
        assert set(re.findall(r"(?<= )--?[a-z][\w-]*", example)) <= known


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_and_argument_has_a_help_that_is_a_sentence(name: str):
    for parameter in COMMANDS[name].params:
        if parameter.name != "help":
            assert parameter.help and parameter.help.endswith("."), (
                f"{name} {parameter.name}: {parameter.help}"
            )


def test_every_public_definition_of_the_command_line_has_a_docstring():
    for path in sorted((ROOT / "src" / "lopub" / "cli").glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{path.name}: {node.name}"
