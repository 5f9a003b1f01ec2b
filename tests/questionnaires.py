"""A made-up population that answers a questionnaire: three nested conditions, a list of which at most three can be ticked."""

import numpy as np

from lopub import (
    Binned,
    Boolean,
    Campaign,
    CampaignRequest,
    Categorical,
    Dataset,
    IntegerRange,
    Terms,
    make_campaign,
)
from lopub.campaign.condition import Both, Comparison
from lopub.campaign.domain import TickList
from lopub.campaign.fields import domain_of

JOB = Boolean(name="job")
AGE = Categorical(name="age", values=("young", "middle", "old"), is_ordered=True)
HOURS = Binned(
    name="hours", edges=("0", "20", "40", "80"), only_if=Comparison("job", "equals", (True,))
)
OVERTIME = Categorical(
    name="overtime",
    values=("paid", "unpaid", "both"),
    missing=True,
    only_if=Comparison("hours", "above", ("20",)),
)
WEEKENDS = IntegerRange(
    name="weekends",
    minimum=0,
    maximum=3,
    only_if=Both(
        (
            Comparison("overtime", "oneOf", ("paid", "both")),
            Comparison("age", "atMost", ("middle",)),
        )
    ),
)
READS = TickList(
    name="reads",
    values=("books", "papers", "blogs", "comics", "letters", "nothing"),
    most=3,
    none="nothing",
    missing=True,
)
TITLE = Categorical(
    name="title", values=("novel", "other"), only_if=Comparison("reads", "includes", ("books",))
)
DOMAIN = domain_of((AGE, JOB, HOURS, OVERTIME, WEEKENDS, READS, TITLE))


def people(n: int, seed: int = 7) -> Dataset:
    """So many of them, whose answers depend on each other."""
    rng = np.random.default_rng(seed)
    age = rng.choice(3, n, p=[0.4, 0.35, 0.25])
    job = (rng.random(n) < np.array([0.75, 0.7, 0.2])[age]).astype(int)
    hours = np.where(
        job, np.where(rng.random(n) < 0.3, 0, np.where(rng.random(n) < 0.3 + 0.2 * age, 1, 2)), 3
    )
    overtime = np.where(
        (hours == 1) | (hours == 2),
        np.where(rng.random(n) < 0.1, 3, (rng.random(n) * (1 + hours)) // 1),
        4,
    )
    applies = ((overtime == 0) | (overtime == 2)) & (age <= 1)
    weekends = np.where(applies, np.minimum(3, rng.poisson(0.5 + age)), 4)
    ticks = rng.random((n, 5)) < np.array([0.45, 0.2, 0.35, 0.15, 0.05]) + 0.1 * (age[:, None] == 0)
    order = np.argsort(np.where(ticks, rng.random((n, 5)), 2), axis=1)
    np.put_along_axis(ticks, order[:, 3:], False, axis=1)
    reads = np.column_stack([ticks, ~ticks.any(axis=1)]).astype(int)
    reads[rng.random(n) < 0.06] = 2
    title = np.where(reads[:, 0] == 1, (rng.random(n) < 0.4).astype(int), 2)
    return Dataset(
        DOMAIN,
        np.column_stack([age, job, hours, overtime, weekends, reads, title]).astype(np.uint16),
    )


def campaign(**wish: object) -> Campaign:
    """A campaign that asks them."""
    return make_campaign(DOMAIN, Terms(name="survey"), CampaignRequest(**{"epsilon": 4} | wish))  # type: ignore[arg-type]
