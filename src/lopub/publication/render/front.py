"""What has room on the first printed page: a reader on paper gets the top of the report on one sheet, whatever was asked.

Lines are counted in letters of a wide font, so that A4 and Letter hold what is counted here. What has no room stands further down
in full, and on a screen at the top as well.
"""

from collections.abc import Sequence

from lopub.publication.render.questions import AnswerShown, QuestionShown
from lopub.publication.render.together import FindingShown

LETTERS = 96
"""On a line of paper."""
ROOM = 23
"""Lines of the first page that what was asked and found may fill; the others say the same on every page."""
WARNING = 4
"""Lines of a warning on top."""
FINDING, LEADING, HALF = 205, 105, 45
"""Letters of a sentence about a finding, about a frequent answer, and that it may be half, without the questionnaire's texts."""


def lines(n_letters: int) -> int:
    """That so many letters fill."""
    return -(-n_letters // LETTERS)


def lines_of_finding(one: FindingShown) -> int:
    """On paper."""
    return lines(FINDING + sum(map(len, (one.group, one.grouped, one.answer, one.answered))))


def lines_of_leading(question: QuestionShown, answer: AnswerShown) -> int:
    """On paper."""
    return lines(LEADING + HALF * answer.may_be_half + len(question.quoted) + len(answer.label))


def printed(findings: Sequence[int], leading: Sequence[int], room: int) -> tuple[int, int]:
    """How many of each are on the first printed page: all, or as many as fit, but at least one of each. findings, leading: the
    lines of each.

    >>> printed([3, 3, 3], [2, 2, 2], 25), printed([3, 3, 3], [2, 2, 2], 10), printed([3, 3, 3], [], 0)
    ((3, 3), (2, 2), (1, 0))
    """
    kept = [list(findings), list(leading)]
    while sum(map(sum, kept)) > room and (long := [one for one in kept if len(one) > 1]):
        max(long, key=len).pop()
    return len(kept[0]), len(kept[1])
