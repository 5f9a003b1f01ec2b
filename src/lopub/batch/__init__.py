"""ReportBatch: many reports as packed arrays, checked like single ones; files in and out; what each report says."""

from lopub.batch.answers import Answers, answers_of, keep_of
from lopub.batch.batch import BlockBits, ReportBatch
from lopub.batch.files import read_reports, walk_reports, write_reports
from lopub.batch.folds import HASH_BYTES, N_FOLDS, digests_of, folds_of, order_of
from lopub.batch.packed import Packed
from lopub.batch.repeats import Noted, walk_once

__all__ = [
    "HASH_BYTES",
    "N_FOLDS",
    "Answers",
    "BlockBits",
    "Noted",
    "Packed",
    "ReportBatch",
    "answers_of",
    "digests_of",
    "folds_of",
    "keep_of",
    "order_of",
    "read_reports",
    "walk_once",
    "walk_reports",
    "write_reports",
]
