"""Who may take part, when a report is sent, and which views devices may keep: what a campaign and its reports say of it."""

from dataclasses import replace
from datetime import date

import pytest

from every import every
from lopub import (
    AllAttributes,
    Boolean,
    Campaign,
    CampaignError,
    CampaignRequest,
    Client,
    Domain,
    Fill,
    Listed,
    MemoryStore,
    Repeat,
    Sample,
    Schedule,
    Terms,
    make_campaign,
)
from lopub.campaign.admission import KEY_BYTES, MOST_KEYS, SIGNATURE_BYTES, Admission
from lopub.campaign.views import ViewRule
from lopub.collector.campaigns import open_campaign
from lopub.collector.database import store_at

PAIR = Domain((Boolean(name="a"), Boolean(name="b")))


def key(number: int) -> bytes:
    return b"\x80" + number.to_bytes(KEY_BYTES - 2) + b"\x01"


def in_rounds(n_rounds: int, **more: object) -> Terms:
    repeat = Repeat(every_days=7, rounds=n_rounds, take_part=1)
    return Terms(name="t", schedule=Schedule.in_rounds(date(2026, 1, 1), repeat), **more)


# ---- keys


def test_a_campaign_of_invited_people_comes_back_as_it_was():
    terms = Terms(name="t", admission=Admission((key(1),)), send_within_minutes=30)
    campaign = make_campaign(PAIR, terms, CampaignRequest(epsilon=1))
    again = Campaign.from_bytes(campaign.canonical_bytes)
    assert (again, again.terms.admission, again.terms.send_within_minutes) == (
        campaign,
        terms.admission,
        30,
    )


def test_a_report_of_invited_people_is_longer_by_its_signature():
    plain = make_campaign(PAIR, Terms(name="t"), CampaignRequest(epsilon=1))
    invited = replace(plain, terms=replace(plain.terms, admission=Admission((key(1),))))
    assert invited.longest_report == plain.longest_report + SIGNATURE_BYTES
    assert (invited.signature_bytes, plain.signature_bytes) == (SIGNATURE_BYTES, 0)


def test_nobody_takes_part_in_a_campaign_of_invited_people_yet(tmp_path):
    """Forbids a report without a signature, which no collector of a later version would take."""
    terms = Terms(name="t", admission=Admission((key(1),)))
    invited = make_campaign(PAIR, terms, CampaignRequest(epsilon=1))
    with pytest.raises(CampaignError, match="cannot take part in campaigns that need an invit"):
        Client(invited, store=MemoryStore())
    store = store_at(f"sqlite:///{tmp_path}/lopub.db")
    with pytest.raises(CampaignError, match="cannot open campaigns that need an invitation"):
        open_campaign(store, invited)
    store.close()


@every(
    [
        ((), "must list 1 to 64 keys"),
        (tuple(map(key, range(MOST_KEYS + 1))), "must list 1 to 64 keys"),
        ((key(1)[1:],), "must be odd RSA moduli of 2048 bits"),
        ((b"\x7f" + key(1)[1:],), "must be odd RSA moduli of 2048 bits"),
        ((key(1)[:-1] + b"\x02",), "must be odd RSA moduli of 2048 bits"),
        ((key(1), key(1)), "must not list the same key twice"),
    ]
)
def test_keys_that_cannot_be_are_refused(keys, message):
    with pytest.raises(CampaignError, match=f"admission.keys {message}"):
        Admission(keys)


@every([(1, 2), (2, 1), (3, 4), (64, 63)])
def test_there_is_one_key_for_each_round(n_rounds, n_keys):
    admission = Admission(tuple(map(key, range(n_keys))))
    with pytest.raises(CampaignError, match=f"one key for each round, {n_rounds}, got {n_keys}"):
        in_rounds(n_rounds, admission=admission) if n_rounds > 1 else Terms(
            name="t", admission=admission
        )


def test_the_lifetime_epsilon_of_invited_people_is_that_of_everybody():
    repeat = Repeat(every_days=7, rounds=3, take_part=2, mode="permanent")
    schedule = Schedule.in_rounds(date(2026, 1, 1), repeat)
    wish = CampaignRequest(epsilon=1, lifetime_epsilon=2)
    plain = make_campaign(PAIR, Terms(name="t", schedule=schedule), wish)
    keys = Admission(tuple(map(key, range(3))))
    invited = replace(plain, terms=replace(plain.terms, admission=keys))
    assert invited.lifetime_loss == plain.lifetime_loss
    assert Campaign.from_bytes(invited.canonical_bytes) == invited


# ---- views that devices keep over all rounds

MANY = Domain(tuple(Boolean(name=f"b{i}") for i in range(64)))


def kept(view: ViewRule, *, min_reports: int = 1) -> Campaign:
    repeat = Repeat(every_days=7, rounds=3, take_part=3, mode="permanent")
    schedule = Schedule.in_rounds(date(2026, 1, 1), repeat)
    terms = Terms(name="t", schedule=schedule, min_reports=min_reports)
    wish = CampaignRequest(
        epsilon=1, lifetime_epsilon=2, mechanism="direct", view=view, jointly=True
    )
    return make_campaign(MANY, terms, wish)


def listed(*weights: int) -> Listed:
    return Listed.of(MANY, [((MANY.names[i],), weight) for i, weight in enumerate(weights)])


@every([listed(1), listed(*[1] * 16), listed(*[2] * 15, 70), listed(1, 49)], name=repr)
def test_a_view_that_two_percent_of_devices_share_may_be_kept(view):
    assert kept(view).view == view


def test_one_view_for_all_may_be_kept():
    repeat = Repeat(every_days=7, rounds=3, take_part=3, mode="permanent")
    schedule = Schedule.in_rounds(date(2026, 1, 1), repeat)
    wish = CampaignRequest(epsilon=1, lifetime_epsilon=2, view=AllAttributes())
    assert make_campaign(PAIR, Terms(name="t", schedule=schedule), wish)


@every(
    [listed(*[1] * 17), listed(*[2] * 14, 1, 70), listed(1, 50), Sample(1), Fill(4)],
    name=repr,
)
def test_a_view_that_few_devices_share_may_not_be_kept_whatever_min_reports_says(view):
    """The steward writes min_reports, so no guarantee may rest on it."""
    for min_reports in (1, 100, 10**9):
        with pytest.raises(CampaignError, match="cannot be kept over rounds") as refused:
            kept(view, min_reports=min_reports)
        assert refused.value.reason == "view"
