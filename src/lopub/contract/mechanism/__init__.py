"""Value to noisy bits, and the law of that noise. A new mechanism is one new file, named here."""

from lopub.contract.mechanism.base import (
    Block,
    Channel,
    Law,
    Mechanism,
    mechanism_from_json,
    n_cells,
)
from lopub.contract.mechanism.bloom import Bloom, bits_for, hashes_for
from lopub.contract.mechanism.direct import Direct
from lopub.contract.mechanism.hashed import Hashed
from lopub.contract.mechanism.subset import Subset
from lopub.contract.mechanism.unary import Unary

__all__ = [
    "Block",
    "Bloom",
    "Channel",
    "Direct",
    "Hashed",
    "Law",
    "Mechanism",
    "Subset",
    "Unary",
    "bits_for",
    "hashes_for",
    "mechanism_from_json",
    "n_cells",
]
