"""Of a question that was asked of some people only: the shares among these."""

from dataclasses import dataclass

import numpy as np

from lopub.campaign.domain import Attribute
from lopub.estimation.joint import Probabilities
from lopub.queries.ratios import LEAST_CONDITION, fieller

NOTHING = float("nan")


@dataclass(frozen=True)
class AskedShare:
    """The share of an answer among those to whom its question applied. low, high: its 95 % interval; NaN where there is none."""

    attribute: str
    text: str
    value: float
    low: float
    high: float


def asked_shares(
    attribute: Attribute, shares: Probabilities, covariance: Probabilities
) -> list[AskedShare]:
    """Of every answer; nothing where everybody was asked, or nobody.

    Who was asked is estimated from the same reports, so the interval is that of a ratio (Fieller). covariance: of the shares.
    """
    absent = attribute.not_applicable_index
    if absent is None or not shares[absent] < 1:
        return []
    others = [code for code in range(attribute.size) if code != absent]
    return [_share(attribute, code, absent, shares, covariance) for code in others]


def _share(
    attribute: Attribute, code: int, absent: int, shares: Probabilities, covariance: Probabilities
) -> AskedShare:
    part, whole = float(shares[code]), float(1 - shares[absent])
    own, shared, rest = (
        float(covariance[at]) for at in ((code, code), (code, absent), (absent, absent))
    )
    name, text, value = attribute.name, attribute.texts[code], part / whole
    if not np.isfinite([own, shared, rest]).all() or whole <= LEAST_CONDITION * np.sqrt(
        max(rest, 0.0)
    ):
        return AskedShare(name, text, value, NOTHING, NOTHING)
    found = fieller(part, whole, own, -shared, rest)
    low, high = min(max(float(found.low), 0.0), value), max(min(float(found.high), 1.0), value)
    return AskedShare(name, text, value, low, high)
