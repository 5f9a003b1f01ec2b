"""Slips of a client that no statistics would show: each check is shown to hold, and to tell the client that is a little wrong.

A check is a function that is true of the client as it is; a mutant is a patch under which it must be false.
"""

import hashlib
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import pytest

import laws
from lopub.campaign import campaign as campaign_module
from lopub.campaign.campaign import Campaign
from lopub.campaign.report import Report
from lopub.campaign.views import AllAttributes, Sample
from lopub.client import client as client_module
from lopub.client.address import Address
from lopub.client.client import Client
from lopub.client.rows import Rows
from lopub.client.store import MemoryStore
from lopub.errors import CampaignError, EpsilonTooHigh, ReportRejected

CAMPAIGN = laws.small_campaign(
    2, 3, epsilon="1.5", mechanism="subset", view=Sample(1), jointly=True
)
RECORD = {"a": "1", "b": "2"}
PRECISE = Context(prec=200)


def other_digits(text: str) -> list[str]:
    """The same digits but for one, at each place."""
    return [text[:i] + ("0" if text[i] != "0" else "1") + text[i + 1 :] for i in range(len(text))]


def refused(call: Callable[[], object], error: type[Exception] = CampaignError) -> bool:
    try:
        call()
    except error:
        return True
    return False


# ---- the campaign's hash


def every_digit_of_an_id_counts() -> bool:
    data = CAMPAIGN.canonical_bytes
    ids = other_digits(CAMPAIGN.id)
    return all(
        refused(lambda i=i: Campaign.from_bytes(data, expected_id=i))
        for i in (*ids, CAMPAIGN.id[:16], CAMPAIGN.id[:-1], "")
    )


class FewBits:
    """A SHA-256 whose digits are compared in part."""

    def __init__(self, digits: slice) -> None:
        self.digits = digits

    def sha256(self, data: bytes) -> "FewBits":
        self.text = hashlib.sha256(data).hexdigest()
        return self

    def hexdigest(self) -> "FewBits":
        return self

    def __ne__(self, other: object) -> bool:
        return self.text[self.digits] != str(other)[self.digits]


def test_every_digit_of_an_expected_id_is_compared():
    assert every_digit_of_an_id_counts()


@pytest.mark.parametrize(
    "digits", [slice(16), slice(-16, None), slice(63), slice(1, None)], ids=str
)
def test_an_id_that_is_compared_in_part_is_told(digits, monkeypatch):
    monkeypatch.setattr(campaign_module, "hashlib", FewBits(digits))
    assert not every_digit_of_an_id_counts()


def test_every_digit_of_an_addresss_campaign_counts():
    client = Client(CAMPAIGN, store=MemoryStore())
    for digits in other_digits(CAMPAIGN.id):
        assert refused(lambda d=digits: client.send(f"https://collector.example/campaigns/{d}"))


def every_byte_of_a_prefix_counts() -> bool:
    wire = Client(CAMPAIGN, store=MemoryStore()).encode(RECORD).to_bytes()
    others = [
        wire[:i] + bytes([wire[i] ^ 1 << bit]) + wire[i + 1 :]
        for i in range(1, 9)
        for bit in range(8)
    ]
    return all(
        refused(lambda o=other: Report.from_bytes(o, CAMPAIGN), ReportRejected) for other in others
    )


def test_every_bit_of_a_reports_campaign_counts():
    assert every_byte_of_a_prefix_counts()


# ---- respondents


def keys_of(respondents: list[str]) -> set[str]:
    keys: set[str] = set()
    store = MemoryStore()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rows, "series", lambda self, key: keys.add(key))
        for respondent in respondents:
            Client(CAMPAIGN, store=store, respondent=respondent).kept()
    return keys


def respondents_have_keys_of_their_own() -> bool:
    """5,000 of them: a key of 24 bits would be shared among some with near certainty; and the key shows at least 128 bits."""
    names = [str(i) for i in range(5000)]
    keys = keys_of(names)
    return len(keys) == len(names) and all(len(key.removeprefix(CAMPAIGN.id)) > 32 for key in keys)


class ShortHash:
    """A SHA-256 of a few digits, the rest zeros."""

    def __init__(self, n_digits: int) -> None:
        self._n_digits = n_digits

    def sha256(self, data: bytes) -> Any:
        return type(
            "Digest",
            (),
            {
                "hexdigest": lambda _: (
                    hashlib.sha256(data).hexdigest()[: self._n_digits].ljust(64, "0")
                )
            },
        )()


def test_respondents_have_keys_of_their_own():
    assert respondents_have_keys_of_their_own()


@pytest.mark.parametrize("n_digits", [2, 4, 5])
def test_keys_of_a_few_bits_are_told(n_digits, monkeypatch):
    monkeypatch.setattr(client_module, "hashlib", ShortHash(n_digits))
    assert not respondents_have_keys_of_their_own()


def test_a_respondent_never_gets_the_report_of_another():
    store = MemoryStore()
    reports = {
        Client(CAMPAIGN, store=store, respondent=str(i)).encode(RECORD).id for i in range(600)
    }
    assert len(reports) == 600


# ---- the cap


def capped(campaign: Campaign, cap: Decimal) -> bool:
    return refused(lambda: Client(campaign, epsilon_cap=cap, store=MemoryStore()), EpsilonTooHigh)


def the_cap_is_exact() -> bool:
    """Epsilon itself passes; a hundredth decimal below it, nothing does."""
    wishes: list[dict[str, object]] = [
        {"epsilon": "1.5", "mechanism": "direct", "view": AllAttributes(), "jointly": True},
        {"epsilon": "7", "mechanism": "subset", "view": AllAttributes(), "jointly": False},
        {"flip_probability": "0.3", "n_bits": 32},
    ]
    campaigns = [laws.small_campaign(3, 4, 2, **wish) for wish in wishes]
    below = [PRECISE.subtract(campaign.loss, Decimal("1e-100")) for campaign in campaigns]
    pairs = list(zip(campaigns, below, strict=True))
    return all(capped(campaign, cap) for campaign, cap in pairs) and not any(
        capped(c, c.loss) for c in campaigns
    )


def test_the_cap_is_exact():
    assert the_cap_is_exact()


@pytest.mark.parametrize("tolerance", ["0.01", "1e-6", "1e-9", "1e-15", "1e-28"])
def test_a_cap_with_a_tolerance_is_told(tolerance, monkeypatch):
    exact = client_module.exact_decimal

    def tolerant(cap: Any, name: str) -> Decimal:
        return PRECISE.add(exact(cap, name), Decimal(tolerance))

    monkeypatch.setattr(client_module, "exact_decimal", tolerant)
    assert not the_cap_is_exact()


def test_a_cap_compared_as_a_double_is_told(monkeypatch):
    exact = client_module.exact_decimal
    monkeypatch.setattr(
        client_module, "exact_decimal", lambda cap, name: Decimal(float(exact(cap, name)))
    )
    assert not the_cap_is_exact()


def test_an_address_names_its_campaign_in_full():
    assert (
        Address.of(
            f"https://collector.example/campaigns/{CAMPAIGN.id}", allow_plain_http=False
        ).campaign_id
        == CAMPAIGN.id
    )
