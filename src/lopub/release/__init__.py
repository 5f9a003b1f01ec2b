"""From reports to a publication: the stages in order, once, and the files."""

from lopub.release.rounds import Rounds, publish_rounds
from lopub.release.settings import STRUCTURES, PublishSettings
from lopub.release.stages import Publication, publish, published

__all__ = [
    "STRUCTURES",
    "Publication",
    "PublishSettings",
    "Rounds",
    "publish",
    "publish_rounds",
    "published",
]
