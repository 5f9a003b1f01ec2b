"""From reports to integer statistics that add up across batches, machines and days."""

from lopub.collection.counts.answer_tables import AnswerTables
from lopub.collection.counts.attribute_bits import AttributeBits, covered_together
from lopub.collection.counts.count_files import is_counts
from lopub.collection.counts.counting import count, count_singly, slots_of
from lopub.collection.counts.counts import Counts, Slots, spanned
from lopub.collection.counts.forms import Form, Integers, Table, form_of
from lopub.collection.counts.view_bits import ViewBits

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
