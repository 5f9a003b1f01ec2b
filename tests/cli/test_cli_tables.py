"""Tables on the command line: infer a campaign, encode records, walk the demo; real files."""

import gzip
import json
import resource
import shutil
import time
from pathlib import Path

import pytest
from commands import Result, done, in_a_process, lopub, refused

from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Binned, Boolean, Categorical, Domain, IntegerRange
from lopub.reports.batch import ReportBatch
from lopub.reports.catalogue import ALUMNI
from lopub.reports.dataset import Dataset
from lopub.reports.simulation import simulate

SECRET = "Rumpelstilzchen"
N = 300
TABLE = "drink,age,happy\n" + "".join(
    f"{('tea', 'wine', 'beer')[i % 3]},{i % 4 + 1},{('true', 'false', '')[i % 5 % 3]}\n"
    for i in range(N)
)
DOMAIN = Domain(
    (
        Categorical(name="drink", values=("tea", "wine", "beer")),
        IntegerRange(name="age", minimum=1, maximum=4),
        Boolean(name="happy", missing=True),
    )
)
"""What the table's own rows tell: pairs of 9, 12 and 12 cells."""


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "People (1).csv"
    path.write_text(TABLE)
    return path


@pytest.fixture(scope="module")
def campaign_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    directory = tmp_path_factory.mktemp("campaign")
    (directory / "people.csv").write_text(TABLE)
    done(
        lopub(
            "campaign",
            "infer",
            directory / "people.csv",
            "-o",
            directory / "campaign.json",
            "--epsilon",
            "5",
        )
    )
    return (directory / "campaign.json").read_bytes()


@pytest.fixture
def campaign(tmp_path: Path, campaign_bytes: bytes) -> Path:
    path = tmp_path / "campaign.json"
    path.write_bytes(campaign_bytes)
    return path


# ---- campaign infer


def test_infer_makes_a_campaign_of_what_the_table_holds(table: Path) -> None:
    output = table.with_name("campaign.json")
    result = done(lopub("campaign", "infer", table, "-o", output, "--epsilon", "5"))
    made = Campaign.load(output)
    assert made.domain == DOMAIN and made.terms.name == "people-1"
    assert made.epsilon <= 5 and result.stdout.endswith(f"written: {output}\n")


def test_infer_warns_that_candidates_learnt_from_rows_are_a_leak(table: Path) -> None:
    result = done(
        lopub("campaign", "infer", table, "-o", table.with_name("campaign.json"), "--epsilon", "5")
    )
    assert result.stderr.startswith("warning: ") and "itself a leak" in result.stderr
    assert "leak" not in result.stdout


def test_infer_takes_the_candidates_of_a_domain_file_without_a_warning(tmp_path: Path) -> None:
    described = {
        "attributes": [
            {"name": "drink", "labels": ["beer", "tea", "wine", "water"]},
            {"name": "age", "edges": [0, 2, 10]},
        ]
    }
    (tmp_path / "small.domain.json").write_text(json.dumps(described))
    (tmp_path / "small.csv.gz").write_bytes(gzip.compress(b"drink,age\n0,1\n3,0\n"))
    files = [
        tmp_path / "small.csv.gz",
        "-o",
        tmp_path / "campaign.json",
        "--domain",
        tmp_path / "small.domain.json",
    ]
    result = done(lopub("campaign", "infer", *files, "--epsilon", "5"))
    drink = Categorical(name="drink", values=("beer", "tea", "wine", "water"))
    assert Campaign.load(tmp_path / "campaign.json").domain == Domain(
        (drink, Binned(name="age", edges=("0", "2", "10")))
    )
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("options", "mechanism", "view", "randomize"),
    [
        (["--epsilon", "0.5"], "subset", "sample:2", "jointly"),
        (["--epsilon", "7"], "direct", "fill:182", "jointly"),
        (["--flip-probability", "0.5"], "bloom", "all", "separately"),
    ],
)
def test_infer_chooses_mechanism_and_view_by_what_it_is_told_of_privacy(
    table: Path, options: list[str], mechanism: str, view: str, randomize: str
) -> None:
    output = table.with_name("campaign.json")
    done(lopub("campaign", "infer", table, "-o", output, *options))
    made = Campaign.load(output)
    assert (made.mechanism.name, str(made.view), made.jointly) == (
        mechanism,
        view,
        randomize == "jointly",
    )


