"""A check of any client from outside: made-up records in, reports out, and what the reports give away at least."""
