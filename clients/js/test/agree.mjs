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
  const said = { id: loaded.id, epsilon: loaded.epsilon, longest: loaded.longestReport };
  if (!record) return said;
  lopub.handIn(Uint8Array.from(Buffer.from(random, "hex")));
  try {
    const report = lopub.Report.randomized(loaded, loaded.domain.indices(record), slot, new lopub.Randomness());
    return { ...said, report: lopub.hex(report.toBytes()) };
  } catch (error) {
    return error instanceof lopub.DomainError ? { ...said, unfit: true } : { broken: String(error.stack) };
  }
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(answer(JSON.parse(line))));
