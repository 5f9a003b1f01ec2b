// What the tests look at beside the public names.

export * from "../src/index";
export { begun, firstDays } from "../src/keeping";
export { slotOn } from "../src/schedule";
export { at, membersOf } from "../src/canonical";
export { mechanismOf } from "../src/mechanisms";
export { isKnown } from "../src/texts";
import { positions as found, prefixed } from "../src/codes";
import { joined } from "../src/numbers";
import { Randomness as Stream } from "../src/randomness";
export { Report } from "../src/report";
export { hex, sha256, utf8 } from "../src/sha256";
export { handIn } from "./entropy";

/** The stream, which also counts what was taken. */
export class Randomness extends Stream {
  n = 0;

  override take(n: number): Uint8Array {
    this.n += n;
    return super.take(n);
  }
}

/** The positions of one candidate (section 6). */
export const positions = (salt: string, names: string[], texts: string[], bits: number, hashes: number): number[] =>
  found(joined(["lopub/bloom/1", salt, ...names, ...texts, "\0\0\0\0"].map(prefixed)), bits, hashes);
