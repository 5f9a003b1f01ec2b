// The codes of `bloom` (section 6): where the ones of every cell of a block are.

import { UNIT } from "./budget";
import { Most } from "./limits";
import { cellsOf, type Block } from "./mechanisms";
import { joined, sum } from "./numbers";
import { sha256, utf8 } from "./sha256";

export interface Codes {
  /** How many bits a code has. */
  readonly width: number;
  /** Whether no two cells have the same. */
  readonly isDistinct?: boolean;
  /** The positions of a cell's ones. */
  row(cell: number): readonly number[];
  /** The largest number of bits in which two cells differ, or a bound where they are many; place: that differ in the block's attribute there, alone. */
  distance(place?: number): number;
}

/** A part after its length. */
export function prefixed(part: string): Uint8Array {
  const bytes = utf8(part), n = bytes.length;
  return joined([[0, n >> 16, n >> 8, n], bytes]); // no file is so long that the first is not 0
}

/** Room for a counter. */
const COUNTER = prefixed("\0\0\0\0");

/** The distinct positions of one candidate, in the order in which they are found. bytes: what is hashed, a counter of four bytes at its end. */
export function positions(bytes: Uint8Array<ArrayBuffer>, bits: number, hashes: number): number[] {
  const found: number[] = [];
  for (let turn = 0; ; turn++) {
    new DataView(bytes.buffer).setUint32(bytes.length - 4, turn);
    for (const word of sha256(bytes)) if (word < UNIT - (UNIT % bits) && !found.includes(word % bits) && found.push(word % bits) === hashes) return found;
  }
}

/** What is hashed first for every cell of a block, and what of its attribute there. */
const headOf = (block: Block, salt: string): Uint8Array => joined(["lopub/bloom/1", salt, ...block.map(({ name }) => name)].map(prefixed));
const textsOf = (block: Block): Uint8Array[][] => block.map((attribute) => attribute.texts.map(prefixed));

/** Whether a code has a one here, while it is compared with others; 0 otherwise. */
const isOne = new Uint8Array(Most.bits);

export const sizeOf = (block: Block): number => Number(cellsOf(block));

/** Derives the codes of a block, and lets go after every few of them, so that whoever waits for them can do something else. */
export function* codesOf(block: Block, width: number, hashes: number, salt: string): Generator<void, Codes> {
  const texts = textsOf(block), n = sizeOf(block), seen = new Set<string>(), head = headOf(block, salt), rows: number[][] = [], most = 2 * Math.min(hashes, width - hashes);
  while (rows.length < n) {
    const parts = [COUNTER];
    for (let i = block.length, cell = rows.length; i--; cell = (cell / texts[i].length) | 0) parts.unshift(texts[i][cell % texts[i].length]);
    rows.push(positions(joined([head, ...parts]), width, hashes).sort()); // in one order, whichever that is
    seen.add(String(rows.at(-1)));
    if (!(rows.length & 127)) yield;
  }

  /** The largest distance of two cells in the same span, so many cells apart or a multiple of it. */
  function widest(stride: number, span: number): number {
    let found = n > Most.compared ? most : 0;
    for (let one = 0; one < n && found < most; one++) {
      for (const position of rows[one]) isOne[position] = 1;
      for (let other = one + stride; other < one - (one % span) + span; other += stride) found = Math.max(found, 2 * rows[other].reduce((left, position) => left - isOne[position], hashes));
      for (const position of rows[one]) isOne[position] = 0;
    }
    return found;
  }

  let all: number | undefined;
  const distance = (place?: number): number => (place === undefined ? (all ??= widest(1, n)) : widest(sizeOf(block.slice(place + 1)), sizeOf(block.slice(place))));
  return { width, isDistinct: seen.size === n, row: (cell) => rows[cell], distance };
}

/** What comes of work that lets go now and then. */
export function finished<T>(work: Generator<void, T>): T {
  let step;
  while (!(step = work.next()).done);
  return step.value;
}

/** How many bytes are hashed for the first hashes of all cells of these blocks. */
export const hashedBytes = (blocks: readonly Block[], salt: string): number =>
  sum(
    blocks.map((block) => {
      const n = sizeOf(block);
      return n * (headOf(block, salt).length + 8 + sum(block.map(({ texts, size }) => 4 + utf8(texts.join("")).length / size)));
    }),
  );
