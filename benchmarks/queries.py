"""Do 95 % intervals of answers cover? Random questions of one to four attributes, with and without a condition.

Every collection asks people drawn with replacement from a table, so the truth is the table's own share. Three ways to collect:
the default campaign of an epsilon; listed views of four attributes, `subset`, jointly; and any four, `direct`, separately.
Questions whose true answer is below 0.5 % or above 99.5 %, or whose condition holds of fewer than 2 %, are not asked. Widths are
compared with the best possible: all reports that cover the attributes, weighted as would be best if the truth were known, and the
condition's probability known. Needs LOPUB_DATA with the tables asked for; nltcs is not redistributed (see counts_accuracy.py).

`python benchmarks/queries.py [table ...]` writes benchmarks/results/queries.csv anew for these tables; `made-up` stands for a
population without an interaction of three attributes, where models of pairs should cover, too.
`python benchmarks/queries.py speed` times questions to 1,000,000 reports of Adult.
"""

import csv
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path

import numpy as np

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
from lopub.collection.catalogue import ALUMNI, public_table
from lopub.contract.domain import Attribute
from lopub.errors import LopubError
from lopub.inference.expressions import Conjunction, parsed
from lopub.inference.joint import INTERVAL
from lopub.inference.linear import merged
from lopub.inference.predicates import Question, question

TABLES = ("adult", "tpce", "nltcs", "alumni", "made-up")
EPSILONS = (1, 4, 16)
PEOPLE = (10_000, 50_000)
N_COLLECTIONS, N_QUESTIONS = 4, 12
N_LISTED, MOST_LISTED_CELLS = 6, 4096
RESULTS = Path(__file__).parent / "results" / "queries.csv"
GROUP = ["table", "way", "epsilon", "people", "attributes", "condition", "how"]
COLUMNS = [*GROUP, "answers", "coverage", "width", "width_over_best"]


def population(name: str) -> Dataset:
    if name == "alumni":
        return ALUMNI.people(60_000, seed=5)
    return made_up() if name == "made-up" else public_table(name)


def made_up() -> Dataset:
    """Six attributes with all interactions of two, and none of three."""
    rng, sizes = np.random.default_rng(8), (2, 3, 2, 4, 2, 3)
    scores = np.zeros(sizes)
    for pair in combinations(range(6), 2):
        scores = scores + rng.normal(0, 0.5, [size if axis in pair else 1 for axis, size in enumerate(sizes)])
    chances = (np.exp(scores) / np.exp(scores).sum()).reshape(-1)
    counts = np.floor(chances * 200_000).astype(int)  # a table whose own shares are those of the model
    domain = Domain(tuple(Categorical(name=f"a{i}", values=tuple("wxyz"[:size])) for i, size in enumerate(sizes)))
    return Dataset(domain, np.stack(np.unravel_index(np.repeat(np.arange(len(chances)), counts), sizes), axis=1))


# ---- ways to collect


def listed(domain: Domain, rng: np.random.Generator) -> list[tuple[str, ...]]:
    """Sets of four attributes whose cells can be spelt out."""
    found: list[tuple[str, ...]] = []
    while len(found) < N_LISTED:
        chosen = tuple(sorted(rng.choice(len(domain), 4, replace=False).tolist()))
        names = tuple(domain.names[position] for position in chosen)
        if np.prod([domain.sizes[position] for position in chosen]) <= MOST_LISTED_CELLS and names not in found:
            found.append(names)
    return found


def campaigns(domain: Domain, epsilon: float) -> Iterator[tuple[str, Campaign, list[tuple[str, ...]] | None]]:
    sets = listed(domain, np.random.default_rng(3))
    terms, rule = Terms(name="queries"), Listed.of(domain, [(names, 1) for names in sets])
    yield "default", make_campaign(domain, terms, CampaignRequest(epsilon=epsilon)), None
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
    quoted = [attribute.answer_texts[i].replace("\\", "\\\\").replace("'", "\\'") for i in sorted(chosen.tolist())]
    return f"{name} in ({', '.join(repr(text) if chr(92) not in text else chr(39) + text + chr(39) for text in quoted)})"


def joined(parts: list[str], rng: np.random.Generator) -> str:
    text = parts[0]
    for part in parts[1:]:
        text = f"({text} {'and' if rng.random() < 0.7 else 'or'} {part})"
    return text


