// The exact draws of section 8, from one report's stream of random bytes.

import { bitLength } from "./budget";
import { fill } from "./entropy";
import { joined, onesIn, range } from "./numbers";

export interface Randomness {
  /** The next bytes of the stream. */
  take(n: number): Uint8Array;
  /** A uniform integer below n. */
  below<T extends number | bigint>(n: T): T;
  /** Places among so many bits, each with probability units / 2^32. */
  changes(n: number, units: number): number[];
  /** The first elements, so many, of a random order of 0 .. n - 1. */
  prefix(n: number, size: number): number[];
}

/** A stream of its own for each report. */
export function stream(): Randomness {
  let left = new Uint8Array();
  const self: Randomness = {
    take(n) {
      if (n > left.length) left = joined([left, fill(new Uint8Array(n + 1024))]);
      const taken = left.subarray(0, n);
      left = left.subarray(n);
      return taken;
    },
    below(n) {
      const bits = bitLength(BigInt(n) - 1n);
      for (;;) {
        const bytes = self.take((bits + 7) >> 3);
        bytes[0] &= 255 >> (-bits & 7);
        const drawn = bytes.reduce((number, byte) => number * 256n + BigInt(byte), 0n);
        if (drawn < n) return (typeof n === "bigint" ? drawn : Number(drawn)) as typeof n;
      }
    },
    changes(n, units) {
      let result = new Uint8Array((n + 7) >> 3);
      for (let j = 31 - Math.clz32(units & -units); j < 32; j++) result = self.take(result.length).map((byte, i) => ((units >> j) & 1 ? result[i] | byte : result[i] & byte)) as typeof result;
      return onesIn(result, 0, n);
    },
    prefix(n, size) {
      const order = range(n);
      return range(size).map((i) => {
        const j = i + self.below(n - i), drawn = order[j];
        order[j] = order[i];
        return drawn;
      });
    },
  };
  return self;
}
