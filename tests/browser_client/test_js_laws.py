"""The shipped bundle obeys the law of every mechanism, and one that is a little wrong is caught."""

import json
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from javascript import FOLDER, SHIPPED, needs_node, node

import laws
from lopub.campaign.campaign import Campaign
from lopub.campaign.views import Fill, Sample
from tiers import FULL

pytestmark = needs_node
TWO_RECORDS = [(0, 0), (1, 2)]
WISHES: dict[str, dict[str, object]] = {
    "bloom": {"flip_probability": "0.5", "n_bits": 6, "n_hashes": 2, "jointly": False},
    "unary symmetric": {"flip_probability": "0.5", "mechanism": "unary", "jointly": False},
    "unary optimized": {"epsilon": 1, "mechanism": "unary", "jointly": True},
    "subset": {"epsilon": 1, "mechanism": "subset", "jointly": True},
    "direct": {"epsilon": "1.5", "mechanism": "direct", "view": Sample(1), "jointly": True},
    "hashed": {"epsilon": "1.5", "mechanism": "hashed", "view": Fill(6), "jointly": True},
}
MUTANTS = {
    "unary symmetric": ("randomness.changes(this.width, ", "randomness.changes(this.width - 1, "),
    "unary optimized": ("const coin = randomness.below(2n)", "const coin = randomness.below(3n)"),
    "subset": ("< w * odds;", "< w * odds + BIG_UNIT;"),
    "direct": ("drawn < 0n", "drawn < BIG_UNIT / 2n"),
    "hashed": ("drawn < odds ?", "drawn < odds + BIG_UNIT / 2n ?"),
}


def encode(
    folder: Path, bundle: Path, campaign: Campaign, record: laws.Record, n: int
) -> list[bytes]:
    """Reports of the bundle, each of a new respondent."""
    path = folder / f"{campaign.id[:16]}.json"
    path.write_bytes(campaign.canonical_bytes)
    answers = {
        attribute.name: attribute.candidates[i]
        for attribute, i in zip(campaign.domain, record, strict=True)
    }
    printed = node("test/respond.mjs", path, bundle, lines=[json.dumps(answers)] * n)
    return [bytes.fromhex(line) for line in printed.splitlines()]


def in_the_gate(names: Iterable[str], quick: tuple[str, ...]) -> list[Any]:
    """These names, of which all but the quick ones are tried at full size only."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.full) for name in names]


@pytest.mark.parametrize("name", in_the_gate(WISHES, ("bloom",)))
def test_the_bundle_obeys_its_law(name, tmp_path):
    campaign, n = laws.small_campaign(2, 3, **WISHES[name]), 1_000_000 if FULL else None
    assert (
        laws.violations(
            partial(encode, tmp_path, SHIPPED / "lopub.mjs"), campaign, records=TWO_RECORDS, n=n
        )
        == []
    )


def mutant(name: str, folder: Path) -> Path:
    """The folder of a bundle that is a little wrong."""
    right, wrong = MUTANTS[name]
    shutil.copytree(FOLDER, folder / "js", ignore=shutil.ignore_patterns("node_modules"))
    (folder / "js" / "node_modules").symlink_to(FOLDER / "node_modules")
    source = folder / "js" / "src" / "channels.ts"
    assert source.read_text().count(right) >= 1
    source.write_text(source.read_text().replace(right, wrong))
    node(folder / "js" / "build.mjs", "--out", folder / "built")
    return folder / "built"


@pytest.mark.parametrize("name", in_the_gate(MUTANTS, ()))
def test_a_bundle_that_is_a_little_wrong_is_caught(name, tmp_path):
    campaign = laws.small_campaign(2, 3, **WISHES[name])
    wrong = partial(encode, tmp_path, mutant(name, tmp_path) / "lopub.mjs")
    assert laws.violations(wrong, campaign, records=TWO_RECORDS) != []
