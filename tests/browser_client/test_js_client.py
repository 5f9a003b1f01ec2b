"""The browser client's promises to a person and to an app: one draw, caps, what leaves, how sending is stopped."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from javascript import FOLDER, SHIPPED, build_for_tests, needs_node, node

from lopub import AllAttributes, Boolean, Campaign, CampaignRequest, Domain, Terms, make_campaign
from lopub.campaign.schedule import Repeat, Schedule

pytestmark = needs_node
FIRST = 20_500
DOMAIN = Domain((Boolean(name="smoker"),))
WISH = CampaignRequest(epsilon=1, mechanism="direct", view=AllAttributes())
ONCE = make_campaign(DOMAIN, Terms(name="once"), WISH)


def daily() -> Campaign:
    """A report on each of two hundred days."""
    from datetime import date, timedelta

    opens = date(1970, 1, 1) + timedelta(days=FIRST)
    repeat = Repeat(every_days=1, rounds=200, take_part=200, mode="sampled")
    return make_campaign(
        DOMAIN, Terms(name="daily", schedule=Schedule.in_rounds(opens, repeat)), WISH
    )


SETUP = f"""
const first = {FIRST}, record = {{ smoker: true }}, store = new lopub.MemoryStore();
const client = (options = {{}}) => new lopub.Client(campaign, {{ store, ...options }});
const url = `https://host.example/campaigns/${{campaign.id}}`, patience = 0.001;
const other = (i) => lopub.Campaign.fromBytes(new TextEncoder().encode(others[i]));
const requests = [];
let answer = () => new Response('{{"received":1,"refused":[]}}');
globalThis.fetch = async (address, options) => {{
  requests.push({{ address, ...options, signal: undefined, body: undefined }});
  return answer(options);
}};
"""
OTHERS = [
    make_campaign(DOMAIN, Terms(name=f"other{i}"), WISH).canonical_bytes.decode() for i in range(5)
]
IDS = """
const ids = [];
for (let day = first; day < first + 200; day++) { at(day); ids.push((await client().encode(record)).id); }
const kinds = (i) => new Set(ids.map((id) => id[i])).size;
const pairs = new Set(ids.flatMap((id) => Array.from({ length: 13 }, (_, i) => hex(id.slice(i, i + 4)))));
return [Math.min(...Array.from({ length: 16 }, (_, i) => kinds(i))) > 100, pairs.size > 200 * 13 - 5]"""
CAP = """
const results = [];
for (let i = 0; i < 5; i++) {
  const mine = new lopub.Client(other(i), { store, lifetimeCap: "2.5" });
  results.push(await outcome(mine.encode(record).then(() => "drawn")));
}
return [results, await client().spent()]"""
LEAVING = """
await client().encode(record);
await client().send(url);
answer = () => new Response(null, { status: 204 });
await client().withdraw(url);
return requests"""
PEOPLE = """
const ids = new Set();
for (let i = 0; i < 600; i++) ids.add(hex((await client({ respondent: `person ${i}` }).encode(record)).id));
return ids.size"""
LEFT = {
    "method": "POST",
    "credentials": "omit",
    "referrerPolicy": "no-referrer",
    "redirect": "manual",
    "cache": "no-store",
}


def run(script: str, campaign: Campaign, folder: Path, bundle: Path | None = None) -> Any:
    """What a script returns, with the shipped bundle or another."""
    path = folder / "campaign.json"
    path.write_bytes(campaign.canonical_bytes)
    given = f"const others = {json.dumps(OTHERS)};{SETUP}{script}"
    return json.loads(node("test/device.mjs", path, bundle or SHIPPED / "lopub.mjs", lines=[given]))


def ids_are_independent(folder: Path, bundle: Path | None = None) -> bool:
    return run(IDS, daily(), folder, bundle) == [True, True]


def cap_holds(folder: Path, bundle: Path | None = None) -> bool:
    wanted = ["drawn", "drawn", "EpsilonTooHigh", "EpsilonTooHigh", "EpsilonTooHigh"]
    return run(CAP, ONCE, folder, bundle) == [wanted, "2.000000"]


def nothing_else_leaves(folder: Path, bundle: Path | None = None) -> bool:
    found = run(LEAVING, ONCE, folder, bundle)
    address = f"https://host.example/campaigns/{ONCE.id}"
    types = ["application/vnd.lopub.reports.v1", "application/json"]
    return len(found) == 2 and [
        {k: v for k, v in each.items() if k != "body"} for each in found
    ] == [
        {**LEFT, "address": f"{address}/{path}", "headers": {"Content-Type": kind}}
        for path, kind in zip(("reports", "withdrawals"), types, strict=True)
    ]


def people_are_told_apart(folder: Path, bundle: Path | None = None) -> bool:
    return run(PEOPLE, ONCE, folder, bundle) == 600


PROMISES = {
    "ids": ids_are_independent,
    "cap": cap_holds,
    "leaving": nothing_else_leaves,
    "people": people_are_told_apart,
}
MUTANTS = {
    "ids that share their first half": (
        "ids",
        "rounds.ts",
        "const reportId = new Randomness().take(16);",
        "const reportId = new Randomness().take(16); reportId.set([1, 2, 3, 4, 5, 6, 7, 8]);",
    ),
    "ids that share four bytes with the round before": (
        "ids",
        "rounds.ts",
        "const reportId = new Randomness().take(16);",
        "const reportId = new Randomness().take(16);"
        " reportId.set((globalThis.last ?? reportId).slice(12), 0); globalThis.last = reportId;",
    ),
    "a cap that is not held from the third draw on": (
        "cap",
        "keeper.ts",
        'checkCap(this.#total(draws), this.lifetimeCap, "lifetimeCap");',
        'if (draws.length < 3) checkCap(this.#total(draws), this.lifetimeCap, "lifetimeCap");',
    ),
    "credentials": ("leaving", "sending.ts", 'credentials: "omit"', 'credentials: "include"'),
    "a request more": (
        "leaving",
        "sending.ts",
        "    const ends = Date.now() + 1000 * this.#patience;",
        "    const ends = Date.now() + 1000 * this.#patience;\n    void fetch(this.#place, request);",
    ),
    "keys of eight bits": (
        "people",
        "keeper.ts",
        "const PERSON_DIGITS = 32;",
        "const PERSON_DIGITS = 2;",
    ),
}


@pytest.mark.parametrize("name", PROMISES)
def test_the_shipped_bundle_keeps_its_promise(name, tmp_path):
    assert PROMISES[name](tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_bundle_that_breaks_a_promise_is_caught(mutant, tmp_path):
    promise, file, right, wrong = MUTANTS[mutant]
    shutil.copytree(FOLDER, tmp_path / "js", ignore=shutil.ignore_patterns("node_modules"))
    (tmp_path / "js" / "node_modules").symlink_to(FOLDER / "node_modules")
    source = tmp_path / "js" / "src" / file
    assert source.read_text().count(right) == 1
    source.write_text(source.read_text().replace(right, wrong))
    node(tmp_path / "js" / "build.mjs", "--out", tmp_path / "built")
    assert not PROMISES[promise](tmp_path, tmp_path / "built" / "lopub.mjs")


def test_the_work_of_hashed_does_not_depend_on_the_answer():
    """Forbids digits that end where the cell's number ends: 0 would take no step, and the last cell twenty."""
    script = """import { readFileSync } from "node:fs"; import vm from "node:vm"; import { webcrypto } from "node:crypto";
      globalThis.crypto ??= webcrypto;
      vm.runInThisContext(`${readFileSync(process.argv[1], "utf8")};globalThis.lopub = lopubTesting`);
      const cells = 1n << 20n, channel = new lopub.Hashed(cells, (1n << 32n) + 1n), steps = [];
      class Counted extends lopub.Counting { below(n) { return n - 1n; } }
      for (const cell of [0n, 1n, cells - 1n]) steps.push(lopub.digitsOf(cell, channel.values, channel.digits).length);
      const values = [0n, cells - 1n].map((cell) => channel.draw(cell, new Counted()).length >= 0);
      console.log(JSON.stringify([steps, channel.digits, values]))"""
    path = build_for_tests()
    steps, digits, _ = json.loads(node("--input-type=module", "-e", script, path))
    assert steps == [digits] * 3 and digits >= 12


