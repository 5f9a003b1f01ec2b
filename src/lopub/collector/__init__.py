"""The collector: reports arrive over HTTP, are kept durably and counted once, and nothing is kept that tells who sent them. What
comes late or twice is refused in `store`. The steward's console is in `console`; the jobs that it orders run in `lopub.jobs`."""
