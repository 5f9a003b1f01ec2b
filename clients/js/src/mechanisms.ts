// The mechanisms: how one block is randomized, what it reveals, and how it lies in a report (sections 3.4, 5, 6, 7 and 10).
// A channel is one block under one mechanism; all else is written against channels.

import { BIG_UNIT, UNIT, bitLength, flipLoss, logUp, type Loss } from "./budget";
import { ANY, isObject, mapOf, maybe, membersOf, named, need, type Json, type JsonObject } from "./canonical";
import { codesOf, finished, prefixed, sizeOf, type Codes } from "./codes";
import type { Reason } from "./errors";
import { Most } from "./limits";
import { joined, largest, product, range, sum } from "./numbers";
import type { Attribute } from "./questions";
import type { Randomness } from "./randomness";
import { utf8 } from "./sha256";

export type Block = readonly Attribute[];
/** Places of bits in a block. */
type Places = readonly number[];

/** One block under one mechanism; lossOf: where its epsilon is not just the logarithm of the odds. */
interface Made extends Omit<Channel, "lossOf"> {
  readonly lossOf?: Channel["lossOf"];
}

export interface Channel {
  readonly width: number;
  /** The most bits of such a block, where odds may be smaller. */
  readonly widest?: number;
  /** Epsilon between two cells; place: that differ in the block's attribute there, alone. */
  lossOf(place?: number): Loss;
  /** A noisy output for the cell: what to turn over in an empty block; the same work whatever the cell. */
  draw(cell: bigint, randomness: Randomness): Places;
  /** Fresh noise over a permanent output with these ones: what to turn over in it. Where the mechanism can have two layers. */
  refresh?(ones: Places, randomness: Randomness): Places;
  /** Why no cell can give an output with these ones, where none can. */
  refusal?(ones: Places): Reason | false;
}

/** Noise by number of blocks. */
export type Noise = ReadonlyMap<number, bigint>;

export interface Mechanism {
  /** The most cells of a jointly randomized block. */
  readonly largestBlock: bigint;
  readonly noise: Noise;
  /** The noise of the layer below, which is drawn once and kept. */
  readonly lower?: Noise;
  /** Whether a block's epsilon depends on which attributes it holds. */
  readonly differs: boolean;
  /** The block's channel, where a report has so many blocks; isBelow: of the permanent layer alone. */
  channel(block: Block, nBlocks: number, isBelow?: boolean): Channel;
  /** Bits of a block of so many cells at most, whatever the number of blocks. */
  mostWidth(cells: bigint, block?: Block): number;
  /** Whether its parameters fit the attributes. */
  fits(attributes: Block, jointly: boolean): boolean;
  /** Derives the codes of a block, where it has some; stops now and then. */
  derived(block: Block): Generator<void, Codes | undefined>;
  /** Whether so many blocks, and their codes, can be looked at in a moment. */
  areFew(blocks: readonly Block[]): boolean;
}

export const cellsOf = (block: Block): bigint => product(block.map(({ size }) => BigInt(size)));

// ---- channels; below: the noise of the permanent layer, where there is one

type Make = (cells: bigint, noise: bigint, below?: bigint, codes?: Codes) => Made;

/** Bits, each changed alike: those of the cell's code, or one of its own for every cell. */
const flipped: Make = (cells, units, below, { width, row, distance } = { width: Number(cells), row: (cell) => [cell], distance: () => 2 }) => ({
  width,
  lossOf: (place) => flipLoss(units, below) * BigInt(distance(place)),
  draw(cell, randomness) {
    return [...row(Number(cell)), ...this.refresh!([], randomness)];
  },
  refresh: (_ones, randomness) => randomness.changes(width, Number(units)),
});

const optimized: Make = (cells, odds) => ({
  width: Number(cells),
  draw(cell, randomness) {
    const coin = randomness.below(2n);
    return range(this.width).filter((i) => {
      const drawn = randomness.below(odds + BIG_UNIT);
      return i === Number(cell) ? coin : drawn < UNIT;
    });
  },
});

const subset: Make = (cells, odds) => {
  const width = Number(cells), w = largest([1n, (2n * cells * BIG_UNIT + odds + BIG_UNIT) / (2n * (odds + BIG_UNIT))]), size = Number(w);
  return {
    width,
    draw(cell, randomness) {
      const isHeld = randomness.below(w * odds + (cells - w) * BIG_UNIT) < w * odds;
      return randomness.prefix(width - 1, size).map((other, i) => [other + +(other >= cell), Number(cell)][+(isHeld && i === size - 1)]);
    },
    refusal: (ones) => ones.length !== size && "weight",
  };
};

const bytesFor = (numbers: bigint): number => (bitLength(numbers - 1n) + 7) >> 3;

/** A block that sends one number below `numbers`, in whole bytes, the most significant first. */
function numbered(numbers: bigint, draw: (cell: bigint, randomness: Randomness) => bigint): Made {
  const width = 8 * bytesFor(numbers), numberOf = (ones: Places): bigint => ones.reduce((number, i) => number + (1n << BigInt(width - 1 - (i ^ 7))), 0n);
  return {
    width,
    draw: (cell, randomness) => [...draw(cell, randomness).toString(2).padStart(width, "0")].flatMap((digit, i) => (+digit ? i ^ 7 : [])),
    refresh(ones, randomness) {
      return [...ones, ...this.draw(numberOf(ones), randomness)];
    },
    refusal: (ones) => numberOf(ones) >= numbers && "range",
  };
}

