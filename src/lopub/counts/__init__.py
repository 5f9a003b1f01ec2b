"""From reports to integer statistics that add up across batches, machines and days."""

from lopub.counts.counting import count, count_singly, covered_together
from lopub.counts.counts import Counts, Integers, Table, is_bits
from lopub.counts.files import is_counts, load_counts, save_counts

__all__ = [
    "Counts",
    "Integers",
    "Table",
    "count",
    "count_singly",
    "covered_together",
    "is_bits",
    "is_counts",
    "load_counts",
    "save_counts",
]