def test_contributing_returns_an_outcome_and_never_the_report(tmp_path):
    script = """const results = [await client().contribute(record, url, { patience })];
    answer = () => new Response(null, { status: 503 });
    results.push(await client({ respondent: "b" }).contribute(record, url, { patience }));
    answer = () => new Response('{"received":0,"refused":[{"index":0,"reason":"slot"}]}', { status: 422 });
    results.push(await client({ respondent: "c" }).contribute(record, url, { patience }));
    answer = () => new Response('{"received":0,"refused":[{"index":0,"reason":"length"}]}', { status: 422 });
    results.push(await client({ respondent: "d" }).contribute(record, url, { patience }));
    const wrong = client({ respondent: "e" });
    results.push(await outcome(wrong.contribute(record, "https://host.example/")), await wrong.hasBegun());
    return results"""
    assert run(script, ONCE, tmp_path) == [
        {"fate": "sent", "why": ""},
        {"fate": "waiting", "why": "no clear answer (503)"},
        {"fate": "waiting", "why": "the report is refused (slot)", "reason": "slot"},
        {"fate": "refused", "why": "the report is refused (length)", "reason": "length"},
        "CampaignError",
        False,
    ]


def test_what_is_cancelled_is_not_sent_stays_counted_and_is_not_drawn_again(tmp_path):
    script = """const report = hex((await client().encode(record)).toBytes());
    await client().cancel();
    const attempts = await client().send(url);
    const again = hex((await client().encode(record)).toBytes());
    return [await client().fate(), attempts, requests.length, again === report, await client().spent()]"""
    assert run(script, ONCE, tmp_path) == ["cancelled", 0, 0, True, "1.000000"]


