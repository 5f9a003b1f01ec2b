// The codes of `bloom` (section 6): where the ones of every cell of a block are.

import type { Attribute } from "./attribute";
import { UNIT } from "./budget";
import { joined, utf8 } from "./bytes";
import { need } from "./canonical";
import { Most } from "./limits";
import { product } from "./numbers";
import { sha256 } from "./sha256";

/** Attributes that are randomized together. */
export type Block = readonly Attribute[];

export const cellsOf = (block: Block): bigint => product(block.map(({ size }) => BigInt(size)));
export const sizeOf = (block: Block): number => Number(cellsOf(block));

/** What bits stand for a cell. */
export interface Code {
  readonly width: number;
  /** The positions of a cell's ones. */
  row(cell: number): readonly number[];
  /**
   * The largest number of bits in which two cells differ, or a bound where they are many; place:
   * that differ in the block's attribute there, alone.
   */
  distance(place?: number): number;
}

/** One bit for each cell. */
export class OneHot implements Code {
  constructor(readonly width: number) {}

  row(cell: number): readonly number[] {
    return [cell];
  }

  distance(): number {
    return 2;
  }
}

/** A part after its length in four bytes. */
export function prefixed(part: string): number[] {
  const bytes = utf8(part);
  const n = bytes.length; // no file is as long as 2^24 bytes
  return [0, n >> 16, (n >> 8) & 255, n & 255, ...bytes];
}

/** A counter of four bytes, after its length. */
const COUNTER = prefixed("\0\0\0\0");

/**
 * The distinct positions of one candidate, in the order in which they are found.
 *
 * head, bytes: what is hashed; the bytes end with the counter, which is changed in place.
 */
export function positions(
  bytes: number[],
  bits: number,
  hashes: number,
  head?: Uint8Array,
): number[] {
  const found: number[] = [];
  const fair = UNIT - (UNIT % bits);
  for (let turn = 1; ; turn++) {
    for (const word of sha256(bytes, head)) {
      const position = word % bits;
      if (word >= fair || found.includes(position)) continue;
      if (found.push(position) === hashes) return found;
    }
    bytes.splice(-2, 2, turn >> 8, turn & 255); // more turns: with a chance below 2 ** -10000
  }
}

/** The filters of a block's cells. */
export class Filters implements Code {
  readonly #rows: number[][] = [];
  readonly #isOne: Uint8Array;
  #widest?: number;

  private constructor(
    readonly block: Block,
    readonly width: number,
    readonly hashes: number,
  ) {
    this.#isOne = new Uint8Array(width);
  }

  /**
   * Derives the codes, no two of which may be the same; yields after every few of them. start: what
   * is hashed first.
   */
  static *derived(
    block: Block,
    width: number,
    hashes: number,
    start: Uint8Array,
  ): Generator<void, Filters> {
    const codes = new Filters(block, width, hashes);
    const head = joined([start, ...block.map(({ name }) => prefixed(name))]);
    const texts = block.map((each) => each.texts.map(prefixed));
    const n = sizeOf(block);
    while (codes.#rows.length < n) {
      let bytes = COUNTER;
      let cell = codes.#rows.length;
      for (let i = block.length; i--; ) {
        const { length } = texts[i];
        bytes = [...texts[i][cell % length], ...bytes];
        cell = Math.floor(cell / length);
      }
      codes.#rows.push(positions([...bytes], width, hashes, head).sort()); // in any one order
      if (!(codes.#rows.length & 127)) yield;
    }
    const keys = codes.#rows.map((row) => String.fromCharCode(...row));
    need(new Set(keys).size === n);
    return codes;
  }

  row(cell: number): readonly number[] {
    return this.#rows[cell];
  }

  distance(place?: number): number {
    if (place === undefined) return (this.#widest ??= this.#farthest(1, this.#rows.length));
    return this.#farthest(sizeOf(this.block.slice(place + 1)), sizeOf(this.block.slice(place)));
  }

  /**
   * The largest distance of two cells of the same span whose numbers differ by multiples of stride.
   */
  #farthest(stride: number, span: number): number {
    const n = this.#rows.length;
    const most = 2 * Math.min(this.hashes, this.width - this.hashes);
    if (n > Most.compared) return most;
    let found = 0;
    for (let one = 0; one < n && found < most; one++) {
      const end = one - (one % span) + span;
      this.#mark(one, 1);
      for (let other = one + stride; other < end; other += stride) {
        const missing = this.#rows[other].filter((position) => !this.#isOne[position]);
        found = Math.max(found, 2 * missing.length);
      }
      this.#mark(one, 0);
    }
    return found;
  }

  #mark(cell: number, value: number): void {
    for (const position of this.#rows[cell]) this.#isOne[position] = value;
  }
}

/** What comes of work that yields now and then. */
export function finished<T>(work: Generator<void, T>): T {
  let step;
  do step = work.next();
  while (!step.done);
  return step.value;
}
