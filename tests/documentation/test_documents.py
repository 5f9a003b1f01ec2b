"""Every block of code in every document runs, or says why not; and no document names a command, an option, a Python name or a
file that there is not."""

import importlib
import re
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from commands import all_commands, options_of
from documents import ROOT, Block, blocks_of, commands_of, fits, run
from markdown_it import MarkdownIt

sys.path.insert(0, str(ROOT / "docs"))
import make_cli
import make_pictures

import lopub
from lopub.cli.next_steps import ASK, BEGIN, COLLECT, PLAN, SHOWN

RUN_ELSEWHERE = {
    "README.md": ("cli/test_readme.py", {"json": 1, "sh": 2, "python": 2}),
    "docs/auditing.md": ("evaluation/audit/test_audit.py", {"console": 1, "python": 1}),
    "docs/format.md": ("campaign/test_golden.py", {"json": 23}),
    "docs/http.md": ("collector/test_operating.py", {"python": 1, "sh": 1}),
    "docs/operating.md": ("collector/test_operating.py", {"sh": 9}),
    "docs/threats.md": ("documentation/test_threats.py", {"python": 1}),
    "docs/queries.md": ("cli/test_cli_query.py", {"sh": 1, "python": 2}),
    "docs/questionnaires.md": ("questionnaire/test_questionnaires_page.py", {"json": 17}),
    "docs/repeating.md": ("cli/test_repeating_page.py", {"json": 2, "sh": 3, "python": 2}),
}
"""Documents that a test of their own runs, which knows what they need, and how many blocks it runs: no other hides there."""
NOT_CODE = {"text", "pycon"}
WRITTEN_HERE = [
    ROOT / name
    for name in (
        "README.md",
        "PRIVACY.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "clients/js/README.md",
    )
]
DOCUMENTS = sorted(
    {*WRITTEN_HERE, *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")}
    - {ROOT / "docs" / "cli.md"}
)
NAMED = [page for page in DOCUMENTS if page.name != "CHANGELOG.md"]
"""A changelog also names what is gone."""
OTHER_VARIABLES = {"LOPUB_DATA", "LOPUB_FULL", "LOPUB_GATE"}
"""Read by the catalogue and by the tests."""
OTHER_PROGRAMS = re.compile(
    r"\b(sudo|curl|npm|node|docker|podman|pip|ssh|psql|sphinx|frictionless|mlcroissant|pg_dump|make|pytest|openssl)\b"
    r"|\bpython3? (-m|\w+\.py)\b"
)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def runs_here(block: Block) -> bool:
    return block.file is not None or block.is_output or block.language in ("sh", "python")


WAITING = {"examples/developer/README.md"}
"""Waits for a collector that is away; docs/start/developer.md takes the same steps with one that is there."""
PAGES = [
    pytest.param(page, marks=pytest.mark.full) if name_of(page) in WAITING else page
    for page in DOCUMENTS
    if name_of(page) not in RUN_ELSEWHERE and any(map(runs_here, blocks_of(page)))
]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))  # a reader's own reports are not touched
    if page.is_relative_to(ROOT / "examples"):
        shutil.copytree(page.parent, tmp_path, dirs_exist_ok=True)
    run(page, tmp_path)


def wrong(check: Callable[[Path], Iterable[str]], pages: Iterable[Path] = NAMED) -> list[str]:
    """What a check finds wrong on pages, each with the page's name."""
    return [f"{name_of(page)}: {found}" for page in pages for found in check(page)]


def test_a_block_that_is_not_run_says_why():
    assert wrong(unexplained, DOCUMENTS) == []


def unexplained(page: Path) -> Iterator[str]:
    for block in blocks_of(page):
        if block.language in NOT_CODE and not block.rest:
            continue
        if block.reason is not None:
            if len(block.reason.split()) < 2:
                yield f"line {block.line} is marked no-run without a reason"
        elif name_of(page) not in RUN_ELSEWHERE and not runs_here(block):
            yield f"nothing runs line {block.line}, of {block.language}; mark it `no-run: why`"


def test_no_block_hides_from_the_tests():
    """Whatever a reader sees as a block of code has a language, or is a directive of the site; none is merely indented."""
    assert wrong(hidden, DOCUMENTS) == []


def hidden(page: Path) -> Iterator[str]:
    shown = [
        token
        for token in MarkdownIt().parse(page.read_text(encoding="utf-8"))
        if token.type in ("fence", "code_block")
    ]
    fenced = [token for token in shown if token.type == "fence" and not token.info.startswith("{")]
    yield from (f"indented: {one.content}" for one in shown if one.type == "code_block")
    if [textwrap.dedent(token.content) for token in fenced] != [
        textwrap.dedent(block.text) for block in blocks_of(page)
    ]:
        yield "the tests find other blocks than a reader"