LATE = """let arrive = () => undefined, late;
const reports = () => new Response('{"received":1,"refused":[]}');
await client().encode(record);
answer = () => (late = new Promise((done) => { arrive = () => done(reports()); }));
const sending = client().send(url);
while (!late) await new Promise((done) => setTimeout(done, 1));
"""


def test_an_answer_that_comes_late_does_not_undo_cancelling_or_a_wish_to_withdraw(tmp_path):
    """Forbids that another tab's answer lets a withdrawal be forgotten, which the person was promised."""
    cancelled = LATE + "await client().cancel(); arrive(); await sending; return client().fate()"
    assert run(cancelled, ONCE, tmp_path) == "cancelled"
    for status, fate in ((503, "withdrawing"), (204, "withdrawn")):
        script = f"""{LATE}answer = () => new Response(null, {{ status: {status} }});
        await outcome(client().withdraw(url, {{ patience }}));
        arrive(); await sending;
        return client().fate()"""
        assert run(script, ONCE, tmp_path) == fate


def test_only_what_waits_is_cancelled(tmp_path):
    """Also where it is sent by another tab just before: nobody is told that it did not go out."""
    script = """class Slow extends lopub.MemoryStore {
      before = async () => undefined;
      async change(key, change) { await this.before(); return super.change(key, change); }
    }
    const slow = new Slow(), mine = client({ store: slow });
    await mine.encode(record);
    slow.before = async () => { slow.before = async () => undefined; await mine.send(url); };
    await mine.cancel();
    return [await mine.fate(), (await mine.sent()).length]"""
    assert run(script, ONCE, tmp_path) == ["sent", 1]


@pytest.mark.parametrize("fate", ["waiting", "cancelled", "refused", "withdrawing", "withdrawn"])
def test_only_a_report_that_a_collector_has_is_among_the_sent_ones(fate, tmp_path):
    steps = {
        "waiting": "",
        "cancelled": "await client().cancel();",
        "refused": 'answer = () => new Response(\'{"received":0,"refused":[{"index":0,"reason":"length"}]}\','
        " { status: 422 }); await outcome(client().send(url));",
        "withdrawing": "await client().send(url); answer = () => new Response(null, { status: 503 });"
        " await outcome(client().withdraw(url, { patience }));",
        "withdrawn": "await client().send(url); answer = () => new Response(null, { status: 204 });"
        " await client().withdraw(url);",
    }
    script = f"await client().encode(record); {steps[fate]} return [await client().fate(), (await client().sent()).length]"
    assert run(script, ONCE, tmp_path) == [fate, 0]


def test_the_latest_report_that_waits_is_not_among_the_sent_ones(tmp_path):
    script = """at(first); await client().encode(record); await client().send(url);
    at(first + 1); await client().encode(record);
    return [(await client().sent()).map(({ slot }) => slot), (await client().kept()).slot]"""
    assert run(script, daily(), tmp_path) == [[FIRST], FIRST + 1]


