// node agree.mjs BUILD_FOR_TESTS: one JSON object per line in, what the client makes of it per line
// out. For comparing with Python.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { webcrypto } from "node:crypto";
import vm from "node:vm";

globalThis.crypto ??= webcrypto;
vm.runInThisContext(
  `${readFileSync(process.argv[2], "utf8")};globalThis.lopubTesting = lopubTesting`,
);
const lopub = globalThis.lopubTesting;

/** The id comes from the first 16 bytes; every stream begins with the others. */
function answer({ campaign: file, record, slot, random }) {
  let campaign;
  try {
    campaign = lopub.Campaign.fromBytes(Uint8Array.from(Buffer.from(file, "base64")));
  } catch (error) {
    if (error instanceof lopub.CampaignError) return { reason: error.reason };
    return { broken: String(error.stack) };
  }
  const { id, epsilon, lifetimeEpsilon: lifetime, longestReport: longest } = campaign;
  const found = { id, epsilon, lifetime, longest };
  if (!record) return found;
  const bytes = Uint8Array.from(Buffer.from(random, "hex"));
  try {
    const candidates = campaign.domain.indices(record);
    return { ...found, ...drawn(campaign, candidates, slot, bytes.slice(0, 16), bytes.slice(16)) };
  } catch (error) {
    if (error instanceof lopub.DomainError) return { ...found, unfit: true };
    return { broken: String(error.stack) };
  }
}

function drawn(campaign, candidates, slot, reportId, noise) {
  const stream = (bytes = noise) => {
    lopub.handIn(bytes);
    return new lopub.Counting();
  };
  const randomized = (day) => lopub.randomized(campaign, candidates, reportId, day, stream());
  const { schedule, schedule: { repeat } = {} } = campaign.terms;
  if (!repeat) return { report: lopub.hex(randomized(slot).toBytes()) };
  stream();
  const first = schedule.opens;
  const days = lopub.begun(campaign).rounds.map(({ slot }) => slot);
  const rounds = days.map((day) => (day - first) / repeat.everyDays);
  if (!repeat.isPermanent) {
    return { rounds, kept: "", report: lopub.hex(randomized(first).toBytes()) };
  }
  const kept = lopub.memorized(campaign, candidates, stream());
  const fresh = stream(noise.toReversed());
  const report = lopub.refreshed(campaign, kept, reportId, first, fresh);
  return { rounds, kept: lopub.hex(kept), report: lopub.hex(report.toBytes()) };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(answer(JSON.parse(line))));
}