def test_infer_follows_its_options_on_columns_order_and_bins(table: Path) -> None:
    output = table.with_name("campaign.json")
    options = [
        "--columns",
        "age,drink",
        "--order",
        "natural",
        "--bins-per-number",
        "2",
        "--most-candidates",
        "3",
    ]
    table.write_text(TABLE.replace(",4,", ",4.5,"))
    done(lopub("campaign", "infer", table, "-o", output, "--epsilon", "5", *options))
    drink = Categorical(name="drink", values=("beer", "tea", "wine"))
    assert Campaign.load(output).domain == Domain(
        (Binned(name="age", edges=("1", "2.75", "4.5")), drink)
    )


INFER_REFUSES: list[tuple[str | bytes, list[str], str]] = [
    (TABLE + "tea,1\n", ["--epsilon", "5"], "line 302 has 2 fields, the header has 3"),
    (
        TABLE,
        ["--epsilon", "5", "--columns", "drink,wage"],
        "has no column 'wage'; its columns are drink, age, happy",
    ),
    (
        TABLE,
        ["--epsilon", "5", "--most-candidates", "2"],
        "column 'drink' has 3 different values; at most 2",
    ),
    (
        TABLE,
        ["--epsilon", "5", "--order", "size"],
        "order must be appearance or natural, got 'size'",
    ),
    (TABLE, [], "give either epsilon or flip_probability"),
    (
        TABLE,
        ["--epsilon", "5", "--domain", "nothing.json"],
        "cannot read domain file nothing.json: No such file",
    ),
]


@pytest.mark.parametrize(("content", "options", "words"), INFER_REFUSES)
def test_infer_refuses_bad_input_with_one_sentence(
    tmp_path: Path, content: str | bytes, options: list[str], words: str
) -> None:
    table = tmp_path / "people.csv"
    table.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert words in refused(
        lopub("campaign", "infer", table, "-o", tmp_path / "campaign.json", *options)
    )
    assert names_in(tmp_path) == ["people.csv"]


