"""`lopub publish` as a user meets it: real processes, whole directories, one sentence for a mistake."""

import csv
import json
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import done, in_a_process, lopub, refused
from test_publication_files import FILES, contents, is_whole, names

from lopub import Campaign, CampaignRequest, Dataset, Domain, Terms, count, make_campaign, simulate
from lopub.cli import run
from lopub.reports.catalogue import ALUMNI

COLUMNS = ("income", "home", "donates", "married", "gender")


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a campaign, its reports and their counts. Published once: what has to be compiled for it is there after
    that, which can take longer than publish stays silent."""
    folder = tmp_path_factory.mktemp("collected")
    collect(folder, ALUMNI.people(2_000, seed=1), COLUMNS)
    done(lopub(*command(tmp_path_factory.mktemp("published") / "out"), cwd=folder))
    return folder


def collect(folder: Path, people: Dataset, names: tuple[str, ...], epsilon: float = 8) -> None:
    domain = Domain(tuple(people.domain[name] for name in names))
    campaign = make_campaign(domain, Terms(name="people"), CampaignRequest(epsilon=epsilon))
    campaign.save(folder / "campaign.json")
    batch = simulate(
        Dataset(domain, people.codes[:, list(people.domain.positions(names))]), campaign, seed=1
    )
    batch.save(folder / "reports.parquet")
    count(batch).save(folder / "counts.parquet")


def command(output: Path | str, *options: str, reports: str = "reports.parquet") -> list[str]:
    return ["publish", "campaign.json", reports, "-o", str(output), *options]


@pytest.fixture
def publish(
    collected: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """The command in this process, which saves its start."""

    def called(
        output: Path | str,
        *options: str,
        reports: str = "reports.parquet",
        folder: Path = collected,
    ):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["lopub", *command(output, *options, reports=reports)])
        with pytest.raises(SystemExit) as stopped:
            run()
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(sys.argv, stopped.value.code or 0, shown.out, shown.err)

    return called


# ---- what it does


def test_reports_become_a_publication(publish: Run, collected: Path, tmp_path: Path):
    result = publish(tmp_path / "out")
    assert result.returncode == 0 and result.stderr == ""
    for words in (
        "2,000 reports, epsilon 8.000",
        "by held-out gain",
        "cliques, the largest of",
        "2,000 synthetic records",
    ):
        assert words in result.stdout
    assert f"written: {tmp_path}/out" in result.stdout.splitlines()[-1]
    assert set(FILES) <= set(contents(tmp_path / "out")) and is_whole(tmp_path / "out")
    domain = Campaign.load(collected / "campaign.json").domain
    assert len(Dataset.load(tmp_path / "out" / "data" / "synthetic.csv", domain)) == 2_000


def test_json_is_all_that_is_printed(publish: Run, tmp_path: Path):
    shown = json.loads(publish(tmp_path / "out", "--json", "--rows", "50").stdout)
    assert (shown["output"], shown["n_rows"], shown["n_reports"]) == (
        str(tmp_path / "out"),
        50,
        2_000,
    )
    assert {name for clique in shown["cliques"] for name in clique} == set(COLUMNS)


def test_the_papers_structure_is_recorded_in_the_manifest(publish: Run, tmp_path: Path):
    options = [
        "--structure",
        "paper",
        "--method",
        "em",
        "--phi",
        "0.3",
        "--prune",
        "dependence",
        "--seed",
        "7",
        "--rows",
        "20",
    ]
    result = publish(tmp_path / "out", *options)
    assert (
        "by mutual information" in result.stdout
        and "pruning saved the estimation of 4 pairs" in result.stdout
    )
    settings = json.loads((tmp_path / "out" / "manifest.json").read_text())["settings"]
    assert (
        settings["structure"] == "paper" and settings["method"] == "em" and settings["phi"] == 0.3
    )
    assert settings["pruning"] == {
        "find": "dependence",
        "rank": "entropy_per_candidate",
        "rounding": "half_up",
    }
    assert settings["seed"] == 7 and settings["rows"] == 20


def test_the_papers_stop_and_its_algorithms_rank_can_be_asked_for(publish: Run, tmp_path: Path):
    options = [
        "--structure",
        "paper",
        "--method",
        "em",
        "--stop",
        "paper",
        "--prune",
        "dependence",
        "--prune-by",
        "entropy",
    ]
    publish(tmp_path / "out", *options, "--rows", "20")
    settings = json.loads((tmp_path / "out" / "manifest.json").read_text())["settings"]
    assert settings["pruning"]["rank"] == "entropy" and settings["options"] == {"stop": "paper"}


def test_a_search_for_independence_calls_what_it_skips_assumed(publish: Run, tmp_path: Path):
    options = ["--structure", "paper", "--phi", "1", "--prune", "independence", "--rows", "20"]
    assert "assumed" in publish(tmp_path / "out", *options).stdout


def test_the_cap_says_which_edges_it_left_out(publish: Run, tmp_path: Path):
    result = publish(
        tmp_path / "out", "--structure", "paper", "--phi", "0", "--most-cells", "12", "--rows", "20"
    )
    assert result.returncode == 0
    assert (
        result.stderr.startswith("note: the cap of 12 cells left out ") and " – " in result.stderr
    )
    assert (
        json.loads((tmp_path / "out" / "estimates" / "model.json").read_text())["most_cells"] == 12
    )


def test_rows_are_as_many_as_asked_for(publish: Run, tmp_path: Path):
    assert publish(tmp_path / "out", "--rows", "17").returncode == 0
    with open(tmp_path / "out" / "data" / "synthetic.csv", newline="") as file:
        assert len(list(csv.reader(file))) == 1 + 17


def test_counts_publish_as_their_reports_do(publish: Run, tmp_path: Path):
    for name in ("reports", "counts"):
        assert publish(tmp_path / name, reports=f"{name}.parquet").returncode == 0
    one, other = contents(tmp_path / "reports"), contents(tmp_path / "counts")
    assert one["estimates/dependence.csv"] == other["estimates/dependence.csv"]


def test_reports_without_dependence_say_so(publish: Run, tmp_path: Path):
    collect(tmp_path, ALUMNI.people(400, seed=1), ("region", "gender"), epsilon=2)
    shown = publish("out", folder=tmp_path).stdout
    assert "0 of 1 pairs of attributes depend on each other" in shown
    assert (
        "no dependence stands out of the noise: the table is made of independent attributes"
        in shown
    )


@pytest.mark.full
@pytest.mark.parametrize("structure", ["calibrated", "paper"])
def test_the_hash_seed_does_not_change_a_byte(collected: Path, tmp_path: Path, structure: str):
    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed, "PATH": ""}
        options = ["--structure", structure, "--rows", "99"]
        assert (
            in_a_process(
                *command(tmp_path / seed, *options), cwd=collected, env=environment
            ).returncode
            == 0
        )
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_help_has_an_example():
    assert (
        "Example: lopub publish campaign.json reports.parquet -o publication"
        in lopub("publish", "--help").stdout
    )


# ---- what it refuses


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--phi", "1.5"], "phi must lie in 0..1, got 1.5"),
        (["--phi", "-0.1"], "phi must lie in 0..1, got -0.1"),
        (["--phi", "nan"], "phi must lie in 0..1, got nan"),
        (["--structure", "tree"], "structure must be one of calibrated, paper, got 'tree'"),
        (
            ["--method", "magic"],
            "method must be one of shrunk, em, moments, product, lasso, hybrid, got 'magic'",
        ),
        (["--method", "em"], "only method shrunk has, not em; use structure paper"),
        (
            ["--structure", "paper", "--method", "lasso"],
            "method lasso regresses bits of separately randomized attributes",
        ),
        (["--prune", "dependence"], "pruning is a part of structure paper"),
        (["--stop", "paper"], "stop is a choice of methods em and hybrid, not of shrunk"),
        (["--stop", "soon"], "stop must be change or paper, got 'soon'"),
        (
            ["--structure", "paper", "--method", "em", "--stop", "soon"],
            "stop must be change or paper, got 'soon'",
        ),
        (
            ["--structure", "paper", "--prune-by", "entropy"],
            "--prune-by says how --prune ranks; give --prune, too",
        ),
        (["--prune-by", "luck"], "--prune-by must be entropy or entropy-per-candidate, got 'luck'"),
        (
            ["--structure", "paper", "--prune", "everything"],
            "--prune must be dependence or independence, got 'everything'",
        ),
        (["--rows", "0"], "rows must be at least 1, got 0"),
        (
            ["--most-cells", "3"],
            "most_cells must be at least 4, the candidates of the largest of 5 attributes, got 3",
        ),
        (["--most-cells", "99999999"], "most_cells must be at most 16,777,216, got 99,999,999"),
        (["--seed", "-1"], "seed must not be negative, got -1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_gets_one_sentence_and_leaves_nothing(
    publish: Run, tmp_path: Path, options: list[str], words: str
):
    assert words in refused(publish(tmp_path / "out", *options))
    assert names(tmp_path) == []


def test_more_rows_than_memory_get_one_sentence(publish: Run, tmp_path: Path):
    assert "rows" in refused(publish(tmp_path / "out", "--rows", str(10**15)))
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "options",
    [["--rows", "many"], ["--phi", "some"], ["--colour", "red"], ["--seed", "1.5"]],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2_and_leaves_nothing(
    publish: Run, tmp_path: Path, options: list[str]
):
    assert publish(tmp_path / "out", *options).returncode == 2
    assert names(tmp_path) == []


def test_a_file_that_is_not_there_is_named(publish: Run, tmp_path: Path):
    assert "cannot read reports none.parquet" in refused(
        publish(tmp_path / "out", reports="none.parquet")
    )
    assert names(tmp_path) == []


def test_an_output_that_exists_is_refused_unless_forced(publish: Run, tmp_path: Path):
    assert publish(tmp_path / "out", "--rows", "9").returncode == 0
    before = contents(tmp_path / "out")
    assert f"{tmp_path}/out exists already" in refused(publish(tmp_path / "out", "--rows", "8"))
    assert contents(tmp_path / "out") == before
    assert publish(tmp_path / "out", "--rows", "8", "--force").returncode == 0
    assert is_whole(tmp_path / "out") and contents(tmp_path / "out") != before
    assert names(tmp_path) == ["out"]


def test_an_output_that_exists_is_refused_before_anything_is_read(publish: Run, tmp_path: Path):
    (tmp_path / "out").write_text("mine")
    assert "out exists already" in refused(publish("out", folder=tmp_path))


@pytest.mark.parametrize("name", ["campaign.json/out", "a" * 256], ids=["below-a-file", "too-long"])
def test_an_output_that_cannot_be_gets_one_sentence(publish: Run, name: str):
    assert "cannot write" in refused(publish(name))


def no_file_above_four_kilobytes() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


@pytest.mark.full
def test_a_full_disk_leaves_nothing_behind(collected: Path, tmp_path: Path):
    refused(
        in_a_process(
            *command(tmp_path / "out"), cwd=collected, preexec_fn=no_file_above_four_kilobytes
        )
    )
    assert names(tmp_path) == []


def test_a_full_disk_gets_one_sentence_and_leaves_the_old_publication(
    publish: Run, collected: Path, tmp_path: Path
):
    assert publish(tmp_path / "out", "--rows", "9").returncode == 0
    before = contents(tmp_path / "out")
    said = refused(
        in_a_process(
            *command(tmp_path / "out", "--force"),
            cwd=collected,
            preexec_fn=no_file_above_four_kilobytes,
        )
    )
    assert said.startswith(f"lopub: cannot write {tmp_path}/") and said.endswith(
        ": File too large\n"
    )
    assert contents(tmp_path / "out") == before and names(tmp_path) == ["out"]


# ---- stopped in the middle

ENDLESS = """
import time
import lopub.publication.directory as files
def manifest(*arguments):
    print("all but the last", flush=True)
    time.sleep(600)
