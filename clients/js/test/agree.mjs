// node agree.mjs BUILD_FOR_TESTS: one JSON object a line in, what the client makes of it a line out. For comparing with Python.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { webcrypto } from "node:crypto";
import vm from "node:vm";

globalThis.crypto ??= webcrypto;
vm.runInThisContext(`${readFileSync(process.argv[2], "utf8")};globalThis.lopubTesting = lopubTesting`);
const lopub = globalThis.lopubTesting;

function answer({ campaign, record, slot, random }) {
  let loaded;
  try {
    loaded = lopub.Campaign.fromBytes(Uint8Array.from(Buffer.from(campaign, "base64")));
  } catch (error) {
    if (error instanceof lopub.CampaignError) return { reason: error.reason };
    return { broken: String(error.stack) };
  }
  const said = { id: loaded.id, epsilon: loaded.epsilon, lifetime: loaded.lifetimeEpsilon, longest: loaded.longestReport };
  if (!record) return said;
  const noise = Uint8Array.from(Buffer.from(random, "hex"));
  const drawing = (bytes = noise) => (lopub.handIn(bytes), lopub.counting());
  try {
    const candidates = loaded.domain.indices(record), { repeat, terms } = loaded;
    if (!repeat) return { ...said, report: lopub.hex(lopub.randomized(loaded, candidates, slot, drawing()).toBytes()) };
    drawing();
    const first = terms.schedule.opens, rounds = [...lopub.begun({}, loaded).own.keys()].map((day) => (day - first) / repeat.everyDays), kept = repeat.isPermanent ? lopub.memorized(loaded, candidates, drawing()) : undefined;
    const report = kept ? lopub.refreshed(loaded, kept, first, drawing(noise.toReversed())) : lopub.randomized(loaded, candidates, first, drawing());
    return { ...said, rounds, kept: lopub.hex(kept ?? []), report: lopub.hex(report.toBytes()) };
  } catch (error) {
    return error instanceof lopub.DomainError ? { ...said, unfit: true } : { broken: String(error.stack) };
  }
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(answer(JSON.parse(line))));
