"""The browser client in a campaign that repeats: its rounds, one permanent answer, one report a round, whatever happens."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from javascript import needs_node, node

from lopub import (
    AllAttributes,
    Boolean,
    Campaign,
    CampaignRequest,
    Categorical,
    Domain,
    Repeat,
    Report,
    Schedule,
    Terms,
    make_campaign,
)
from lopub.campaign.schedule import day_of

pytestmark = needs_node
DOMAIN = Domain(
    (Categorical(name="colour", values=("red", "green", "blue")), Boolean(name="smoker"))
)
RECORD = {"colour": "red", "smoker": True}
OPENS = date(2026, 1, 5)
FIRST = (OPENS - date(1970, 1, 1)).days


def campaign_of(
    mode: str, *, rounds: int = 6, take_part: int = 3, every_days: int = 10
) -> Campaign:
    repeat = Repeat(every_days=every_days, rounds=rounds, take_part=take_part, mode=mode)
    terms = Terms(name="rounds", schedule=Schedule.in_rounds(OPENS, repeat), min_reports=100)
    lasting: dict[str, Any] = {"lifetime_epsilon": 3} if mode == "permanent" else {}
    return make_campaign(
        DOMAIN,
        terms,
        CampaignRequest(epsilon=1, mechanism="direct", view=AllAttributes(), **lasting),
    )


def on_a_device(campaign: Campaign, folder: Path, script: str) -> Any:
    """What a script says."""
    path, every = folder / "campaign.json", campaign.terms.repeat
    path.write_bytes(campaign.canonical_bytes)
    given = f"const record = {json.dumps(RECORD)}, first = {FIRST}, days = {every.every_days if every else 1};\n{SETUP}\n{script}"
    return json.loads(node("test/device.mjs", path, lines=[given]))


SETUP = """
const store = new lopub.MemoryStore(), client = () => new lopub.Client(campaign, { store });
const slotOf = (day) => Date.parse(day) / 86_400_000;
const own = async () => { at(first); return (await client().rounds()).map(slotOf); };
/** A store whose record can be taken away, damaged or put back. */
class Loose extends lopub.MemoryStore {
  records = new Map(); draws = [];
  async read(key) { return { kept: this.records.get(key), draws: this.draws }; }
  async change(key, change) {
    const state = change(await this.read(key));
    if (state.kept) this.records.set(key, state.kept);
    this.draws = state.draws;
    return state;
  }
}
"""


@pytest.mark.parametrize("mode", ["sampled", "permanent"])
def test_a_device_makes_one_report_in_each_of_its_rounds_and_no_other(mode, tmp_path):
    campaign = campaign_of(mode)
    said = on_a_device(
        campaign,
        tmp_path,
        """const mine = await own(), made = {}, due = [];
        for (let slot = first - 1; slot <= first + 6 * days; slot++) {
          at(slot);
          const day = await client().due();
          if (day) due.push(slotOf(day));
          const report = await outcome(client().encode(record));
          if (report.toBytes) (made[report.slot] ??= new Set()).add(hex(report.toBytes()));
        }
        return { mine, due, made: Object.entries(made).map(([slot, all]) => [+slot, ...all]), spent: await client().spent() }""",
    )
    assert len(said["mine"]) == 3 and said["mine"] == sorted(said["mine"])
    assert said["due"] == said["mine"]  # each on the first day of its round, and never again
    assert [slot for slot, *_ in said["made"]] == said["mine"]
    assert all(len(reports) == 1 for _, *reports in said["made"])
    for slot, data in said["made"]:
        assert Report.from_bytes(bytes.fromhex(data), campaign).slot == slot
    assert said["spent"] == "3.000000"


def test_rounds_are_drawn_evenly(tmp_path):
    counts = on_a_device(
        campaign_of("sampled", rounds=4, take_part=2),
        tmp_path,
        """const counts = {};
        at(first);
        for (let i = 0; i < 6000; i++) {
          const rounds = String(await new lopub.Client(campaign, { store: new lopub.MemoryStore() }).rounds());
          counts[rounds] = (counts[rounds] ?? 0) + 1;
        }
        return Object.values(counts)""",
    )
    assert len(counts) == 6
    assert all(
        abs(count - 1000) < 190 for count in counts
    )  # 6.5 standard deviations: 1e-9 for all six together


def test_the_first_record_counts_for_ever_in_mode_permanent(tmp_path):
    said = on_a_device(
        campaign_of("permanent", rounds=200, take_part=200, every_days=1),
        tmp_path,
        """const kept = new Set(), loose = new Loose(), mine = new lopub.Client(campaign, { store: loose });
        at(first);
        const needed = [await mine.needsRecord(), await mine.hasBegun()];
        await mine.encode(record);
        needed.push(await mine.needsRecord(), await mine.hasBegun());
        for (let i = 1; i < 200; i++) {
          at(first + i);
          await mine.encode(i % 2 ? { colour: "blue", smoker: false } : undefined);
          kept.add([...loose.records.values()][0].permanent);
        }
        return { needed, kept: [...kept], reports: (await mine.kept()).slot, spent: await mine.spent() }""",
    )
    assert said["needed"] == [True, False, False, True]
    assert len(said["kept"]) == 1
    assert said["spent"] == "3.000000"


@pytest.mark.parametrize("mode", ["sampled", "permanent"])
def test_devices_that_begin_at_once_make_one_choice_one_answer_and_one_report(mode, tmp_path):
    said = on_a_device(
        campaign_of(mode, take_part=6),
        tmp_path,
        """at(first);
        const each = [...Array(20)].map(client);
        const rounds = await Promise.all(each.map((one) => one.rounds()));
        const reports = await Promise.all(each.map(async (one) => hex((await one.encode(record)).toBytes())));
        return [new Set(rounds.map(String)).size, new Set(reports).size, await client().spent()]""",
    )
    assert said == [1, 1, "6.000000" if mode == "sampled" else "3.000000"]


DAMAGE = {
    "gone": "loose.records.delete(key)",
    "without its rounds": "put({ ...kept, rounds: [] })",
    "with rounds that are no list": "put({ ...kept, rounds: null })",
    "without a round": "put({ ...kept, rounds: rounds.slice(0, -1) })",
    "with a round twice": "put({ ...kept, rounds: rounds.map(() => rounds[0]) })",
    "with rounds that do not exist": "set(5, { slot: first + 99 * days })",
    "with a round that begins on another day": "set(5, { slot: rounds[5].slot + 1 })",
    "with rounds in no order": "put({ ...kept, rounds: rounds.toReversed() })",
    "without its report": "set(0, { slot: first })",
    "with a report that is cut short": "set(0, { ...rounds[0], report: rounds[0].report.slice(2) })",
    "with a report of another round": "set(1, { ...rounds[0], slot: rounds[1].slot })",
    "with a report that is no text": "set(0, { ...rounds[0], report: 1 })",
    "with a report of unknown fate": "set(0, { ...rounds[0], fate: undefined })",
    "with another permanent answer": "put({ ...kept, permanent: `${kept.permanent ?? ''}00` })",
}


@pytest.mark.parametrize("mode", ["sampled", "permanent"])
def test_a_record_that_is_lost_or_damaged_is_refused_and_nothing_is_drawn_anew(mode, tmp_path):
    functions = ", ".join(
        f"{json.dumps(name)}: ({{ loose, key, kept, rounds, put, set }}) => {{ {body} }}"
        for name, body in DAMAGE.items()
    )
    said = on_a_device(
        campaign_of(mode, take_part=6),
        tmp_path,
        f"{SENDING} const damage = {{ {functions} }}, found = {{}};"
        + """
        for (const [name, harm] of Object.entries(damage)) {
          at(first);
          const loose = new Loose(), mine = new lopub.Client(campaign, { store: loose });
          await mine.encode(record);
          const [[key, kept]] = [...loose.records], { rounds } = kept;
          const put = (changed) => loose.records.set(key, changed);
          const set = (i, round) => put({ ...kept, rounds: rounds.with(i, round) });
          harm({ loose, key, kept, rounds, put, set });
          const contents = () => JSON.stringify([...loose.records]), before = contents(), said = [];
          for (const slot of [first, first + days]) {
            at(slot);
            const asked = [mine.encode(record), mine.due(), mine.rounds(), mine.kept(), mine.send(url, { patience })];
            for (const tried of asked)
              said.push(await outcome(tried));
          }
          found[name] = [...new Set(said), before === contents()];
        }
        return found""",
    )
    assert said == {name: ["StoreError", True] for name in DAMAGE}


def test_a_round_outside_of_the_drawn_ones_is_refused_with_their_days(tmp_path):
    said = on_a_device(
        campaign_of("sampled", rounds=6, take_part=1),
        tmp_path,
        """const [mine] = await own(), other = mine === first ? first + days : first;
        at(other);
        const error = await client().encode(record).catch((error) => error);
        return [error.name, error.message, await client().due() ?? null, mine]""",
    )
    assert said[0] == "CampaignError" and str(day_of(said[3])) in said[1]
    assert said[2] is None


def test_a_clock_that_goes_back_leads_to_no_second_report(tmp_path):
    said = on_a_device(
        campaign_of("sampled", take_part=6),
        tmp_path,
        """const seen = [];
        for (const slot of [first, first + days, first, first + 3, first + days + 9]) {
          at(slot);
          seen.push(hex((await client().encode(record)).toBytes()));
        }
        return seen""",
    )
    assert said[0] == said[2] == said[3] and said[1] == said[4] and said[0] != said[1]


def test_the_lifetime_epsilon_is_what_both_caps_are_compared_with(tmp_path):
    said = on_a_device(
        campaign_of("sampled", take_part=3),
        tmp_path,
        """at(first);
        const made = (options) => new lopub.Client(campaign, { store, ...options });
        const tried = (options) => { try { return made(options) && "taken"; } catch (error) { return error.name; } };
        const mine = (await own())[0], low = made({ lifetimeCap: 2.9, respondent: "b" }), high = made({ lifetimeCap: 3 });
        at(mine);
        return [tried({ epsilonCap: 2.9 }), tried({ epsilonCap: 3 }), campaign.epsilon, campaign.lifetimeEpsilon,
          (await high.encode(record)).slot === mine,
          await outcome(low.rounds().then((rounds) => { at(slotOf(rounds[0])); return low.encode(record); })),
          await own().then((rounds) => { at(rounds[1]); return outcome(made({ lifetimeCap: 2.9 }).encode(record)); })]""",
    )
    assert said == [
        "EpsilonTooHigh",
        "taken",
        "1.000000",
        "3.000000",
        True,
        "EpsilonTooHigh",
        "EpsilonTooHigh",
    ]


SENDING = """
const sent = [], withdrawn = [];
let refusing = () => false, reason = "slot";
globalThis.fetch = async (url, { body }) => {
  const isReport = url.endsWith("/reports"), data = isReport ? hex(body) : body;
  if (refusing(data) === "down") throw new Error("down");
  (isReport ? sent : withdrawn).push(data);
  const refused = refusing(data) ? [{ index: 0, reason }] : [];
  return new Response(isReport ? JSON.stringify({ received: 1, refused }) : null, { status: isReport ? 200 : 204 });
};
const url = `https://host.example/campaigns/${campaign.id}`, patience = 0.001;
const make = async (slot) => { at(slot); return hex((await client().encode(record)).toBytes()); };
const send = () => outcome(client().send(url, { patience }));
"""


def test_earlier_reports_that_were_not_sent_are_sent_as_well_within_grace(tmp_path):
    said = on_a_device(
        campaign_of("sampled", take_part=6),
        tmp_path,
        SENDING
        + """refusing = () => "down";
        const made = [];
        for (const i of [0, 1, 2, 3]) { made.push(await make(first + i * days)); await send(); }
        refusing = () => false;
        const attempts = await send(), inOrder = sent.map((data) => made.indexOf(data.slice(4)));
        sent.length = 0;
        await send();
        return [attempts, inOrder, sent.map((data) => made.indexOf(data.slice(4)))]""",
    )
    # on the first day of round 3: round 0 ended 21 days ago, round 1 ended 11 days ago
    assert said == [3, [1, 2, 3], []]


def test_the_last_day_of_grace_is_one_on_which_a_report_is_sent(tmp_path):
    said = on_a_device(
        campaign_of("sampled", take_part=6),
        tmp_path,
        SENDING
        + """const counts = [];
        for (const late of [14, 15]) {
          const other = new lopub.MemoryStore(), mine = new lopub.Client(campaign, { store: other });
          at(first); await mine.encode(record);
          at(first + 2 * days); await mine.encode(record);
          at(first + days - 1 + late); sent.length = 0;
          await mine.send(url, { patience });
          counts.push(sent.length);
        }
        return counts""",
    )
    assert said == [2, 1]


def test_an_earlier_report_that_is_refused_does_not_keep_the_present_one_back(tmp_path):
    said = on_a_device(
        campaign_of("permanent", take_part=6),
        tmp_path,
        SENDING
        + """const early = await make(first), late = await make(first + days);
        refusing = (data) => data.includes(early);
        const both = [await send(), sent.length];
        const again = [await send(), sent.length];
        return [both, again, (await client().waiting()).length]""",
    )
    assert said == [
        ["ReportRejected", 2],
        ["ReportRejected", 3],
        1,
    ]  # tried until its round is over by this clock, too


def test_a_report_that_is_refused_in_what_is_its_round_by_the_devices_clock_stays_to_be_sent(
    tmp_path,
):
    said = on_a_device(
        campaign_of("sampled", take_part=6),
        tmp_path,
        SENDING
        + """await make(first);
        refusing = () => true;
        const said = [await send(), (await client().waiting()).length];
        at(first + days - 1);
        said.push(await send(), (await client().waiting()).length);
        at(first + days);
        return [...said, await send(), (await client().waiting()).length, (await client().reports()).length]""",
    )
    assert said == ["ReportRejected", 1, "ReportRejected", 1, "ReportRejected", 1, 1]


def test_withdrawing_asks_for_the_reports_of_all_rounds(tmp_path):
    said = on_a_device(
        campaign_of("sampled", take_part=6),
        tmp_path,
        SENDING
        + """for (const i of [0, 1, 2]) await make(first + i * days);
        return [await client().withdraw(url, { patience }), new Set(withdrawn).size, await send(), sent.length]""",
    )
    assert said == [3, 3, 0, 0]


ONCE = make_campaign(
    DOMAIN, Terms(name="once"), CampaignRequest(epsilon=1, mechanism="direct", view=AllAttributes())
)


def test_what_was_withdrawn_is_not_sent_again_without_rounds_either(tmp_path):
    said = on_a_device(
        ONCE,
        tmp_path,
        SENDING
        + """const report = await make(0), spent = await client().spent();
        const said = [await send(), await send(), await client().withdraw(url, { patience }), await send(), sent.length];
        return [...said, (await client().waiting()).length, await client().rounds(), (await client().reports()).length,
          await make(9) === report, await client().spent() === spent]""",
    )
    assert said == [1, 0, 1, 0, 1, 0, [], 1, True, True]


def test_a_withdrawal_that_did_not_arrive_is_kept_as_a_wish_and_nothing_is_sent_meanwhile(tmp_path):
    said = on_a_device(
        ONCE,
        tmp_path,
        SENDING
        + """await make(0);
        refusing = () => "down";
        const withdrawing = () => outcome(client().withdraw(url, { patience }));
        const said = [await withdrawing(), await client().fate(), await send(), sent.length];
        refusing = () => false;
        return [...said, await withdrawing(), await client().fate(), sent.length, withdrawn.length]""",
    )
    assert said == ["TryLater", "withdrawing", 0, 0, 1, "withdrawn", 0, 1]


def test_a_withdrawal_that_the_collector_does_not_take_leaves_everything_as_it_was(tmp_path):
    said = on_a_device(
        ONCE,
        tmp_path,
        SENDING
        + """await make(0);
        await send();
        globalThis.fetch = async () => new Response(null, { status: 409 });
        return [await outcome(client().withdraw(url, { patience })), await client().fate()]""",
    )
    assert said == ["CollectorError", "sent"]


def test_a_report_that_was_withdrawn_elsewhere_is_refused_once_and_not_sent_again(tmp_path):
    said = on_a_device(
        ONCE,
        tmp_path,
        SENDING
        + """await make(0);
        reason = "withdrawn";
        refusing = () => true;
        return [await send(), await send(), sent.length]""",
    )
    assert said == ["ReportRejected", 0, 1]


@pytest.mark.parametrize("option", ["{ patient: 1 }", "{ timout: 1 }"])
def test_an_option_that_there_is_not_is_refused_before_anything_is_sent(option, tmp_path):
    said = on_a_device(
        ONCE,
        tmp_path,
        SENDING
        + f"""await make(0);
        return [await outcome(client().send(url, {option})), await outcome(client().withdraw(url, {option})), sent.length]""",
    )
    assert said == ["TypeError", "TypeError", 0]
