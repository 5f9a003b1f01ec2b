// What a report says, in words: which answers it names, and what somebody who knew nothing before can conclude from that.

import type { Campaign, Question, Raw, Report } from "./client";

type Attribute = Question["attributes"][number];

/** What one report says about one block: an attribute, or some that were randomized together. */
export interface Block {
  readonly attributes: readonly Attribute[];
  readonly nCells: number;
  /** The cells that it names, as candidates of each attribute; nothing where it is a pattern that many cells share. */
  readonly named?: readonly (readonly number[])[];
  readonly nBits: number;
  /** How much likelier a named cell is than another one, to whoever held both for equally likely; nothing where that is not simple. */
  readonly factor?: number;
}

const MOST_NAMED = 4096;

export function blocksOf(campaign: Campaign, raw: Raw, report: Report): Block[] {
  const view = report.view(campaign), { payload } = report, { attributes } = campaign.domain;
  let at = 0;
  const channels = campaign.channels(view), factor = factorOf(campaign, raw, channels.length);
  return channels.map(({ width }, i) => {
    const inside = (campaign.jointly ? view : [view[i]]).map((position) => attributes[position]), first = at;
    at += width;
    const cells = named(raw.mechanism.name, payload, first, width);
    return {
      attributes: inside,
      nCells: inside.reduce((product, { size }) => product * size, 1),
      named: cells?.map((cell) => candidatesOf(inside, cell)),
      nBits: width,
      factor,
    };
  });
}

/** e to the epsilon of one block: the odds, or the square of those of one bit. Of two layers of noise, known where there is one block. */
function factorOf(campaign: Campaign, { mechanism: { odds, change_units: units, permanent } }: Raw, nBlocks: number): number | undefined {
  if (permanent) return campaign.jointly ? Math.exp(Number(campaign.epsilon)) : undefined;
  return odds ? Number(odds[nBlocks]) / 2 ** 32 : ((2 ** 32 - units![nBlocks]) / units![nBlocks]) ** 2;
}

/** The cells that a block names: the number that it is, or the bits that are set. Filters and hashes name none. */
function named(mechanism: string, payload: Uint8Array, at: number, width: number): bigint[] | undefined {
  if (mechanism === "direct") {
    let number = 0n;
    for (let i = at / 8; i < (at + width) / 8; i++) number = (number << 8n) | BigInt(payload[i]);
    return [number];
  }
  if (mechanism !== "subset" && mechanism !== "unary") return undefined;
  const found: bigint[] = [];
  for (let i = 0; i < width; i++) if ((payload[(at + i) >> 3] >> ((at + i) & 7)) & 1) found.push(BigInt(i));
  return found.length <= MOST_NAMED ? found : undefined;
}

/** The candidates of a cell; the last attribute is the fastest. */
function candidatesOf(attributes: readonly Attribute[], cell: bigint): number[] {
  return [...attributes].reverse().map(({ size }) => {
    const candidate = Number(cell % BigInt(size));
    cell /= BigInt(size);
    return candidate;
  }).reverse();
}

export const isNamed = ({ named }: Block, own: readonly number[]): boolean => !!named?.some((cell) => cell.every((candidate, i) => candidate === own[i]));

/** The most that any report can make likely of two answers that were equally likely before. */
export function mostSure(epsilon: number): number {
  return 1 / (1 + Math.exp(-epsilon));
}
