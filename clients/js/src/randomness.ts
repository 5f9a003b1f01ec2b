// The exact draws of section 8, from a stream of random bytes.

import { bitLength } from "./budget";
import { joined, onesIn } from "./bytes";
import { fill } from "./entropy";
import { range } from "./numbers";

/** One stream. Nothing that another stream has drawn comes again in it. */
export class Randomness {
  #ahead = new Uint8Array();

  /** The next bytes of the stream. */
  take(n: number): Uint8Array {
    if (n > this.#ahead.length) this.#ahead = joined([this.#ahead, fill(new Uint8Array(n + 1024))]);
    const taken = this.#ahead.subarray(0, n);
    this.#ahead = this.#ahead.subarray(n);
    return taken;
  }

  /** A uniform integer below n. */
  below<T extends number | bigint>(n: T): T {
    const bits = bitLength(BigInt(n) - 1n);
    for (;;) {
      const bytes = this.take((bits + 7) >> 3);
      bytes[0] &= 255 >> (-bits & 7);
      const drawn = bytes.reduce((number, byte) => number * 256n + BigInt(byte), 0n);
      if (drawn < n) return (typeof n === "bigint" ? drawn : Number(drawn)) as T;
    }
  }

  /** Places among n bits, each with probability units / 2^32. */
  changes(n: number, units: number): number[] {
    const length = (n + 7) >> 3;
    let result = new Uint8Array(length);
    for (let j = 31 - Math.clz32(units & -units); j < 32; j++) {
      const isOne = (units >> j) & 1;
      result = this.take(length).map((byte, i) =>
        isOne ? byte | result[i] : byte & result[i],
      ) as typeof result;
    }
    return onesIn(result, 0, n);
  }

  /** The first elements, `size` of them, of a random order of 0 .. n - 1. */
  prefix(n: number, size: number): number[] {
    const order = range(n);
    return range(size).map((i) => {
      const j = i + this.below(n - i);
      const drawn = order[j];
      order[j] = order[i];
      return drawn;
    });
  }
}
