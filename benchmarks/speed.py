"""Speed and memory of estimation, as ratios in one run. `python benchmarks/speed.py [memory]`."""

import resource
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from lopub import (
    AllAttributes,
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    ReportBatch,
    Terms,
    estimate,
    make_campaign,
    simulate,
)
from lopub.estimation.basis import Reports
from lopub.estimation.em import ROUNDING, em_map, run_accelerated, run_plain
from lopub.estimation.evidence import Evidence
from lopub.reports.batch import save_reports
from lopub.reports.simulation import simulate_blocks
from simulate import best

N_MANY = 10_000_000


def pair(first: int, second: int) -> Domain:
    sizes = (("a", first), ("b", second))
    return Domain(
        tuple(
            Categorical(name=name, values=tuple(f"v{k}" for k in range(size)))
            for name, size in sizes
        )
    )


def dependent_people(domain: Domain, n: int, seed: int = 1) -> Dataset:
    """The second attribute follows the first in half of the records."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, domain.sizes[0], n)
    second = np.where(
        rng.random(n) < 0.5, first % domain.sizes[1], rng.integers(0, domain.sizes[1], n)
    )
    return Dataset(domain, np.stack([first, second], axis=1))


def bloom(n: int, first: int, second: int, f: float) -> ReportBatch:
    domain = pair(first, second)
    return simulate(
        dependent_people(domain, n),
        make_campaign(domain, Terms(name="speed"), CampaignRequest(flip_probability=f)),
        seed=1,
    )


def dense_table(batch: ReportBatch) -> np.ndarray:
    """The reference: one float64 likelihood a report and cell."""
    reports = Reports(batch)
    tables = []
    for position in (0, 1):
        part = reports.evidence((position,)).parts[0]
        overlap = part.overlaps[0].astype(np.float64)
        tables.append(np.exp(part.slopes[0] * (overlap - overlap.max(axis=1, keepdims=True))))
    return (tables[0][:, :, None] * tables[1][:, None, :]).reshape(len(batch), -1)


def uniform(evidence: Evidence) -> np.ndarray:
    return np.full(evidence.shape, 1 / np.prod(evidence.shape))


def step_ratio(n: int, first: int, second: int, asked: float) -> None:
    batch = bloom(n, first, second, 0.5)
    evidence = Reports(batch).evidence((0, 1))
    joint, table = uniform(evidence), dense_table(batch)
    flat = joint.reshape(-1)
    dense = best(lambda: flat * ((1 / (table @ flat)) @ table) / n)
    ours = best(lambda: evidence.step(joint))
    block = np.ones((8192, 512), np.float32), np.ones((512, 512), np.float32)
    rate = 2 * 8192 * 512 * 512 / best(lambda: block[0] @ block[1])
    share = 4 * n * first * second / ours / rate
    print(
        f"  EM step, N={n:,}, {first}x{second}: {1e3 * ours:.1f} ms, dense float64 {1e3 * dense:.1f} ms: {dense / ours:.1f}x"
        f" (asked {asked}); {100 * share:.0f} % of this machine's sgemm rate of {rate / 1e9:.0f} GFLOP/s",
        flush=True,
    )


def kept_cell_ratio(n: int = 1_000_000) -> None:
    domain = pair(16, 16)
    people = dependent_people(domain, n)
    request = CampaignRequest(epsilon=8, mechanism="direct", view=AllAttributes(), jointly=True)
    kept = Reports(
        simulate(people, make_campaign(domain, Terms(name="speed"), request), seed=1)
    ).evidence((0, 1))
    factorised = Reports(bloom(n, 16, 16, 0.5)).evidence((0, 1))
    joint = uniform(kept)
    ours, theirs = best(lambda: kept.step(joint)), best(lambda: factorised.step(joint), 2)
    times = (
        f"{1e3 * ours:.3f} ms, factorised {1e3 * theirs:.0f} ms: {theirs / ours:.0f}x (asked 10)"
    )
    print(f"  kept-cell step, {n:,} reports: {times}", flush=True)


def acceleration() -> None:
    evidence = Reports(bloom(45_222, 7, 6, 0.9)).evidence((0, 1))
    step, start = em_map(evidence), uniform(evidence)
    plain = run_plain(step, start, stop="change", tolerance=1e-6, most=50_000)
    fast = run_accelerated(
        step, start, tolerance=1e-6, most=50_000, slack=ROUNDING * evidence.n_reports
    )
    print(
        f"  converged fit at f=0.9: {fast.n_evaluations} evaluations against {plain.n_evaluations} of plain EM:"
        f" {plain.n_evaluations / fast.n_evaluations:.0f}x fewer (asked 5);"
        f" log-likelihood higher by {fast.trace[-1] - plain.trace[-1]:.3f} nats (asked: not lower by 0.05)",
        flush=True,
    )


def python_loop(n: int = 4_522, looped: int = 30) -> None:
    """Against plain Python, timed on a few reports and one step, scaled up: Algorithm 1 as it is written, with records as keys
    (the transcription that the tests compare with), and the same with all that can be hoisted hoisted, over lists."""
    batch = bloom(n, 16, 16, 0.5)
    table = dense_table(batch)[:looped].tolist()
    evidence = Reports(batch).evidence((0, 1))
    plain = run_plain(
        em_map(evidence), uniform(evidence), stop="change", tolerance=1e-6, most=50_000
    )
    ours = best(
        lambda: run_accelerated(
            em_map(evidence), uniform(evidence), tolerance=1e-6, most=5000, slack=ROUNDING * n
        ),
        20,
    )
    records = list(product(range(16), range(16)))
    given = [dict(zip(records, row, strict=True)) for row in table]

    def as_written() -> None:
        joint = dict.fromkeys(records, 1 / 256)
        following = dict.fromkeys(records, 0.0)
        for chances in given:
            total = sum(joint[record] * chances[record] for record in joint)
            for record in joint:
                following[record] += joint[record] * chances[record] / total / n

    def over_lists() -> None:
        joint, following = [1 / 256] * 256, [0.0] * 256
        for row in table:
            total = 0.0
            for cell in range(256):
                total += joint[cell] * row[cell]
            for cell in range(256):
                following[cell] += joint[cell] * row[cell] / total

    print(
        f"  whole fit, N={n:,}, 16x16: {1e3 * ours:.1f} ms (asked: 5,000x the loop over lists)",
        flush=True,
    )
    for name, loop in (("Algorithm 1 as written", as_written), ("hoisted, over lists", over_lists)):
        whole = best(loop, 3) * n / looped * plain.n_evaluations
        print(
            f"    plain Python, {name}: {whole:.1f} s in {plain.n_evaluations} steps: {whole / ours:,.0f}x",
            flush=True,
        )


def memory(mechanism: str) -> None:
    """One estimate from 10,000,000 reports in a Parquet file, in a process of its own."""
    domain = pair(16, 16)
    request = (
        CampaignRequest(flip_probability=0.5)
        if mechanism == "bloom"
        else CampaignRequest(epsilon=8)
    )
    campaign = make_campaign(domain, Terms(name="speed"), request)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.parquet"
        million = dependent_people(domain, 1_000_000)
        save_reports(
            path,
            campaign,
            (b for seed in range(10) for b in simulate_blocks(million, campaign, seed=seed)),
        )
        subprocess.run([sys.executable, __file__, "estimate", str(path), mechanism], check=True)


def estimate_file(path: str, mechanism: str) -> None:
    start = time.perf_counter()
    joint = estimate(ReportBatch.load(path), ("a", "b"), "em")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = time.perf_counter() - start
    print(
        f"  {mechanism}: 16x16 from {N_MANY:,} reports in Parquet: {seconds:.0f} s, {joint.fit.n_evaluations} evaluations,"
        f" peak memory {peak:,.0f} MB (asked 2,000)",
        flush=True,
    )


def main(what: list[str]) -> None:
    if what[:1] == ["estimate"]:
        estimate_file(what[1], what[2])
        return
    with threadpool_limits(1):
        if "memory" not in what:
            print("estimation: speed, one thread, ratios in one run", flush=True)
            step_ratio(45_222, 16, 16, 5)
            step_ratio(200_000, 16, 32, 3.5)
            kept_cell_ratio()
            acceleration()
            python_loop()
    print("estimation: memory", flush=True)
    for mechanism in ("direct", "bloom"):
        memory(mechanism)


if __name__ == "__main__":
    main(sys.argv[1:])
