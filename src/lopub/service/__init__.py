"""The collector: reports arrive over HTTP, are kept durably and counted once, and nothing is kept that tells who sent them."""
