"""Every block of code in every document runs, or says why not; and no document names a command, an option, a Python name or a
file that there is not."""

import importlib
import re
import shutil
import sys
import textwrap
from collections import Counter
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
from lopub.collector.settings import CollectorSettings

RUN_ELSEWHERE = {
    "README.md": ("cli/test_readme.py", {"json": 1, "sh": 2, "python": 2}),
    "docs/auditing.md": ("evaluation/audit/test_audit.py", {"console": 1, "python": 1}),
    "docs/format.md": ("campaign/test_golden.py", {"json": 23}),
    "docs/http.md": ("collector/test_operating.py", {"python": 1, "sh": 1}),
    "docs/operating.md": ("collector/test_operating.py", {"sh": 1, "python": 2, "toml": 1}),
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
    r"\b(curl|npm|node|docker|podman|pip|ssh|psql|sphinx|frictionless|mlcroissant|pg_dump|make|pytest|openssl)\b"
    r"|\bpython3? (-m|\w+\.py)\b"
)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def runs_here(block: Block) -> bool:
    return block.file is not None or block.is_output or block.language in ("sh", "python")


PAGES = [
    page
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


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_a_block_that_is_not_run_says_why(page: Path):
    for block in blocks_of(page):
        where = f"{name_of(page)}:{block.line}"
        if block.language in NOT_CODE and not block.rest:
            continue
        if block.reason is not None:
            assert len(block.reason.split()) >= 2, f"{where} is marked no-run without a reason"
        elif name_of(page) not in RUN_ELSEWHERE:
            assert runs_here(block), (
                f"{where}: nothing runs a block of {block.language}; mark it `no-run: why`"
            )


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_no_block_hides_from_the_tests(page: Path):
    """Whatever a reader sees as a block of code has a language, or is a directive of the site; none is merely indented."""
    shown = [
        token
        for token in MarkdownIt().parse(page.read_text(encoding="utf-8"))
        if token.type in ("fence", "code_block")
    ]
    fenced = [token for token in shown if token.type == "fence" and not token.info.startswith("{")]
    assert [token.content for token in shown if token.type == "code_block"] == []
    assert [textwrap.dedent(token.content) for token in fenced] == [
        textwrap.dedent(block.text) for block in blocks_of(page)
    ]


@pytest.mark.parametrize("page", RUN_ELSEWHERE)
def test_a_page_that_is_run_elsewhere_has_the_blocks_that_are_run_there(page: str):
    test, run_there = RUN_ELSEWHERE[page]
    assert Path(page).name in (ROOT / "tests" / test).read_text(encoding="utf-8"), (
        f"{test} does not run {page}"
    )
    left = [
        block.language
        for block in blocks_of(ROOT / page)
        if block.reason is None and block.language not in NOT_CODE
    ]
    assert Counter(left) == run_there


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


@pytest.mark.parametrize("page", NAMED, ids=name_of)
def test_every_command_and_option_that_a_page_names_exists(page: Path):
    for code in code_of(page):
        if named := re.match(r"(?:.*[|&] )?lopub ((?:[a-z][a-z-]* ?){1,2})(.*)", code):
            check_command(named[1].split(), named[2], f"{name_of(page)}: {code}")
        elif not OTHER_PROGRAMS.search(code):
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", code):
                assert option in ALL_OPTIONS, (
                    f"{name_of(page)}: there is no option {option} ({code})"
                )


COMMANDS = all_commands()
GROUPS = {name.split()[0] for name in COMMANDS if " " in name}
ALL_OPTIONS = {
    name for command in COMMANDS.values() for name in (*options_of(command), "--help")
} | {*("--version", "--install-completion", "--show-completion", "--separately")}


def check_command(words: list[str], rest: str, where: str) -> None:
    name = " ".join(words[:2]) if words[0] in GROUPS else words[0]
    if name in GROUPS:
        return  # the group itself
    assert name in COMMANDS, f"{where}: there is no command {name}"
    known = {
        spelling
        for option in COMMANDS[name].params
        for spelling in (*option.opts, *option.secondary_opts)
    } | {
        "-h",
        "--help",
    }
    options = re.findall(
        r"(?:^|\s)(--?[a-zA-Z][\w-]*)", re.sub(r"\"[^\"]*\"|'[^']*'|#.*|[|;].*", "", rest)
    )
    assert set(options) <= known, f"{where}: {sorted(set(options) - known)}"


@pytest.mark.parametrize("page", NAMED, ids=name_of)
def test_every_python_name_that_a_page_imports_exists(page: Path):
    imports = [
        line
        for block in blocks_of(page)
        if block.language == "python"
        for line in commands_of(block.text)
    ]
    for line in [*imports, *code_of(page)]:
        if found := re.match(r"from (lopub[\w.]*) import ([\w, ]+)$", line):
            home = importlib.import_module(found[1])
            missing = [
                name for name in re.split(r",\s*", found[2].strip()) if not hasattr(home, name)
            ]
            assert missing == [], f"{name_of(page)}: {found[1]} has no {missing}"


@pytest.mark.parametrize("page", NAMED, ids=name_of)
def test_every_member_of_a_public_name_that_a_page_mentions_exists(page: Path):
    for code in code_of(page):
        for name, member in re.findall(r"(?<![\w./-])([A-Z]\w+)\.([a-z]\w+)\b", code):
            if name in lopub.__all__ and member not in ("md", "json"):
                assert member in members_of(name, page), (
                    f"{name_of(page)}: {name} has no {member} ({code})"
                )


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


@pytest.mark.parametrize("page", NAMED, ids=name_of)
def test_a_page_that_says_how_to_install_lopub_says_what_works_today(page: Path):
    """`pip install lopub` finds nothing before the release is on the index: only the page that says so may name it."""
    if page.name == "installing.md":
        return
    text = page.read_text(encoding="utf-8")
    assert (
        re.findall(r"pip install ['\"]?lopub(?!\[xlsform\])", text) == []
    )  # that one is added to a LoPub that is there
    assert "installing.md" in text or re.search(r"pip install ['\"]?\.", text) is None


@pytest.mark.parametrize("page", NAMED, ids=name_of)
def test_every_target_of_make_that_a_page_names_exists(page: Path):
    targets = set(
        re.findall(r"(?m)^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"))
    )
    for code in code_of(page):
        if named := re.match(r"make ([a-z-]+)$", code):
            assert named[1] in targets, f"{name_of(page)}: {code}"


