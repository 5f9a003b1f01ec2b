"""The paper's evaluation: cells are kept, runs repeat, and the committed page says what its csv files say."""

import csv
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, as_completed
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from lopub import Categorical, Dataset, Domain
from lopub.errors import DomainError, StoreError
from lopub.estimation.basis import Reports
from lopub.estimation.joint import avd, mutual_information
from lopub.pages.plots import Line
from reproduction import QUICK, cells_of, measure, measuring, reproduction_page, write_tables
from reproduction.__main__ import app
from reproduction.baselines import LONG_RAPPOR, campaign_for, formula_bits
from reproduction.claims import Claim, claims_csv, claims_from_csv
from reproduction.classification import majority_rates
from reproduction.crowds import bloom_reports, held_out, sampled
from reproduction.dependence_claims import PRUNING
from reproduction.estimation import random_sets, true_joint
from reproduction.extent import FULL, TABLES, scale_of
from reproduction.figures import FigureRow, figures, from_csv, rows_of, to_csv
from reproduction.identification import information
from reproduction.loops import _likelihoods, _reports, _step, counting_seconds, loop_seconds
from reproduction.measurements import Cell, Values, keep, kept
from reproduction.measuring import CELLS, groups_of, tables_there
from reproduction.reproduction_page import MIXED, page, picture
from reproduction.sentences import claims
from reproduction.trusted import information_sensitivity, noisy_joints, trusted_table
from reproduction.writing import settings_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
needs_tables = pytest.mark.skipif(
    "LOPUB_DATA" not in os.environ, reason="the public tables are not here: LOPUB_DATA is not set"
)
CELL = Cell(experiment="pruning", table="adult", seed=3, x="0.2", method="true counts")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\w)")


def small_table(n: int = 600, seed: int = 5) -> Dataset:
    """Three attributes; the first two go together."""
    rng = np.random.default_rng(seed)
    domain = Domain(tuple(Categorical(name=name, values=("x", "y", "z")) for name in "abc"))
    first = rng.integers(0, 3, n)
    second = np.where(rng.random(n) < 0.8, first, rng.integers(0, 3, n))
    return Dataset(
        domain, np.stack([first, second, rng.integers(0, 3, n)], axis=1).astype(np.uint16)
    )


# ---- cells


def test_what_a_cell_measured_is_kept_to_the_last_digit(tmp_path):
    keep(tmp_path, CELL, {"loss": 0.1 + 0.2})
    assert kept(tmp_path, CELL) == {"loss": 0.1 + 0.2}


@pytest.mark.parametrize("text", ["", "{", '{"values": 3}', '{"values": {"loss": "x"}}', "[]"])
def test_a_damaged_cell_is_measured_again(tmp_path, text):
    (tmp_path / CELL.file_name).write_text(text)
    assert kept(tmp_path, CELL) is None


def test_cells_of_different_size_do_not_share_a_file():
    assert CELL.file_name != replace(CELL, size=7).file_name != replace(CELL, seed=4).file_name


def test_no_two_cells_of_a_run_share_a_file():
    for scale in (QUICK, FULL):
        every = cells_of(
            ["estimation", "identification", "pruning", "classification", "privacy", "baselines"],
            scale,
        )
        assert len({cell.file_name for cell in every}) == len(every)


def test_each_sample_of_a_run_is_made_in_one_process():
    cells = cells_of(["estimation", "identification"], FULL)
    groups = groups_of(cells)
    assert sorted(cell for group in groups for cell in group) == sorted(cells)
    samples = [
        {(cell.experiment, cell.table, cell.seed, cell.x) for cell in group} for group in groups
    ]
    assert all(len(own) == 1 for own in samples) and len(set.union(*samples)) == len(groups)


def test_a_full_run_takes_the_papers_hundred_sets():
    assert FULL.sets_a_seed * FULL.estimation_seeds == 100


def test_an_unknown_experiment_is_refused():
    with pytest.raises(
        DomainError, match="there is no experiment 'fame'; choose among estimation, identification"
    ):
        cells_of(["fame"], QUICK)


