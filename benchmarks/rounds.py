"""Rounds, measured: how often intervals hold, what linking and averaging find out, in both modes.

    .venv/bin/python benchmarks/rounds.py            # 20,000 people over 12 rounds, 5 % of whom change in each
    .venv/bin/python benchmarks/rounds.py --repeats 2

Writes benchmarks/results/rounds.csv: one line a figure.
"""

import argparse
import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from lopub import (
    AllAttributes,
    Campaign,
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    Repeat,
    ReportBatch,
    Schedule,
    Terms,
    make_campaign,
    publish_rounds,
    simulate_rounds,
)
from lopub.reports.simulation.rounds import drawn_rounds

RESULTS = Path(__file__).parent / "results" / "rounds.csv"
SHARES = np.array([0.4, 0.3, 0.2, 0.1])
DOMAIN = Domain((Categorical(name="answer", values=tuple("abcd")),))
WIDE = Domain((Categorical(name="answer", values=tuple(map(str, range(256)))),))
PEOPLE, ROUNDS, CHANGING = 20_000, 12, 0.05


def campaign_of(
    mode: str,
    *,
    take_part: int,
    rounds: int = ROUNDS,
    epsilon: str = "1",
    lifetime: str = "2",
    mechanism: str = "direct",
    domain: Domain = DOMAIN,
) -> Campaign:
    """One question, with four answers unless told."""
    repeat = Repeat(every_days=30, rounds=rounds, take_part=take_part, mode=mode)
    terms = Terms(
        name="rounds", min_reports=100, schedule=Schedule.in_rounds(date(2026, 1, 1), repeat)
    )
    kept = {"lifetime_epsilon": lifetime} if mode == "permanent" else {}
    wish = CampaignRequest(
        epsilon=epsilon, mechanism=mechanism, view=AllAttributes(), jointly=True, **kept
    )
    return make_campaign(domain, terms, wish)


def histories(
    people: int, rounds: int, seed: int, drift: float = 0.0
) -> tuple[list[Dataset], list[NDArray[np.float64]]]:
    """People who answer anew with a chance of CHANGING in every round; and the true shares of the population in each. drift: how
    much of the crowd the last answer gains from the first over all rounds."""
    rng = np.random.default_rng([seed, people, rounds])
    shares = [
        SHARES + drift * number / max(rounds - 1, 1) * np.array([-1.0, 0, 0, 1])
        for number in range(rounds)
    ]
    truth, codes = [SHARES], rng.choice(4, people, p=SHARES)
    tables = [codes]
    for wanted in shares[1:]:
        anew = rng.random(people) < CHANGING
        codes = np.where(anew, rng.choice(4, people, p=wanted), codes)
        truth.append((1 - CHANGING) * truth[-1] + CHANGING * wanted)
        tables.append(codes)
    return [Dataset(DOMAIN, table.astype(np.uint16)[:, None]) for table in tables], truth


@dataclass(frozen=True)
class Coverage:
    """How many of so many intervals hold what they are of, and how wide they are on average."""

    n: int
    levels: float
    changes: float
    narrow_changes: float
    level_error: float
    change_error: float
    least_error: float
    smoothing: float
    """Squared error of smoothed levels, over that of levels."""


