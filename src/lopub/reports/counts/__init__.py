"""From reports to integer statistics that add up across batches, machines and days."""

from lopub.reports.counts.answer_tables import AnswerTables
from lopub.reports.counts.attribute_bits import AttributeBits, covered_together
from lopub.reports.counts.count_files import is_counts
from lopub.reports.counts.counting import count, count_singly, slots_of
from lopub.reports.counts.counts import Counts, Slots, spanned
from lopub.reports.counts.forms import Form, Integers, Table, form_of
from lopub.reports.counts.view_bits import ViewBits

__all__ = [
    "AnswerTables",
    "AttributeBits",
    "Counts",
    "Form",
    "Integers",
    "Slots",
    "Table",
    "ViewBits",
    "count",
    "count_singly",
    "covered_together",
    "form_of",
    "is_counts",
    "slots_of",
    "spanned",
]
