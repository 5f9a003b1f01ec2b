"""Many records and many reports: tables, batches of reports, their counts, simulated clients, public tables. The collector, which
gathers reports, is `lopub.collector`."""
