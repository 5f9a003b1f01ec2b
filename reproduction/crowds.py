"""Samples of the tables and their noisy reports, as the experiments share them."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from lopub.campaign.terms import Terms
from lopub.planning.request import CampaignRequest, make_campaign
from lopub.queries import Study
from lopub.reports.batch import ReportBatch
from lopub.reports.catalogue import public_table
from lopub.reports.dataset import Dataset
from lopub.reports.simulation import simulate
from reproduction.extent import N_HASHES, TABLES


@lru_cache(maxsize=3)
def table_of(name: str, directory: Path) -> Dataset:
    """A public table, from the directory that holds them."""
    return public_table(name, directory)


def order_of(table: Dataset, seed: int) -> np.ndarray:
    """The records in random order: samples, and what is held out of them, are ranges of it."""
    return np.random.default_rng([2018, seed]).permutation(len(table))


def sampled(table: Dataset, share: float, seed: int) -> Dataset:
    """A random share of the records."""
    return table[np.sort(order_of(table, seed)[: round(share * len(table))])]


def held_out(table: Dataset, share: float, seed: int) -> Dataset:
    """As many other records, or as many as there are."""
    n = round(share * len(table))
    return table[np.sort(order_of(table, seed)[n : 2 * n])]


def bloom_reports(records: Dataset, n_bits: int, flip: str, seed: int) -> ReportBatch:
    """The paper's reports: a Bloom filter an attribute, every bit redrawn with probability f."""
    request = CampaignRequest(flip_probability=flip, n_bits=n_bits, n_hashes=N_HASHES)
    return simulate(
        records, make_campaign(records.domain, Terms(name="reproduction"), request), seed=seed
    )


@lru_cache(maxsize=2)
def paper_study(
    name: str, directory: Path, share: float, flip: str, seed: int
) -> tuple[Dataset, Study]:
    """A sample of a table, and what its reports say."""
    records = sampled(table_of(name, directory), share, seed)
    return records, Study(bloom_reports(records, TABLES[name].n_bits, flip, seed))
