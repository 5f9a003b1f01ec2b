"""Value to noisy bits, and the law of that noise. A fifth mechanism is one new file, named here."""

from lopub.mechanism.base import Block, Channel, Law, Mechanism, mechanism_from_json, n_cells
from lopub.mechanism.bloom import Bloom, bits_for, hashes_for
from lopub.mechanism.direct import Direct
from lopub.mechanism.subset import Subset
from lopub.mechanism.unary import Unary

__all__ = [
    "Block",
    "Bloom",
    "Channel",
    "Direct",
    "Law",
    "Mechanism",
    "Subset",
    "Unary",
    "bits_for",
    "hashes_for",
    "mechanism_from_json",
    "n_cells",
]
