"""Numbers to pictures and pages: one file each, no network."""
