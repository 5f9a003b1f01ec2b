"""Counting where the reports are: a source is cut into parts, each part gives counts, and counts add up, on any engine."""

from lopub.collection.engines.base import Engine, Job, Partition, Source
from lopub.collection.engines.choice import ENGINES, engine_of
from lopub.collection.engines.file_source import FileSource, report_files
from lopub.collection.engines.local import LocalEngine
from lopub.collection.engines.once import count_source
from lopub.collection.engines.one_round import OneRound
from lopub.collection.engines.several import Several

__all__ = [
    "ENGINES",
    "Engine",
    "FileSource",
    "Job",
    "LocalEngine",
    "OneRound",
    "Partition",
    "Several",
    "Source",
    "count_source",
    "engine_of",
    "report_files",
]