def coverage(
    campaign: Campaign, people: int, rounds: int, repeats: int, seed: int, drift: float = 0.0
) -> Coverage:
    """In mode permanent of what is estimated: the answers at the start, whose shares do not change."""
    held: dict[str, list[bool]] = {"level": [], "change": [], "narrow": []}
    errors: dict[str, list[float]] = {"level": [], "change": [], "least": []}
    squared = np.zeros(2)
    for turn in range(repeats):
        tables, truth = histories(people, rounds, seed + turn, drift)
        found = publish_rounds(simulate_rounds(tables, campaign, seed=seed + turn))
        first = campaign.terms.schedule.slots[0]
        at = {
            slot: truth[(slot - first) // 30 if not campaign.mechanism.permanent else 0]
            for slot in found.n_reports
        }
        for level in found.levels:
            true = at[level.slot]["abcd".index(level.value)]
            held["level"].append(level.low <= true <= level.high)
            errors["level"].append(level.standard_error)
            squared += (found.smooth[level] - true) ** 2, (level.share - true) ** 2
        for change in found.changes:
            true = (at[change.second] - at[change.first])["abcd".index(change.value)]
            for name, (low, high) in (
                ("change", change.interval),
                ("narrow", change.narrow_interval),
            ):
                held[name].append(low <= true <= high)
            errors["change"].append(change.standard_error)
            errors["least"].append(change.least_error)
    figures = [float(np.mean(one)) for one in (*held.values(), *errors.values())]
    return Coverage(len(held["level"]), *figures, squared[0] / squared[1])


# ---- what an observer finds out


def linked(batch: ReportBatch, first: int, second: int, seed: int) -> tuple[float, float]:
    """How many devices of a round the best matching finds in another one, by what their reports say; and by chance. Devices are
    in the same order in both rounds, which the observer does not know: those that look alike are guessed among, evenly."""
    one, other = (batch.of_round(slot) for slot in (first, second))
    n = min(len(one), len(other))
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(n)
    a, b = (_bits(part[:n]).astype(np.float32) for part in (one, other))
    a, b = a, b[shuffled]
    apart = a.sum(axis=1)[:, None] + b.sum(axis=1) - 2 * a @ b.T
    rows, columns = linear_sum_assignment(apart + rng.random(apart.shape) * 0.5)
    return float((shuffled[columns] == rows).mean()), 1 / n


def _bits(batch: ReportBatch) -> NDArray[np.uint8]:
    payloads = batch.payloads.matrix(np.arange(len(batch)))
    return np.unpackbits(payloads, axis=1, bitorder="little")


def averaged(campaign: Campaign, people: int, seed: int) -> tuple[float, float]:
    """Of people who never change: how often the answer that most of somebody's reports name is the true one; and how often at
    most it could be, by lifetime epsilon, if all answers were as likely."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(4, size=people).astype(np.uint16)
    repeat = campaign.terms.repeat
    batch = simulate_rounds([Dataset(DOMAIN, codes[:, None])] * repeat.rounds, campaign, seed=seed)
    votes = np.zeros((people, 4)) + rng.random((people, 4)) * 0.1
    takes_part = drawn_rounds(people, repeat.rounds, repeat.take_part, seed)
    for number, slot in enumerate(campaign.terms.schedule.slots):
        own = batch.of_round(slot)
        np.add.at(
            votes, (np.flatnonzero(takes_part[:, number]), own.payloads.numbers().astype(int)), 1
        )
    most = np.exp(campaign.lifetime_epsilon)
    return float((votes.argmax(axis=1) == codes).mean()), float(most / (most + 3))


def figures(repeats: int) -> Iterator[tuple[str, str, float]]:
    """Everything: (setting, figure, value)."""
    settings = {
        "sampled, 2 of 12": campaign_of("sampled", take_part=2),
        "sampled, 4 of 12": campaign_of("sampled", take_part=4, epsilon="0.5"),
        "permanent, 12 of 12": campaign_of("permanent", take_part=12),
        "permanent, 2 of 12": campaign_of("permanent", take_part=2),
        "permanent unary, 12 of 12": campaign_of("permanent", take_part=12, mechanism="unary"),
    }
    for name, campaign in settings.items():
        found = coverage(campaign, PEOPLE, ROUNDS, repeats, seed=1, drift=0.2)
        yield name, "epsilon of a report", campaign.epsilon
        yield name, "lifetime epsilon", campaign.lifetime_epsilon
        yield name, "intervals of levels", found.n
        yield name, "levels inside 95 %", found.levels
        yield name, "changes inside 95 %", found.changes
        yield name, "changes inside narrow 95 %", found.narrow_changes
        yield name, "standard error of a level", found.level_error
        yield name, "standard error of a change", found.change_error
        yield name, "least standard error of a change", found.least_error
        yield name, "squared error with smoothing, over that without", found.smoothing
    yield from _attacks()


def _attacks() -> Iterator[tuple[str, str, float]]:
    for mode in ("sampled", "permanent"):
        for mechanism, domain in (
            ("direct", DOMAIN),
            ("unary", DOMAIN),
            ("direct", WIDE),
            ("unary", WIDE),
        ):
            own = campaign_of(mode, take_part=6, rounds=6, mechanism=mechanism, domain=domain)
            codes = np.random.default_rng(3).integers(domain.sizes[0], size=2000).astype(np.uint16)
            batch = simulate_rounds([Dataset(domain, codes[:, None])] * 6, own, seed=5)
            found, chance = linked(batch, *own.terms.schedule.slots[:2], seed=7)
            what = f"{mode} {mechanism}, {domain.sizes[0]} answers, 2,000 devices"
            yield what, "linked from round to round", found
            yield what, "linked by chance", chance
        for take_part in (1, 12):
            own = campaign_of(mode, take_part=take_part)
            found, bound = averaged(own, 20_000, 11)
            yield f"{mode}, {take_part} of 12", "right by averaging", found
            yield f"{mode}, {take_part} of 12", "right at most, by lifetime epsilon", bound


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    rows = list(figures(parser.parse_args().repeats))
    with open(RESULTS, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("setting", "figure", "value"))
        writer.writerows((setting, figure, f"{value:.6g}") for setting, figure, value in rows)
    for setting, figure, value in rows:
        print(f"{setting:32} {figure:38} {value:10.4f}")


if __name__ == "__main__":
    main()
