// What a report says: which answers it names, and what somebody who knew nothing before can
// conclude.

import type { Attribute, Campaign, Report } from "./client";

/** What one report says about one block: an attribute, or some that were randomized together. */
export interface Block {
  readonly attributes: readonly Attribute[];
  readonly nCells: number;
  /**
   * The cells that it names, as candidates of each attribute; undefined for a pattern of many
   * cells.
   */
  readonly named?: readonly (readonly number[])[];
  readonly nBits: number;
  /** How much likelier a named cell is than another one, if both were equally likely before. */
  readonly factor: number;
}

const MOST_NAMED = 4096;
const LOSS_UNIT = 2 ** 512;

export function blocksOf(campaign: Campaign, report: Report): Block[] {
  const view = report.view(campaign);
  return report.blocks(campaign).map(({ channel, ones }, i) => {
    const positions = campaign.jointly ? view : [view[i]];
    const attributes = positions.map((position) => campaign.domain.attributes[position]);
    const named = channel.named(ones);
    return {
      attributes,
      nCells: attributes.reduce((product, { size }) => product * size, 1),
      named:
        named && named.length <= MOST_NAMED
          ? named.map((cell) => candidatesOf(attributes, cell))
          : undefined,
      nBits: channel.width,
      factor: Math.exp(Number(channel.lossOf()) / LOSS_UNIT),
    };
  });
}

/** The candidates of a cell; the last attribute is the fastest. */
function candidatesOf(attributes: readonly Attribute[], cell: bigint): number[] {
  const found = [...attributes].reverse().map(({ size }) => {
    const candidate = Number(cell % BigInt(size));
    cell /= BigInt(size);
    return candidate;
  });
  return found.reverse();
}

export function isNamed({ named }: Block, own: readonly number[]): boolean {
  return !!named?.some((cell) => cell.every((candidate, i) => candidate === own[i]));
}

/** The most that any report can make likely of two answers that were equally likely before. */
export const mostSure = (epsilon: number): number => 1 / (1 + Math.exp(-epsilon));
