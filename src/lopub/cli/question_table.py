"""The questions of a campaign as a table."""

from rich.table import Table

from lopub.campaign.domain import TickList
from lopub.cli.console import table
from lopub.pages.figures import thousandths_up
from lopub.pages.wording import Wording


def fields_of(wording: Wording) -> Table:
    """One row a question, with its answers as they read in a language."""
    in_all = ("in all rounds",) if wording.campaign.terms.repeat else ()
    heads = ("attribute", "type", "candidates", "values", "epsilon", *in_all)
    fields = table(*heads, right=("candidates", "epsilon", *in_all))
    for question in wording.campaign.domain.questions:
        first = question.options[0] if isinstance(question, TickList) else question
        losses = [
            wording.campaign.loss_of(first.name),
            wording.campaign.lifetime_loss_of(first.name),
        ][: 1 + len(in_all)]
        epsilons = [thousandths_up(loss) for loss in losses]
        size = (
            f"{len(question.values)} x {first.size}"
            if isinstance(question, TickList)
            else str(first.size)
        )
        values = values_in_short(tuple(wording.label(question, text) for text in question.texts))
        condition = f"\nonly if {question.only_if}" if question.only_if is not None else ""
        fields.add_row(
            question.name,
            first.type if first is question else question.type,
            size,
            values + condition,
            *epsilons,
        )
    return fields


def values_in_short(texts: tuple[str, ...]) -> str:
    """The first few candidates and the last.

    >>> values_in_short(("a", "b", "c", "d", "e", "f", ""))
    'a, b, c, d … (missing)'
    """
    shown = [text or "(missing)" for text in texts]
    return ", ".join(shown) if len(shown) <= 5 else f"{', '.join(shown[:4])} … {shown[-1]}"
