"""The command line as a user meets it: exit codes, one sentence for a mistake; and what only a process of its own can show."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands import in_a_process, lopub, refused

from lopub import cli
from lopub.cli.commands import COMMANDS

DRAFT = {
    "name": "alumni",
    "schema": {
        "fields": [
            {"name": "gender", "type": "string", "categories": ["F", "M"]},
            {"name": "age", "type": "integer", "constraints": {"minimum": 25, "maximum": 60}},
            {"name": "pay", "type": "number", "bins": {"edges": ["0", "10", "20.50"]}},
            {"name": "happy", "type": "boolean", "constraints": {"required": False}},
        ]
    },
}


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    path = tmp_path / "draft.json"
    path.write_text(json.dumps(DRAFT, indent=2))
    return path


@pytest.fixture
def campaign(draft: Path) -> Path:
    path = draft.with_name("campaign.json")
    assert lopub("campaign", "make", str(draft), "-o", str(path), "--epsilon", "4").returncode == 0
    return path


def test_show_prints_every_field_with_its_epsilon(campaign: Path):
    shown = lopub("campaign", "show", str(campaign)).stdout
    for words in (
        "gender",
        "25, 26, 27, 28 … 60",
        "(10, 20.5]",
        "(missing)",
        "4.000 in total",
        "at most",
        "bytes",
    ):
        assert words in shown


def test_show_as_json_can_be_read_by_programs(campaign: Path):
    shown = json.loads(lopub("campaign", "show", str(campaign), "--json").stdout)
    assert shown["epsilon"] <= 4
    assert shown["attributes"][3]["candidates"] == ["false", "true", ""]


def test_show_tells_on_which_terms_people_are_asked(tmp_path: Path):
    fields = [{"name": "a", "type": "boolean"}]
    terms = {
        "consent": "A randomized version is sent.",
        "retention_days": 90,
        "licence": "CC-BY-4.0",
        "translations": {"de": {}},
    }
    days = {"opens": "2026-12-01", "closes": "2026-12-31"}
    for name, members in {"told": {**terms, "schedule": days}, "silent": {}}.items():
        (tmp_path / "draft.json").write_text(
            json.dumps({"name": name, "schema": {"fields": fields}, **members})
        )
        path = tmp_path / f"{name}.json"
        assert (
            lopub(
                "campaign", "make", str(tmp_path / "draft.json"), "-o", str(path), "--epsilon", "4"
            ).returncode
            == 0
        )
    told, silent = (
        " ".join(lopub("campaign", "show", str(tmp_path / f"{name}.json")).stdout.split())
        for name in ("told", "silent")
    )
    for words in (
        "A randomized version is sent.",
        "2026-12-01 to 2026-12-31",
        "deleted 90 days after the close",
        "CC-BY-4.0",
    ):
        assert words in told
    for words in (
        "says nothing",
        "open until somebody closes it",
        "kept until somebody deletes them",
    ):
        assert words in silent
    shown = json.loads(lopub("campaign", "show", str(tmp_path / "told.json"), "--json").stdout)
    assert (shown["retention_days"], shown["closes"], shown["languages"]) == (
        90,
        "2026-12-31",
        ["en", "de"],
    )
    assert (
        json.loads(lopub("campaign", "show", str(tmp_path / "silent.json"), "--json").stdout)[
            "consent"
        ]
        is None
    )


def test_show_tells_what_a_secret_sample_of_people_leaves_to_readers(campaign: Path):
    shown = lopub("campaign", "show", str(campaign), "--sample-rate", "0.1").stdout
    for words in (
        "for readers of what is published",
        "drawn at random and in secret: the size of the sample may be known",
    ):
        assert words in shown
    assert "4.000000 for the collector, as without a sample, because it sees who sent" in shown
    told = json.loads(
        lopub("campaign", "show", str(campaign), "--sample-rate", "0.1", "--json").stdout
    )
    assert 1.84 < told["sampled_epsilon"] < 1.86 and told["epsilon"] > 3.99


@pytest.mark.parametrize("share", ["1e999999", "nan", "inf", "0", "-0.1", "1.5", "some", ""])
def test_show_refuses_a_share_that_cannot_be_with_one_sentence(campaign: Path, share: str):
    told = refused(lopub("campaign", "show", campaign, f"--sample-rate={share}"))
    assert told == f"lopub: --sample-rate must lie above 0 and at most 1, got {share!r}\n"


def test_show_takes_a_share_however_small_and_rounds_up(campaign: Path):
    assert (
        "epsilon 0.000001 for readers"
        in lopub("campaign", "show", campaign, "--sample-rate", "1e-999999").stdout
    )


def test_check_confirms_the_id_that_was_announced(campaign: Path):
    shown = json.loads(lopub("campaign", "show", str(campaign), "--json").stdout)
    assert (
        lopub("campaign", "check", str(campaign), "--id", shown["campaign"]).stdout
        == f"ok: campaign {shown['campaign']}\n"
    )


def test_check_refuses_a_file_that_was_changed_after_its_id_was_taken(campaign: Path):
    taken = json.loads(lopub("campaign", "show", str(campaign), "--json").stdout)["campaign"]
    campaign.write_bytes(campaign.read_bytes().replace(b'"minimum":25', b'"minimum":24'))
    assert "its bytes were changed" in refused(
        lopub("campaign", "check", str(campaign), "--id", taken)
    )


def test_check_refuses_a_file_that_an_editor_made_pretty(campaign: Path):
    campaign.write_text(json.dumps(json.loads(campaign.read_text()), indent=1))
    assert "not spelt as a campaign is" in refused(lopub("campaign", "check", str(campaign)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--epsilon", "0"], "epsilon must be above 0"),
        (["--epsilon", "-1"], "epsilon must be above 0"),
        (["--epsilon", "much"], "epsilon must be a number above 0"),
        (["--flip-probability", "1"], "flip_probability must lie between 0 and 1"),
        (["--flip-probability", "0.5", "--bits", "8", "--hashes", "9"], "hashes must lie in 1..8"),
        (
            ["--flip-probability", "0.5", "--bits", "4", "--hashes", "2"],
            "give 6 filters, too few for 36 candidates",
        ),
        (["--epsilon", "1", "--view", "sample:0"], "needs k in 1..4"),
        (["--epsilon", "1", "--view", "sample:5"], "needs k in 1..4"),
        (["--epsilon", "1", "--view", "fill:3"], "at least 4 cells"),
        (["--epsilon", "1", "--view", "some"], "view must be all, sample:K or fill:CELLS"),
        (
            ["--epsilon", "1", "--mechanism", "magic"],
            "mechanism must be one of bloom, direct, hashed, subset, unary",
        ),
        (["--epsilon", "1", "--mechanism", "direct", "--bits", "8"], "belong to mechanism 'bloom'"),
        ([], "give either epsilon or flip_probability"),
    ],
)
def test_make_refuses_a_wish_that_cannot_be_with_one_sentence(
    draft: Path, options: list[str], words: str
):
    output = draft.with_name("out.json")
    assert words in refused(lopub("campaign", "make", str(draft), "-o", str(output), *options))
    assert [path.name for path in draft.parent.iterdir()] == ["draft.json"]


def test_make_refuses_an_output_that_exists_unless_forced(draft: Path, campaign: Path):
    before = campaign.read_bytes()
    command = ["campaign", "make", str(draft), "-o", str(campaign), "--epsilon", "2"]
    assert "exists already" in refused(lopub(*command))
    assert campaign.read_bytes() == before
    assert lopub(*command, "--force").returncode == 0
    assert campaign.read_bytes() != before


def test_make_refuses_a_directory_that_is_not_there(draft: Path):
    output = draft.parent / "nowhere" / "campaign.json"
    assert "cannot write" in refused(
        lopub("campaign", "make", str(draft), "-o", str(output), "--epsilon", "2")
    )


@pytest.mark.parametrize("arguments", [["campaign", "show"], ["no-such-command"]])
def test_wrong_usage_exits_with_2(arguments: list[str]):
    assert lopub(*arguments).returncode == 2


def test_a_process_ends_as_its_command_does(draft: Path):
    """0 with what it was told to print, 1 with one sentence, 2 for wrong usage."""
    output = draft.with_name("campaign.json")
    made = in_a_process("campaign", "make", draft, "-o", output, "--epsilon", "4")
    assert made.returncode == 0 and f"written: {output}" in made.stdout and made.stderr == ""
    assert "its bytes were changed" in refused(
        in_a_process("campaign", "check", output, "--id", "0" * 64)
    )
    assert in_a_process("campaign", "show").returncode == 2


def test_every_command_has_help_with_an_example():
    for command in ("make", "show", "check"):
        assert "Example:" in lopub("campaign", command, "--help").stdout


def test_commands_are_there_before_anything_is_loaded_that_takes_long():
    """numba alone would double the time that a short command takes."""
    heavy = "{'babel', 'llvmlite', 'matplotlib', 'numba', 'scipy', 'sklearn'}"
    code = f"import sys; from lopub.cli import app; print(*{heavy} & set(sys.modules))"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        ).stdout
        == "\n"
    )


@pytest.mark.parametrize(
    ("words", "loaded"),
    [
        (["--version"], set()),
        (["token", "list"], {"token"}),
        (["restore"], {"backup"}),
        (["import"], {"import_reports"}),
    ],
)
def test_a_command_loads_none_of_the_others(words: list[str], loaded: set[str]):
    """All together take half a second before the first line of any of them runs."""
    code = (
        "import sys\nfrom lopub.cli import run\n"
        f"sys.argv = ['lopub', *{words}]\n"
        "try: run()\nexcept SystemExit: pass\n"
        "print(*(name.removeprefix('lopub.cli.') for name in sys.modules if name.startswith('lopub.cli.')))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert (
        set(shown.splitlines()[-1].split())
        & {place.partition(".")[0] for place in COMMANDS.values()}
        == loaded
    )


def test_completion_sees_every_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["lopub"])
    monkeypatch.setenv("_LOPUB_COMPLETE", "complete_bash")
    assert len(cli._app().registered_commands) + len(cli._app().registered_groups) == len(COMMANDS)


def test_without_the_command_line_extra_the_script_says_what_to_install():
    """-S leaves out site-packages, as on a machine with the bare client."""
    source = Path(__file__).parents[2] / "src"
    code = (
        f"import sys; sys.path.insert(0, {str(source)!r}); from lopub.__main__ import main; main()"
    )
    result = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
    )
    assert "pip install 'lopub[cli]'" in refused(result)
