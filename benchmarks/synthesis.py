"""How near synthetic tables come: mean AVD, three seeds, against the figures asked for; and speed.

Needs LOPUB_DATA. `python benchmarks/synthesis.py [what ...]`, what among paper, adult, tpce, retail, speed; all by default.
Writes benchmarks/results/synthesis.csv.
"""

import csv
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from lopub import (
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    Publication,
    Terms,
    evaluate,
    make_campaign,
    publish,
    simulate,
)
from lopub.reports.catalogue import public_table
from lopub.synthesis.synthesis import synthesize

SEEDS = (1, 2, 3)
RESULTS = Path(__file__).parent / "results" / "synthesis.csv"
ASKED = {
    "adult": {4: (0.079, 0.146), 8: (0.0455, 0.0705), 16: (0.0275, 0.030), 24: (0.0238, 0.0215)},
    "tpce": {4: (0.100, 0.270), 8: (0.0565, 0.150), 16: (0.0445, 0.082), 24: (0.039, 0.0565)},
    "retail": {4: (0.0145, 0.040), 8: (0.0085, 0.009), 16: (0.0045, 0.0045)},
}
"""Table -> epsilon -> (all pairs, the 12 most dependent)."""


def scored(table: Dataset, publication: Publication) -> dict[str, float]:
    scores = evaluate(table, publication.synthetic, classifiers=False, most_sets=200)
    names = publication.names
    marginals = {marginal.names[0]: marginal.probabilities for marginal in publication.marginals}
    pairs = [score.names for score in scores.ways[1].sets]
    truth = [table.counts(pair) / len(table) for pair in pairs]
    product = [
        np.abs(true - np.outer(*(marginals[n] for n in pair))).sum() / 2
        for pair, true in zip(pairs, truth, strict=True)
    ]
    estimated = {tuple(names[p] for p in pair): joint for pair, joint in publication.pairs.items()}
    of_pairs = [_pair(estimated, pair).avd(true) for pair, true in zip(pairs, truth, strict=True)]
    return {
        "avd1": scores.ways[0].mean,
        "avd2": scores.ways[1].mean,
        "avd2_dependent": float(scores.dependent_mean or 0),
        "avd3": scores.ways[2].mean,
        "product": float(np.mean(product)),
        "pairs": float(np.mean(of_pairs)),
    }


def _pair(estimated, pair):
    return (estimated.get(pair) or estimated[pair[::-1]]).marginal(pair)


def measured(table: Dataset, request: CampaignRequest, **settings) -> dict[str, float]:
    """Means over the seeds."""
    runs = []
    for seed in SEEDS:
        batch = simulate(
            table, make_campaign(table.domain, Terms(name="benchmark"), request), seed=seed
        )
        start = time.perf_counter()
        publication = publish(batch, seed=seed, **settings)
        seconds = time.perf_counter() - start
        runs.append(
            {
                **scored(table, publication),
                "seconds": seconds,
                "edges": len(publication.graph.edges),
            }
        )
    return {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}


def calibrated(name: str, writer) -> None:
    table = public_table(name)
    for epsilon, (pairs, dependent) in ASKED[name].items():
        figures = measured(table, CampaignRequest(epsilon=epsilon))
        print(
            f"  {name:7} epsilon {epsilon:2}: synthetic pairs {figures['avd2']:.4f} / dependent {figures['avd2_dependent']:.4f}"
            f" (asked {pairs} / {dependent}); triples {figures['avd3']:.4f}; estimated pairs {figures['pairs']:.4f};"
            f" product of estimated marginals {figures['product']:.4f}; {figures['seconds']:.1f} s",
            flush=True,
        )
        writer.writerow(
            [
                name,
                f"epsilon={epsilon}",
                "calibrated",
                *(f"{value:.5f}" for value in figures.values()),
            ]
        )


