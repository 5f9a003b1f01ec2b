"""From reports to a publication: the stages in order, once, and the files."""

from lopub.release.stages import STRUCTURES, Publication, PublishSettings, publish, published

__all__ = ["STRUCTURES", "Publication", "PublishSettings", "publish", "published"]