def random_question(
    domain: Domain, sets: list[tuple[str, ...]] | None, k: int, conditional: bool, rng: np.random.Generator
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
    trees = [parsed(text)] if given is None else [Conjunction((parsed(text), parsed(given))), parsed(given)]
    return question(trees, domain)


def truth_of(table: Dataset, found: Question) -> np.ndarray:
    """The true shares of the question's cells."""
    names = [table.domain.names[position] for position in found.clique]
    counts = table.counts(names)
    return merged(counts, found.groupings) / len(table)


def best_error(study: Study, found: Question, shares: np.ndarray) -> float | None:
    """The standard error that nobody can pass who reads reports linearly and knows the condition's probability."""
    basis = study._basis
    try:
        parts = list(basis.reader.linear(basis, found.clique, found.groupings))
    except LopubError:
        return None
    weights = found.weights[0]
    mean = float((weights * shares).sum())
    precise = [part.n_reports / (float((shares * part.second(weights, weights)).sum()) - mean**2) for part in parts]
    known = 1.0 if len(found.weights) == 1 else float((found.weights[1] * shares).sum())
    return 1 / np.sqrt(sum(precise)) / known if precise else None


# ---- measuring


def measured(name: str) -> Iterator[list[object]]:
    table = population(name)
    for epsilon, people in product(EPSILONS, PEOPLE):
        for way, campaign, sets in campaigns(table.domain, epsilon):
            started = time.perf_counter()
            rows = defaultdict(list)
            for seed in range(N_COLLECTIONS):
                rng = np.random.default_rng([seed, people, int(epsilon)])
                crowd = Dataset(table.domain, table.codes[rng.integers(0, len(table), people)])
                study = Study(simulate(crowd, campaign, seed=seed))
                for k, conditional in product((1, 2, 3, 4), (False, True)):
                    for key, row in answers(table, study, sets, k, conditional, rng):
                        rows[name, way, epsilon, people, k, "yes" if conditional else "no", key].append(row)
            yield from (summary(group, rows[group]) for group in sorted(rows, key=str))
            print(f"{name}, epsilon {epsilon}, {people} people, {way}: {time.perf_counter() - started:.0f} s", flush=True)


def answers(
    table: Dataset, study: Study, sets: list[tuple[str, ...]] | None, k: int, conditional: bool, rng: np.random.Generator
) -> Iterator[tuple[str, tuple[bool, float, float]]]:
    n_asked = n_tried = 0
    n_wanted = N_QUESTIONS if k <= 2 or sets is not None or study.campaign.epsilon > 4 else N_QUESTIONS // 3  # models, mostly
    while n_asked < n_wanted and n_tried < 40 * N_QUESTIONS:
        n_tried += 1
        text, given = random_question(table.domain, sets, k, conditional, rng)
        found = asked(table.domain, text, given)
        shares = truth_of(table, found)
        among = 1.0 if given is None else float((found.weights[1] * shares).sum())
        true = float((found.weights[0] * shares).sum()) / among if among >= 0.02 else 0.0
        if not 0.005 <= true <= 0.995:
            continue
        n_asked += 1
        answer = study.probability(text, given=given)
        best = best_error(study, found, shares) if answer.how == "direct" else None
        if answer.interval is None:
            yield answer.how, (False, np.nan, np.nan)
        else:
            low, high = answer.interval
            yield answer.how, (low <= true <= high, high - low, 2 * INTERVAL * best if best else np.nan)


def summary(group: tuple[object, ...], rows: list[tuple[bool, float, float]]) -> list[object]:
    covered, widths, bests = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    if group[-1] == "refused":
        return [*group, len(rows), "", "", ""]
    best = np.minimum(bests, 1.0)  # nobody needs an interval that is wider than all shares
    over = "" if np.isnan(best).any() else round(float(widths.mean() / best.mean()), 3)
    return [*group, len(rows), round(float(covered.mean()), 4), round(float(widths.mean()), 4), over]


def write(tables: list[str]) -> None:
    with open(RESULTS, newline="") as file:
        kept = [row for row in csv.DictReader(file) if row["table"] not in tables]
    rows = [[row[column] for column in COLUMNS] for row in kept]
    for name in tables:
        rows += [list(row) for row in measured(name)]
        with open(RESULTS, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(rows)


def speed() -> None:
    """Seconds of a question to 1,000,000 reports, the first one and later ones, from counts and from reports."""
    table, rng = public_table("adult"), np.random.default_rng(1)
    crowd = Dataset(table.domain, table.codes[rng.integers(0, len(table), 1_000_000)])
    for epsilon, way in product((2, 8), ("reports", "counts")):
        campaign = make_campaign(table.domain, Terms(name="speed"), CampaignRequest(epsilon=epsilon))
        batch = simulate(crowd, campaign, seed=1)
        study = Study(batch if way == "reports" else count(batch))
        for k, conditional in product((1, 2, 3, 4), (False, True)):
            seconds, hows = [], []
            for _ in range(6):
                text, given = random_question(table.domain, None, k, conditional, rng)
                start = time.process_time()  # one thread: what it would take on a machine of its own
                hows.append(study.probability(text, given=given).how)
                seconds.append(time.process_time() - start)
            later = ", ".join(f"{1000 * one:.0f}" for one in seconds[1:])
            print(
                f"epsilon {epsilon}, {way}, {k} attributes, condition {conditional}: {1000 * seconds[0]:.0f} ms, then {later}",
                set(hows),
            )


if __name__ == "__main__":
    if sys.argv[1:] == ["speed"]:
        speed()
    else:
        if not RESULTS.exists():
            RESULTS.write_text(",".join(COLUMNS) + "\n")
        write(sys.argv[1:] or list(TABLES))
