"""ReportBatch: many reports as packed arrays, checked like single ones; files in and out; what each report says."""

from lopub.bulk.folds import HASH_BYTES, N_FOLDS, digests_of, folds_of, order_of
from lopub.bulk.packed import Packed
from lopub.reports.batch.batch import BlockBits, ReportBatch
from lopub.reports.batch.report_files import save_reports, walk_reports

__all__ = [
    "HASH_BYTES",
    "N_FOLDS",
    "BlockBits",
    "Packed",
    "ReportBatch",
    "digests_of",
    "folds_of",
    "order_of",
    "save_reports",
    "walk_reports",
]
