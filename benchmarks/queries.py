"""Do 95 % intervals of answers cover? Random questions of one to four attributes, with and without a condition.

Every collection asks people drawn with replacement from a table, so the truth is the table's own share. Three ways to collect:
the default campaign of an epsilon; listed views of four attributes, `subset`, jointly; and any four, `direct`, separately.
Each table has 504 random questions for each way, 63 of each kind: one to four attributes, with or without a condition. Questions
whose true answer is below 0.1 % or above 99.9 %, or whose condition holds of fewer than 1 %, are not asked. In a round, every
collection of 16 is asked a quarter of the questions. Answers from one collection err together: standard errors and tests count
collections as clusters. Widths are compared with the best possible: all reports that cover the attributes, weighted as would be
best if the truth were known, and the condition's probability known. Needs LOPUB_DATA with the tables asked for; nltcs is not
redistributed (see counts_accuracy.py).

`python benchmarks/queries.py ask DIRECTORY ROUND [table ...]` asks, and keeps every answer in the directory; rounds add up.
`python benchmarks/queries.py sum DIRECTORY` writes benchmarks/results/queries.csv: one row per group, and says which groups lie
outside 91 to 99 % by more than chance. `chain-1`, `pairs-1` and so on are populations that are made up without an interaction of
three attributes, asked through counts: there models of pairs should cover, too.
`python benchmarks/queries.py speed` times questions to 1,000,000 reports of Adult.
"""

import csv
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice, product
from pathlib import Path

import numpy as np
from scipy.stats import binom

from lopub import (
    Campaign,
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    Listed,
    Sample,
    Study,
    Terms,
    count,
    make_campaign,
    simulate,
)
from lopub.campaign.domain import Attribute
from lopub.errors import LopubError
from lopub.estimation.joint import INTERVAL
from lopub.estimation.linear import merged
from lopub.queries.expressions import Conjunction, parsed
from lopub.queries.predicates import Question, question
from lopub.reports.catalogue import ALUMNI, public_table

TABLES = ("adult", "tpce", "nltcs", "alumni")
EPSILONS = (1, 2, 4, 8, 16)
PEOPLE = (10_000, 50_000)
MADE_UP_PEOPLE = (3_000, 10_000, 50_000, 200_000)
N_QUESTIONS, N_COLLECTIONS, N_ASKED = 63, 16, 16
"""Of each kind; in a round; of each kind in one collection."""
MOST_TRIED = 40 * N_QUESTIONS
"""Of answers to yes or no, none has one answer given another."""
N_MADE_UP = 2
"""Collections of a round from a population that is made up: of these there are many."""
N_MODELLED = 64
"""Answers by a model in a round, of one kind: these are not what is tested."""
N_TIMED = 4
"""Collections of a round whose widths are compared with the best possible."""
LEAST_SHARE, LEAST_CONDITION = 0.001, 0.01
BOUNDS = (0.91, 0.99)
N_LISTED, MOST_LISTED_CELLS = 6, 4096
RESULTS = Path(__file__).parent / "results" / "queries.csv"
ANSWER = [
    "collection",
    "question",
    "attributes",
    "condition",
    "how",
    "truth",
    "among",
    "low",
    "high",
    "best",
]
GROUP = ["table", "way", "epsilon", "people", "attributes", "condition", "how"]
COLUMNS = [
    *GROUP,
    "answers",
    "collections",
    "coverage",
    "standard_error",
    "p_outside",
    "width",
    "width_over_best",
]


def population(name: str) -> Dataset:
    if name == "alumni":
        return ALUMNI.people(60_000, seed=5)
    kind, _, seed = name.partition("-")
    return made_up(kind, int(seed)) if seed else public_table(name)


