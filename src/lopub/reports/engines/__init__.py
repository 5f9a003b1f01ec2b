"""Counting where the reports are: a source is cut into parts, each part gives counts, and counts add up, on any engine."""

from lopub.reports.engines.base import Engine, HashRange, Job, Partition, Source
from lopub.reports.engines.choice import ENGINES, engine_of
from lopub.reports.engines.file_source import FileSource, report_files
from lopub.reports.engines.local import LocalEngine
from lopub.reports.engines.once import count_source
from lopub.reports.engines.selection import OneRound, all_of, sample_of
from lopub.reports.engines.several import Several

__all__ = [
    "ENGINES",
    "Engine",
    "FileSource",
    "HashRange",
    "Job",
    "LocalEngine",
    "OneRound",
    "Partition",
    "Several",
    "Source",
    "all_of",
    "count_source",
    "engine_of",
    "report_files",
    "sample_of",
]
