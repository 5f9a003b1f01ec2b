"""From reports to a publication: the stages in order, once, and the files."""

from lopub.publication.rounds import Rounds, publish_rounds
from lopub.publication.settings import STRUCTURES, PublishSettings
from lopub.publication.stages import Publication, publish, published

__all__ = [
    "STRUCTURES",
    "Publication",
    "PublishSettings",
    "Rounds",
    "publish",
    "publish_rounds",
    "published",
]
