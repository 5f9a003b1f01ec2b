"""Migrations of the collector's schema, one file a version."""
