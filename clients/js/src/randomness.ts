// The exact draws of section 8, from one report's stream of random bytes.

import { bitLength } from "./budget";
import { fill } from "./entropy";
import { bigOf, bitAt, flipBit, range } from "./numbers";

const CHUNK = 1024;

export class Randomness {
  private _buffer = new Uint8Array(0);
  private _at = 0;

  /** The next bytes of the stream. */
  take(n: number): Uint8Array {
    const left = this._buffer.subarray(this._at);
    if (n > left.length) {
      this._buffer = new Uint8Array(n + CHUNK);
      this._buffer.set(left);
      fill(this._buffer.subarray(left.length));
      this._at = 0;
    }
    return this._buffer.subarray(this._at, (this._at += n));
  }

  /** A uniform integer below n. */
  below(n: number): number;
  below(n: bigint): bigint;
  below(n: number | bigint): number | bigint {
    const bits = bitLength(BigInt(n) - 1n), top = 255 >> (-bits & 7), isSmall = bits < 54;
    for (;;) {
      const bytes = this.take((bits + 7) >> 3);
      bytes[0] &= top;
      const drawn = isSmall ? bytes.reduce((number, byte) => number * 256 + byte, 0) : bigOf(bytes);
      if (drawn < n) return typeof n === "bigint" ? BigInt(drawn) : drawn;
    }
  }

  /** Turn over bits of the payload, so many from a place on, each with probability units / 2^32. */
  change(payload: Uint8Array, at: number, n: number, units: number): void {
    const length = (n + 7) >> 3, result = new Uint8Array(length);
    for (let j = 31 - Math.clz32(units & -units); j < 32; j++) {
      const plane = this.take(length), isOne = (units >> j) & 1;
      plane.forEach((byte, i) => (result[i] = isOne ? result[i] | byte : result[i] & byte));
    }
    for (let i = 0; i < n; i++) if (bitAt(result, i)) flipBit(payload, at + i);
  }

  /** The first elements, so many, of a random order of 0 .. n - 1. */
  prefix(n: number, size: number): number[] {
    const order = range(n);
    return range(size).map((i) => {
      const j = i + this.below(n - i), drawn = order[j];
      order[j] = order[i];
      return drawn;
    });
  }
}