def paper(writer) -> None:
    """Bloom m=128 h=4 f=0.5, em, the paper's structure; 60 random pairs and triples as asked, beside all pairs."""
    table, runs = public_table("adult"), []
    for seed in SEEDS:
        request = CampaignRequest(flip_probability=0.5, n_bits=128, n_hashes=4)
        batch = simulate(
            table, make_campaign(table.domain, Terms(name="benchmark"), request), seed=seed
        )
        start = time.perf_counter()
        publication = publish(
            batch, seed=seed, structure="paper", method="em", phi=0.2, most_cells=5000
        )
        seconds = time.perf_counter() - start
        rng = np.random.default_rng(seed)
        scores = evaluate(table, publication.synthetic, classifiers=False, most_sets=60, seed=seed)
        drawn = rng.choice([score.avd for score in scores.ways[1].sets], 60, replace=False)
        runs.append(
            (
                float(np.mean(drawn)),
                scores.ways[2].mean,
                seconds,
                scored(table, publication),
                len(publication.graph.edges),
            )
        )
    two, three, seconds = (float(np.mean([run[i] for run in runs])) for i in range(3))
    print(
        f"  paper's structure, em, Bloom f=0.5, phi 0.2, cap 5,000: 60 random pairs {two:.4f} (asked 0.047),"
        f" 60 random triples {three:.4f} (asked 0.085); {seconds:.1f} s",
        flush=True,
    )
    means = [float(np.mean([run[3][key] for run in runs])) for key in runs[0][3]]
    row = [
        "adult",
        "f=0.5",
        "paper",
        *(f"{value:.5f}" for value in (*means, seconds, np.mean([run[4] for run in runs]))),
    ]
    writer.writerow(row)


def wide_people(n: int = 100_000, d: int = 200) -> Dataset:
    """Twenty groups of ten binary attributes, each group leaning on a trait that nobody asks for."""
    rng = np.random.default_rng(1)
    domain = Domain(tuple(Categorical(name=f"q{k:03}", values=("no", "yes")) for k in range(d)))
    traits = rng.random((n, d // 10)) < 0.4
    columns = [
        np.where(rng.random(n) < 0.75, traits[:, k // 10], rng.random(n) < 0.3) for k in range(d)
    ]
    return Dataset(domain, np.stack(columns, axis=1).astype(np.uint16))


def wide() -> None:
    people = wide_people()
    batch = simulate(
        people, make_campaign(people.domain, Terms(name="wide"), CampaignRequest(epsilon=8)), seed=1
    )
    start = time.perf_counter()
    publication = publish(batch)
    seconds, peak = (
        time.perf_counter() - start,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )
    print(
        f"  200 binary attributes, {len(batch):,} reports, {batch.campaign.view} at epsilon 8: {seconds:.0f} s (asked 300),"
        f" peak memory {peak:,.0f} MB (asked 2,000), {len(publication.graph.edges)} edges",
        flush=True,
    )


def speed() -> None:
    table = public_table("adult")
    for epsilon in (4, 8, 16, 24):
        batch = simulate(
            table,
            make_campaign(table.domain, Terms(name="benchmark"), CampaignRequest(epsilon=epsilon)),
            seed=1,
        )
        publish(batch[:2000])  # compile
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            publication = publish(batch)
            publication.save(Path(folder) / "publication")
            seconds = time.perf_counter() - start
        print(
            f"  Adult, epsilon {epsilon}, from reports to files: {seconds:.1f} s (asked 15)",
            flush=True,
        )
    domain = Domain(
        tuple(
            table.domain.attributes[i]
            for i in sorted(range(15), key=lambda i: table.domain.names[i])
        )
    )
    start = time.perf_counter()
    synthesize(
        publication.model.tree,
        publication.model.joints,
        domain,
        1_000_000,
        np.random.default_rng(1),
        stratified=True,
    )
    print(f"  1,000,000 synthetic rows: {time.perf_counter() - start:.1f} s (asked 5)", flush=True)
    subprocess.run([sys.executable, __file__, "wide"], check=True)


def main(what: list[str]) -> None:
    if what == ["wide"]:
        wide()
        return
    chosen = what or ["paper", *ASKED, "speed"]
    print("synthetic tables, mean AVD of 3 seeds", flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    with open(RESULTS, "a" if what else "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if not what:
            figures = [
                "avd1",
                "avd2",
                "avd2_dependent",
                "avd3",
                "product_avd2",
                "estimated_pairs_avd2",
                "seconds",
                "edges",
            ]
            writer.writerow(["table", "setting", "structure", *figures])
        for name in ASKED:
            if name in chosen:
                calibrated(name, writer)
        if "paper" in chosen:
            paper(writer)
    if "speed" in chosen:
        speed()


if __name__ == "__main__":
    main(sys.argv[1:])
