"""`lopub estimate` as a user meets it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from commands import in_a_process, lopub, refused

from lopub import Campaign, JointDistribution
from lopub.cli.estimate import how_it_ended
from lopub.estimation.joint import Fit
from lopub.reports.catalogue import ALUMNI


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a table, its campaign and its reports."""
    folder = tmp_path_factory.mktemp("collected")
    people = ALUMNI.people(4_000, seed=1)
    people.save(folder / "people.csv")
    made = [
        [
            "campaign",
            "infer",
            "people.csv",
            "-o",
            "campaign.json",
            "--epsilon",
            "8",
            "--columns",
            "gender,income,home,donates",
        ],
        ["encode", "campaign.json", "people.csv", "-o", "reports.parquet", "--seed", "1"],
    ]
    for command in made:
        assert lopub(*command, cwd=folder).returncode == 0
    return folder


def estimate(folder: Path, *options: str):
    return lopub("estimate", "campaign.json", "reports.parquet", *options, cwd=folder)


def test_the_table_shows_cells_with_intervals_and_how_they_came_about(collected: Path):
    shown = estimate(collected, "-a", "income,home").stdout
    for words in (
        "probability",
        "95 % interval",
        "low-middle",
        "reports speak of this; method shrunk",
        "nats",
    ):
        assert words in shown


def test_json_holds_every_cell(collected: Path):
    shown = json.loads(estimate(collected, "-a", "income,home", "--json", "--method", "em").stdout)
    assert shown["attributes"] == ["income", "home"] and len(shown["cells"]) == 12
    assert sum(cell["probability"] for cell in shown["cells"]) == pytest.approx(1)
    assert shown["converged"] and shown["n_evaluations"] > 1


def test_the_papers_stop_can_be_asked_for(collected: Path):
    usual, early = (
        json.loads(
            estimate(collected, "-a", "income,home", "--json", "--method", "em", *stop).stdout
        )["n_evaluations"]
        for stop in ((), ("--stop", "paper"))
    )
    assert early < usual


def test_the_csv_can_be_read_back(collected: Path, tmp_path: Path):
    path = tmp_path / "joint.csv"
    assert estimate(collected, "-a", "gender,donates", "-o", str(path)).returncode == 0
    joint = JointDistribution.load(path, Campaign.load(collected / "campaign.json").domain)
    assert joint.names == ("gender", "donates")


def test_same_reports_give_the_same_bytes_whatever_the_hash_seed(collected: Path):
    texts = {
        in_a_process(
            *("estimate", "campaign.json", "reports.parquet", "-a", "income,home", "--json"),
            cwd=collected,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-a", "income,height"], "there is no attribute 'height'"),
        (["-a", "income,income"], "names attribute 'income' twice"),
        (["-a", ","], "name at least one attribute"),
        (
            ["-a", "income", "--method", "magic"],
            "method must be one of shrunk, em, moments, product, lasso, hybrid",
        ),
        (["-a", "income", "-o", "campaign.json"], "campaign.json exists already"),
    ],
)
def test_a_mistake_gets_one_sentence(collected: Path, options: list[str], words: str):
    assert words in refused(estimate(collected, *options))


def test_reports_of_another_campaign_are_refused(collected: Path, tmp_path: Path):
    other = tmp_path / "other.json"
    command = [
        "campaign",
        "infer",
        "people.csv",
        "-o",
        str(other),
        "--epsilon",
        "4",
        "--columns",
        "gender,income",
    ]
    assert lopub(*command, cwd=collected).returncode == 0
    assert "not of" in refused(
        lopub("estimate", str(other), "reports.parquet", "-a", "gender", cwd=collected)
    )


def test_a_file_that_is_not_there_is_named(collected: Path):
    assert "cannot read reports nothing.parquet" in refused(
        lopub("estimate", "campaign.json", "nothing.parquet", "-a", "home", cwd=collected)
    )


def test_reports_that_are_left_out_are_counted_by_reason(collected: Path, tmp_path: Path):
    from lopub.reports.batch import ReportBatch
    from lopub.reports.batch.report_files import framed_bytes

    batch = ReportBatch.load(collected / "reports.parquet")
    broken = tmp_path / "broken.reports"
    broken.write_bytes(framed_bytes(batch) + b"\x00\x03abc")
    result = lopub("estimate", "campaign.json", str(broken), "-a", "home", cwd=collected)
    assert result.returncode == 0
    assert "1 report was left out (length)" in result.stderr


def test_columns_are_chosen_from_a_domain_file_too(tmp_path: Path):
    domain = {"attributes": [{"name": name, "labels": ["no", "yes"]} for name in ("a", "b", "c")]}
    (tmp_path / "t.domain.json").write_text(json.dumps(domain))
    (tmp_path / "t.csv").write_text("a,b,c\n0,1,0\n1,1,0\n")
    made = lopub(
        "campaign",
        "infer",
        "t.csv",
        "--domain",
        "t.domain.json",
        "--columns",
        "a,c",
        "-o",
        "c.json",
        "--epsilon",
        "2",
        cwd=tmp_path,
    )
    assert made.returncode == 0
    assert Campaign.load(tmp_path / "c.json").domain.names == ("a", "c")


def test_a_fit_that_was_ended_early_says_so_without_alarm():
    """At strong noise that is usual, and going on would not help."""
    early = Fit(method="em", converged=False, n_evaluations=300, trace=(-9.5, -9.25))
    assert how_it_ended(early) == (
        "still moving a little after 300 EM evaluations (the last raised the log-likelihood by 0.25), as is usual at strong noise"
    )
    assert (
        how_it_ended(replace(early, trace=()))
        == "still moving a little after 300 EM evaluations, as is usual at strong noise"
    )
    assert how_it_ended(replace(early, converged=True)) == "converged after 300 EM evaluations"
