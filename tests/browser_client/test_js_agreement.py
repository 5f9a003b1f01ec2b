"""The browser client and Python's turn the same bytes into the same report, and refuse the same campaigns."""

import base64
import json
import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
import strange
from javascript import FOLDER, agreeing, build_for_tests, needs_node, node

import heavy
from lopub.campaign.budget import decimal_up
from lopub.campaign.campaign import Campaign
from lopub.campaign.randomness import Randomness
from lopub.campaign.report import ID_BYTES
from lopub.client.noise import memorized, randomized, refreshed
from lopub.errors import CampaignError, DomainError
from tiers import FULL

pytestmark = needs_node
GOLDEN = FOLDER.parents[1] / "tests" / "golden"
N_CAMPAIGNS = 10_000 if FULL else 40
N_DAMAGED = 10_000 if FULL else 300


class HandedIn(Randomness):
    """These bytes, then zeros."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data = data

    def take(self, n_bytes: int) -> bytes:
        taken, self._data = self._data[:n_bytes], self._data[n_bytes:]
        return taken.ljust(n_bytes, b"\0")


def test_every_golden_vector_comes_out_in_node():
    files = [GOLDEN / f"{name}.json" for name in ("vectors", "questionnaires", "rounds")]
    said = json.loads(node("test/golden_node.mjs", build_for_tests(), *files))
    assert said["failures"] == []
    assert said["counts"]["reports"] > 410
    assert said["counts"]["refused campaigns"] > 130
    assert said["counts"]["permanent answers"] > 20


def python_says(
    data: bytes, record: dict[str, Any] | None, slot: int, noise: bytes
) -> dict[str, Any]:
    try:
        campaign = Campaign.from_bytes(data)
    except CampaignError as refused:
        return {"reason": refused.reason}
    epsilons = {
        "epsilon": decimal_up(campaign.loss),
        "lifetime": decimal_up(campaign.lifetime_loss),
    }
    said = {"id": campaign.id, **epsilons, "longest": campaign.longest_report}
    if record is None:
        return said
    try:
        return said | drawn(campaign, campaign.domain.indices(record), slot, noise)
    except DomainError:
        return said | {"unfit": True}


def drawn(
    campaign: Campaign, candidates: Sequence[int], slot: int, random: bytes
) -> dict[str, Any]:
    """What comes of these random bytes, of which the first 16 are the id: a report, and what rounds draw before it."""
    report_id, noise = random[:ID_BYTES].ljust(ID_BYTES, b"\0"), random[ID_BYTES:]
    schedule = campaign.terms.schedule
    first = schedule.slots[0] if schedule and schedule.repeat else slot

    def report() -> str:
        made = randomized(
            campaign, candidates, report_id=report_id, slot=first, randomness=HandedIn(noise)
        )
        return made.to_bytes().hex()

    if schedule is None or schedule.repeat is None:
        return {"report": report()}
    rounds = list(schedule.repeat.draw(HandedIn(noise)))
    if not schedule.repeat.is_permanent:
        return {"rounds": rounds, "kept": "", "report": report()}
    kept, fresh = memorized(campaign, candidates, HandedIn(noise)), HandedIn(noise[::-1])
    over = refreshed(campaign, kept, report_id=report_id, slot=first, randomness=fresh)
    return {"rounds": rounds, "kept": kept.hex(), "report": over.to_bytes().hex()}


def question(
    data: bytes, record: dict[str, Any] | None = None, slot: int = 0, noise: bytes = b""
) -> dict[str, Any]:
    return {
        "campaign": base64.b64encode(data).decode(),
        "record": record,
        "slot": slot,
        "random": noise.hex(),
    }


def differences(cases: list[tuple[bytes, dict[str, Any] | None, int, bytes]]) -> list[Any]:
    theirs = agreeing(question(*case) for case in cases)
    both = [(case, python_says(*case), there) for case, there in zip(cases, theirs, strict=True)]
    return [
        (case[0].decode(errors="replace"), case[1], here, there)
        for case, here, there in both
        if here != there and not ("reason" in here and "reason" in there)
    ]  # a campaign with several faults may be refused for any of them


def test_random_campaigns_and_records_give_the_same_reports():
    rng = random.Random(21)
    cases = []
    for _ in range(N_CAMPAIGNS):
        campaign, fields = strange.campaign(rng)
        for _ in range(3):
            cases.append(
                (
                    campaign.canonical_bytes,
                    strange.record(rng, fields),
                    rng.randrange(40_000),
                    rng.randbytes(9_000),
                )
            )
    assert differences(cases)[:3] == []


def test_damaged_campaigns_are_refused_by_both():
    rng = random.Random(22)
    good = [strange.campaign(rng)[0].canonical_bytes for _ in range(max(60, N_DAMAGED // 50))]
    good += [
        item["text"].encode()
        for name in ("vectors", "questionnaires", "rounds")
        for item in vectors(name)
        if len(item["text"]) < 20_000
    ]
    cases: list[tuple[bytes, dict[str, Any] | None, int, bytes]] = [
        (strange.damaged(rng, rng.choice(good)), None, 0, b"") for _ in range(N_DAMAGED)
    ]
    assert differences(cases)[:3] == []


NOISES: list[dict[str, str]] = [
    {"01": "1", "1": "6442450944"},
    {"01": "6442450944", "1": "1"},
    {"01": "x", "1": "6442450944"},
    {"1": "06442450944"},
    {},
]


def test_numbers_of_blocks_that_are_written_twice_are_refused_alike():
    """An engine puts the key 1 before 01, whichever comes first in the file."""
    mechanisms = [{"name": "direct", "odds": noise} for noise in NOISES]
    made = [heavy.campaign(heavy.booleans(1), heavy.ALL, mechanism) for mechanism in mechanisms]
    assert differences([(heavy.with_true_claim(data), None, 0, b"") for data in made]) == []


FIRST = {"year": "2019", "quarter": "2019-Q1", "month": "2019-01", "week": "2019-W01"}
LAST = ["", "2018", "2o26", "2026-Q5", "2026-13", "2026-W54", "2026-12", "2026", "9999", "9998"]


def test_periods_without_a_true_beginning_or_end_are_refused_alike():
    """Forbids to go on to the end of all dates, or for ever, and to take that for the end."""
    cases = []
    for (period, first), last in product(FIRST.items(), [None, *LAST]):
        for minimum in (first, "", None, "2019-", "x"):
            given = {"minimum": minimum, "maximum": last}
            constraints = {
                "required": True,
                **{key: value for key, value in given.items() if value is not None},
            }
            dated = {"name": "d", "type": "date", "period": period, "constraints": constraints}
            data = heavy.campaign([dated], heavy.ALL, heavy.odds("direct", 1))
            cases.append((heavy.with_true_claim(data), None, 0, b""))
    assert differences(cases) == []


@pytest.mark.full
def test_campaigns_made_to_be_slow_are_refused_by_both():
    assert differences([(make(), None, 0, b"") for make in heavy.HEAVY.values()]) == []


@pytest.mark.full
def test_the_bundle_loads_or_refuses_a_campaign_within_a_second(tmp_path):
    slow = []
    for name, make in heavy.HEAVY.items():
        path = tmp_path / f"{name}.json"
        path.write_bytes(heavy.with_true_claim(make()))
        said = json.loads(node("test/load.mjs", path))
        if said["cpu"] >= 1000:
            slow.append((name, said))
    assert slow == []


SHORT = '{"format":1}', '{"format":2,"schema":{}}', "[]"


def test_campaigns_that_load_at_the_same_time_do_not_mix_up_their_reasons(tmp_path):
    """Loading stops now and then, and the step that is being made must not be another campaign's."""
    good = heavy.with_true_claim(
        heavy.campaign([heavy.integer("n", 5000)], heavy.ALL, heavy.filters(4096, 4, 1))
    )
    spelt = good.replace(b'"categoriesOrdered":false,', b"").replace(b'"language":"en",', b"")
    cases = [
        good,
        good.replace(b'"epsilon":"8', b'"epsilon":"7'),
        spelt,
        good.replace(b'"bits":4096', b'"bits":12'),
        *map(str.encode, SHORT),
    ]
    (tmp_path / "campaign.json").write_bytes(good)
    script = f"""const cases = {json.dumps([case.decode() for case in cases])};
    const loading = (text) => lopub.Campaign.load(new TextEncoder().encode(text));
    const said = (text) => loading(text).then(({{ epsilon }}) => epsilon, (error) => error.reason);
    return Promise.all([...cases, ...cases].map(said))"""
    said = json.loads(node("test/device.mjs", tmp_path / "campaign.json", lines=[script]))
    wanted = [python_says(case, None, 0, b"") for case in cases]
    assert said == 2 * [each.get("reason", each.get("epsilon")) for each in wanted]
    reasons = [None, "claim", "invalid", "invalid", "invalid", "format", "invalid"]
    assert [each.get("reason") for each in wanted] == reasons