@pytest.mark.parametrize("page", NAMED, ids=name_of)
def test_every_variable_of_the_environment_that_a_page_names_is_read(page: Path):
    settings = {f"LOPUB_{name.upper()}" for name in CollectorSettings.__dataclass_fields__}
    for code in code_of(page):
        for name in re.findall(r"\bLOPUB_[A-Z_]+\b", code):
            assert name in settings | OTHER_VARIABLES, f"{name_of(page)}: {name}"


@pytest.mark.parametrize("page", NAMED, ids=name_of)
def test_every_file_of_the_repository_that_a_page_names_exists(page: Path):
    folders = r"(?:docs|tests|examples|benchmarks|src|clients)"
    for code in code_of(page):
        for path in re.findall(rf"(?<![\w./-]){folders}/[\w./-]*\w", code):
            assert (ROOT / path).exists(), f"{name_of(page)} names {path}"


@pytest.mark.parametrize("page", NAMED, ids=name_of)
def test_every_link_within_the_repository_leads_somewhere(page: Path):
    for target in re.findall(
        r"\]\(([^)#\s]+)(?:#[^)]*)?\)|(?:src|href)=\"(?!https?:)([^\"#]+)\"",
        page.read_text(encoding="utf-8"),
    ):
        path = target[0] or target[1]
        if (
            re.match(r"\w+:", path) is None
            and page.parent != ROOT / "examples" / "script-tag"
            and "lopub.js" not in path
        ):
            assert (page.parent / path).exists(), f"{name_of(page)} points to {path}"


WITHOUT_TLS = {"fimi.uantwerpen.be"}
"""Hosts of others that have no certificate; what comes from there is known by its SHA-256."""


@pytest.mark.parametrize("page", NAMED, ids=name_of)
def test_every_link_to_another_host_is_well_formed(page: Path):
    """It cannot be fetched here; that it is spelt like one can be seen."""
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\((\w+://[^)\s]*)\)", text):
        parts = urlsplit(link)
        assert parts.scheme == "https" or parts.hostname in WITHOUT_TLS, f"{name_of(page)}: {link}"
        assert (
            re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", parts.netloc) and link[-1] not in ".,;:"
        ), f"{name_of(page)}: {link}"
        assert re.fullmatch(r"/abs/\d{4}\.\d{4,5}", parts.path) or parts.hostname != "arxiv.org", (
            f"{name_of(page)}: {link}"
        )


@pytest.mark.parametrize("steps", [ASK, COLLECT, PLAN, SHOWN, BEGIN])
def test_every_next_step_is_a_command_that_exists(steps: tuple[tuple[str, str], ...]):
    assert len(steps) == 3
    for command, _purpose in steps:
        words = re.match(r"lopub ((?:[a-z][a-z-]* ?){1,2})(.*)", command)
        assert words is not None
        check_command(words[1].split(), words[2], command)


def test_an_output_that_differs_is_noticed():
    assert fits("a … c\n", "a b c\n") and fits("1\n", "1  \n")
    assert not fits("a … c\n", "a b d\n")
    assert not fits("1\n", "12\n")


def test_a_command_that_does_not_exist_is_noticed():
    with pytest.raises(AssertionError, match="no command republish"):
        check_command(["republish"], "", "page")
    with pytest.raises(AssertionError, match="--loud"):
        check_command(["publish", "campaign"], " --loud", "page")


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
