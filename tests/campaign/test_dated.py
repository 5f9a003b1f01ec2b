"""Dates and times of day, as the periods that they lie in, and numbers in open-ended bins."""

import math

import pytest

from every import every
from lopub import (
    Binned,
    Boolean,
    Campaign,
    CampaignRequest,
    Domain,
    DomainError,
    Terms,
    make_campaign,
)
from lopub.campaign.condition import Comparison
from lopub.campaign.dated import Dated


def dated(
    period: str, first: str = "", last: str = "", kind: str = "date", **more: object
) -> Dated:
    return Dated(name="x", kind=kind, period=period, first=first, last=last, **more)


@every(
    [
        (dated("year", "1999", "2001"), ("1999", "2000", "2001")),
        (dated("quarter", "2019-Q3", "2020-Q2"), ("2019-Q3", "2019-Q4", "2020-Q1", "2020-Q2")),
        (dated("month", "2019-11", "2020-02"), ("2019-11", "2019-12", "2020-01", "2020-02")),
        (dated("week", "2020-W52", "2021-W01"), ("2020-W52", "2020-W53", "2021-W01")),
    ]
)
def test_a_period_that_comes_once_has_every_one_from_first_to_last(attribute, texts):
    assert attribute.texts == texts


@every(
    [
        (dated("year", "2020", "2026"), "2024-02-29", "2024"),
        (dated("quarter", "2020-Q1", "2026-Q4"), "2024-12-31", "2024-Q4"),
        (dated("month", "2020-01", "2026-12"), "2024-02-29", "2024-02"),
        (dated("week", "2020-W01", "2026-W20"), "2021-01-03", "2020-W53"),
        (dated("monthOfYear"), "2024-02-29", "February"),
        (dated("weekday"), "2024-02-29", "Thursday"),
        (dated("weekday", kind="datetime"), "2024-02-29T00:00:00", "Thursday"),
        (dated("hour", kind="time"), "14:05", "14"),
        (dated("hour", kind="datetime"), "2024-02-29T23:59", "23"),
        (dated("month", "2020-01", "2026-12"), "2024-02", "2024-02"),
        (dated("month", "2020-01", "2026-12", missing=True), None, ""),
    ]
)
def test_an_answer_is_the_period_that_it_lies_in(attribute, answer, text):
    assert attribute.texts[attribute.index(answer)] == text


@every(
    [
        "2024-02-30",
        "2024-2-1",
        "29.02.2024",
        "2024-02-29T12:00",
        "12:00",
        2024,
        True,
        "",
        "２０２４-02-01",
    ]
)
def test_an_answer_that_is_no_date_is_refused_without_naming_it(answer):
    with pytest.raises(DomainError) as refused:
        dated("month", "2020-01", "2026-12").index(answer)
    assert "'x' takes a" in str(refused.value) and (
        not answer or str(answer) not in str(refused.value).replace("2026-05-31", "")
    )


def test_a_date_outside_its_bounds_is_refused():
    with pytest.raises(
        DomainError, match="takes dates from 2020-01 to 2026-12; this one is outside"
    ):
        dated("month", "2020-01", "2026-12").index("2019-12-31")


@every(
    [
        (
            "decade",
            "",
            "",
            "date",
            "must have a period that a date lies in: year, quarter, month, week, monthOfYear, weekday",
        ),
        ("hour", "", "", "date", "must have a period that a date lies in"),
        ("weekday", "1", "2", "date", "takes no minimum and no maximum"),
        ("month", "2020", "2021", "date", "needs a minimum that is a month such as 2026-05"),
        ("month", "2020-01", "2020-13", "date", "needs a maximum that is a month such as 2026-05"),
        (
            "month",
            "2020-02",
            "2020-01",
            "date",
            "has the minimum 2020-02 behind the maximum 2020-01",
        ),
        ("week", "2021-W53", "2022-W01", "date", "needs a minimum that is a week such as 2026-W22"),
        (
            "week",
            "0001-W01",
            "9998-W01",
            "date",
            "has 521,619 candidates; at most 65,536 are allowed",
        ),
    ]
)
def test_a_period_that_makes_no_sense_is_refused(period, first, last, kind, message):
    with pytest.raises(DomainError, match=message):
        dated(period, first, last, kind)


def test_dates_are_compared_by_their_order_and_weekdays_are_not():
    months = dated("month", "2020-01", "2020-12")
    assert list(months.accepted(Comparison("x", "atLeast", ("2020-11",)))) == [10, 11]
    with pytest.raises(DomainError, match="cannot be compared by above"):
        dated("weekday").accepted(Comparison("x", "above", ("Monday",)))


def campaign_of(*attributes) -> Campaign:
    return make_campaign(
        Domain((*attributes, Boolean(name="b"))), Terms(name="d"), CampaignRequest(epsilon=2)
    )


@every(
    [
        dated("month", "2020-01", "2020-12", missing=True),
        dated("hour", kind="time"),
        Binned(name="x", edges=("-inf", "0", "10.5", "inf")),
        Binned(name="x", edges=("0", "10.5", "inf")),
    ],
    repr,
)
def test_a_campaign_with_dates_or_open_bins_comes_back_as_it_was(attribute):
    campaign = campaign_of(attribute)
    assert Campaign.from_bytes(campaign.canonical_bytes) == campaign


def test_open_ended_bins_take_every_number_but_none_that_is_not_one():
    income = Binned(name="x", edges=("-inf", "0", "10.5", "inf"))
    assert income.texts == ("(-inf, 0]", "(0, 10.5]", "(10.5, inf)")
    assert [
        income.index(value) for value in (-math.inf, -5, 0, 0.1, 10.5, 11, 10**400, math.inf)
    ] == [0, 0, 0, 1, 1, 2, 2, 2]
    with pytest.raises(DomainError, match="takes numbers"):
        income.index(math.nan)


@every(
    [
        (("0", "inf", "20"), False, "out of order"),
        (("inf", "0"), False, "out of order"),
        (("-inf", "0", "inf"), True, "it cannot clamp, too"),
    ]
)
def test_open_ended_bins_that_make_no_sense_are_refused(edges, clamp, message):
    with pytest.raises(DomainError, match=message):
        Binned(name="x", edges=edges, clamp=clamp)
