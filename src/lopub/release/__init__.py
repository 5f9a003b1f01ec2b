"""From reports to a publication: the stages in order, once, and the files."""

from lopub.release.directory import write_publication
from lopub.release.stages import STRUCTURES, Publication, Settings, publish

__all__ = ["STRUCTURES", "Publication", "Settings", "publish", "write_publication"]
