// The codes of `bloom` (section 6): where the ones of every cell of a block are.

import { UNIT } from "./budget";
import { Most } from "./limits";
import type { Block } from "./mechanisms";
import { joined, sum } from "./numbers";
import { sha256, utf8 } from "./sha256";
import { isAscii } from "./texts";

/** The positions of one code: those that bear the number of this turn. */
const marked = new Int32Array(Most.bits);
let turn = 0;

const TAG = "lopub/bloom/1", COUNTER = "\0\0\0\0";

export interface Codes {
  /** Whether no two cells have the same. */
  readonly isDistinct: boolean;
  /** The positions of a cell's ones. */
  row(cell: number): readonly number[];
  /** The largest number of bits in which two cells differ, or a bound where they are many; place: that differ in the block's attribute there, alone. */
  distance(place?: number): number;
}

/** A part after its length. */
export function prefixed(part: string): Uint8Array {
  const bytes = utf8(part), n = bytes.length;
  return joined([[n >> 24, n >> 16, n >> 8, n], bytes]);
}

const cellsOf = (block: Block): number => block.reduce((total, { size }) => total * size, 1);

/** The distinct positions of one candidate, in the order in which they are found. bytes: what is hashed, a counter of four bytes at its end. */
export function positions(bytes: Uint8Array, bits: number, hashes: number): number[] {
  const found: number[] = [];
  for (let turn = 0; ; turn++) {
    for (let i = 1; i < 5; i++) bytes[bytes.length - i] = turn >> (8 * i - 8);
    for (const word of sha256(bytes)) if (word < UNIT - (UNIT % bits) && !found.includes(word % bits) && found.push(word % bits) === hashes) return found;
  }
}

/** Derives the codes of a block, and lets go after every few of them, so that whoever waits for them can do something else. */
export function* codesOf(block: Block, bits: number, hashes: number, salt: string, prefixedOnce: typeof prefixed): Generator<void, Codes> {
  const texts = block.map((attribute) => attribute.texts()), n = cellsOf(block), seen = new Set<string>(), most = 2 * Math.min(hashes, bits - hashes), end = prefixedOnce(COUNTER);
  const head = joined([TAG, salt, ...block.map(({ name }) => name)].map(prefixedOnce)), rows: number[][] = [];
  while (rows.length < n) {
    const parts = [end];
    for (let i = block.length, cell = rows.length; i--; cell = Math.floor(cell / texts[i].length)) parts.unshift(prefixedOnce(texts[i][cell % texts[i].length]));
    rows.push(positions(joined([head, ...parts]), bits, hashes).sort((a, b) => a - b));
    seen.add(String.fromCharCode(...rows.at(-1)!));
    if (!(rows.length & 127)) yield;
  }

  let widest: number | undefined;
  function distance(place?: number): number {
    if (n > Most.compared) return most;
    if (place === undefined && widest !== undefined) return widest;
    const stride = place === undefined ? 1 : cellsOf(block.slice(place + 1)), span = cellsOf(block.slice(place));
    let found = 0;
    for (let one = 0; one < n && found < most; one++) {
      const end = one - (one % span) + span;
      turn++;
      for (const position of rows[one]) marked[position] = turn;
      for (let other = one + stride; other < end; other += stride) found = Math.max(found, 2 * rows[other].reduce((apart, position) => apart - +(marked[position] === turn), hashes));
    }
    if (place === undefined) widest = found;
    return found;
  }

  return { isDistinct: seen.size === n, row: (cell) => rows[cell], distance };
}

/** What comes of work that lets go now and then. */
export function finished<T>(work: Generator<void, T>): T {
  let step;
  do step = work.next();
  while (!step.done);
  return step.value;
}

/** How many bytes are hashed for the first hashes of all cells of these blocks. */
export function hashedBytes(blocks: readonly Block[], salt: string): number {
  const known = new Map<unknown, number>(), length = (texts: readonly string[]): number => sum(texts.map((text) => 4 + (isAscii(text) ? text : utf8(text)).length));
  return sum(
    blocks.map((block) => {
      const n = cellsOf(block);
      return n * length([TAG, salt, COUNTER, ...block.map(({ name }) => name)]) + sum(
        block.map((attribute) => {
          const texts = known.get(attribute) ?? length(attribute.texts());
          known.set(attribute, texts);
          return (n / attribute.size) * texts;
        }),
      );
    }),
  );
}
