"""The paper's evaluation, in full and in the open: its algorithms and ours, measured, drawn and compared with its claims."""

from lopub.reproduce.extent import FULL, QUICK, Scale
from lopub.reproduce.measuring import EXPERIMENTS, cells_of, measure
from lopub.reproduce.writing import refuse_foreign, write_page, write_tables

__all__ = ["EXPERIMENTS", "FULL", "QUICK", "Scale", "cells_of", "measure", "refuse_foreign", "write_page", "write_tables"]
