"""Mixed designs: some people are asked one question and the others two, and those that matter more are asked more often.

A pair is known no better than its shares, and one question a person tells shares best. How many people are asked only one
question is what a planner finds out; the steward need not know.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

from lopub.bulk.designs import Design
from lopub.bulk.view_laws import view_law
from lopub.campaign.domain import Domain
from lopub.campaign.views import Listed
from lopub.planning.design import usual_designs

SINGLE_SHARES = (0.25, 0.5, 0.75)
"""Of the people, those who are asked one question."""
MOST_ATTRIBUTES = 40
"""With more, the list of views is longer than a campaign should be."""
WEIGHT = 10_000
"""What the weights of all views sum to, about."""
TINY = 1e-9
FEWEST_OF_PAIR, FEWEST_OF_UNKNOWN = 100, 500
"""Reports about a pair, on average, below which nobody is spared for single questions: with 27 about each pair of 16 answers,
dependences were published by chance that cost half as much again (TPC-E at epsilon 4, simulated). More are asked for where nobody
knows the dependence: simulated questionnaires with fewer were up to a fifth worse off than with one question a person."""
FOCUS = 2 / 3
"""With errors that fall with the square root of the people, as many should be asked as the weight to this power."""


def mixed_designs(
    domain: Domain, epsilon: float, weights: Sequence[float], fewest_of_pair: int = FEWEST_OF_PAIR
) -> Iterator[tuple[Design, int]]:
    """Designs of pairs, with single questions mixed in, and with those that matter more asked more often; each with the number of
    people from which on it is considered."""
    d = len(domain)
    if not 3 <= d <= MOST_ATTRIBUTES:
        return
    of_pairs = [
        design
        for design in usual_designs(domain.sizes, epsilon)
        if design.jointly and view_law(design.view).n_alike(d) == 2
    ]
    shares = SINGLE_SHARES if len(set(weights)) == 1 else (0.0, *SINGLE_SHARES)
    for share in shares:
        rule = listed(domain, share, weights)
        fewest = math.ceil(fewest_of_pair * math.comb(d, 2) / (1 - share)) if share > 0 else 1
        yield from ((Design(design.mechanism, rule, True), fewest) for design in of_pairs)


def listed(domain: Domain, single_share: float, weights: Sequence[float]) -> Listed:
    """The views: single questions with this share of the people, pairs with the rest."""
    names, matter = domain.names, [max(weight, 0.0) ** FOCUS for weight in weights]
    singles = [((names[a],), matter[a]) for a in range(len(names))]
    pairs = [
        ((names[a], names[b]), matter[a] * matter[b]) for a, b in combinations(range(len(names)), 2)
    ]
    scaled = [
        (view, WEIGHT * part * weight / max(sum(each for _, each in views), TINY))
        for part, views in ((single_share, singles), (1 - single_share, pairs))
        for view, weight in views
        if part > 0
    ]
    return Listed.of(domain, [(view, max(1, round(weight))) for view, weight in scaled])
