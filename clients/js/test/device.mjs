// node device.mjs CAMPAIGN: runs the script on standard input against the shipped bundle, and prints what it returns as JSON. The script
// has `lopub`, `campaign`, `at(slot)` that sets the clock, `hex`, and `outcome(promise)`: its value, or the name of the error.
import { readFileSync } from "node:fs";
import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto;
const lopub = await import(new URL("../../../src/lopub/pages/client/lopub.mjs", import.meta.url));
const campaign = lopub.Campaign.fromBytes(new Uint8Array(readFileSync(process.argv[2])));
const at = (slot) => (Date.now = () => slot * 86_400_000 + 1);
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const outcome = (promise) => promise.catch((error) => error.name);
const script = Object.getPrototypeOf(async () => {}).constructor("lopub", "campaign", "at", "hex", "outcome", readFileSync(0, "utf8"));
console.log(JSON.stringify(await script(lopub, campaign, at, hex, outcome)));
