"""Value to noisy bits, and the law of that noise. A new mechanism is one new file, named here."""

from lopub.campaign.mechanisms.base import (
    Block,
    Channel,
    Law,
    Mechanism,
    mechanism_from_json,
    n_cells,
)
from lopub.campaign.mechanisms.bloom import Bloom
from lopub.campaign.mechanisms.direct import Direct
from lopub.campaign.mechanisms.hashed import Hashed
from lopub.campaign.mechanisms.subset import Subset
from lopub.campaign.mechanisms.unary import Unary

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
    "mechanism_from_json",
    "n_cells",
]
