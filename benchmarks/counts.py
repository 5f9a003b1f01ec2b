"""Counting: against BLAS in one run, a million reports in bounded memory, and estimates whose cost does not grow with reports.

`python benchmarks/counts.py [overlaps] [million] [adult]`; all by default. `adult` needs LOPUB_DATA.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from lopub import CampaignRequest, Dataset, ReportBatch, Terms, make_campaign
from lopub.queries import Study
from lopub.reports.catalogue import public_table
from lopub.reports.counts import Counts, count
from lopub.reports.simulation import BLOCK_REPORTS, simulate, simulate_blocks
from simulate import best, peak_mb, uniform_people

N_ADULT = 45_222
N_MILLION = 1_000_000
N_MANY = (100_000, 1_000_000, 10_000_000)
MOST_MB = 1_000
"""What a million reports may take: their bits alone are 240 MB, and as float32 they would be 7.7 GB."""


def spread_out(batch: ReportBatch) -> np.ndarray:
    """All bits as float32, as BLAS wants them; not timed."""
    blocks = [batch.bits(name).bits for name in batch.campaign.domain.names]
    return np.concatenate(blocks, axis=1).astype(np.float32)


def overlaps() -> None:
    """Both on one thread, then both on all: all of `count`, against the product alone, of which NumPy takes one triangle."""
    people = uniform_people(N_ADULT)
    batch = simulate(
        people,
        make_campaign(people.domain, Terms(name="bench"), CampaignRequest(flip_probability=0.5)),
        seed=1,
    )
    bits = spread_out(batch)
    whole = (bits.T @ bits).astype(np.int64)
    count(batch[:64])  # compile
    print(
        f"co-occurrences of {bits.shape[1]:,} bits in {N_ADULT:,} reports against float32 BLAS X.T @ X (asked: 8x)",
        flush=True,
    )
    for n_threads in sorted({1, os.cpu_count() or 1}):
        with (
            threadpool_limits(n_threads),
            mock.patch("lopub.reports.counts.attribute_bits.os.cpu_count", return_value=n_threads),
        ):
            ours, theirs = best(lambda: count(batch)), best(lambda: bits.T @ bits)
        print(
            f"  {n_threads} threads each: {ours:.3f} s against {theirs:.3f} s: {theirs / ours:.1f}x",
            flush=True,
        )
    pair = count(batch).tables[(0, 1), len(people.domain)].counts
    print(f"  the same integers: {np.array_equal(pair, whole[:128, 128:256])}", flush=True)


def million() -> None:
    """In a process of its own, for its memory: reports are made, counted and let go, a block at a time."""
    subprocess.run([sys.executable, __file__, "million-here"], check=True)


def million_here() -> None:
    people = uniform_people(N_MILLION)
    campaign = make_campaign(
        people.domain, Terms(name="bench"), CampaignRequest(flip_probability=0.5)
    )
    before = peak_mb()
    counts, seconds = timed(simulate_blocks(people, campaign, seed=1))
    print(
        f"{len(counts):,} reports of 1,920 bits, block by block: counted in {seconds:.1f} s,"
        f" peak memory {peak_mb():,.0f} MB, of which {before:,.0f} before (asked: bounded; here at most {MOST_MB:,})",
        flush=True,
    )


def timed(blocks: Iterator[ReportBatch]) -> tuple[Counts, float]:
    """The counts, and the seconds that counting alone took."""
    total: Counts | None = None
    seconds = 0.0
    for block in blocks:
        start = time.perf_counter()
        counted = count(block)
        total = counted if total is None else total + counted
        seconds += time.perf_counter() - start
    if total is None:
        raise ValueError("no blocks")
    return total, seconds


def resampled(table: Dataset, campaign_request: CampaignRequest, n: int) -> Iterator[ReportBatch]:
    """Reports of n people drawn from the table with replacement, a block at a time."""
    campaign, rng = (
        make_campaign(table.domain, Terms(name="adult"), campaign_request),
        np.random.default_rng(1),
    )
    for number, start in enumerate(range(0, n, BLOCK_REPORTS)):
        people = table[rng.integers(0, len(table), min(BLOCK_REPORTS, n - start))]
        yield simulate(people, campaign, seed=number)


def adult() -> None:
    table = public_table("adult")
    print(
        "all 105 pairs of Adult by shrunk, from counts alone (direct, epsilon 8; asked: a cost that N does not change)",
        flush=True,
    )
    for n in N_MANY:
        counts, seconds = timed(resampled(table, CampaignRequest(epsilon=8), n))
        start = time.perf_counter()
        joints = Study(counts).pairs()
        estimating = time.perf_counter() - start
        steps = sum(joint.fit.n_evaluations for joint in joints.values())
        print(
            f"  N={n:>10,}: counted in {seconds:6.1f} s; {len(joints)} pairs estimated in {estimating:.2f} s,"
            f" {steps:,} EM evaluations; peak memory so far {peak_mb():,.0f} MB",
            flush=True,
        )


def main(what: list[str]) -> None:
    if what == ["million-here"]:
        million_here()
        return
    for name, run in {"overlaps": overlaps, "million": million, "adult": adult}.items():
        if not what or name in what:
            run()


if __name__ == "__main__":
    main(sys.argv[1:])
