"""A record that contradicts the questionnaire is told what is wrong with it, kind by kind."""

import numpy as np
import pytest

from lopub import DomainError
from lopub.campaign.condition import Comparison
from lopub.campaign.domain import Boolean, Categorical, TickList
from lopub.campaign.fields import domain_of
from lopub.reports.ruled import ruled

PET = Boolean(name="pet")
KIND = Categorical(name="kind", values=("dog", "cat"), only_if=Comparison("pet", "equals", (True,)))
SEEN = TickList(name="seen", values=("fox", "owl", "bat", "deer", "none"), none="none", most=2)
DOMAIN = domain_of((PET, KIND, SEEN))
GOOD = [1, 0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ([0, 0, *GOOD[2:]], "'kind' is answered, but does not apply"),
        ([1, 2, *GOOD[2:]], "'kind' applies, but is not answered"),
        ([1, 0, 1, 1, 1, 0, 0], "'seen' has more than 2 ticks"),
        ([1, 0, 1, 0, 0, 0, 1], "'seen' has 'none' ticked beside others"),
        ([1, 0, 0, 0, 0, 0, 0], "'seen' has no tick, not even 'none'"),
    ],
)
def test_each_kind_of_contradiction_has_its_sentence(record: list[int], said: str):
    with pytest.raises(DomainError) as raised:
        ruled(np.array([GOOD, record], dtype=np.uint16), DOMAIN, "the table")
    assert f"record 2: {said}" in str(raised.value)


def test_all_kinds_are_told_at_once():
    records = [GOOD, [0, 0, *GOOD[2:]], [1, 0, 1, 1, 1, 0, 0], [0, 1, 1, 1, 1, 0, 0]]
    with pytest.raises(DomainError) as raised:
        ruled(np.array(records, dtype=np.uint16), DOMAIN, "the table")
    text = str(raised.value)
    assert (
        "records 2 and 4: 'kind' is answered, but does not apply" in text
        and "records 3 and 4: 'seen' has more than 2" in text
    )
