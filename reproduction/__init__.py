"""The paper's evaluation, in full and in the open: its algorithms and ours, measured, drawn and compared with its claims."""

from reproduction.extent import FULL, QUICK, Scale
from reproduction.measuring import EXPERIMENTS, cells_of, measure, n_kept, tables_there
from reproduction.writing import refuse_foreign, remake_page, write_page, write_tables

__all__ = [
    "EXPERIMENTS",
    "FULL",
    "QUICK",
    "Scale",
    "cells_of",
    "measure",
    "n_kept",
    "refuse_foreign",
    "remake_page",
    "tables_there",
    "write_page",
    "write_tables",
]
