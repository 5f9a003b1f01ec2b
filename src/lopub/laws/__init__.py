"""The NumPy half of each mechanism, one file each: many reports at once, simulated and checked; what is counted of them; what the
counts say. The half that randomizes one record, with its exact law, is `contract/mechanism`."""

from lopub.laws.base import ANSWERS, ATTRIBUTE_BITS, VIEW_BITS, Answers, Bulk, bulk_of
from lopub.laws.bloom import BloomBulk
from lopub.laws.direct import DirectBulk
from lopub.laws.hashed import HashedBulk
from lopub.laws.subset import SubsetBulk
from lopub.laws.unary import UnaryBulk

__all__ = [
    "ANSWERS",
    "ATTRIBUTE_BITS",
    "VIEW_BITS",
    "Answers",
    "BloomBulk",
    "Bulk",
    "DirectBulk",
    "HashedBulk",
    "SubsetBulk",
    "UnaryBulk",
    "bulk_of",
]
