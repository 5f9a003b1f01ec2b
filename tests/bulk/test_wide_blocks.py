"""Blocks that are wider than a word, and numbers that are larger than two bytes: noise must reach their last bit and cell."""

from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest

import laws
from lopub import AllAttributes, Campaign, Dataset, Domain, IntegerRange, Terms, simulate
from lopub.bulk import bulk_of
from lopub.campaign.budget import UNIT
from lopub.campaign.mechanisms import Bloom, Direct, Mechanism, Subset, Unary

N = 3_000


def campaign_of(mechanism: Mechanism, *sizes: int) -> Campaign:
    attributes = [
        IntegerRange(name=f"x{i}", minimum=1, maximum=size) for i, size in enumerate(sizes)
    ]
    return Campaign(
        domain=Domain(tuple(attributes)),
        mechanism=mechanism,
        view=AllAttributes(),
        jointly=True,
        terms=Terms(name="wide"),
    )


WIDE: dict[str, Mechanism] = {
    "bloom": Bloom({1: UNIT // 4}, 1_000, 3, "0"),
    "unary symmetric": Unary({1: UNIT // 4}, symmetric=True),
    "unary optimized": Unary({1: 3 * UNIT}),
    "subset": Subset({1: 3 * UNIT}),
}


@pytest.mark.parametrize("size", [63, 64, 65, 130, 1_100])
@pytest.mark.parametrize("name", WIDE)
def test_every_bit_of_a_wide_block_has_the_stated_rate(name: str, size: int) -> None:
    """Of N people who all give the last answer."""
    campaign = campaign_of(WIDE[name], size)
    codes = np.full((N, 1), size - 1, dtype=np.uint16)
    reports = simulate(Dataset(campaign.domain, codes), campaign, seed=size)
    (channel,) = campaign.channels((0,))
    law = channel.law()
    ones = reports.bits("x0").bits.sum(axis=0, dtype=np.int64)
    own = {size - 1} if law.rows is None else set(law.rows[size - 1])
    wrong = [
        bit
        for bit, count in enumerate(ones.tolist())
        if not laws.fits(count, N, law.p if bit in own else law.q)
    ]
    assert len(ones) == channel.width and wrong == []


@pytest.mark.parametrize("sizes", [(70_001 // 7, 7), (300, 300)])
def test_every_cell_of_a_large_domain_is_drawn_up_to_the_last(sizes: tuple[int, int]) -> None:
    """Of so many reports of almost nothing but noise that a cell stays out with a probability below e^-25."""
    campaign = campaign_of(Direct({1: UNIT + 1}), *sizes)
    n_cells = int(np.prod(sizes))
    codes = np.zeros((25 * n_cells, 2), dtype=np.uint16)
    cells = simulate(Dataset(campaign.domain, codes), campaign, seed=1).cells()
    assert len(np.unique(cells)) == n_cells


@pytest.mark.parametrize("size", [63, 64, 65, 130, 1_100])
@pytest.mark.parametrize("name", ["bloom", "unary symmetric"])
def test_every_bit_of_a_wide_permanent_answer_gets_fresh_noise(name: str, size: int) -> None:
    mechanism = replace(cast(Any, WIDE[name]), permanent={1: UNIT // 8})
    channel = mechanism.channel(campaign_of(WIDE[name], size).domain.attributes, 1)
    kept = np.zeros((N, (channel.width + 7) // 8), dtype=np.uint8)
    sent = bulk_of(mechanism).refreshed((channel,), kept, np.random.SFC64(size))
    ones = np.unpackbits(sent, axis=1, bitorder="little")[:, : channel.width].sum(axis=0)
    assert [bit for bit, n in enumerate(ones.tolist()) if not laws.fits(n, N, Fraction(1, 4))] == []
