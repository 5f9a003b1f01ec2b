// What the tests look at beside the public names.

export * from "../src/index";
export { begun } from "../src/keeping";
export { slotOn } from "../src/schedule";
export { at } from "../src/canonical";
export { mechanismOf } from "../src/mechanisms";
export { composed } from "../src/texts";
import { positions as found, prefixed } from "../src/codes";
import type { Campaign } from "../src/campaign";
import { stream, type Randomness } from "../src/randomness";
import { Report, drawn, refreshed as bytesOver } from "../src/report";
export { hex, sha256, utf8 } from "../src/sha256";
export { handIn } from "./entropy";

/** The stream, which also counts what was taken. */
export function counting(): ReturnType<typeof stream> & { n: number } {
  const counted = Object.assign(stream(), { n: 0 }), { take } = counted;
  counted.take = (n) => {
    counted.n += n;
    return take(n);
  };
  return counted;
}

export const randomized = (campaign: Campaign, candidates: readonly number[], slot: number, randomness: Randomness): Report =>
  new Report(drawn(campaign, candidates, slot, randomness), campaign);
export const memorized = (campaign: Campaign, candidates: readonly number[], randomness: Randomness): Uint8Array => drawn(campaign, candidates, 0, randomness, true);
export const refreshed = (campaign: Campaign, kept: Uint8Array, slot: number, randomness: Randomness): Report => new Report(bytesOver(campaign, kept, slot, randomness), campaign);

/** The positions of one candidate (section 6). */
export const positions = (salt: string, names: string[], texts: string[], bits: number, hashes: number): number[] =>
  found(["lopub/bloom/1", salt, ...names, ...texts, "\0\0\0\0"].flatMap(prefixed), bits, hashes);
