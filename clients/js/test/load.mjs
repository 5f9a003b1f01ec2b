// node load.mjs CAMPAIGN...: loads each with the shipped bundle, in slices; one JSON object a line:
// the reason or the epsilon, milliseconds
// by the clock and of CPU time (of all threads), and those of the longest stretch in which nothing
// else could run.
import { readFileSync } from "node:fs";
import { webcrypto } from "node:crypto";
import { monitorEventLoopDelay } from "node:perf_hooks";

globalThis.crypto ??= webcrypto;
const { Campaign } = await import(
  new URL("../../../src/lopub/pages/client/lopub.mjs", import.meta.url)
);
for (const file of process.argv.slice(2)) {
  const bytes = new Uint8Array(readFileSync(file)),
    delay = monitorEventLoopDelay({ resolution: 1 }),
    before = process.cpuUsage(),
    started = performance.now();
  await new Promise((done) => setTimeout(done, 5));
  delay.enable();
  await new Promise((done) => setTimeout(done, 5));
  const outcome = await Campaign.load(bytes).then(
    ({ epsilon }) => epsilon,
    (error) => error.reason ?? String(error.stack),
  );
  const { user, system } = process.cpuUsage(before),
    clock = performance.now() - started;
  await new Promise((done) => setTimeout(done, 5));
  delay.disable();
  console.log(
    JSON.stringify({ outcome, clock, cpu: (user + system) / 1000, longest: delay.max / 1e6 }),
  );
}
