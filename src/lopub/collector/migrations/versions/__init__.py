"""Every version of the schema, the oldest first."""