def made_up(kind: str, seed: int) -> Dataset:
    """Attributes without an interaction of three, weakly or strongly dependent: `chain`, four to eight of which each depends on
    the one before alone, so that no three of them interact; or `pairs`, three or four with all interactions of two."""
    rng = np.random.default_rng([77, seed])
    sizes = rng.integers(2, 6, int(rng.integers(4, 9) if kind == "chain" else rng.integers(3, 5)))
    met = [
        pair
        for pair in combinations(range(len(sizes)), 2)
        if kind == "pairs" or pair[1] == pair[0] + 1
    ]
    scores, strength = np.zeros(sizes), rng.uniform(0.2, 1.5)
    for pair in met:
        scores = scores + rng.normal(
            0, strength, [size if axis in pair else 1 for axis, size in enumerate(sizes)]
        )
    drawn = rng.choice(
        scores.size, 4_000_000, p=(np.exp(scores) / np.exp(scores).sum()).reshape(-1)
    )
    domain = Domain(
        tuple(
            Categorical(name=f"a{i}", values=tuple("vwxyz"[:size])) for i, size in enumerate(sizes)
        )
    )
    return Dataset(domain, np.stack(np.unravel_index(drawn, sizes), axis=1))


# ---- ways to collect


def listed(domain: Domain, rng: np.random.Generator) -> list[tuple[str, ...]]:
    """Sets of four attributes whose cells can be spelt out."""
    found: list[tuple[str, ...]] = []
    while len(found) < N_LISTED:
        chosen = tuple(sorted(rng.choice(len(domain), 4, replace=False).tolist()))
        names = tuple(domain.names[position] for position in chosen)
        if (
            np.prod([domain.sizes[position] for position in chosen]) <= MOST_LISTED_CELLS
            and names not in found
        ):
            found.append(names)
    return found


def campaigns(
    name: str, domain: Domain, epsilon: float
) -> Iterator[tuple[str, Campaign, list[tuple[str, ...]] | None]]:
    terms = Terms(name="queries")
    yield "default", make_campaign(domain, terms, CampaignRequest(epsilon=epsilon)), None
    if name not in TABLES:
        return
    sets = listed(domain, np.random.default_rng(3))
    rule = Listed.of(domain, [(names, 1) for names in sets])
    wish = CampaignRequest(epsilon=epsilon, mechanism="subset", view=rule, jointly=True)
    yield "fours, jointly", make_campaign(domain, terms, wish), sets
    if epsilon >= 4:
        wish = CampaignRequest(epsilon=epsilon, mechanism="direct", view=Sample(4), jointly=False)
        yield "fours, separately", make_campaign(domain, terms, wish), None


# ---- questions


