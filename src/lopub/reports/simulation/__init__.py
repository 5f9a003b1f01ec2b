"""Dataset -> ReportBatch: many clients at once; for experiments only. A real client is on a person's device."""

from lopub.reports.simulation.clients import BLOCK_REPORTS, simulate, simulate_blocks
from lopub.reports.simulation.rounds import simulate_rounds

__all__ = ["BLOCK_REPORTS", "simulate", "simulate_blocks", "simulate_rounds"]
