"""The page on what can go wrong on purpose: its example runs, its figures are those of the committed table."""

import csv
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from commands import done, lopub
from documents import ROOT, blocks_of

PAGE = ROOT / "docs" / "threats.md"
TEXT = PAGE.read_text(encoding="utf-8")
README = ROOT / "README.md"


def test_the_example_of_the_bound_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """With the campaign of the README."""
    monkeypatch.chdir(tmp_path)
    draft = next(block.text for block in blocks_of(README) if block.language == "json")
    Path("draft.json").write_text(draft)
    done(lopub("campaign", "make", "draft.json", "-o", "campaign.json", "--epsilon", "4"))
    (example,) = (block.text for block in blocks_of(PAGE) if block.language == "python")
    exec(compile(example, PAGE.name, "exec"), {})
    worst, mean = map(float, capsys.readouterr().out.split())
    assert worst > mean > 0.01


def test_every_page_that_this_one_points_to_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / "docs" / target).resolve().exists(), target


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "poisoning_figures", ROOT / "benchmarks" / "poisoning.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows() -> list[dict[str, str]]:
    with open(ROOT / "benchmarks" / "results" / "poisoning.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_the_figures_of_the_page_are_those_of_the_committed_table():
    assert script().page_table() in TEXT


def test_what_the_page_says_of_the_estimators_is_so():
    """Every estimator stays within the bound, whatever views fakes choose."""
    passed = {
        method: {
            (row["mechanism"], row["view"], row["randomize"])
            for row in rows()
            if float(row[method]) > most(row)
        }
        for method in ("linear", "moments", "shrunk", "em")
    }
    assert not any(passed.values()), passed
    assert any(
        float(row["shrunk"]) > float(row["mean_bound"])
        for row in rows()
        if row["mechanism"] == "bloom"
    )


def most(row: dict[str, str]) -> float:
    """The bound, and a little for how many honest reports happened to cover the cell."""
    return float(row["bound"]) * 1.02 + 0.0005


def test_one_percent_of_chosen_views_is_noticed_wherever_views_are_drawn_in_pairs():
    told = {
        row["warned"]
        for row in rows()
        if row["view"] == "sample:2" and row["fake_share"] in ("0.01", "0.05")
    }
    assert told == {"True"}
    assert {row["warned"] for row in rows() if row["view"] == "all"} == {"False"}