def condition_on(attribute: Attribute, rng: np.random.Generator) -> str:
    """A threshold where the answers are ordered, else some of them."""
    n = attribute.size - attribute.missing
    name = f"`{attribute.name}`"
    if attribute.type == "integer":
        return f"{name} > {attribute.answer_texts[int(rng.integers(0, n - 1))]}"
    if attribute.type == "number":
        return f"{name} <= {attribute.edges[int(rng.integers(1, n))]}"  # type: ignore[attr-defined]
    chosen = rng.choice(n, int(rng.integers(1, max(2, n // 2 + 1))), replace=False)
    quoted = [
        attribute.answer_texts[i].replace("\\", "\\\\").replace("'", "\\'")
        for i in sorted(chosen.tolist())
    ]
    return f"{name} in ({', '.join(repr(text) if chr(92) not in text else chr(39) + text + chr(39) for text in quoted)})"


def joined(parts: list[str], rng: np.random.Generator) -> str:
    text = parts[0]
    for part in parts[1:]:
        text = f"({text} {'and' if rng.random() < 0.7 else 'or'} {part})"
    return text


def random_question(
    domain: Domain,
    sets: list[tuple[str, ...]] | None,
    k: int,
    conditional: bool,
    rng: np.random.Generator,
) -> tuple[str, str | None]:
    pool = domain.names if sets is None else sets[int(rng.integers(len(sets)))]
    names = [pool[i] for i in rng.choice(len(pool), k, replace=False)]
    parts = [condition_on(domain[name], rng) for name in names]
    if not conditional:
        return joined(parts, rng), None
    if k == 1:
        return parts[0], condition_on(domain[names[0]], rng)
    cut = int(rng.integers(1, k))
    return joined(parts[:cut], rng), joined(parts[cut:], rng)


def asked(domain: Domain, text: str, given: str | None) -> Question:
    trees = (
        [parsed(text)]
        if given is None
        else [Conjunction((parsed(text), parsed(given))), parsed(given)]
    )
    return question(trees, domain)


def truth_of(table: Dataset, found: Question) -> np.ndarray:
    """The true shares of the question's cells."""
    names = [table.domain.names[position] for position in found.clique]
    counts = table.counts(names)
    return merged(counts, found.groupings) / len(table)


# ---- asking


@dataclass(frozen=True)
class Asked:
    """A question with its truth. among: the share of people who have its condition."""

    text: str
    given: str | None
    found: Question
    shares: np.ndarray
    truth: float
    among: float


def questions(
    name: str, table: Dataset, sets: list[tuple[str, ...]] | None
) -> dict[tuple[int, bool], list[Asked]]:
    """Some of each kind, the same in all collections."""
    rng, d = np.random.default_rng([11, sets is None]), len(table.domain)
    sizes = (1, 2, 3, 4) if name in TABLES else (3, 4) if name.startswith("chain") else (d,)
    pool = {}
    for kind in product(sizes, (False, True)):
        tried = (random_asked(table, sets, *kind, rng) for _ in range(MOST_TRIED))
        pool[kind] = list(islice((one for one in tried if one is not None), N_QUESTIONS))
    return pool


def random_asked(
    table: Dataset,
    sets: list[tuple[str, ...]] | None,
    k: int,
    conditional: bool,
    rng: np.random.Generator,
) -> Asked | None:
    text, given = random_question(table.domain, sets, k, conditional, rng)
    found = asked(table.domain, text, given)
    shares = truth_of(table, found)
    among = 1.0 if given is None else float((found.weights[1] * shares).sum())
    truth = float((found.weights[0] * shares).sum()) / among if among >= LEAST_CONDITION else 0.0
    return (
        Asked(text, given, found, shares, truth, among)
        if LEAST_SHARE <= truth <= 1 - LEAST_SHARE
        else None
    )


def answers(
    table: Dataset,
    campaign: Campaign,
    people: int,
    pool: dict[tuple[int, bool], list[Asked]],
    seeds: range,
    *,
    counted: bool,
) -> Iterator[list[object]]:
    """One row per answer."""
    modelled: dict[tuple[int, bool], int] = defaultdict(int)
    for seed in seeds:
        rng = np.random.default_rng([seed, people])
        crowd = Dataset(table.domain, table.codes[rng.integers(0, len(table), people)])
        batch = simulate(crowd, campaign, seed=seed)
        study = Study(count(batch) if counted else batch)
        for (k, conditional), some in pool.items():
            for place in range(N_ASKED if some else 0):
                if modelled[k, conditional] >= N_MODELLED:
                    break
                number = (seed * N_ASKED + place) % len(some)
                one = some[number]
                answer = study.probability(one.text, given=one.given)
                modelled[k, conditional] += answer.how == "model" and not counted
                best = (
                    best_error(study, one)
                    if answer.how == "direct" and seed % N_COLLECTIONS < N_TIMED
                    else None
                )
                yield [
                    seed,
                    number,
                    k,
                    int(conditional),
                    answer.how,
                    one.truth,
                    one.among,
                    answer.low,
                    answer.high,
                    best,
                ]


def best_error(study: Study, one: Asked) -> float | None:
    """The standard error that nobody can pass who reads reports linearly and knows the condition's probability."""
    basis = study._basis
    try:
        parts = list(basis.reader.linear(basis, one.found.clique, one.found.groupings))
    except LopubError:
        return None
    weights = one.found.weights[0]
    mean = float((weights * one.shares).sum())
    precise = [
        part.n_reports / (float((one.shares * part.second(weights, weights)).sum()) - mean**2)
        for part in parts
    ]
    return 1 / np.sqrt(sum(precise)) / one.among if precise else None


def ask(directory: Path, number: int, tables: list[str]) -> None:
    """One file of answers per table, epsilon, people and way."""
    for name in tables:
        table, made = population(name), name not in TABLES
        n, pools = N_MADE_UP if made else N_COLLECTIONS, {}
        for people, epsilon in product(MADE_UP_PEOPLE if made else PEOPLE, EPSILONS):
            for way, campaign, sets in campaigns(name, table.domain, epsilon):
                path = directory / f"{name};{way};{epsilon};{people};{number}.csv"
                if path.exists():
                    continue
                started = time.perf_counter()
                if (sets is None) not in pools:
                    pools[sets is None] = questions(name, table, sets)
                rows = list(
                    answers(
                        table,
                        campaign,
                        people,
                        pools[sets is None],
                        range(number * n, (number + 1) * n),
                        counted=made,
                    )
                )
                with open(path, "w", newline="") as file:
                    csv.writer(file).writerows([ANSWER, *rows])
                print(
                    f"{path.name}: {len(rows)} answers, {time.perf_counter() - started:.0f} s",
                    flush=True,
                )


# ---- summing up


def told(directory: Path) -> dict[tuple[str, ...], list[dict[str, str]]]:
    """The answers of each group, all rounds together."""
    groups: dict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    for path in sorted(directory.glob("*.csv")):
        name, way, epsilon, people, _ = path.stem.split(";")
        for row in csv.DictReader(path.open(newline="")):
            condition = "yes" if row["condition"] == "1" else "no"
            table = name.split("-")[0]
            row["collection"] = (
                f"{name} {people} {row['collection']}"  # the same people, whatever the way and epsilon
            )
            groups[table, way, epsilon, people, row["attributes"], condition, row["how"]].append(
                row
            )
    return groups


@dataclass(frozen=True)
class Coverage:
    """Of the intervals of some answers. error: with collections as clusters, whose answers err together. p_outside: how likely
    a share as far beyond the nearer bound would be, if the true one were at that bound."""

    n: int
    n_collections: int
    share: float
    error: float
    p_outside: float


def coverage(rows: list[dict[str, str]]) -> Coverage:
    covered = np.array(
        [float(row["low"]) <= float(row["truth"]) <= float(row["high"]) for row in rows],
        dtype=float,
    )
    _, cluster = np.unique([row["collection"] for row in rows], return_inverse=True)
    share, n, clusters = float(covered.mean()), len(rows), int(cluster.max()) + 1
    together = np.bincount(cluster, weights=covered - share)
    clustered = float((together**2).sum()) / n**2 * clusters / max(clusters - 1, 1)
    alone = max(share * (1 - share), 0.95 * 0.05 / 4) / n
    effect = max(clustered / alone, 1.0)
    bound = BOUNDS[0] if share < sum(BOUNDS) / 2 else BOUNDS[1]
    n_alone = max(round(n / effect), 1)
    tail = binom(n_alone, bound)
    p = (
        tail.cdf(round(share * n_alone))
        if bound == BOUNDS[0]
        else tail.sf(round(share * n_alone) - 1)
    )
    return Coverage(n, clusters, share, float(np.sqrt(effect * alone)), float(p))


def summary(group: tuple[str, ...], rows: list[dict[str, str]]) -> list[object]:
    if group[-1] == "refused":
        return [*group, len(rows), len({row["collection"] for row in rows}), "", "", "", "", ""]
    found, widths = coverage(rows), [float(row["high"]) - float(row["low"]) for row in rows]
    compared = [
        (width, min(2 * INTERVAL * float(row["best"]), 1.0))
        for row, width in zip(rows, widths, strict=True)
        if row["best"]
    ]
    over = (
        round(sum(width for width, _ in compared) / sum(best for _, best in compared), 3)
        if compared
        else ""
    )
    figures = (
        round(found.share, 4),
        round(found.error, 4),
        f"{found.p_outside:.2g}",
        round(float(np.mean(widths)), 4),
    )
    return [*group, found.n, found.n_collections, *figures, over]


def sum_up(directory: Path) -> None:
    groups = told(directory)
    with open(RESULTS, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(summary(group, groups[group]) for group in sorted(groups, key=_order))
    for left_out in (("way",), ()):  # ways together, then apart
        verdict({group: rows for group, rows in groups.items() if group[-1] == "direct"}, left_out)
    for kept in (("table", "people"), ("table", "epsilon")):
        modelled = {group: rows for group, rows in groups.items() if group[-1] == "model"}
        verdict(modelled, tuple(name for name in GROUP if name not in kept), shown=True)


def _order(group: tuple[str, ...]) -> tuple[object, ...]:
    return group[0], group[1], float(group[2]), int(group[3]), group[4:]


def verdict(
    groups: dict[tuple[str, ...], list[dict[str, str]]],
    left_out: tuple[str, ...],
    *,
    shown: bool = False,
) -> None:
    """Which groups lie outside the bounds, and whether by more than chance (Holm's correction for many groups)."""
    kept, pooled = [i for i, name in enumerate(GROUP) if name not in left_out], defaultdict(list)
    for group, rows in groups.items():
        pooled[tuple(group[i] for i in kept)] += rows
    found = {group: coverage(rows) for group, rows in pooled.items() if len(rows) >= 30}
    shares, sizes = [one.share for one in found.values()], [one.n for one in found.values()]
    outside = {
        group: one for group, one in found.items() if not BOUNDS[0] <= one.share <= BOUNDS[1]
    }
    ranked = sorted(found.items(), key=lambda item: item[1].p_outside)
    beyond = [
        item
        for place, item in enumerate(ranked)
        if item[1].p_outside < 0.05 / (len(ranked) - place)
    ]
    print(
        f"by {', '.join(GROUP[i] for i in kept)}: {len(found)} groups of {min(sizes)} to {max(sizes)} answers,"
        f" {sum(sizes)} in all, {min(shares):.1%} to {max(shares):.1%}, {len(outside)} outside, {len(beyond)} by more than chance"
    )
    for group, one in found.items() if shown else ranked[: max(len(outside), 10)]:
        print(
            f"  {group}: {one.share:.1%} of {one.n} from {one.n_collections}, error {one.error:.3f}, p {one.p_outside:.2g}"
        )


def speed() -> None:
    """Seconds of a question to 1,000,000 reports, the first one and later ones, from counts and from reports."""
    table, rng = public_table("adult"), np.random.default_rng(1)
    crowd = Dataset(table.domain, table.codes[rng.integers(0, len(table), 1_000_000)])
    for epsilon, way in product((2, 8), ("reports", "counts")):
        campaign = make_campaign(
            table.domain, Terms(name="speed"), CampaignRequest(epsilon=epsilon)
        )
        batch = simulate(crowd, campaign, seed=1)
        study = Study(batch if way == "reports" else count(batch))
        for k, conditional in product((1, 2, 3, 4), (False, True)):
            seconds, hows = [], []
            for _ in range(6):
                text, given = random_question(table.domain, None, k, conditional, rng)
                start = (
                    time.process_time()
                )  # one thread: what it would take on a machine of its own
                hows.append(study.probability(text, given=given).how)
                seconds.append(time.process_time() - start)
            later = ", ".join(f"{1000 * one:.0f}" for one in seconds[1:])
            print(
                f"epsilon {epsilon}, {way}, {k} attributes, condition {conditional}: {1000 * seconds[0]:.0f} ms, then {later}",
                set(hows),
            )


if __name__ == "__main__":
    command, *words = sys.argv[1:]
    if command == "ask":
        ask(Path(words[0]), int(words[1]), words[2:] or list(TABLES))
    elif command == "sum":
        sum_up(Path(words[0]))
    else:
        speed()