def test_a_page_that_is_run_elsewhere_has_the_blocks_that_are_run_there():
    for page, (test, run_there) in RUN_ELSEWHERE.items():
        assert Path(page).name in (ROOT / "tests" / test).read_text(encoding="utf-8"), (
            f"{test} does not run {page}"
        )
        left = [
            block.language
            for block in blocks_of(ROOT / page)
            if block.reason is None and block.language not in NOT_CODE
        ]
        assert Counter(left) == run_there, page


@cache
def code_of(page: Path) -> list[str]:
    """Lines of code and pieces of inline code."""
    text = page.read_text(encoding="utf-8")
    inline = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", re.sub(r"(?ms)^ *```.*?^ *```", "", text))
    return [
        *inline,
        *(
            line
            for block in blocks_of(page)
            if block.language in ("sh", "python", "text")
            for line in commands_of(block.text)
        ),
    ]


def test_every_command_and_option_that_a_page_names_exists():
    assert wrong(unknown_commands) == []


def unknown_commands(page: Path) -> Iterator[str]:
    for code in code_of(page):
        if code == SIGNED_TAG:
            continue
        if named := re.match(r"(?:.*[|&] )?lopub ((?:[a-z][a-z-]* ?){1,2})(.*)", code):
            yield from unknown_in(named[1].split(), named[2])
        elif not OTHER_PROGRAMS.search(code):
            options = re.findall(r"(?<![\w-])--[a-z][a-z-]+", code)
            yield from (f"no option {one} ({code})" for one in options if one not in ALL_OPTIONS)


SIGNED_TAG = "lopub admission 1"
"""What a signature begins with (docs/format.md): no command."""
COMMANDS = all_commands()
GROUPS = {name.split()[0] for name in COMMANDS if " " in name}
ALL_OPTIONS = {
    name for command in COMMANDS.values() for name in (*options_of(command), "--help")
} | {*("--version", "--install-completion", "--show-completion", "--separately")}


def unknown_in(words: list[str], rest: str) -> list[str]:
    """What a command line names that there is not."""
    name = " ".join(words[:2]) if words[0] in GROUPS else words[0]
    if name in GROUPS:
        return []  # the group itself
    if name not in COMMANDS:
        return [f"no command {name}"]
    known = {
        spelling
        for option in COMMANDS[name].params
        for spelling in (*option.opts, *option.secondary_opts)
    } | {"-h", "--help"}
    options = re.findall(
        r"(?:^|\s)(--?[a-zA-Z][\w-]*)", re.sub(r"\"[^\"]*\"|'[^']*'|#.*|[|;].*", "", rest)
    )
    return [f"{name} has no {option}" for option in sorted(set(options) - known)]


def test_every_python_name_that_a_page_imports_exists():
    assert wrong(unknown_imports) == []


def unknown_imports(page: Path) -> Iterator[str]:
    for line in code_of(page):
        if found := re.match(r"from (lopub[\w.]*) import ([\w, ]+)$", line):
            home = importlib.import_module(found[1])
            names = re.split(r",\s*", found[2].strip())
            yield from (f"{found[1]} has no {name}" for name in names if not hasattr(home, name))


def test_every_member_of_a_public_name_that_a_page_mentions_exists():
    assert wrong(unknown_members) == []


def unknown_members(page: Path) -> Iterator[str]:
    for code in code_of(page):
        for name, member in re.findall(r"(?<![\w./-])([A-Z]\w+)\.([a-z]\w+)\b", code):
            is_ours = name in lopub.__all__ and member not in ("md", "json")
            if is_ours and member not in members_of(name, page):
                yield f"{name} has no {member} ({code})"


def members_of(name: str, page: Path) -> set[str]:
    """What a class has in Python; on pages about the browser client, every word of its source."""
    if name_of(page) in ("docs/browser.md", "clients/js/README.md"):
        return {
            word
            for file in (ROOT / "clients/js/src").glob("*.ts")
            for word in re.findall(r"\w+", file.read_text(encoding="utf-8"))
        }
    thing = getattr(lopub, name)
    return {*dir(thing), *getattr(thing, "__annotations__", ())}


def test_a_page_that_says_how_to_install_lopub_says_what_works_today():
    """`pip install lopub` finds nothing before the release is on the index: only the page that says so may name it."""
    assert wrong(impossible_installs) == []


def impossible_installs(page: Path) -> Iterator[str]:
    if page.name == "installing.md":
        return
    text = page.read_text(encoding="utf-8")
    yield from re.findall(
        r"pip install ['\"]?lopub(?!\[xlsform\])", text
    )  # that one is added to a LoPub that is there
    if "installing.md" not in text and re.search(r"pip install ['\"]?\.", text):
        yield "installs from a checkout, and does not name installing.md"


def test_every_target_of_make_that_a_page_names_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?m)^([a-z][a-z-]*):", makefile))

    def unknown_targets(page: Path) -> Iterator[str]:
        named = (re.match(r"make ([a-z-]+)$", code) for code in code_of(page))
        return (one[0] for one in named if one and one[1] not in targets)

    assert wrong(unknown_targets) == []


