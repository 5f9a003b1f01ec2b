"""The floor plan holds: a room imports only from the lines above its own."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import lopub

SOURCE = Path(lopub.__file__).parent

PLAN = [
    {"errors"},
    {"exact", "texts"},
    {"canonical", "randomness", "files"},
    {"attribute"},
    {"domain"},
    {"schema", "mechanism", "view", "terms"},
    {"campaign", "choice"},
    {"draft", "report", "prediction"},
    {"sending", "keeping"},
    {"client"},
    {"dataset", "joint", "compiling"},
    {"infer", "batch"},
    {"simulation", "counts", "catalogue"},
    {"estimation", "dependence"},
    {"junction", "poisoning"},
    {"synthesis", "evaluation"},
    {"plots", "pages"},
    {"publication", "scorecard"},
    {"planning"},
    {"service", "reproduce"},
    {"cli"},
]
"""Rooms on one line do not see each other. `exact`, `texts`, `canonical`, `randomness` and `files` are what `domain`, the
mechanisms and the views share; `schema` and `terms` keep `domain` and `campaign` small; `draft` makes campaigns, `infer`
domains; `sending` is how bytes travel and `keeping` where reports stay, apart from `client`, so that each can be read at one
sitting; `prediction` says what a
campaign will give, `planning` tries it out as far as the publication. Where a public verb
would be hidden by its room, the room is a noun: `simulation` holds `simulate`."""

LINE_OF = {room: number for number, rooms in enumerate(PLAN) for room in rooms}
STANDARD_LIBRARY_ONLY = {room for room, number in LINE_OF.items() if number <= LINE_OF["client"]}
PRINTING = {"cli", "__main__"}
CLOCKS = {"client", "sending", "service", "cli"}
"""`sending` waits, and gives up in time; what it sends has no time in it."""
CLOCK_CALLS = {
    *("time.time", "time.time_ns", "time.monotonic"),
    *("datetime.now", "date.today", "datetime.datetime.now"),
}
SOCKETS = {"sending", "service", "cli"}
NETWORK = {"asyncio", "ftplib", "http", "smtplib", "socket", "socketserver", "ssl", "urllib", "xmlrpc"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module with the room that it belongs to."""
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        yield room, ast.parse(path.read_text())


def imported(tree: ast.Module) -> Iterator[str]:
    """The full names of all modules that a module imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name their module in full"
            yield node.module or ""
            if node.module == "lopub":
                yield from (f"lopub.{alias.name}" for alias in node.names)


def rooms_met(tree: ast.Module) -> set[str]:
    return {name.split(".")[1] for name in imported(tree) if name.startswith("lopub.")} - {"__version__"}


def called(tree: ast.Module) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def test_every_room_is_on_the_plan():
    assert {room for room, _ in modules()} <= set(LINE_OF) | {"__init__", "__main__"}


def test_a_room_imports_only_from_the_lines_above_its_own():
    for room, tree in modules():
        for met in rooms_met(tree) - {room}:
            if room not in ("__init__", "__main__"):
                assert LINE_OF[met] < LINE_OF[room], f"{room} imports {met}"


def test_everything_down_to_the_client_needs_the_standard_library_only():
    for room, tree in modules():
        if room in STANDARD_LIBRARY_ONLY | {"__init__"}:
            outside = {name.split(".")[0] for name in imported(tree)} - {"lopub"} - sys.stdlib_module_names
            assert not outside, f"{room} imports {outside}"


def test_the_service_meets_neither_client_nor_simulation():
    for room, tree in modules():
        if room == "service":
            assert not rooms_met(tree) & {"client", "simulation"}


def test_only_the_command_line_prints():
    for room, tree in modules():
        if room not in PRINTING:
            assert not called(tree) & {"print", "sys.stdout.write", "sys.stderr.write"}, room


def test_only_the_client_its_sending_the_service_and_the_command_line_read_the_clock():
    for room, tree in modules():
        if room not in CLOCKS:
            assert not called(tree) & CLOCK_CALLS, room


def test_only_sending_the_service_the_command_line_and_the_catalogues_fetching_open_connections():
    """Public tables are downloaded in one module, so that a reader who asks what LoPub sends where has one file to read. It is
    in the catalogue, beside what it fetches, and not in `cli`, because others need tables too; it waits, but reads no clock."""
    for path in sorted(SOURCE.rglob("*.py")):
        if NETWORK & {name.split(".")[0] for name in imported(ast.parse(path.read_text()))}:
            where = path.relative_to(SOURCE).with_suffix("").parts
            assert where[0] in SOCKETS or where == ("catalogue", "fetching"), path


def test_randomness_comes_from_one_place_in_the_contract():
    for room, tree in modules():
        if room in STANDARD_LIBRARY_ONLY - {"randomness", "files"}:
            assert not {"random", "secrets"} & set(imported(tree)), room
            assert "os.urandom" not in called(tree), room


def test_public_names_are_those_that_are_there_and_sorted():
    assert sorted(lopub.__all__) == lopub.__all__
    assert all(getattr(lopub, name).__name__ == name for name in lopub.__all__)
    assert set(lopub.__all__) == set(lopub._HOME_OF)


def test_no_module_passes_400_lines_and_no_function_60():
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert text.count("\n") <= 400, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno <= 60, f"{path}:{node.name}"
