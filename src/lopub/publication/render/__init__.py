"""What a publication looks like: its page (`html`), card, data package, tables, deployment record."""
