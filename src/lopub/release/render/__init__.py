"""What a publication looks like: page, card, data package, tables, deployment record."""
