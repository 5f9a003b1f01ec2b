"""The audit refutes clients with published mistakes, and no honest one."""

import json
import os
import random
import shlex
import sys
from pathlib import Path

import mutants
import numpy as np
import pytest
from javascript import FOLDER, needs_node
from scipy.stats import binom
from typer.testing import CliRunner

import laws
from lopub import Client, MemoryStore
from lopub.campaign.views import AllAttributes, Fill, Sample
from lopub.cli import app
from lopub.errors import DomainError, EngineError
from lopub.evaluation.audit import auditing
from lopub.evaluation.audit.auditing import audit
from lopub.evaluation.audit.bounds import epsilon_below, lower_probability, upper_probability
from lopub.evaluation.audit.events import events_of
from lopub.evaluation.audit.respondents import Command, made_up_records
from questionnaires import campaign as questionnaire
from tiers import FULL

HONEST: dict[str, dict[str, object]] = {
    "bloom": {"flip_probability": "0.5", "n_bits": 6, "n_hashes": 2, "jointly": False},
    "unary symmetric": mutants.SYMMETRIC,
    "unary optimized": {"epsilon": 1, "mechanism": "unary", "view": Sample(2), "jointly": False},
    "subset": {"epsilon": 4, "mechanism": "subset", "view": AllAttributes(), "jointly": True},
    "direct": mutants.DIRECT,
    "hashed": {"epsilon": 2, "mechanism": "hashed", "view": Fill(12), "jointly": True},
}


