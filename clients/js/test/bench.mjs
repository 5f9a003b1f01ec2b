// node bench.mjs N CAMPAIGN...: reports per second of the shipped bundle, best of three; the record
// is
// read from standard input.
import { readFileSync } from "node:fs";
import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto;
const { Campaign, Client, MemoryStore } = await import(
  new URL("../../../src/lopub/pages/client/lopub.mjs", import.meta.url)
);
const [n, ...files] = process.argv.slice(2);
const record = JSON.parse(readFileSync(0, "utf8"));
for (const file of files) {
  const campaign = Campaign.fromBytes(new Uint8Array(readFileSync(file)));
  let best = 0;
  for (let turn = 0; turn < 3; turn++) {
    const start = performance.now();
    for (let i = 0; i < Number(n); i++) {
      await new Client(campaign, { store: new MemoryStore() }).encode(record);
    }
    best = Math.max(best, (1000 * Number(n)) / (performance.now() - start));
  }
  console.log(best.toFixed(0));
}