def test_an_unknown_scale_is_refused():
    with pytest.raises(DomainError, match="scale must be one of full, quick, got 'huge'"):
        scale_of("huge")


# ---- experiments


def test_samples_and_what_is_held_out_share_no_record():
    table = small_table()
    numbered = Dataset(
        Domain((Categorical(name="row", values=tuple(map(str, range(600)))),)),
        np.arange(600, dtype=np.uint16)[:, None],
    )
    one, other = sampled(numbered, 0.3, 1), held_out(numbered, 0.3, 1)
    assert len(one) == len(other) == 180 and not set(one.column("row")) & set(other.column("row"))
    assert len(sampled(table, 1.0, 1)) == 600


def test_random_sets_are_different_and_repeat():
    found = random_sets(6, 2, 100, 1)
    assert sorted(found) == list(combinations(range(6), 2))
    assert found == random_sets(6, 2, 100, 1) != random_sets(6, 2, 100, 2)


def test_the_plain_loop_takes_the_steps_of_em():
    """It is timed as Algorithm 1, so it must be Algorithm 1."""
    reports = bloom_reports(small_table(), 16, "0.5", 1)[np.arange(4)]
    laws = [channel.law() for channel in reports.campaign.channels((0, 1, 2))][:2]
    codes = [[[int(bit in row) for bit in range(law.n_bits)] for row in law.rows] for law in laws]
    likelihoods = [_likelihoods(report, codes, 0.25) for report in _reports(reports, (0, 1))]
    step = (
        np.array(_step(likelihoods)).reshape(3, 3).T
    )  # the loop counts with the first attribute fastest
    _, counts = Reports(reports).evidence((0, 1)).step(np.full((3, 3), 1 / 9))
    assert np.abs(step - counts / counts.sum()).max() < 1e-6
    assert loop_seconds(reports, (0, 1), 10) > 0
    assert counting_seconds(reports, (0, 1)) > 0


def test_a_trusted_server_without_noise_publishes_the_pairs_that_depend():
    table = small_table(20_000)
    made = trusted_table(table, structure="paper", epsilon=None, seed=1)
    assert avd(true_joint(made, (0, 1)), true_joint(table, (0, 1))) < 0.001


def test_the_noise_of_a_trusted_server_has_the_stated_scale():
    """Laplace noise of scale b has mean absolute value b; a person moves two counts of each of the cliques."""
    table = Dataset(small_table().domain, np.zeros((50_000, 3), dtype=np.uint16))
    cliques = [(0, 1, 2)] * 40
    joints = noisy_joints(table, cliques, 0.5, np.random.default_rng(1))
    clipped = [joint.reshape(-1)[1:] / joint.reshape(-1)[0] * 50_000 for joint in joints]
    assert np.mean(clipped) == pytest.approx(
        2 * 40 / 0.5 / 2, rel=0.1
    )  # the negative half is cut to zero


def test_no_neighbour_moves_mutual_information_by_more_than_its_sensitivity():
    rng = np.random.default_rng(3)
    for _ in range(300):
        n = int(rng.integers(5, 30))
        pairs = rng.integers(0, 3, (n, 2))
        joint = np.zeros((3, 3))
        np.add.at(joint, (pairs[:, 0], pairs[:, 1]), 1)
        other = joint.copy()
        other[tuple(pairs[0])] -= 1
        other[tuple(rng.integers(0, 3, 2))] += 1
        moved = abs(mutual_information(joint / n) - mutual_information(other / n))
        assert moved <= information_sensitivity(n) + 1e-12


def test_rappor_sends_by_the_product_and_lopub_by_the_sum():
    assert formula_bits("RAPPOR", (16, 16)) / formula_bits(
        "Fanti et al.", (16, 16)
    ) == pytest.approx(256 / 32)
    assert formula_bits("direct, jointly", (16, 16)) == 8


