"""What all pages are made of: pictures and pieces of HTML, one file per page, no network.

The pages themselves are where their numbers are: of a publication in `release/render`, of an evaluation in `evaluation/page`, of
the paper's evaluation in `reproduce/page`.
"""
