"""Dataset -> ReportBatch: many clients at once, seeded; for experiments only. A real client takes no seed."""

from lopub.simulation.clients import BLOCK_REPORTS, simulate, simulate_blocks

__all__ = ["BLOCK_REPORTS", "simulate", "simulate_blocks"]