def test_rappor_can_be_as_long_as_its_formula_says():
    domain = small_table().domain
    pair = Domain(domain.attributes[:2])
    assert (
        campaign_for(LONG_RAPPOR, pair, "4", 16).channels((0, 1))[0].width == 87
    )  # 9.585 bits a candidate, 9 of them
    assert campaign_for("RAPPOR", pair, "4", 16).channels((0, 1))[0].width == 32


def test_a_majority_answers_what_most_of_the_training_records_did():
    domain = Domain(
        (Categorical(name="a", values=("x", "y")), Categorical(name="b", values=("x", "y", "z")))
    )
    training = Dataset(domain, np.array([[0, 2], [0, 2], [1, 1]], dtype=np.uint16))
    test = Dataset(domain, np.array([[0, 2], [1, 2], [1, 0], [1, 0]], dtype=np.uint16))
    assert majority_rates(training, test) == {"svm": 0.25, "random_forest": (0.25 + 0.5) / 2}


def test_information_is_that_of_the_pair_where_its_own_marginals_are_given():
    joint = np.array([[0.3, 0.1], [0.0, 0.6]])
    assert information(joint, joint.sum(axis=1), joint.sum(axis=0)) == pytest.approx(
        mutual_information(joint)
    )
    assert information(joint, np.array([1.0, 0.0]), joint.sum(axis=0)) == np.inf


# ---- figures and page


def test_a_figure_shows_means_and_spreads_over_seeds():
    figure = next(figure for figure in figures() if figure.name == "svm_adult")
    cells = {
        Cell(experiment="classification", table="adult", seed=seed, x="0.5", method="EM_JD"): {
            "svm": value,
            "seconds": 1.0,
        }
        for seed, value in enumerate((0.5, 0.7))
    }
    assert rows_of(figure, cells) == [FigureRow("0.5", "EM_JD", "svm", "0.6000", "0.1414", "2")]


def test_rows_survive_their_csv():
    rows = [
        FigureRow("0.5", "Lasso+EM_JD", "avd", "0.1000", "0.0100", "4"),
        FigureRow("0.9", "shrunk, gain", "avd", "0.2", "0", "1"),
    ]
    assert from_csv(to_csv(rows)) == rows


def test_a_picture_draws_every_method():
    figure = next(figure for figure in figures() if figure.name == "forest_adult")
    rows = [
        FigureRow(x, method, "random_forest", "0.5", "0.1", "2")
        for x in ("0.1", "0.9")
        for method in ("EM_JD", "calibrated")
    ]
    drawn = picture(
        figure, [*rows, FigureRow("0", "not private", "random_forest", "0.7", "0", "2")]
    )
    assert all(
        text in drawn
        for text in (
            "EM_JD",
            "calibrated",
            "not private",
            "Random forest classification rate (Adult)",
        )
    )
    assert drawn == picture(
        figure, [*rows, FigureRow("0", "not private", "random_forest", "0.7", "0", "2")]
    )


def test_all_that_has_no_noise_is_drawn_across_the_axis(monkeypatch: pytest.MonkeyPatch):
    """Two such rates share f = 0, which is no place on the axis."""
    panels: dict[str, list[Line]] = {}
    monkeypatch.setattr(reproduction_page, "lines", lambda drawn, **_: panels.update(drawn) or "")
    figure = next(figure for figure in figures() if figure.name == "forest_adult")
    rates = {"EM_JD": ("0.1", "0.9"), "not private": ("0",), "majority": ("0",)}
    picture(
        figure,
        [
            FigureRow(x, method, "random_forest", "0.5", "0", "2")
            for method, own in rates.items()
            for x in own
        ],
    )
    assert [(line.label, list(line.x)) for line in panels[""]] == [
        (method, [0.1, 0.9]) for method in rates
    ]


def committed_tables() -> dict[str, list[FigureRow]]:
    folder = DOCS / "reproduction"
    paths = {figure.name: folder / f"{figure.name}.csv" for figure in figures()}
    return {name: from_csv(path.read_text()) for name, path in paths.items() if path.is_file()}


