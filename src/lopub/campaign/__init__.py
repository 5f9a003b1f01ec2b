"""What all parties agree on, on the standard library alone: domain, budget, mechanisms, views, campaign, report.

Nothing here may change a byte of a campaign or a report without a new format number; `docs/format.md` is normative.
"""