def test_every_variable_of_the_environment_that_a_page_names_is_read():
    options = [option for command in COMMANDS.values() for option in command.params]
    variables = {option.envvar for option in options if isinstance(option.envvar, str)}

    def unknown_variables(page: Path) -> set[str]:
        named = {name for code in code_of(page) for name in re.findall(r"\bLOPUB_[A-Z_]+\b", code)}
        return named - variables - OTHER_VARIABLES

    assert wrong(unknown_variables) == []


def test_every_file_of_the_repository_that_a_page_names_exists():
    assert wrong(missing_files) == []


def missing_files(page: Path) -> Iterator[str]:
    folders = r"(?:docs|deploy|tests|examples|benchmarks|src|clients)"
    for code in code_of(page):
        named = re.findall(rf"(?<![\w./-]){folders}/[\w./-]*\w", code)
        yield from (path for path in named if not (ROOT / path).exists())


def test_every_link_within_the_repository_leads_somewhere():
    assert wrong(dead_links) == []


def dead_links(page: Path) -> Iterator[str]:
    for target in re.findall(
        r"\]\(([^)#\s]+)(?:#[^)]*)?\)|(?:src|href)=\"(?!https?:)([^\"#]+)\"",
        page.read_text(encoding="utf-8"),
    ):
        path = target[0] or target[1]
        if (
            re.match(r"\w+:", path) is None
            and page.parent != ROOT / "examples" / "script-tag"
            and "lopub.js" not in path
            and not (page.parent / path).exists()
        ):
            yield path


WITHOUT_TLS = {"fimi.uantwerpen.be"}
"""Hosts of others that have no certificate; what comes from there is known by its SHA-256."""


def test_every_link_to_another_host_is_well_formed():
    """It cannot be fetched here; that it is spelt like one can be seen."""
    assert wrong(misspelt_links) == []


def misspelt_links(page: Path) -> Iterator[str]:
    for link in re.findall(r"\]\((\w+://[^)\s]*)\)", page.read_text(encoding="utf-8")):
        parts = urlsplit(link)
        is_safe = parts.scheme == "https" or parts.hostname in WITHOUT_TLS
        has_host = re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", parts.netloc)
        is_paper = re.fullmatch(r"/abs/\d{4}\.\d{4,5}", parts.path)
        is_right = is_paper or parts.hostname != "arxiv.org"
        if not (is_safe and has_host and is_right) or link[-1] in ".,;:":
            yield link


def test_every_next_step_is_a_command_that_exists():
    for steps in (ASK, COLLECT, PLAN, SHOWN, BEGIN):
        assert len(steps) == 3
        for command, _purpose in steps:
            words = re.match(r"lopub ((?:[a-z][a-z-]* ?){1,2})(.*)", command)
            assert words is not None, command
            assert unknown_in(words[1].split(), words[2]) == [], command


def test_a_check_of_pages_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A page with every mistake that is looked for."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "`lopub republish` `lopub publish campaign --loud` `--loud` `from lopub import Loud`\n"
        "`Study.shout` `docs/none.md` [here](none.md) [there](http://example.org) pip install lopub\n"
        "```rust\nlet a;\n```\n"
    )
    assert wrong(unexplained, [page]) == [
        "page.md: nothing runs line 3, of rust; mark it `no-run: why`"
    ]
    assert wrong(unknown_commands, [page]) == [
        "page.md: no command republish",
        "page.md: publish has no --loud",
        "page.md: no option --loud (--loud)",
    ]
    assert wrong(unknown_imports, [page]) == ["page.md: lopub has no Loud"]
    assert wrong(unknown_members, [page]) == ["page.md: Study has no shout (Study.shout)"]
    assert wrong(missing_files, [page]) == ["page.md: docs/none.md"]
    assert wrong(dead_links, [page]) == ["page.md: none.md"]
    assert wrong(misspelt_links, [page]) == ["page.md: http://example.org"]
    assert wrong(impossible_installs, [page]) == ["page.md: pip install lopub"]


def test_an_output_that_differs_is_noticed():
    assert fits("a … c\n", "a b c\n") and fits("1\n", "1  \n")
    assert not fits("a … c\n", "a b d\n")
    assert not fits("1\n", "12\n")


def test_the_page_of_the_command_line_is_what_the_program_says():
    assert make_cli.PAGE.read_text(encoding="utf-8") == make_cli.page(), (
        "run python docs/make_cli.py"
    )


def test_the_pictures_are_those_that_the_script_draws(tmp_path: Path):
    make_pictures.draw(tmp_path)
    for name in make_pictures.DRAWN:
        drawn, committed = (
            (tmp_path / name).read_text(),
            (ROOT / "docs" / "pictures" / name).read_text(),
        )
        assert len(committed) < 25_000 and committed.count("<text") == drawn.count("<text"), name