def test_all_figures_of_a_full_run_are_committed():
    """Those of a table that may not be passed on may be missing."""
    committed = set(committed_tables())
    assert {figure.name for figure in figures() if not TABLES[figure.table].optional} <= committed
    drawn = {
        figure.name
        for figure in figures()
        if figure.experiment != "pruning" and figure.name in committed
    }
    assert {path.stem for path in (DOCS / "reproduction").glob("*.svg")} == drawn


def test_the_committed_page_is_made_of_the_committed_files_alone():
    found = claims_from_csv((DOCS / "reproduction" / "claims.csv").read_text())
    settings = dict(
        list(csv.reader((DOCS / "reproduction" / "settings.csv").read_text().splitlines()))[1:]
    )
    now = settings_of(FULL)
    assert {**settings, "scale": FULL.name, "code": now["code"]} == now
    assert page(found, committed_tables(), settings) == (DOCS / "reproduction.md").read_text()


def test_the_committed_claims_follow_from_the_committed_figures():
    assert (
        claims_csv(claims(committed_tables())) == (DOCS / "reproduction" / "claims.csv").read_text()
    )


def test_every_number_of_the_page_stands_in_a_committed_csv():
    text = "".join(path.read_text() for path in sorted((DOCS / "reproduction").glob("*.csv")))
    known = set(NUMBER.findall(text.replace(",", " ")))
    body = re.sub(
        r"\]\([^)]*\)|^#.*$|`[^`]*`|^\*\*Of .*$",
        " ",
        (DOCS / "reproduction.md").read_text(),
        flags=re.MULTILINE,
    )
    numbers = NUMBER.findall(body.replace(",", " "))
    assert len(numbers) > 500
    assert {number for number in numbers if number not in known} <= {"1"}  # "Algorithm 1"


def test_the_page_begins_with_how_many_verdicts_there_are_of_each_kind():
    claim = Claim("about", "paper", "ours", "differs", "worse", "why", "0 of 1")
    told = page([claim, claim, replace(claim, verdict="agrees", side="")], {}, settings_of(FULL))
    assert "**Of 3 claims, 1 agree, 0 hold in part, 2 differ, 0 are undecided.**" in told


def test_the_default_is_beaten_by_a_tenth_at_most_in_the_committed_comparison():
    """By the best of the others, chosen afterwards in each cell."""
    with open(DOCS.parent / "benchmarks" / "results" / "shrinking.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["table"], row["k"]) for row in rows} == set(
        product(TABLES, ("2", "3", "5"))
    ) and len(rows) >= 54
    ratios = []
    for row in rows:
        best = min(float(row[method]) for method in ("em", "lasso", "hybrid", "product"))
        assert float(row["shrunk"]) / best == pytest.approx(
            float(row["ratio"]), rel=0.05
        )  # printed errors are rounded
        ratios.append(float(row["ratio"]))
    assert max(ratios) <= 1.1 and np.mean(ratios) <= 1


def test_a_quick_run_is_labelled_and_so_is_a_mixed_one_and_a_full_one_is_not():
    assert "**A quick run**" in page([], {}, settings_of(QUICK))
    assert "**Of more than one run**" in page([], {}, settings_of(FULL) | {"scale": MIXED})
    assert "> **" not in page([], {}, settings_of(FULL))


def test_the_page_can_be_made_again_from_the_csv_files_of_its_figures(tmp_path):
    """Claims, pictures, limits and slips are made; what was measured, by what and how much of it stays."""
    folder = tmp_path / "reproduction"
    folder.mkdir()
    for name in ("avd_adult_2.csv", "pruning_adult.csv"):
        shutil.copy(DOCS / "reproduction" / name, folder)
    (folder / "settings.csv").write_text("what,how\nscale,mixed\ncode,of old\n")
    found = CliRunner().invoke(app, ["--page-only", "-o", str(tmp_path)])
    assert found.exit_code == 0, found.output
    assert (folder / "avd_adult_2.csv").read_text() == (
        DOCS / "reproduction" / "avd_adult_2.csv"
    ).read_text()
    assert {path.name for path in folder.glob("*.csv")} >= {
        "claims.csv",
        "errata.csv",
        "limits.csv",
    }
    text = (tmp_path / "reproduction.md").read_text()
    assert "of old" in text and "**Of more than one run**" in text and "scale | mixed" not in text
    assert (folder / "avd_adult_2.svg").is_file() and not (tmp_path / CELLS).exists()


