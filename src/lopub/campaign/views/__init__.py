"""Which attributes one report covers. A new rule is one new file, named here."""

from lopub.campaign.views.base import MOST_VIEWS, Losses, Sizes, ViewRule, view_from_json
from lopub.campaign.views.fill import Fill
from lopub.campaign.views.listed import MOST_LISTED, MOST_WEIGHT, Listed
from lopub.campaign.views.sample import AllAttributes, Sample
from lopub.errors import CampaignError


def view_from_text(text: str) -> ViewRule:
    """The rule of a command line: all, sample:K or fill:CELLS.

    >>> str(view_from_text("sample:2"))
    'sample:2'
    """
    kind, _, number = text.partition(":")
    if kind == "all" and not number:
        return AllAttributes()
    if kind in ("sample", "fill") and number.isascii() and number.isdecimal() and len(number) < 20:
        return Sample(int(number)) if kind == "sample" else Fill(int(number))
    raise CampaignError(
        "view must be all, sample:K or fill:CELLS with a whole number, such as sample:2"
    )


__all__ = [
    "MOST_LISTED",
    "MOST_VIEWS",
    "MOST_WEIGHT",
    "AllAttributes",
    "Fill",
    "Listed",
    "Losses",
    "Sample",
    "Sizes",
    "ViewRule",
    "view_from_json",
    "view_from_text",
]
