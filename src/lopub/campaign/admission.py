"""Who may take part: everybody, or those who were invited and can show it by a signature.

A campaign for invited people carries the public keys that signatures are checked with: one RSA key, or one for each round where
it repeats, so that a person has one report per key. This version reads such campaigns and the signatures in their reports; it
neither makes nor verifies a signature.
"""

from dataclasses import dataclass

from lopub.campaign.canonical import Json, Members
from lopub.campaign.texts import base64url, bytes_of
from lopub.errors import CampaignError

INVITED = "invited"
KEY_BYTES = 256
"""Of an RSA modulus of 2,048 bits; the exponent is always 65537."""
SIGNATURE_BYTES = 256
MOST_KEYS = 64
"""And so rounds of a campaign for invited people."""


@dataclass(frozen=True)
class Admission:
    """The keys for which people are invited, one for each round."""

    keys: tuple[bytes, ...]
    """RSA moduli, big-endian."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.keys) <= MOST_KEYS:
            raise CampaignError(f"admission.keys must list 1 to {MOST_KEYS} keys")
        if not all(map(_is_modulus, self.keys)):
            raise CampaignError(
                f"admission.keys must be odd RSA moduli of {8 * KEY_BYTES} bits, in base64url without padding"
            )
        if len(set(self.keys)) < len(self.keys):
            raise CampaignError("admission.keys must not list the same key twice")

    def check_rounds(self, n_rounds: int) -> None:
        """Refuse more or fewer keys than rounds."""
        if len(self.keys) != n_rounds:
            raise CampaignError(
                f"admission.keys must list one key for each round, {n_rounds}, got {len(self.keys)}"
            )

    def to_json(self) -> dict[str, Json]:
        """The member `admission` of a campaign."""
        return {"kind": INVITED, "keys": [base64url(key) for key in self.keys]}


def _is_modulus(key: bytes) -> bool:
    return len(key) == KEY_BYTES and key[0] >> 7 == 1 and key[-1] & 1 == 1


def admission_from_json(members: Members) -> Admission:
    """The admission of a campaign that not everybody may take part in."""
    if members.text("kind") != INVITED:
        raise CampaignError(f"{members.path('kind')} must be {INVITED}")
    keys = tuple(bytes_of(text) or b"" for text in members.texts("keys")[: MOST_KEYS + 1])
    members.done()
    return Admission(keys)
