// The codes of `bloom` (section 6): where the ones of every cell of a block are.

import { UNIT } from "./budget";
import { at, need } from "./canonical";
import { Most } from "./limits";
import { cellsOf, type Block } from "./mechanisms";
import { joined } from "./numbers";
import { sha256, utf8 } from "./sha256";

export interface Codes {
  /** How many bits a code has. */
  readonly width: number;
  /** The positions of a cell's ones. */
  row(cell: number): readonly number[];
  /** The largest number of bits in which two cells differ, or a bound where they are many; place: that differ in the block's attribute there, alone. */
  distance(place?: number): number;
}

/** A part after its length. */
export function prefixed(part: string): number[] {
  const bytes = utf8(part), n = bytes.length;
  return [0, n >> 16, n >> 8, n, ...bytes]; // no file is so long that the first is not 0; of the others, SHA-256 takes the last eight bits
}

/** A counter after its length. */
const COUNTER = prefixed("\0\0\0\0");

/** The distinct positions of one candidate, in the order in which they are found. bytes: what is hashed after the head, a counter of four bytes at its end. */
export function positions(bytes: number[], bits: number, hashes: number, head?: Uint8Array): number[] {
  const found: number[] = [];
  for (let turn = 1; ; turn++) {
    for (const word of sha256(bytes, head)) if (word < UNIT - (UNIT % bits) && !found.includes(word % bits) && found.push(word % bits) === hashes) return found;
    bytes.splice(-2, 2, turn >> 8, turn); // nothing takes 65,536 turns: the chance is below 2 ** -10000
  }
}

/** Whether a code has a one here, while it is compared with others; 0 otherwise. */
const isOne = new Uint8Array(Most.bits);

export const sizeOf = (block: Block): number => Number(cellsOf(block));

/** Derives the codes of a block, no two of which may be the same, and lets go after every few of them, so that whoever waits for them can do something else; start: what is hashed first. */
export function* codesOf(block: Block, width: number, hashes: number, start: Uint8Array): Generator<void, Codes> {
  const head = joined([start, ...block.map(({ name }) => prefixed(name))]), texts = block.map(({ texts }) => texts.map(prefixed));
  const n = sizeOf(block), rows: number[][] = [], most = 2 * Math.min(hashes, width - hashes);
  while (rows.length < n) {
    let bytes = COUNTER;
    for (let i = block.length, cell = rows.length; i--; cell = (cell / texts[i].length) | 0) bytes = [...texts[i][cell % texts[i].length], ...bytes];
    rows.push([...positions(bytes, width, hashes, head)].sort()); // in one order, whichever that is
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

  at("codes");
  need(new Set(rows.map((row) => String.fromCharCode(...row))).size === n);
  let all: number | undefined;
  const distance = (place?: number): number => (place === undefined ? (all ??= widest(1, n)) : widest(sizeOf(block.slice(place + 1)), sizeOf(block.slice(place))));
  return { width, row: (cell) => rows[cell], distance };
}

/** What comes of work that lets go now and then. */
export function finished<T>(work: Generator<void, T>): T {
  let step;
  while (!(step = work.next()).done);
  return step.value;
}
