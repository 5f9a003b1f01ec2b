"""Simulated clients: against a plain "draw uint32, compare, packbits" of as many bits, in one run; and a million reports."""

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from client import adult_shaped
from lopub import CampaignRequest, Terms, make_campaign
from lopub.reports.batch import save_reports, walk_reports
from lopub.reports.dataset import Dataset
from lopub.reports.simulation import simulate, simulate_blocks

N_BLOOM = 65_536
N_MILLION = 1_000_000
N_BITS = 1_920


def best(run: Callable[[], object], times: int = 5) -> float:
    """Seconds of the fastest run: the machine's noise only ever slows."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def uniform_people(n: int) -> Dataset:
    domain = adult_shaped()
    rng = np.random.default_rng(1)
    return Dataset(
        domain,
        np.stack([rng.integers(0, size, n, dtype=np.uint16) for size in domain.sizes], axis=1),
    )


def plain(n: int, change_units: int) -> None:
    """The obvious way, in blocks that fit into memory."""
    rng = np.random.default_rng(1)
    for _ in range(0, n, 4096):
        np.packbits(
            rng.integers(0, 2**32, size=(4096, N_BITS), dtype=np.uint32) < change_units, axis=1
        )


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    people = uniform_people(N_BLOOM)
    print(
        f"simulate: {N_BLOOM:,} reports of {N_BITS:,} Bloom bits against draw uint32, compare, packbits (asked: 5x)"
    )
    for f in (0.5, 0.9):
        campaign = make_campaign(
            people.domain, Terms(name="bench"), CampaignRequest(flip_probability=f)
        )
        ours = best(lambda campaign=campaign: simulate(people, campaign, seed=1))
        theirs = best(lambda f=f: plain(N_BLOOM, round(f / 2 * 2**32)))
        print(f"  f={f}: {ours:.3f} s against {theirs:.3f} s: {theirs / ours:.1f}x")
    million = uniform_people(N_MILLION)
    campaign = make_campaign(million.domain, Terms(name="bench"), CampaignRequest(epsilon=8))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.parquet"
        blocks = simulate_blocks(million, campaign, seed=1)
        seconds = best(lambda: save_reports(path, campaign, blocks), times=1)
        print(
            f"direct, {campaign.view}: {N_MILLION:,} Adult-shaped reports simulated and written in {seconds:.1f} s (asked: 10 s),"
        )
        print(
            f"  {path.stat().st_size / 1e6:.0f} MB on disk, peak memory so far {peak_mb():.0f} MB (asked: 1,000)"
        )
        repeated = (
            block for _ in range(10) for block in simulate_blocks(million, campaign, seed=2)
        )
        path.unlink()
        save_reports(path, campaign, repeated)
        walked = 0
        start = time.perf_counter()
        for block in walk_reports(path, campaign):
            walked += len(block)
        seconds = time.perf_counter() - start
        print(
            f"walked {walked:,} direct reports from Parquet in {seconds:.1f} s, peak memory {peak_mb():.0f} MB (asked: 1,000)"
        )


if __name__ == "__main__":
    main()
