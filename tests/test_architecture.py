"""The floor plan holds: a package imports only from those above it, and no code outside mechanisms, view rules and `bulk`
asks which mechanism it has."""

import ast
import statistics
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import lopub
from lopub.campaign.mechanisms import Channel, Mechanism
from lopub.campaign.views import ViewRule

SOURCE = Path(lopub.__file__).parent

PLAN = [
    "errors",
    "files",
    "campaign",
    "client",
    "bulk",
    "reports",
    "estimation",
    "queries",
    "synthesis",
    "questionnaire",
    "pages",
    "planning",
    "publication",
    "evaluation",
    "collector",
    "jobs",
    "console",
    "cli",
]
"""In import order. `client` stands above the NumPy line with what it needs; nothing below it imports `client` but the command
line and the benchmarks' people."""

LINE_OF = {package: number for number, package in enumerate(PLAN)}
UPWARDS = {("planning", "trial"): "publication"}
"""A module that imports from below: a trial of a design publishes as its steward will, and a publication says what was to be
expected of its design."""
STANDARD_LIBRARY_ONLY = {
    package for package, number in LINE_OF.items() if number <= LINE_OF["client"]
}
PRINTING = {"cli", "__main__"}
CLOCKS = {"client", "collector", "console", "jobs", "cli"}
CLOCK_CALLS = {
    *("time.time", "time.time_ns", "time.monotonic"),
    *("datetime.now", "date.today", "datetime.datetime.now"),
}
SOCKETS = {
    ("client", "sending"),
    ("reports", "catalogue", "fetching"),
    ("reports", "engines", "spark_engine"),
}
"""Modules that open connections, beside the whole of `collector`, `console` and `cli`."""
NETWORK = {
    "asyncio",
    "ftplib",
    "http",
    "smtplib",
    "socket",
    "socketserver",
    "ssl",
    "urllib",
    "xmlrpc",
}
RANDOM = {("campaign", "randomness"), ("files",)}
"""`files` draws names of temporary files."""
MOST_AT_THE_TOP = 19
"""Packages and modules, beside `__init__`."""
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 490, 90
"""What the longest have since lines are at most 100 characters long; a room that is rebuilt comes down to 400 and 60."""
MEDIAN_LENGTH, NINTH_DECILE_LENGTH = 7, 19
"""Lines of functions, from `def` to their end."""


@cache
def places() -> list[tuple[tuple[str, ...], ast.Module]]:
    """Every module's place, as the parts of its name, with its tree."""
    return [(place_of(path), ast.parse(path.read_text())) for path in sorted(SOURCE.rglob("*.py"))]