def test_there_is_no_page_without_a_run(tmp_path):
    found = CliRunner().invoke(app, ["--page-only", "-o", str(tmp_path)])
    assert found.exit_code != 0
    assert not (tmp_path / "reproduction.md").exists()


def test_the_page_says_its_settings():
    told = settings_of(FULL)
    assert told["filters"] == "m = 32 on Retail and NLTCS, 128 on Adult and TPC-E; h = 4"
    assert told["phi"] == "0.25 on Retail and NLTCS, 0.4 on Adult and TPC-E"
    assert "all records; 30 random pairs per seed, and the 12 " in told["equal privacy"]
    assert ", 10 random pairs per seed" in told["RAPPOR and Fanti's EM"]


def test_links_of_the_page_lead_to_files_that_the_run_has_written():
    """Wherever it was written to: beside the page, or inside it."""
    text = (DOCS / "reproduction.md").read_text()
    links = set(re.findall(r"\]\(([^)]*)\)", text))
    assert links and all(
        link == "reproduction" or link.startswith("reproduction/") for link in links
    )
    assert all((DOCS / link).exists() for link in links)


def test_pruning_on_adult_is_the_papers_in_the_committed_figures():
    rows = {(row.x, row.value): float(row.mean) for row in committed_tables()["pruning_adult"]}
    phis = TABLES["adult"].pruning_phis
    for phi, wanted, pairs in zip(
        phis, (100, 38, 24, 14, 6), PRUNING["adult"]["pairs_pruned"], strict=True
    ):
        assert abs(rows[phi, "dependences"] - wanted) <= max(2, 0.1 * wanted)
        assert rows[phi, "pairs_pruned"] == float(pairs)
    assert all(row.seeds == "20" for row in committed_tables()["pruning_adult"])


def test_the_page_tells_what_is_worse_better_and_out_of_reach():
    text = (DOCS / "reproduction.md").read_text()
    for title in (
        "Worse than the paper says",
        "Better than the paper says",
        "Otherwise than the paper says, neither better nor worse",
        "Could not be reproduced, or in part only",
        "Undecided with so few seeds",
    ):
        section = text.split(f"## {title}\n")[1].split("\n## ")[0]
        assert section.count("\n- ") >= 1, title


# ---- runs

TINY = replace(
    QUICK,
    flips=("0.5",),
    epsilons=("8",),
    setups=("planned, shrunk",),
    privacy_tables=("retail",),
    estimation_seeds=1,
    pruning_seeds=2,
)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small tables in the place of public ones, for what does not depend on what they hold."""
    folder = tmp_path_factory.mktemp("made-up")
    rng = np.random.default_rng(7)
    for name, labels, n in (("adult", "xyz", 4_000), ("retail", "01", 1_500)):
        attributes = [{"name": f"a{i}", "labels": list(labels)} for i in range(6)]
        (folder / f"{name}.domain.json").write_text(json.dumps({"attributes": attributes}))
        codes = rng.integers(len(labels), size=(n, 6))
        codes[:, 1::2] = np.where(rng.random((n, 3)) < 0.7, codes[:, ::2], codes[:, 1::2])
        rows = [[f"a{i}" for i in range(6)], *codes.tolist()]
        text = "".join(",".join(map(str, row)) + "\n" for row in rows)
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    return folder


@pytest.fixture(scope="module")
def quarters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The public tables with a quarter of their records, for what does not depend on how many there are."""
    folder = tmp_path_factory.mktemp("quarters")
    for name in ("adult", "retail"):
        there = Path(os.environ["LOPUB_DATA"]) / name
        head, *rows = gzip.decompress((there / f"{name}.csv.gz").read_bytes()).splitlines(
            keepends=True
        )
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress(b"".join([head, *rows[::4]])))
        shutil.copy(there / f"{name}.domain.json", folder)
    return folder