@pytest.fixture(autouse=True)
def same_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound with a confidence of 99 % is wrong now and then, but never in the gate: there, clients in this process always draw
    the same."""
    if not FULL:
        monkeypatch.setattr(os, "urandom", random.Random(1).randbytes)


def campaign_of(wish):
    return laws.small_campaign(2, 3, 4, **wish)


@pytest.mark.parametrize("name", mutants.MUTANTS)
def test_a_mutant_is_refuted(name):
    wish, mutant = mutants.MUTANTS[name]
    campaign = campaign_of(wish)
    found = audit(campaign, mutant(campaign), n_reports=12_000 if FULL else 3_000, again=True)
    assert found.refuted


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_client_is_not_refuted(name):
    campaign = campaign_of(HONEST[name])
    for _ in range(34 if FULL else 1):  # 204 runs in all
        found = audit(campaign, mutants.client(campaign), n_reports=2_000, again=True)
        assert found.refuted == ()
        assert found.format_mistakes == {}
        assert found.at_least <= found.claimed


@pytest.mark.parametrize(("size", "law_bits"), [(4, 4), (5_000, 0)])
def test_what_a_hashed_block_sends_is_looked_at_whatever_its_size(size, law_bits):
    """Of a large one, the bits that its law speaks of are too many; then those that are sent are all that there is to see."""
    campaign = laws.small_campaign(size, epsilon=2, mechanism="hashed")
    record = {
        name: attribute.answers[0]
        for name, attribute in zip(campaign.domain.names, campaign.domain, strict=True)
    }
    wires = [Client(campaign, store=MemoryStore()).encode(record).to_bytes() for _ in range(20)]
    seen = [name for name in events_of(campaign, wires).names if " is " in name]
    assert sum("sent bit" in name for name in seen) == 2 * 8 * campaign.channels((0,))[0].n_bytes
    assert len(seen) == 2 * law_bits + sum("sent bit" in name for name in seen)


def test_the_bound_comes_near_the_claim():
    campaign = laws.small_campaign(2, epsilon=1, mechanism="direct")
    found = audit(campaign, mutants.client(campaign), n_reports=6_000)
    assert 0.8 < found.at_least <= 1


def test_a_questionnaire_with_rules_is_audited_with_records_that_fit():
    campaign = questionnaire()
    records = made_up_records(campaign.domain, 6)
    assert len({tuple(campaign.domain.indices(record)) for record in records}) == 6
    assert audit(campaign, mutants.client(campaign), n_reports=200).refuted == ()


def test_the_day_of_a_report_is_looked_at():
    campaign = campaign_of(mutants.DIRECT)
    found = audit(campaign, mutants.client(campaign), n_reports=200, today=5)
    assert found.format_mistakes == {"made on another day": found.n_reports}


def test_clopper_pearson_bounds_hold_as_often_as_they_say():
    hits = np.arange(51)
    for p in (0.02, 0.3, 0.5, 0.97):
        chances = binom.pmf(hits, 50, p)
        assert chances[lower_probability(hits, 50, 0.01) > p].sum() <= 0.01
        assert chances[upper_probability(hits, 50, 0.01) < p].sum() <= 0.01


def test_an_event_that_was_never_seen_bounds_nothing():
    assert epsilon_below(np.array([0]), 100, np.array([0]), 100, 0.01)[0] < 0


def test_too_few_reports_are_refused():
    campaign = campaign_of(mutants.DIRECT)
    with pytest.raises(DomainError, match="n_reports must be at least 200, got 10"):
        audit(campaign, mutants.client(campaign), n_reports=10)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-program", "cannot be run"),
        ("echo zz", "other things than reports"),
        ("true", "printed 0 reports for 1 lines"),
    ],
)
def test_a_client_that_does_not_answer_is_told_in_one_sentence(command, message):
    with pytest.raises(EngineError, match=message):
        Command(command)([{}])


# ---- the command


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "campaign.json"
    path.write_bytes(campaign_of(mutants.DIRECT).canonical_bytes)
    return path


@pytest.fixture
def few_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "N_PROCESSES", 4)


@pytest.mark.usefixtures("few_processes")
def test_the_command_says_what_is_claimed_beside_what_was_found(file):
    ran = CliRunner().invoke(app, ["audit", str(file), "--reports", "600"])
    assert ran.exit_code == 0
    assert "epsilon claimed 2, at least" in ran.output
    assert "Not refuted" in ran.output


@pytest.mark.usefixtures("few_processes")
def test_the_command_refutes_a_mutant_with_exit_code_1(file):
    command = f"'{sys.executable}' '{mutants.__file__}' 'a seeded generator' '{file}'"
    ran = CliRunner().invoke(
        app, ["audit", str(file), "--client", command, "--reports", "400", "--json"]
    )
    assert ran.exit_code == 1
    told = json.loads(ran.stdout)
    assert "more than once" in told["refuted"][0]["event"]


@pytest.mark.usefixtures("few_processes")
def test_a_client_that_answers_another_campaign_is_not_called_right(file, tmp_path):
    other = tmp_path / "other.json"
    other.write_bytes(campaign_of(mutants.SYMMETRIC).canonical_bytes)
    command = shlex.join([sys.executable, "-m", "lopub.cli.responding", str(other)])
    ran = CliRunner().invoke(app, ["audit", str(file), "--client", command, "--reports", "200"])
    assert ran.exit_code == 1
    last = ran.output.splitlines()[-1]
    assert last.startswith("NOTHING CAN BE SAID: a collector would refuse 1,200 of 1,200 reports;")
    assert "Not refuted" not in ran.output


@needs_node
@pytest.mark.usefixtures("few_processes")
def test_the_browser_client_is_not_refuted(file):
    ran = CliRunner().invoke(
        app,
        [
            "audit",
            str(file),
            "--client",
            f"node '{FOLDER}/test/respond.mjs' '{file}'",
            "--reports",
            "2000",
            "--json",
        ],
    )
    assert ran.exit_code == 0
    assert json.loads(ran.stdout)["refuted"] == []


@pytest.mark.usefixtures("few_processes")
def test_the_example_of_the_page_runs(tmp_path, monkeypatch):
    page = (FOLDER.parents[1] / "docs" / "auditing.md").read_text(encoding="utf-8")
    commands = [
        shlex.split(line[2:])[1:] for line in page.splitlines() if line.startswith("$ lopub ")
    ]
    assert [command[0] for command in commands] == ["campaign", "audit"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "draft.json").write_text(page[page.index('`{"name"') + 1 : page.index("}]}}`") + 4])
    for command in commands:
        ran = CliRunner().invoke(app, command)
        assert ran.exit_code == 0, ran.output
    assert "Not refuted" in ran.output
    (tmp_path / "respond.py").write_text(
        page.split("```python file=respond.py\n")[1].split("```")[0]
    )
    command = shlex.join([sys.executable, "respond.py", "campaign.json"])
    ran = CliRunner().invoke(
        app, ["audit", "campaign.json", "--client", command, "--again", "--reports", "200"]
    )
    assert ran.exit_code == 0, ran.output
    assert "Not refuted" in ran.output