def place_of(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts


@cache
def nodes_of(tree: ast.Module) -> list[ast.AST]:
    return list(ast.walk(tree))


def imported(tree: ast.Module) -> Iterator[str]:
    """The full names of all modules that a module imports, wherever in it."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name their module in full"
            yield node.module or ""
            if node.module == "lopub":
                yield from (f"lopub.{alias.name}" for alias in node.names)


def packages_met(tree: ast.Module) -> set[str]:
    return {name.split(".")[1] for name in imported(tree) if name.startswith("lopub.")} - {
        "__version__"
    }


def called(tree: ast.Module) -> set[str]:
    return {ast.unparse(node.func) for node in nodes_of(tree) if isinstance(node, ast.Call)}


def test_every_package_is_on_the_plan():
    assert {place[0] for place, _ in places()} == set(LINE_OF) | {"__init__", "__main__"}


def test_the_top_level_can_be_taken_in_at_a_glance():
    here = {
        path.stem
        for path in SOURCE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert len(here - {"__init__"}) <= MOST_AT_THE_TOP


def test_a_package_imports_only_from_those_above_it():
    for place, tree in places():
        if place[0] not in ("__init__", "__main__"):
            for met in packages_met(tree) - {place[0]}:
                assert LINE_OF[met] < LINE_OF[place[0]] or UPWARDS.get(place) == met, (
                    f"{'.'.join(place)} imports {met}"
                )


def test_every_package_says_what_lives_there():
    for place, tree in places():
        if (SOURCE.joinpath(*place) / "__init__.py").exists():
            assert ast.get_docstring(tree), ".".join(place)


def test_everything_down_to_the_client_needs_the_standard_library_only():
    for place, tree in places():
        if place[0] in STANDARD_LIBRARY_ONLY | {"__init__"}:
            outside = (
                {name.split(".")[0] for name in imported(tree)}
                - {"lopub"}
                - sys.stdlib_module_names
            )
            assert not outside, f"{'.'.join(place)} imports {outside}"


def test_nothing_but_the_command_line_meets_the_client():
    for place, tree in places():
        if place[0] not in ("__init__", "client", "cli"):
            assert "client" not in packages_met(tree), place


def test_the_collector_meets_neither_client_nor_simulation():
    for place, tree in places():
        if place[0] in ("collector", "console"):
            names = set(imported(tree))
            assert not [
                name
                for name in names
                if name.startswith(("lopub.client", "lopub.reports.simulation"))
            ], place


def test_only_the_command_line_prints():
    for place, tree in places():
        if place[0] not in PRINTING:
            assert not called(tree) & {"print", "sys.stdout.write", "sys.stderr.write"}, place


def test_only_the_client_the_collector_its_workers_and_the_command_line_read_the_clock():
    for place, tree in places():
        if place[0] not in CLOCKS:
            assert not called(tree) & CLOCK_CALLS, place


def test_only_sending_the_collector_the_command_line_and_the_catalogues_fetching_open_connections():
    """Public tables are downloaded in one module, so that a reader who asks what LoPub sends where has one file to read. It is
    in the catalogue, beside what it fetches, and not in `cli`, because others need tables too; it waits, but reads no clock. An
    engine knocks at the address that it is given, before it starts anything."""
    for place, tree in places():
        if NETWORK & {name.split(".")[0] for name in imported(tree)}:
            assert place[0] in ("collector", "console", "cli") or place in SOCKETS, place


def test_randomness_comes_from_one_place_on_the_clients_side():
    for place, tree in places():
        if place[0] in STANDARD_LIBRARY_ONLY and place not in RANDOM:
            assert not {"random", "secrets"} & set(imported(tree)), place
            assert "os.urandom" not in called(tree), place


def test_public_names_are_those_that_are_there_and_sorted():
    assert sorted(lopub.__all__) == lopub.__all__
    assert all(getattr(lopub, name).__name__ == name for name in lopub.__all__)
    assert set(lopub.__all__) == set(lopub._HOME_OF)


def test_modules_and_functions_do_not_grow():
    assert not [path for path in SOURCE.rglob("*.py") if path.read_text().count("\n") > MOST_LINES]
    for place, tree in places():
        for node in nodes_of(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno <= MOST_LINES_OF_A_FUNCTION, (
                    f"{place}:{node.name}"
                )


def callbacks(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """The parameters of a function that are told how far it is, with their types."""
    for parameter in [*node.args.args, *node.args.kwonlyargs]:
        kind = ast.unparse(parameter.annotation) if parameter.annotation else ""
        if (
            parameter.arg == "progress"
            or "Progress" in kind
            or (parameter.arg in ("done", "told") and "Callable" in kind)
        ):
            yield f"{parameter.arg}: {kind}"


def test_progress_has_one_name_and_one_shape():
    found = {
        one
        for _, tree in places()
        for _, node in public_definitions(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for one in callbacks(node)
    }
    assert found == {"progress: Progress", "progress: Progress | None"}


FORMS = {"ANSWERS", "ATTRIBUTE_BITS", "VIEW_BITS"}
"""What a law says of how its reports are counted: to compare it is to ask whether reports are bits."""


def asks_by_name(tree: ast.Module, names: set[str], classes: set[str]) -> Iterator[str]:
    """Comparisons with one of the names, lists and tables of nothing but them, questions whether something is of one of the
    classes, and those that are called so, such as `is_bits`."""
    asked = {
        f"is_{word}"
        for word in (*names, *(name.lower() for name in FORMS), "bits", "numbers", "filters")
    }
    for node in nodes_of(tree):
        parts = (
            list(ast.walk(node))
            if isinstance(node, ast.Compare | ast.MatchValue | ast.MatchClass)
            else []
        )
        words = {
            part.value
            for part in parts
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        }
        mentioned = {part.id for part in parts if isinstance(part, ast.Name)}
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            mentioned = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
        found = (
            words & names
            or mentioned & (classes | FORMS)
            or (_texts_listed(node) and _texts_listed(node) <= names)
        )
        if (
            found
            or (isinstance(node, ast.Attribute) and node.attr in asked)
            or (isinstance(node, ast.Name) and node.id in asked)
        ):
            yield ast.unparse(node)


def _texts_listed(node: ast.AST) -> set[str]:
    """Of a display of texts, or of a table by texts: all of them."""
    listed = (
        node.keys
        if isinstance(node, ast.Dict)
        else node.elts
        if isinstance(node, ast.List | ast.Set | ast.Tuple)
        else []
    )
    texts = [
        one.value for one in listed if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]
    return set(texts) if len(texts) == len(listed) else set()


def test_no_code_outside_mechanisms_view_rules_and_bulk_asks_which_mechanism_or_view_rule_it_has():
    """If you are about to write `if campaign.mechanism.name ==`, a method of the law, or of the rule, is missing."""
    names = set(Mechanism.known) | set(ViewRule.known)
    families = {*Mechanism.known.values(), *ViewRule.known.values(), *_subclasses(Channel)}
    classes = {family.__name__ for family in families}
    for place, tree in places():
        if (
            place[:2] not in (("campaign", "mechanisms"), ("campaign", "views"))
            and place[0] != "bulk"
        ):
            assert not list(asks_by_name(tree, names, classes)), place


def _subclasses(family: type) -> set[type]:
    return {family}.union(*(_subclasses(child) for child in family.__subclasses__()))


@pytest.mark.parametrize(
    "ladder",
    [
        "if m.name == 'direct': pass",
        "if isinstance(rule, Sample): pass",
        "if type(rule) is Sample: pass",
        "if m.name in ('direct', 'unary'): pass",
        "WORDS = {'direct': 'a number'}",
        "KEPT = ('direct', 'unary')",
        "if campaign.mechanism.is_bits: pass",
        "if is_bits(campaign): pass",
        "if bulk.form(True) == ANSWERS: pass",
        "match m.name:\n    case 'direct': pass",
        "match rule:\n    case Sample(): pass",
    ],
)
def test_the_search_for_ladders_finds_one(ladder: str):
    assert list(asks_by_name(ast.parse(ladder), {"direct", "unary"}, {"Sample"}))


@pytest.mark.parametrize(
    "fine",
    [
        "PAPER = 'direct'",
        "made(mechanism='direct')",
        "how = ('direct', 'model')",
        "rule.kept(view)",
    ],
)
def test_the_search_for_ladders_leaves_the_rest_alone(fine: str):
    assert not list(asks_by_name(ast.parse(fine), {"direct", "unary"}, {"Sample"}))


def test_functions_stay_small():
    functions = [
        (node.end_lineno or 0) - node.lineno + 1
        for _, tree in places()
        for node in nodes_of(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert statistics.median(functions) <= MEDIAN_LENGTH
    assert statistics.quantiles(functions, n=10)[-1] <= NINTH_DECILE_LENGTH


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def public_definitions(
    tree: ast.Module | ast.ClassDef, outer: str = ""
) -> Iterator[tuple[str, Definition]]:
    """Classes, functions and methods that do not start with an underscore, by their full names within the module."""
    for node in tree.body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield outer + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node, f"{outer}{node.name}.")


def families() -> dict[str, ast.ClassDef]:
    """Every class of the package by its name."""
    return {
        node.name: node
        for _, tree in places()
        for node in nodes_of(tree)
        if isinstance(node, ast.ClassDef)
    }


def is_documented(method: str, family: ast.ClassDef, known: dict[str, ast.ClassDef]) -> bool:
    """Whether a class, or one that it is made from, documents the method."""
    own = {
        node.name: node
        for node in family.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    if method in own and ast.get_docstring(own[method]):
        return True
    names = [ast.unparse(base).split("[")[0] for base in family.bases]
    return any(
        is_documented(method, known[name], known)
        for name in names
        if name in known and known[name] is not family
    )


def undocumented(tree: ast.Module, known: dict[str, ast.ClassDef]) -> Iterator[str]:
    """Public definitions without a docstring. A property is a noun that its class explains; what overrides a documented method,
    or does what a protocol promises, is documented there."""
    promised = {
        method.name
        for family in known.values()
        if "Protocol" in [ast.unparse(base) for base in family.bases]
        for method in family.body
        if isinstance(method, ast.FunctionDef) and ast.get_docstring(method)
    }
    if not ast.get_docstring(tree):
        yield "the module"
    for name, node in public_definitions(tree):
        owner, _, method = name.rpartition(".")
        is_property = any("property" in ast.unparse(mark) for mark in node.decorator_list)
        inherits = owner and (
            method in promised or is_documented(method, known[owner.rpartition(".")[2]], known)
        )
        if not (ast.get_docstring(node) or is_property or inherits):
            yield name


def test_every_public_definition_has_a_docstring():
    known = families()
    for place, tree in places():
        assert not list(undocumented(tree, known)), ".".join(place)


def test_a_definition_without_a_docstring_is_found():
    tree = ast.parse(
        '"""M."""\nclass A:\n    """A."""\n    def f(self):\n        """F."""\nclass B(A):\n    def f(self): ...'
    )
    assert list(
        undocumented(
            tree, {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        )
    ) == ["B"]
