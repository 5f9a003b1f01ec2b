"""ReportBatch: many reports as packed arrays, checked like single ones; files in and out."""

from lopub.batch.batch import BlockBits, ReportBatch
from lopub.batch.files import read_reports, walk_reports, write_reports
from lopub.batch.packed import Packed

__all__ = ["BlockBits", "Packed", "ReportBatch", "read_reports", "walk_reports", "write_reports"]