@pytest.mark.parametrize(
    ("what", "n_files"),
    [
        (["pruning", "privacy"], 3),
        pytest.param(["estimation", "pruning", "privacy", "baselines"], 8, marks=pytest.mark.full),
    ],
)
def test_two_runs_give_the_same_csv_files(
    made_up: Path, tmp_path: Path, what: list[str], n_files: int
):
    """In two processes and in one. Estimates of few attributes: those of more differ in nothing but what they take."""
    most = {"adult": 2, "retail": 3}
    chosen = [cell for cell in cells_of(what, TINY) if cell.k <= most.get(cell.table, -1)]
    for name, workers in (("one", 2), ("other", 1)):
        write_tables(
            measure(chosen, tmp_path / name, data=made_up, workers=workers), tmp_path / name
        )
    files = {path.name for path in (tmp_path / "one/reproduction").glob("*.csv")}
    assert len(files) >= n_files
    timed = {f"{figure.name}.csv" for figure in figures() if figure.timed} | {"claims.csv"}
    for name in sorted(files - timed):
        one, other = (
            (tmp_path / run / "reproduction" / name).read_bytes() for run in ("one", "other")
        )
        assert one == other, name


@pytest.mark.full
@needs_tables
def test_pruning_on_adult_is_the_papers_when_measured_anew(tmp_path):
    chosen = [cell for cell in cells_of(["pruning"], FULL) if cell.table == "adult"]
    values = measure(chosen, tmp_path)
    for phi, wanted in zip(TABLES["adult"].pruning_phis, (100, 38, 24, 14, 6), strict=True):
        found = np.mean([own["dependences"] for cell, own in values.items() if cell.x == phi])
        assert abs(found - wanted) <= max(2, 0.1 * wanted)


def test_a_run_that_is_interrupted_goes_on_where_it_was(
    made_up: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def one_and_no_more(futures: list[Future[dict[Cell, Values]]]) -> Iterator[Future[Any]]:
        yield next(as_completed(futures))
        raise KeyboardInterrupt

    options = ["--data", str(made_up), "-o", str(tmp_path / "out"), "--workers", "1", "--quick"]
    arguments = ["pruning", *options, "--tables", "adult"]
    with monkeypatch.context() as patched:
        patched.setattr(measuring, "as_completed", one_and_no_more)
        stopped = CliRunner().invoke(app, arguments)
    store = tmp_path / "out" / CELLS
    before = {path.name: path.stat().st_mtime_ns for path in store.glob("*.json")}
    n_cells = len(cells_of(["pruning"], QUICK, ["adult"]))
    assert stopped.exit_code == 130 and before
    told = f"stopped: {len(before)} of {n_cells} cells are kept in "
    assert told in stopped.stderr and "; run the same command to go on" in stopped.stderr
    assert not (tmp_path / "out/reproduction.md").exists()
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0 and f"{n_cells} cells measured or kept" in done.stdout
    after = {path.name: path.stat().st_mtime_ns for path in store.glob("*.json")}
    assert before.items() <= after.items() and len(after) == n_cells
    assert (tmp_path / "out/reproduction.md").exists()


def quick_run(data: Path, output: Path) -> list[str]:
    options = ["--data", str(data), "-o", str(output), "--quick"]
    return [sys.executable, "-m", "reproduction", "identification", *options]


@pytest.mark.full
@needs_tables
def test_a_run_that_is_stopped_goes_on_where_it_was(quarters: Path, tmp_path: Path):
    command = quick_run(quarters, tmp_path / "out")
    run = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    store, deadline = tmp_path / "out" / CELLS, time.monotonic() + 120
    while not (store.is_dir() and list(store.glob("*.json"))) and time.monotonic() < deadline:
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=60)
    before = {path.name: path.stat().st_mtime_ns for path in store.glob("*.json")}
    assert run.returncode == 130 and before
    assert re.search(
        rf"stopped: {len(before)} of 8 cells are kept in .*; run the same command to go on", said
    )
    assert not (tmp_path / "out/reproduction.md").exists()
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0 and "8 cells measured or kept" in done.stdout
    after = {path.name: path.stat().st_mtime_ns for path in store.glob("*.json")}
    assert before.items() <= after.items() and len(after) == 8
    assert not list(store.glob(".*.part"))


