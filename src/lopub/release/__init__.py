"""From reports to a publication: the stages in order, once, and the files."""

from lopub.release.stages import STRUCTURES, Publication, Settings, publish
from lopub.release.writer import write_publication

__all__ = ["STRUCTURES", "Publication", "Settings", "publish", "write_publication"]