def test_infer_refuses_a_table_that_is_not_one_of_its_domain_file(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(
        json.dumps({"attributes": [{"name": "drink", "labels": ["tea", "wine"]}]})
    )
    (tmp_path / "people.csv").write_text(f"drink\ntea\n{SECRET}\n")
    files = [
        tmp_path / "people.csv",
        "-o",
        tmp_path / "campaign.json",
        "--domain",
        tmp_path / "d.json",
    ]
    said = refused(lopub("campaign", "infer", *files, "--epsilon", "5"))
    assert (
        "record 2: attribute 'drink' does not list this value (2 candidates)" in said
        and SECRET not in said
    )
    assert names_in(tmp_path) == ["d.json", "people.csv"]


WARNS_FIRST = "cli.campaign.infer warns before it knows whether a campaign comes of it: a refusal has three lines"


def test_infer_refuses_a_privacy_that_cannot_be_with_one_sentence(table: Path) -> None:
    said = refused(
        lopub("campaign", "infer", table, "-o", table.with_name("campaign.json"), "--epsilon", "0")
    )
    assert "epsilon must be above 0" in said


def test_infer_refuses_an_output_that_exists_with_one_sentence(table: Path, campaign: Path) -> None:
    assert "exists already" in refused(
        lopub("campaign", "infer", table, "-o", campaign, "--epsilon", "5")
    )


def test_infer_leaves_an_output_that_exists_unless_forced(table: Path, campaign: Path) -> None:
    before = campaign.read_bytes()
    command = ["campaign", "infer", table, "-o", campaign, "--epsilon", "6"]
    assert lopub(*command).returncode == 1
    assert campaign.read_bytes() == before
    done(lopub(*command, "--force"))
    assert campaign.read_bytes() != before


# ---- encode


def test_encode_lets_every_record_report(table: Path, campaign: Path) -> None:
    result = done(lopub("encode", campaign, table, "-o", table.with_name("reports.parquet")))
    batch = ReportBatch.load(table.with_name("reports.parquet"))
    assert len(batch) == N and batch.refused == {} and batch.campaign == Campaign.load(campaign)
    assert result.stdout.startswith("300 reports of campaign ")


@pytest.mark.parametrize("seed", [(), ("--seed", "7")], ids=["unseeded", "seeded"])
def test_encode_always_says_that_it_is_for_experiments(
    table: Path, campaign: Path, seed: tuple[str, ...]
) -> None:
    result = done(lopub("encode", campaign, table, "-o", table.with_name("reports.parquet"), *seed))
    assert (
        result.stderr.startswith("note: simulated clients are for experiments;")
        and result.stderr.count("\n") == 1
    )
    assert ("these reports protect nobody" in result.stderr) == bool(seed)


def test_encode_with_a_seed_gives_the_same_bytes_twice(table: Path, campaign: Path) -> None:
    outputs = [table.with_name(f"{i}.parquet") for i in range(2)]
    for program, output in zip((lopub, in_a_process), outputs, strict=True):
        done(program("encode", campaign, table, "-o", output, "--seed", "7"))
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_encode_with_a_seed_is_simulate_with_that_seed(table: Path, campaign: Path) -> None:
    done(lopub("encode", campaign, table, "-o", table.with_name("reports.bin"), "--seed", "7"))
    loaded = Campaign.load(campaign)
    simulate(Dataset.load(table, loaded.domain), loaded, seed=7).save(table.with_name("own.bin"))
    assert table.with_name("reports.bin").read_bytes() == table.with_name("own.bin").read_bytes()


@pytest.mark.parametrize(
    ("given", "slot"),
    [((), 0), (("--day", "2026-11-18"), 20_775), (("--day", "today"), None)],
    ids=["none", "a day", "today"],
)
def test_encode_writes_the_day_that_is_given(
    table: Path, campaign: Path, given: tuple[str, ...], slot: int | None
) -> None:
    """Without one, no clock decides: the same seed gives the same bytes tomorrow."""
    done(lopub("encode", campaign, table, "-o", table.with_name("r.parquet"), *given))
    days = set(ReportBatch.load(table.with_name("r.parquet")).slots.tolist())
    today = int(time.time() // 86_400)
    assert days <= ({today - 1, today} if slot is None else {slot}) and len(days) == 1


def test_encode_refuses_a_day_that_is_none(table: Path, campaign: Path) -> None:
    refused = lopub("encode", campaign, table, "-o", table.with_name("r.bin"), "--day", "soon")
    assert refused.returncode == 1
    assert "--day must be a day such as 2026-11-18, or today, got 'soon'" in refused.stderr


def test_encode_without_a_seed_gives_other_bytes_every_time(table: Path, campaign: Path) -> None:
    outputs = [table.with_name(f"{i}.bin") for i in range(2)]
    for output in outputs:
        done(lopub("encode", campaign, table, "-o", output))
    ids = [
        {batch.report(i).id for i in range(N)}
        for batch in (ReportBatch.load(o, Campaign.load(campaign)) for o in outputs)
    ]
    assert len(ids[0] | ids[1]) == 2 * N


def test_encode_reads_candidate_numbers_where_told(tmp_path: Path, campaign: Path) -> None:
    """The ages 1 and 2 could be candidates 1 and 2, which are the ages 2 and 3."""
    (tmp_path / "codes.csv").write_text("drink,age,happy\n0,1,1\n2,2,0\n")
    command = ["encode", campaign, tmp_path / "codes.csv", "-o", tmp_path / "reports.bin"]
    done(lopub(*command, "--codes"))
    said = refused(lopub(*command, "--values", "--force"))
    assert (
        "records 1 and 2: attribute 'drink' does not list this value (3 candidates): it takes tea, wine, beer"
        in said
    )


def test_encode_refuses_an_output_that_exists_unless_forced(table: Path, campaign: Path) -> None:
    output = table.with_name("reports.parquet")
    output.write_bytes(b"theirs")
    command = ["encode", campaign, table, "-o", output]
    assert f"{output} exists already; choose another name or use --force" in refused(
        lopub(*command)
    )
    assert output.read_bytes() == b"theirs"
    done(lopub(*command, "--force"))
    assert len(ReportBatch.load(output)) == N


ENCODE_REFUSES: list[tuple[str, str | bytes, str]] = [
    (
        "people.csv",
        TABLE.replace("wine", SECRET),
        "records 2, 5, 8 and 97 more: attribute 'drink' does not list this value",
    ),
    ("people.csv", TABLE + SECRET + "\n", "line 302 has 1 fields, the header has 3"),
    (
        "people.csv",
        f"drink,age,happy\n{SECRET},1,".encode() + b"\xff\n",
        "is not UTF-8 text: line 2",
    ),
    ("people.csv", "", "is empty"),
    ("people.csv", "drink,happy\ntea,true\n", "has no column 'age'; its columns are drink, happy"),
    ("people.csv", gzip.compress(TABLE.encode(), mtime=0)[:-9], "is a damaged gzip file"),
    ("campaign.json", "{}", "format"),
    ("campaign.json", "no campaign", "campaign.json is not a campaign, but text"),
]


@pytest.mark.parametrize(("broken", "content", "words"), ENCODE_REFUSES)
def test_encode_refuses_bad_input_with_one_sentence(
    tmp_path: Path, campaign: Path, broken: str, content: str | bytes, words: str
) -> None:
    (tmp_path / "people.csv").write_text(TABLE)
    (tmp_path / broken).write_bytes(content if isinstance(content, bytes) else content.encode())
    said = refused(
        lopub("encode", campaign, tmp_path / "people.csv", "-o", tmp_path / "reports.parquet")
    )
    assert words in said and SECRET not in said
    assert names_in(tmp_path) == ["campaign.json", "people.csv"]


@pytest.mark.parametrize("what", ["campaign", "table", "directory"])
def test_encode_refuses_files_that_are_not_there_with_one_sentence(
    tmp_path: Path, campaign: Path, what: str
) -> None:
    (tmp_path / "people.csv").write_text(TABLE)
    files = {"campaign": campaign, "table": tmp_path / "people.csv", "directory": tmp_path}
    files[what] = tmp_path / "nowhere"
    said = refused(
        lopub(
            "encode",
            files["campaign"],
            files["table"],
            "-o",
            files["directory"] / "reports.parquet",
        )
    )
    assert "nowhere" in said and (
        "No such file or directory" in said or "there is no directory" in said
    )
    assert names_in(tmp_path) == ["campaign.json", "people.csv"]


def test_encode_refuses_a_negative_seed_with_one_sentence(table: Path, campaign: Path) -> None:
    said = refused(
        lopub("encode", campaign, table, "-o", table.with_name("reports.parquet"), "--seed", "-1")
    )
    assert "seed must be at least 0, got -1" in said
    assert names_in(table.parent) == [table.name, "campaign.json"]


def no_file_above_four_kilobytes() -> None:
    """A disk that fills up while it is written to."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


@pytest.mark.parametrize("name", ["reports.parquet", "reports.bin"])
def test_encode_onto_a_full_disk_leaves_nothing_behind(
    table: Path, campaign: Path, name: str
) -> None:
    output = table.with_name(name)
    said = refused(
        in_a_process(
            "encode", campaign, table, "-o", output, preexec_fn=no_file_above_four_kilobytes
        )
    )
    assert f"cannot write {output}: " in said
    assert names_in(table.parent) == [table.name, "campaign.json"]


# ---- demo


DEMO = ("demo", "--output", "demo", "--people", "2000", "--seed", "5")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The files of a demo, and what it printed."""
    folder = tmp_path_factory.mktemp("shown")
    return folder / "demo", done(lopub(*DEMO, cwd=folder))


def test_the_demo_gives_the_same_files_for_the_same_seed(
    tmp_path: Path, demo: tuple[Path, Result]
) -> None:
    done(in_a_process(*DEMO, cwd=tmp_path))
    assert names_in(demo[0]) == ["campaign.json", "people.csv", "publication", "reports.parquet"]
    one, other = (
        {
            path.relative_to(folder): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        for folder in (demo[0], tmp_path / "demo")
    )
    assert len(one) >= 3 + 8 and one == other


def test_the_demo_makes_files_that_belong_together(demo: tuple[Path, Result]) -> None:
    files, result = demo
    people = Dataset.load(files / "people.csv", ALUMNI.domain)
    assert people.codes.tolist() == ALUMNI.people(2000, seed=5).codes.tolist()
    batch = ReportBatch.load(files / "reports.parquet", Campaign.load(files / "campaign.json"))
    assert len(batch) == 2000 and batch.refused == {}
    assert Campaign.load(files / "publication" / "campaign.json").id == batch.campaign.id
    assert (
        len(Dataset.load(files / "publication" / "data" / "synthetic.csv", ALUMNI.domain)) == 2000
    )
    assert "2,000 made-up alumni with 12 attributes" in result.stdout
    assert result.stderr == ""


def test_the_demo_ends_with_a_table_of_scores_and_where_the_people_are(
    demo: tuple[Path, Result],
) -> None:
    shown = demo[1].stdout.splitlines()
    table = shown[
        next(
            place for place, line in enumerate(shown) if line.startswith("people in the wrong cell")
        ) :
    ]
    assert table[0].split()[-3:] == ["synthetic", "independence", "ideal"]
    for words in (
        "of one attribute",
        "of two attributes",
        "of three attributes",
        "right guesses of",
    ):
        assert any(line.startswith(words) and line.rstrip().endswith("%") for line in table)
    assert (
        shown[-1]
        == "The synthetic people are in demo/publication/data/synthetic.csv; nobody in there exists."
    )


def test_the_demo_refuses_files_that_exist_unless_forced(
    tmp_path: Path, demo: tuple[Path, Result]
) -> None:
    (tmp_path / "people.csv").write_text("theirs")
    command = ["demo", "--output", tmp_path, "--people", "200"]
    assert "people.csv exists already" in refused(lopub(*command))
    assert (
        names_in(tmp_path) == ["people.csv"] and (tmp_path / "people.csv").read_text() == "theirs"
    )
    shutil.copytree(demo[0], tmp_path, dirs_exist_ok=True)
    before = (tmp_path / "publication" / "manifest.json").read_bytes()
    done(lopub(*command, "--force"))
    assert names_in(tmp_path) == names_in(demo[0])
    assert (tmp_path / "publication" / "manifest.json").read_bytes() != before


@pytest.mark.parametrize("taken", ["campaign.json", "reports.parquet", "publication"])
def test_a_demo_that_is_refused_leaves_no_file_of_its_own(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("theirs")
    assert f"{taken} exists already" in refused(
        lopub("demo", "--output", tmp_path, "--people", "200")
    )
    assert names_in(tmp_path) == [taken]


def test_the_demo_refuses_a_file_where_its_directory_should_be(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("theirs")
    assert "cannot make directory" in refused(
        lopub("demo", "--output", tmp_path / "taken", "--people", "200")
    )


# ---- usage


@pytest.mark.parametrize(
    "arguments",
    [
        ["encode", "campaign.json", "people.csv"],
        ["encode", "campaign.json", "people.csv", "-o", "reports.parquet", "--seed", "lucky"],
        ["campaign", "infer", "people.csv", "-o", "campaign.json", "--epsilons", "5"],
        ["demo", "--seed", "-1"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2_and_writes_nothing(tmp_path: Path, arguments: list[str]) -> None:
    result = lopub(*arguments, cwd=tmp_path)
    assert result.returncode == 2 and "Traceback" not in result.stderr
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("command", [["encode"], ["demo"], ["campaign", "infer"]], ids=" ".join)
def test_the_help_of_a_command_has_an_example(command: list[str]) -> None:
    assert "Example:" in done(lopub(*command, "--help")).stdout