@pytest.mark.full
@needs_tables
def test_the_processes_of_a_run_that_is_killed_end_with_it(quarters: Path, tmp_path: Path):
    command = quick_run(quarters, tmp_path / "out")
    run = subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=ROOT)
    store, deadline = tmp_path / "out" / CELLS, time.monotonic() + 120
    while not (store.is_dir() and list(store.glob("*.json"))) and time.monotonic() < deadline:
        time.sleep(0.05)
    workers = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    run.kill()
    run.wait()
    while any(alive(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert workers and not any(alive(worker) for worker in workers)


def alive(pid: str) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] not in "ZX"


def test_tables_can_be_chosen():
    chosen = cells_of(["pruning", "estimation"], QUICK, ["adult", "retail"])
    assert {cell.table for cell in chosen} == {"adult", "retail"}
    with pytest.raises(
        DomainError,
        match="there is no table 'tpch' in the paper's evaluation; choose among retail, nltcs",
    ):
        cells_of(["pruning"], QUICK, ["tpch"])


def test_a_run_goes_on_without_the_table_that_may_not_be_passed_on(tmp_path):
    assert tables_there(tmp_path) == ["retail", "adult", "tpce"]


def test_tables_that_are_not_asked_for_need_not_be_there(made_up: Path, tmp_path: Path):
    options = [
        "--data",
        str(made_up),
        "-o",
        str(tmp_path / "out"),
        "--tables",
        "adult,retail",
        "--quick",
        "--workers",
        "1",
    ]
    result = CliRunner().invoke(app, ["pruning", *options])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "out/reproduction.md").read_text()
    assert "Pruning (Adult)" in text and "TPC-E)" not in text and "**A quick run**" in text


def test_missing_tables_are_told_before_any_work(tmp_path):
    result = CliRunner().invoke(
        app, ["pruning", "--data", str(tmp_path), "-o", str(tmp_path / "out")]
    )
    assert isinstance(result.exception, StoreError)
    assert "there is no table 'adult'" in str(result.exception)


def test_a_page_of_another_origin_is_not_overwritten(tmp_path):
    (tmp_path / "reproduction.md").write_text("mine")
    result = CliRunner().invoke(app, ["pruning", "--data", str(tmp_path), "-o", str(tmp_path)])
    assert isinstance(result.exception, StoreError)
    assert (
        "use --force" in str(result.exception)
        and (tmp_path / "reproduction.md").read_text() == "mine"
    )


def test_a_run_names_its_page_for_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    command = sys.modules["reproduction.__main__"]
    monkeypatch.setattr(command, "measure", lambda *arguments, **options: {})
    monkeypatch.setattr(command, "write_tables", lambda measured, output, scale: output / "page.md")
    (tmp_path / "adult").mkdir()
    options = ["pruning", "--quick", "--tables", "adult", "-o", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(app, options)
    assert json.loads(result.output)["page"] == str(tmp_path / "out" / "page.md")


def test_an_unknown_part_is_wrong_usage_before_any_table_is_looked_for():
    result = CliRunner().invoke(app, ["nonsense", "--data", "nowhere"])
    assert result.exit_code == 2 and "unknown part 'nonsense'" in result.output


def test_a_mistake_ends_in_one_sentence(tmp_path: Path):
    command = [sys.executable, "-m", "reproduction", "--page-only", "-o", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ended.returncode == 1 and ended.stderr.count("\n") == 1, ended.stderr
