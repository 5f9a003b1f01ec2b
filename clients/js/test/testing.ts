// What the tests look at beside the public names.

export * from "../src/index";
export { OneHot } from "../src/codes";
export { Hashed } from "../src/channels";
export { Mechanism } from "../src/mechanism";
export { memorized, randomized, refreshed } from "../src/noise";
export { digitsOf } from "../src/numbers";
export { begun } from "../src/rounds";
export { sha256 } from "../src/sha256";
export { hex, utf8 } from "../src/bytes";
export { handIn } from "./entropy";
import { positions as found, prefixed } from "../src/codes";
import { Randomness } from "../src/randomness";

/** The stream, which also counts what was taken. */
export class Counting extends Randomness {
  n = 0;

  override take(n: number): Uint8Array {
    this.n += n;
    return super.take(n);
  }
}

/** The positions of one candidate (section 6). */
export const positions = (
  salt: string,
  names: string[],
  texts: string[],
  bits: number,
  hashes: number,
): number[] =>
  found(
    ["lopub/bloom/1", salt, ...names, ...texts, "\0\0\0\0"].flatMap((part) => prefixed(part)),
    bits,
    hashes,
  );
