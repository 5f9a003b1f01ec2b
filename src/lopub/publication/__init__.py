"""From reports to a publication: the stages in order, once, and the files."""

from lopub.publication.files import write_publication
from lopub.publication.stages import STRUCTURES, Publication, Settings, publish

__all__ = ["STRUCTURES", "Publication", "Settings", "publish", "write_publication"]
