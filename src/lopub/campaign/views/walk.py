"""The order in which attributes are drawn for a view. A list counts as one question, so that its options do not starve the rest.

Without lists, all orders are equally likely. With lists, each step draws one of the questions that are left, and of a list one of
its options that are left; a question is left until all of its attributes are drawn.
"""

from lopub.campaign.domain import Clique
from lopub.campaign.randomness import Randomness

Lists = tuple[Clique, ...]
"""The positions of every list's options."""


def walk(n_attributes: int, lists: Lists, n_wanted: int, randomness: Randomness) -> list[int]:
    """The first `n_wanted` attributes of a random order."""
    if not lists:
        return randomness.prefix(n_attributes, n_wanted)
    left, order = questions_of(n_attributes, lists), list[int]()
    while len(order) < n_wanted:
        question = left[randomness.below(len(left))]
        order.append(question.pop(randomness.below(len(question))))
        if not question:
            left.remove(question)
    return order


def questions_of(n_attributes: int, lists: Lists) -> list[list[int]]:
    """The attributes of every question, in domain order."""
    first = {options[0]: options for options in lists}
    rest = {position for options in lists for position in options[1:]}
    return [
        list(first.get(position, (position,)))
        for position in range(n_attributes)
        if position not in rest
    ]
