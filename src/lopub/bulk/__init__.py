"""The NumPy half of each mechanism, one file each: many reports at once, simulated and checked; what is counted of them; what the
counts say. The half that randomizes one record, with its exact law, is `campaign/mechanisms`."""

from lopub.bulk.base import ANSWERS, ATTRIBUTE_BITS, VIEW_BITS, Answers, Bulk, bulk_of
from lopub.bulk.bloom import BloomBulk
from lopub.bulk.direct import DirectBulk
from lopub.bulk.hashed import HashedBulk
from lopub.bulk.subset import SubsetBulk
from lopub.bulk.unary import UnaryBulk

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
