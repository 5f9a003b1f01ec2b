"""From joints of pairs to people: which attributes depend on each other, the junction tree, its clique joints,
synthetic records."""
