"""One report per respondent and campaign, ever; nothing half-written; no answer in any file or message."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from threading import Barrier

import pytest
from store_files import asked, bytes_of, reports_in

from every import every
from lopub import (
    AllAttributes,
    Binned,
    Boolean,
    Campaign,
    CampaignError,
    CampaignRequest,
    Categorical,
    Client,
    Domain,
    DomainError,
    EpsilonTooHigh,
    FileStore,
    IntegerRange,
    MemoryStore,
    Report,
    Sample,
    Schedule,
    StoreError,
    Terms,
    make_campaign,
)
from lopub.campaign.budget import decimal_up, float_up, log_up
from lopub.campaign.canonical import Json, Members
from lopub.campaign.mechanisms import Block, Channel, Law, Mechanism, n_cells
from lopub.campaign.randomness import Randomness
from lopub.client.client import today
from lopub.client.noise import cell, new_id, randomized
from lopub.client.rows import Rows

SENTINEL = "Kaluza-Klein-7f3a9c"
DOMAIN = Domain(
    (
        Categorical(name="city", values=(SENTINEL, "Oslo", "Rome")),
        Boolean(name="smoker"),
        IntegerRange(name="children", minimum=0, maximum=5, missing=True),
        Binned(name="income", edges=("0", "10", "100")),
    )
)
RECORD = {"city": SENTINEL, "smoker": True, "children": None, "income": 10.5}
OTHER = {"city": "Rome", "smoker": False, "children": 3, "income": 0}
CAMPAIGN = make_campaign(DOMAIN, Terms(name="survey"), CampaignRequest(epsilon=2))
SCHEDULED = make_campaign(
    DOMAIN,
    Terms(name="may", schedule=Schedule(opens=date(2026, 5, 1), closes=date(2026, 5, 31))),
    CampaignRequest(epsilon=2),
)
MAY_1, MAY_31 = 20_574, 20_604


class Overtaken(MemoryStore):
    """A store into which another process writes just before this one does."""

    def __init__(self, overtake: Callable[[], object]) -> None:
        super().__init__()
        self._overtake = overtake

    @contextmanager
    def writing(self) -> Iterator[Rows]:
        overtake, self._overtake = self._overtake, lambda: None
        overtake()
        with super().writing() as rows:
            yield rows


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        if error.__cause__ is not None:
            yield from chain(error.__cause__)
        error = error.__context__


def on_day(monkeypatch: pytest.MonkeyPatch, slot: int, second: float = 0.0) -> None:
    monkeypatch.setattr("time.time", lambda: slot * 86_400 + second)


# ---- one report


def test_a_report_is_well_formed_for_its_campaign():
    report = Client(CAMPAIGN, store=MemoryStore()).encode(RECORD)
    assert Report.from_bytes(report.to_bytes(), CAMPAIGN) == report


def test_a_report_is_kept_before_it_is_handed_out(tmp_path):
    report = Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD)
    assert reports_in(tmp_path) == [report.to_bytes()]


@pytest.mark.parametrize(
    "second", [RECORD, OTHER, {}, {"city": "nowhere"}], ids=["same", "other", "empty", "unfit"]
)
def test_asking_again_gives_the_same_bytes_whatever_the_record_says_now(tmp_path, second):
    first = Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD)
    assert Client(CAMPAIGN, store=FileStore(tmp_path)).encode(second) == first


def test_asking_one_client_twice_gives_the_same_bytes():
    client = Client(CAMPAIGN, store=MemoryStore())
    assert client.encode(RECORD) == client.encode(OTHER)


def test_two_fresh_respondents_get_different_ids(tmp_path):
    store = FileStore(tmp_path)
    ids = {
        Client(CAMPAIGN, store=store, respondent=name).encode(RECORD).id
        for name in ("ada", "bob", "self")
    }
    assert len(ids) == len(reports_in(tmp_path)) == 3


def test_another_campaign_has_a_report_of_its_own(tmp_path):
    other = make_campaign(DOMAIN, Terms(name="survey", title="2"), CampaignRequest(epsilon=2))
    store = FileStore(tmp_path)
    one, two = (
        Client(CAMPAIGN, store=store).encode(RECORD),
        Client(other, store=store).encode(RECORD),
    )
    assert (one.campaign, two.campaign) == (CAMPAIGN.prefix, other.prefix)
    assert len(reports_in(tmp_path)) == 2


def test_the_report_of_a_faster_process_is_the_one_that_counts():
    made = []
    store = Overtaken(lambda: made.append(Client(CAMPAIGN, store=store).encode(OTHER)))
    assert [Client(CAMPAIGN, store=store).encode(RECORD)] == made


def test_clients_that_start_together_hand_out_one_report(tmp_path):
    n_clients = 8
    barrier = Barrier(n_clients)

    def encode(_: int) -> bytes:
        client = Client(CAMPAIGN, store=FileStore(tmp_path / "store"))
        barrier.wait(timeout=120)
        return client.encode(RECORD).to_bytes()

    with ThreadPoolExecutor(n_clients) as pool:
        reports = set(pool.map(encode, range(n_clients)))
    assert reports_in(tmp_path / "store") == list(reports)


# ---- where it is kept


def test_reports_are_kept_under_the_home_directory_unless_told(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    made = Client(CAMPAIGN).encode(RECORD)
    assert reports_in(tmp_path / ".lopub") == [made.to_bytes()]


def test_no_answer_and_no_respondent_is_in_any_file_or_name(tmp_path):
    store = FileStore(tmp_path / "store")
    Client(CAMPAIGN, store=store, respondent="Ada Lovelace").encode(RECORD)
    names = "".join(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    for secret in (SENTINEL, "Ada", "Lovelace", "smoker", CAMPAIGN.id, "survey"):
        assert secret not in names and secret.encode() not in bytes_of(tmp_path)


def test_a_kept_report_is_exactly_as_long_as_the_report_must_be(tmp_path):
    report = Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD)
    (kept,) = reports_in(tmp_path)
    assert len(kept) == 29 + CAMPAIGN.mask_bytes + CAMPAIGN.payload_bytes(report.view(CAMPAIGN))


def test_a_refused_record_leaves_nothing_behind(tmp_path):
    with pytest.raises(DomainError):
        Client(CAMPAIGN, store=FileStore(tmp_path / "store")).encode(RECORD | {"city": "nowhere"})
    assert list(tmp_path.iterdir()) == []


def test_a_store_whose_directory_is_a_file_is_told(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for directory in (tmp_path / "file", tmp_path / "file" / "store"):
        message = r"cannot (read|write) the store .*/file.*: (Not a directory|File exists)"
        with pytest.raises(StoreError, match=message):
            Client(CAMPAIGN, store=FileStore(directory)).encode(RECORD)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: b"\2" + data[1:],
        lambda data: data[:1] + bytes(8) + data[9:],
        lambda data: data[:29] + b"\0" + data[30:],
        lambda data: "text",
        lambda data: 7,
    ],
    ids=["empty", "cut", "longer", "version", "campaign", "view", "text", "number"],
)
def test_a_damaged_report_is_told_and_not_made_anew(tmp_path, damage):
    made = Client(CAMPAIGN, store=FileStore(tmp_path)).encode(RECORD)
    damaged = damage(made.to_bytes())
    asked(tmp_path, "UPDATE reports SET report = ?", damaged)
    client = Client(CAMPAIGN, store=FileStore(tmp_path))
    for ask in (client.kept, client.due, lambda: client.encode(RECORD)):
        with pytest.raises(StoreError, match=r"restore it from a backup, because .* would"):
            ask()
    assert reports_in(tmp_path) == [damaged]


# ---- what is refused, and how


@every(
    [
        (RECORD | {"smoker": SENTINEL}, "attribute 'smoker' takes true or false, got str"),
        (RECORD | {"children": SENTINEL}, "attribute 'children' takes an integer, got str"),
        (RECORD | {"income": SENTINEL}, "attribute 'income' takes a number"),
        (RECORD | {"city": [SENTINEL]}, "attribute 'city' takes a text, got list"),
        (
            RECORD | {"more": SENTINEL},
            "the record has a key that the campaign does not ask for; it asks for ",
        ),
        ({"city": SENTINEL}, "the record lacks attribute 'smoker'"),
        (RECORD | {"smoker": None}, "attribute 'smoker' has no answer"),
    ]
)
def test_an_error_names_the_attribute_and_never_the_value(record, message):
    with pytest.raises(DomainError, match=message) as refusal:
        Client(CAMPAIGN, store=MemoryStore()).encode(record)
    assert not any(
        SENTINEL in text
        for link in chain(refusal.value)
        for text in (str(link), repr(link), repr(vars(link)))
    )


def test_an_answer_that_is_not_listed_is_told_what_is_and_never_repeated():
    with pytest.raises(
        DomainError, match=r"attribute 'city' does not list this value .*, Oslo, Rome$"
    ) as refusal:
        Client(CAMPAIGN, store=MemoryStore()).encode(RECORD | {"city": "Bielefeld-5d21"})
    assert not any(
        "Bielefeld" in text
        for link in chain(refusal.value)
        for text in (str(link), repr(link), repr(vars(link)))
    )


@pytest.mark.parametrize("slot", [MAY_1 - 1, MAY_31 + 1])
def test_a_day_outside_the_schedule_is_refused(tmp_path, monkeypatch, slot):
    on_day(monkeypatch, slot)
    day = {MAY_1 - 1: "2026-04-30", MAY_31 + 1: "2026-06-01"}[slot]
    message = f"campaign 'may' takes reports from 2026-05-01 to 2026-05-31; today is {day}"
    with pytest.raises(CampaignError, match=message):
        Client(SCHEDULED, store=FileStore(tmp_path)).encode(RECORD)
    assert reports_in(tmp_path) == []


@pytest.mark.parametrize(("slot", "second"), [(MAY_1, 0), (MAY_31, 86_399.9)])
def test_the_first_and_the_last_second_of_the_schedule_are_inside(monkeypatch, slot, second):
    on_day(monkeypatch, slot, second)
    assert Client(SCHEDULED, store=MemoryStore()).encode(RECORD).slot == slot


def test_a_kept_report_is_handed_out_after_the_close(monkeypatch):
    store = MemoryStore()
    on_day(monkeypatch, MAY_31)
    first = Client(SCHEDULED, store=store).encode(RECORD)
    on_day(monkeypatch, MAY_31 + 100)
    assert Client(SCHEDULED, store=store).encode(RECORD) == first


def test_the_slot_is_the_day_in_utc(monkeypatch):
    on_day(monkeypatch, 20_000, 86_399.99)
    assert today(CAMPAIGN) == 20_000


# ---- the cap


def test_a_campaign_above_the_cap_is_refused_before_anything_is_asked(tmp_path):
    with pytest.raises(
        EpsilonTooHigh, match=r"campaign 'survey' has epsilon 2.000000; this app allows 1.9"
    ):
        Client(CAMPAIGN, epsilon_cap=1.9, store=FileStore(tmp_path / "store"))
    assert list(tmp_path.iterdir()) == []


@every([2, 2.0, "2", Decimal(2), "2.5", 200])
def test_a_campaign_at_or_below_the_cap_passes(cap):
    assert Client(CAMPAIGN, epsilon_cap=cap, store=MemoryStore()).encode(RECORD)


def test_a_cap_equal_to_the_campaigns_own_claim_passes():
    campaign = make_campaign(DOMAIN, Terms(name="t"), CampaignRequest(flip_probability="0.5"))
    assert Client(campaign, epsilon_cap=decimal_up(campaign.loss), store=MemoryStore())


def test_a_cap_a_millionth_below_is_refused():
    campaign = make_campaign(DOMAIN, Terms(name="t"), CampaignRequest(flip_probability="0.5"))
    with pytest.raises(EpsilonTooHigh):
        Client(
            campaign,
            epsilon_cap=Decimal(decimal_up(campaign.loss)) - Decimal("0.000001"),
            store=MemoryStore(),
        )


def test_a_cap_equal_to_the_campaigns_epsilon_passes():
    for i in range(1, 60):
        campaign = make_campaign(
            DOMAIN, Terms(name="t"), CampaignRequest(flip_probability=Decimal(i) / 61)
        )
        assert Client(campaign, epsilon_cap=campaign.epsilon, store=MemoryStore())


@every([0, -1, float("nan"), "much", "", "-inf", True])
def test_a_cap_that_is_no_budget_is_refused(cap):
    with pytest.raises(CampaignError, match="epsilon_cap must be"):
        Client(CAMPAIGN, epsilon_cap=cap, store=MemoryStore())


def test_a_cap_may_be_as_high_as_a_campaign_can_be():
    assert Client(CAMPAIGN, epsilon_cap=500, store=MemoryStore())


def test_the_cap_is_the_whole_reports_and_not_one_attributes():
    campaign = make_campaign(
        DOMAIN,
        Terms(name="t"),
        CampaignRequest(epsilon=4, mechanism="subset", view=AllAttributes(), jointly=False),
    )
    assert campaign.epsilon_of("city") < 1.1
    with pytest.raises(EpsilonTooHigh, match=r"has epsilon 4.000000; this app allows 3"):
        Client(campaign, epsilon_cap=3)


# ---- inside


@every(
    [
        ((0,), (2, 1, 0), 2),
        ((0, 1), (2, 1, 0), 5),
        ((0, 1, 2), (2, 1, 3), 23),
        ((1, 2), (0, 1, 3), 7),
        ((), (0, 0, 0), 0),
    ]
)
def test_cells_are_numbered_with_the_last_attribute_fastest(view, candidates, number):
    assert cell(view, candidates, (3, 2, 4)) == number


def test_the_client_has_no_seed():
    with pytest.raises(TypeError, match="seed"):
        Client(CAMPAIGN, seed=1)


@every([False, True])
def test_a_report_holds_its_blocks_in_domain_order(jointly):
    campaign = make_campaign(
        DOMAIN,
        Terms(name="t"),
        CampaignRequest(epsilon=150, mechanism="direct", view=Sample(2), jointly=jointly),
    )
    candidates = DOMAIN.indices(OTHER)
    for _ in range(20):
        report = randomized(
            campaign, candidates, report_id=new_id(), slot=1, randomness=Randomness()
        )
        view = report.view(campaign)
        pairs = zip(campaign.channels(view), report.outputs(campaign), strict=True)
        expected = (
            [cell(view, candidates, DOMAIN.sizes)] if jointly else [candidates[i] for i in view]
        )
        assert [channel.cell(output) for channel, output in pairs] == expected


# ---- a fifth mechanism is one new file


@dataclass(frozen=True)
class NoisyChannel(Channel):
    """K bits: the true one, and with it one cell more that is drawn uniformly, or the same again."""

    n_candidates: int
    noise: int

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.n_candidates

    def law(self) -> Law:
        loss = log_up(Fraction(self.noise))
        p, q = Fraction(1, 2), Fraction(1, 4)
        return Law(
            n_candidates=self.n_candidates,
            n_bits=self.n_candidates,
            rows=None,
            p=p,
            q=q,
            slope=float_up(loss),
            loss=loss,
        )

    def randomize(self, candidate: int, randomness: Randomness) -> int:
        return 1 << candidate | 1 << randomness.below(self.n_candidates)


@pytest.fixture
def noisy() -> Iterator[type[Mechanism]]:
    @dataclass(frozen=True)
    class Noisy(Mechanism):
        name = "noisy"
        noise: dict[int, int]

        def channel(self, block: Block, n_blocks: int) -> Channel:
            return NoisyChannel(n_cells(block), self._noise_for(n_blocks))

        def to_json(self) -> dict[str, Json]:
            return {"name": "noisy", "ratio": self.noise[1]}

        @classmethod
        def from_json(cls, members: Members) -> "Noisy":
            return cls({1: members.integer("ratio")})

    yield Noisy
    del Mechanism.known["noisy"]


def test_a_new_mechanism_goes_the_whole_way_from_campaign_to_report(noisy):
    campaign = Campaign(
        domain=DOMAIN,
        mechanism=noisy({1: 7}),
        view=Sample(2),
        jointly=True,
        terms=Terms(name="fifth"),
    )
    again = Campaign.from_bytes(campaign.canonical_bytes, expected_id=campaign.id)
    assert again.mechanism == campaign.mechanism
    assert again.to_json()["privacy"]["epsilon"] == "1.945911"  # ln 7, rounded up
    report = Report.from_bytes(Client(again, store=MemoryStore()).encode(RECORD).to_bytes(), again)
    (output,) = report.outputs(again)
    true = cell(report.view(again), DOMAIN.indices(RECORD), DOMAIN.sizes)
    assert output >> true & 1 and output.bit_count() <= 2


def test_a_new_mechanism_is_forgotten_where_it_is_taken_out(noisy):
    campaign = Campaign(
        domain=DOMAIN,
        mechanism=noisy({1: 7}),
        view=Sample(2),
        jointly=True,
        terms=Terms(name="fifth"),
    )
    mechanism = Mechanism.known.pop("noisy")
    try:
        with pytest.raises(
            CampaignError,
            match=r"mechanism\.name must be one of bloom, direct, hashed, subset, unary",
        ):
            Campaign.from_bytes(campaign.canonical_bytes)
    finally:
        Mechanism.known["noisy"] = mechanism


def test_a_new_mechanism_that_cannot_be_wished_for_is_refused(noisy):
    with pytest.raises(CampaignError, match="noisy"):
        make_campaign(DOMAIN, Terms(name="fifth"), CampaignRequest(epsilon=2, mechanism="noisy"))


def test_noise_for_another_number_of_blocks_is_refused():
    domain = Domain((Boolean(name="a"), Boolean(name="b")))
    with pytest.raises(
        CampaignError, match="mechanism 'unary' has no noise for a report of 2 blocks"
    ):
        Campaign(
            domain=domain,
            mechanism=make_campaign(
                domain, Terms(name="t"), CampaignRequest(epsilon=1, mechanism="unary", jointly=True)
            ).mechanism,
            view=AllAttributes(),
            jointly=False,
            terms=Terms(name="t"),
        )