def test_views_that_few_devices_would_keep_are_refused_alike():
    """A view that a device keeps over all rounds: at most 16, each of at least 2 % of the weight, whatever min_reports is."""
    pairs = heavy.pairs_of(7)
    cases = []
    for n, weight, reason in (
        (16, 1, "claim"),
        (17, 1, "view"),
        (15, 36, "claim"),
        (15, 37, "view"),
    ):
        sets = [{"attributes": names, "weight": 1} for names in pairs[:n]]
        sets[0]["weight"] = weight if n == 15 else 1
        data = heavy.permanent(
            heavy.booleans(7), {"kind": "listed", "sets": sets}, heavy.kept_odds(1), jointly=True
        )
        assert python_says(data, None, 0, b"")["reason"] == reason, (n, weight)
        cases.append(data)
    theirs = agreeing(question(data) for data in cases)
    assert [each["reason"] for each in theirs] == ["claim", "view", "claim", "view"]


def vectors(name: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads((GOLDEN / f"{name}.json").read_text(encoding="ascii"))[
        "campaigns"
    ]
    return items


def test_the_cases_have_rounds_of_both_modes():
    """Campaigns that never repeat would say nothing about those that do."""
    rng = random.Random(21)
    schedules = [strange.campaign(rng)[0].terms.schedule for _ in range(40)]
    modes = [
        schedule.repeat.mode if schedule.repeat else "once" for schedule in schedules if schedule
    ]
    assert min(modes.count(mode) for mode in ("once", "sampled", "permanent")) >= 2


def test_the_cases_reach_most_reasons():
    """Random damage that always broke the JSON would prove nothing."""
    rng = random.Random(23)
    good = [strange.campaign(rng)[0].canonical_bytes for _ in range(40)]
    reasons = {
        python_says(strange.damaged(rng, rng.choice(good)), None, 0, b"").get("reason")
        for _ in range(600)
    }
    assert reasons >= {"format", "claim", "invalid", None}


def test_a_difference_of_one_random_bit_is_seen():
    """The comparison is not of empty lists."""
    rng = random.Random(5)
    campaign, fields = strange.campaign(rng)
    record = next(
        r
        for r in iter(lambda: strange.record(rng, fields), None)
        if "report" in python_says(campaign.canonical_bytes, r, 0, b"")
    )
    (theirs,) = agreeing([question(campaign.canonical_bytes, record, 0, bytes(16) + b"\x01")])
    assert theirs["report"] != python_says(campaign.canonical_bytes, record, 0, b"\x00")["report"]