files.manifest = manifest
from lopub.__main__ import main
main()
"""
"""All files are written but the last, which never comes."""


@contextmanager
def in_the_middle(folder: Path, output: Path) -> Iterator[subprocess.Popen[str]]:
    """A command that has written all files but the last."""
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, *command(output)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert process.stdout is not None
        assert "all but the last\n" in iter(process.stdout.readline, "")
        yield process
    finally:
        process.kill()
        process.communicate()


def test_an_interrupt_in_the_middle_ends_with_130_and_leaves_nothing(
    collected: Path, tmp_path: Path
):
    with in_the_middle(collected, tmp_path / "out") as process:
        assert len(list(tmp_path.glob("*/campaign.json"))) == 1
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 130
    assert len(said.splitlines()) <= 1 and "Traceback" not in said
    assert names(tmp_path) == []


def test_a_kill_in_the_middle_leaves_no_publication_and_the_next_one_is_whole(
    publish: Run, collected: Path, tmp_path: Path
):
    with in_the_middle(collected, tmp_path / "out") as process:
        process.kill()
        process.wait()
    assert list(tmp_path.glob(".*")) == list(tmp_path.iterdir())  # what is hidden is no publication
    assert publish(tmp_path / "out", "--rows", "9").returncode == 0
    assert is_whole(tmp_path / "out")


@pytest.mark.full
def test_a_kill_at_any_moment_leaves_a_whole_publication_or_none(collected: Path, tmp_path: Path):
    """The moments spread over the writing of a table that takes its time; a hidden directory stays behind."""
    output, states = tmp_path / "out", []
    arguments = [sys.executable, "-m", "lopub", *command(output, "--rows", "300000", "--force")]
    for wait in (0.0, 0.05, 0.2):
        with subprocess.Popen(arguments, cwd=collected, stdout=subprocess.DEVNULL) as process:
            while not list(tmp_path.glob(".*")) and process.poll() is None:
                time.sleep(0.005)
            time.sleep(wait)
            process.kill()
        states.append(output.exists())
        assert not output.exists() or is_whole(output)
        for leftover in tmp_path.glob(".*"):
            shutil.rmtree(leftover)
    assert not states[0]


# ---- simulated reports


def test_framed_reports_are_published_as_simulated_on_request(collected: Path, tmp_path: Path):
    people = ALUMNI.people(600, seed=1)
    codes = people.codes[:, list(people.domain.positions(COLUMNS))].tolist()
    rows = [
        [people.domain[name].texts[code] for name, code in zip(COLUMNS, row, strict=True)]
        for row in codes
    ]
    with open(tmp_path / "people.csv", "w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    encoded = done(
        lopub(
            "encode",
            collected / "campaign.json",
            tmp_path / "people.csv",
            "-o",
            tmp_path / "r.bin",
            "--seed",
            1,
        )
    )
    assert "framed wire bytes do not tell that they are simulated" in encoded.stderr
    for flags, is_told in (((), False), (("--simulated",), True)):
        where = tmp_path / f"p{len(flags)}"
        done(
            lopub(
                "publish",
                collected / "campaign.json",
                tmp_path / "r.bin",
                "-o",
                where,
                "--rows",
                20,
                *flags,
            )
        )
        assert (
            "This is a rehearsal with simulated reports" in (where / "report.html").read_text()
        ) is is_told
        assert json.loads((where / "manifest.json").read_text())["reports"]["simulated"] is is_told


def test_an_import_tells_that_a_database_does_not_keep_that_reports_are_simulated(
    collected: Path, tmp_path: Path
):
    imported = done(
        lopub("import", collected / "reports.parquet", "--database", f"sqlite:///{tmp_path}/new.db")
    )
    assert (
        "these reports are simulated, which a database does not keep; publish them with --simulated"
        in imported.stderr
    )
