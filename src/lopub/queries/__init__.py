"""Questions to reports or to their counts, answered with intervals: expressions, direct answers, models where no report covers a
question, and `Study`, the one door for analysis."""

from lopub.queries.study import Study, estimate, estimate_pairs

__all__ = ["Study", "estimate", "estimate_pairs"]
