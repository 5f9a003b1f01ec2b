// node respond.mjs CAMPAIGN [BUNDLE]: one JSON record a line in, each a new respondent with an
// empty store; one report in
// hexadecimal a line out, made by the bundle that is shipped. What `lopub audit --client` wants.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { webcrypto } from "node:crypto";
import { pathToFileURL } from "node:url";

globalThis.crypto ??= webcrypto;
const [file, bundle] = process.argv.slice(2);
const shipped = bundle
  ? pathToFileURL(bundle)
  : new URL("../../../src/lopub/pages/client/lopub.mjs", import.meta.url);
const { Campaign, Client, MemoryStore } = await import(shipped);
const campaign = Campaign.fromBytes(new Uint8Array(readFileSync(file)));

for await (const line of createInterface({ input: process.stdin })) {
  const report = await new Client(campaign, { store: new MemoryStore() }).encode(JSON.parse(line));
  process.stdout.write(`${Buffer.from(report.toBytes()).toString("hex")}\n`);
}