const direct: Make = (cells, odds, below) => ({
  ...numbered(cells, (cell, randomness) => {
    const drawn = randomness.below(odds + (cells - 1n) * BIG_UNIT) - odds + BIG_UNIT;
    return [drawn / BIG_UNIT, cell][+(drawn < 0n)];
  }),
  // through every cell that may be kept
  ...(below && { lossOf: () => logUp(odds * below + (cells - 1n) * BIG_UNIT ** 2n, BIG_UNIT * (odds + below + (cells - 2n) * BIG_UNIT)) }),
});

function nextPrime(n: number, step: number): bigint {
  while (range((Math.sqrt(n) | 0) - 1).some((q) => n % (q + 2) === 0)) n += step;
  return BigInt(n);
}

/** g, the number of values of a hash function: a prime that the odds decide. */
function valuesFor(odds: bigint): bigint {
  const best = Number(odds / BIG_UNIT) + 1;
  if (best >= 65521) return 65521n;
  const g1 = nextPrime(best, -1), g2 = nextPrime(best + 1, 1), spread = (g: bigint): bigint => (odds - BIG_UNIT + g * BIG_UNIT) ** 2n;
  return spread(g1) * (g2 - 1n) <= spread(g2) * (g1 - 1n) ? g1 : g2;
}

const hashed: Make = (cells, odds) => {
  const g = valuesFor(odds);
  let functions = g;
  while (functions < cells) functions *= g;
  const channel = numbered(functions * g, (cell, randomness) => {
    const number = randomness.below(functions), drawn = randomness.below(odds + (g - 1n) * BIG_UNIT);
    let value = drawn < odds ? 0n : (drawn - odds) / BIG_UNIT + 1n;
    for (let f = number, x = cell; x; f /= g, x /= g) value += (f % g) * (x % g);
    return number * g + (value % g);
  });
  return { ...channel, widest: 8 * bytesFor(cells * g * g) };
};

// ---- as a campaign names them

/** By name and variant: the maker of channels, the members beside the noise, the largest block, and whether there may be a permanent layer. */
const MECHANISMS: Readonly<Record<string, readonly [Make, object, bigint, true?]>> = {
  "bloom,": [flipped, { bits: ANY, hashes: 0, salt: "" }, 65536n, true],
  "unary,symmetric": [flipped, { variant: "" }, 65536n, true],
  "unary,optimized": [optimized, { variant: "" }, 65536n],
  "subset,": [subset, {}, 65536n],
  "direct,": [direct, {}, 1n << 62n, true],
  "hashed,": [hashed, {}, 1n << 20n],
};

/** Noise of bits is an integer of units, and of cells one of odds, as a text. */
function noiseOf(value: Json, isUnits: boolean): Noise {
  const each = mapOf(value, (item) => {
    need(typeof item === (isUnits ? "number" : "string") && /^[1-9]\d{0,99}$/.test(item as string));
    const noise = BigInt(item as string);
    need(isUnits ? noise < UNIT / 2 : noise > UNIT && noise < 1n << 330n);
    return noise;
  });
  need(each.size && [...each.keys()].every((blocks) => /^(0|[1-9]\d{0,4})$/.test(blocks)));
  return new Map([...each].map(([blocks, noise]) => [+blocks, noise]));
}

export function mechanismOf(value: Json): Mechanism {
  const { name, variant } = Object(value), [make, own, largestBlock, mayKeep] = named(MECHANISMS, String([name, variant])), isUnits = make === flipped, key = isUnits ? "change_units" : "odds";
  const members = membersOf(value, { name: "", [key]: ANY, ...own }, mayKeep && { permanent: ANY }) as unknown as JsonObject & { readonly hashes: number; readonly salt: string };
  const { hashes, salt, bits } = members, lengths = isObject(bits) ? bits : undefined, known = new Map<string, Codes>(), start = joined(["lopub/bloom/1", salt].map(prefixed));
  const noise = noiseOf(members[key], isUnits), lower = maybe(members.permanent, (value) => noiseOf(value, isUnits));
  const widthOf = (block?: Block): number => (lengths ? lengths[block![0].name] : bits) as number;
  need(bits === undefined || (hashes > 0 && hashes <= Most.hashes && Object.values(lengths ?? { bits }).every((m) => typeof m === "number" && m > 1 && m <= Most.bits && hashes <= m)));
  function* derived(block: Block): Generator<void, Codes | undefined> {
    const key = block.map(({ name }) => name).join("\0");
    if (hashes && !known.has(key)) known.set(key, yield* codesOf(block, widthOf(block), hashes, start));
    return known.get(key);
  }
  return {
    noise,
    lower,
    largestBlock,
    differs: !!hashes || (make === direct && !!lower), // two layers hide more, the more cells there are
    derived,
    channel(block, nBlocks, isBelow) {
      const below = lower?.get(nBlocks), [upper, under] = isBelow ? [below!] : [noise.get(nBlocks)!, below];
      return { lossOf: () => logUp(upper, BIG_UNIT), ...make(cellsOf(block), upper, under, finished(derived(block))) };
    },
    mostWidth(cells, block) {
      const { width, widest } = make(cells, largest([...noise.values()]));
      return hashes ? widthOf(block) : (noise.size > 1 && widest) || width;
    },
    fits: (attributes, jointly) => !lengths || (!jointly && Object.keys(lengths).length === attributes.length && attributes.every(({ name }) => Object.hasOwn(lengths, name))),
    areFew: (blocks) =>
      hashes
        ? sum(blocks.map(sizeOf)) * hashes <= Most.positions &&
          // for the first hashes of all cells: the start, a counter, names and texts, each after its length
          sum(blocks.map((block) => sizeOf(block) * (start.length + 8 + sum(block.map(({ name, texts, size }) => 8 + utf8(name).length + utf8(texts.join("")).length / size))))) <= Most.hashedBytes
        : noise.size * new Set(blocks.map(cellsOf)).size <= Most.laws,
  };
}
