// node device.mjs CAMPAIGN [BUNDLE]: runs the script on standard input against the shipped bundle,
// or
// another one, and prints what it returns as JSON. The script has `lopub`, `campaign`, `at(slot)`
// that
// sets the clock, `hex`, and `outcome(promise)`: its value, or the name of the error.
import { readFileSync } from "node:fs";
import { webcrypto } from "node:crypto";
import { pathToFileURL } from "node:url";

globalThis.crypto ??= webcrypto;
const SHIPPED = new URL("../../../src/lopub/pages/client/lopub.mjs", import.meta.url);
const [file, bundle] = process.argv.slice(2);
const lopub = await import(bundle ? pathToFileURL(bundle) : SHIPPED);
const campaign = lopub.Campaign.fromBytes(new Uint8Array(readFileSync(file)));
const at = (slot) => (Date.now = () => slot * 86_400_000 + 1);
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const outcome = (promise) => promise.catch((error) => error.name);
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
const names = ["lopub", "campaign", "at", "hex", "outcome"];
const script = new AsyncFunction(...names, readFileSync(0, "utf8"));
console.log(JSON.stringify(await script(lopub, campaign, at, hex, outcome)));