@pytest.mark.parametrize(
    ("status", "error", "fate"),
    [
        (200, "TryLater", "withdrawing"),
        (202, "TryLater", "withdrawing"),
        (422, "CollectorError", "sent"),
    ],
)
def test_only_204_confirms_a_withdrawal(status, error, fate, tmp_path):
    """Forbids that a page of maintenance, or a refusal, is taken for a promise to forget."""
    script = f"""await client().encode(record);
    await client().send(url);
    answer = () => new Response('{{"refused":[]}}', {{ status: {status} }});
    return [await outcome(client().withdraw(url, {{ patience }})), await client().fate()]"""
    assert run(script, ONCE, tmp_path) == [error, fate]


def test_a_lost_report_is_refused_and_not_drawn_again(tmp_path):
    """Forbids a silent second draw, though the totals know of the first."""
    script = """class Lost extends lopub.MemoryStore {
      isLost = false;
      left(state) { return this.isLost ? { ...state, kept: undefined } : state; }
      async read(key) { return this.left(await super.read(key)); }
      async change(key, change) { return super.change(key, (state) => change(this.left(state))); }
    }
    const lost = new Lost(), mine = client({ store: lost });
    await mine.encode(record);
    lost.isLost = true;
    return [await outcome(mine.encode(record)), await outcome(mine.send(url)), await mine.spent()]"""
    assert run(script, ONCE, tmp_path) == ["StoreError", "StoreError", "1.000000"]


@pytest.mark.parametrize(
    "options",
    ["{ patience: 0.2 }", "{ patience: 0.2, timeout: 5 }"],
)
def test_seconds_limit_everything_together(options, tmp_path):
    script = f"""await client().encode(record);
    answer = ({{ signal }}) => new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
    const start = performance.now(), error = await outcome(client().send(url, {options}));
    return [error, performance.now() - start]"""
    error, milliseconds = run(script, ONCE, tmp_path)
    assert error == "TryLater" and 150 < milliseconds < 5000


def test_a_timeout_limits_each_attempt(tmp_path):
    script = """await client().encode(record);
    answer = ({ signal }) => new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
    const error = await outcome(client().send(url, { timeout: 0.02, patience: 3 }));
    return [error, requests.length]"""
    error, n_attempts = run(script, ONCE, tmp_path)
    assert error == "TryLater" and n_attempts > 1


def test_a_signal_stops_sending_and_the_report_stays_kept(tmp_path):
    script = """await client().encode(record);
    const results = [];
    const hanging = ({ signal }) => new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
    for (const respond of [hanging, () => new Response(null, { status: 503 })]) {
      answer = respond;
      const stop = new AbortController(), sending = outcome(client().send(url, { signal: stop.signal }));
      setTimeout(() => stop.abort(), 50);
      results.push(await sending, await client().fate());
    }
    results.push(await outcome(client().send(url, { signal: AbortSignal.abort() })), requests.length);
    return results"""
    stopped = run(script, ONCE, tmp_path)
    assert stopped == ["AbortError", "waiting", "AbortError", "waiting", "AbortError", 2]


@pytest.mark.parametrize("option", ["{ patience: 0 }", "{ timeout: -1 }", "{ patience: 'long' }"])
def test_seconds_that_are_none_are_refused(option, tmp_path):
    script = f"await client().encode(record); return outcome(client().send(url, {option}))"
    assert run(script, ONCE, tmp_path) in ("CampaignError", "TypeError")


def test_clearing_a_store_forgets_everything_that_it_kept(tmp_path):
    script = """await client().encode(record);
    await store.clear();
    return [await client().spent(), await client().hasBegun(), (await client().kept()) ?? null]"""
    assert run(script, ONCE, tmp_path) == ["0.000000", False, None]


def test_an_invited_campaign_is_read_and_no_report_is_made(tmp_path):
    vectors = json.loads((FOLDER.parents[1] / "tests/golden/vectors.json").read_text())
    invited = next(item for item in vectors["campaigns"] if item["campaign"].startswith("invited"))
    campaign = Campaign.from_bytes(invited["text"].encode())
    script = """const error = await client().encode(record).catch((error) => error);
    return [error.name, error.message, await client().spent()]"""
    name, message, spent = run(script, campaign, tmp_path)
    assert (name, spent) == ("CampaignError", "0.000000") and "need an invitation" in message


def test_the_minutes_of_sending_later_are_carried(tmp_path):
    campaign = make_campaign(DOMAIN, Terms(name="later", send_within_minutes=90), WISH)
    assert run("return campaign.terms.sendWithinMinutes", campaign, tmp_path) == 90
    assert run("return campaign.terms.sendWithinMinutes", ONCE, tmp_path) == 0
