"""docs/repeating.md: every example runs, in the order in which it stands."""

import csv
import json
import re
import time
from datetime import date
from pathlib import Path

import pytest
from commands import done, lopub
from test_readme import commands

from lopub import Campaign
from lopub.campaign.schedule import EPOCH

PAGE = (Path(__file__).parents[2] / "docs" / "repeating.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_runs_from_draft_to_trends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "time", lambda: (date(2026, 11, 20) - EPOCH).days * 86_400.0)
    drafts = iter(("draft.json", "permanent.json"))
    for language, text in BLOCKS:
        if language == "json":
            Path(next(drafts)).write_text(text)
        elif language == "sh":
            for words in commands(text):
                done(lopub(*words))
        else:
            exec(compile(text, "repeating.md", "exec"), {})
    assert [
        Campaign.load(name).terms.repeat.mode for name in ("campaign.json", "devices.json")
    ] == ["sampled", "permanent"]
    with open("all-months/levels.csv", newline="") as file:
        levels = list(csv.DictReader(file))
    assert len(levels) == 6 * 5 and {row["round"] for row in levels} >= {"2026-11-02", "2026-11-30"}
    assert all(float(row["low"]) <= float(row["share"]) <= float(row["high"]) for row in levels)
    with open("all-months/changes.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 5 * 5
    told = json.loads(Path("november/manifest.json").read_text())
    assert (
        told["reports"]["first_slot"]
        == told["reports"]["last_slot"]
        == (date(2026, 11, 2) - EPOCH).days
    )
    assert told["campaign"]["lifetime_epsilon"] == pytest.approx(2)


def test_the_page_says_what_was_measured():
    path = Path(__file__).parents[2] / "benchmarks" / "results" / "rounds.csv"
    with open(path, newline="") as file:
        found = {
            (row["setting"], row["figure"]): float(row["value"]) for row in csv.DictReader(file)
        }
    for setting in (
        "sampled, 2 of 12",
        "sampled, 4 of 12",
        "permanent, 12 of 12",
        "permanent unary, 12 of 12",
    ):
        assert 0.90 <= found[setting, "levels inside 95 %"] <= 0.98
        assert 0.90 <= found[setting, "changes inside 95 %"] <= 0.98
        assert 0.90 <= found[setting, "changes inside narrow 95 %"] <= 0.98
    assert (
        f"{found['permanent unary, 256 answers, 2,000 devices', 'linked from round to round']:.0%}".replace(
            "%", " %"
        )
        in PAGE
    )
