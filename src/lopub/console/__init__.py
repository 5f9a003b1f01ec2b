"""The console: a campaign from its draft to its deletion, in a browser."""
