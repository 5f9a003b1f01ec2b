"""Which attributes one report covers. A new rule is one new file, named here."""

from lopub.campaign.views.base import Losses, Sizes, ViewRule, view_from_json
from lopub.campaign.views.fill import Fill
from lopub.campaign.views.listed import MOST_LISTED, MOST_WEIGHT, Listed
from lopub.campaign.views.sample import AllAttributes, Sample

__all__ = [
    "MOST_LISTED",
    "MOST_WEIGHT",
    "AllAttributes",
    "Fill",
    "Listed",
    "Losses",
    "Sample",
    "Sizes",
    "ViewRule",
    "view_from_json",
]
