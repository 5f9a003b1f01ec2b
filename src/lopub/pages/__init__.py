"""What all pages are made of: templates, words, pictures; one file per page, no network.

The pages themselves are where their numbers are: of a publication in `publication/render`, of an evaluation in
`evaluation/score_page`, of a plan in `planning/plan_page`, of a collection that runs in `console`, of the paper's evaluation
in `reproduction_page` of the top-level folder `reproduction`.
"""
