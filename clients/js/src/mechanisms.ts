// The mechanisms: how one block is randomized, what it reveals, and how it lies in a report (sections 3.4, 5, 6, 7 and 10).
// A channel is one block under one mechanism; all else is written against channels.

import { BIG_UNIT, UNIT, bitLength, flipLoss, logUp, type Loss } from "./budget";
import { done, every, has, isObject, membersOf, need, note, take, type Json, type Members } from "./canonical";
import { codesOf, finished, hashedBytes, prefixed, type Codes } from "./codes";
import { reject } from "./errors";
import { Most } from "./limits";
import { bigOf, bitAt, flipBit, largest, product, range, sum } from "./numbers";
import type { Attribute } from "./questions";
import type { Randomness } from "./randomness";

export type Block = readonly Attribute[];

export interface Channel {
  readonly width: number;
  /** Epsilon between two cells; place: that differ in the block's attribute there, alone. */
  lossOf(place?: number): Loss;
  /** A noisy output for the cell, put into the payload from a bit on; the same work whatever the cell. */
  randomize(cell: bigint, randomness: Randomness, payload: Uint8Array, at: number): void;
  /** Fresh noise over the permanent output that stands in the payload, where the mechanism can have two layers. */
  refresh?(randomness: Randomness, payload: Uint8Array, at: number): void;
  /** Refuse an output that no cell can give. */
  check?(payload: Uint8Array, at: number): void;
}

/** Noise by number of blocks. */
export type Noise = ReadonlyMap<number, bigint>;

export interface Mechanism {
  /** The most cells of a jointly randomized block. */
  readonly largestBlock: bigint;
  readonly noise: Noise;
  /** The noise of the layer below, which is drawn once and kept. */
  readonly permanent?: Noise;
  /** Whether a block's epsilon depends on which attributes it holds. */
  readonly differs?: boolean;
  /** The block's channel, where a report has so many blocks; isBelow: of the permanent layer alone. */
  channel(block: Block, nBlocks: number, isBelow?: boolean): Channel;
  /** Bits of a block of so many cells at most, whatever the number of blocks. */
  mostWidth(cells: bigint, block?: Block): number;
  /** Whether its parameters fit the attributes. */
  fits?(attributes: Block, jointly: boolean): boolean;
  /** Derives the codes of a block, where it has some; stops now and then. */
  derived?(block: Block): Generator<void, Codes>;
  /** Whether the codes of these blocks can be derived in a moment. */
  areFew?(blocks: readonly Block[]): boolean;
}

export const cellsOf = (block: Block): bigint => product(block.map(({ size }) => size));
const bytesFor = (numbers: bigint): number => (bitLength(numbers - 1n) + 7) >> 3;

// ---- channels; below: the noise of the permanent layer, where there is one

type Make = (cells: bigint, noise: bigint, below?: bigint) => Channel;

/** Bits, each changed alike: those of the cell's code. */
const flipped = (width: number, { row, distance }: Codes, units: bigint, below?: bigint): Channel => ({
  width,
  lossOf: (place) => flipLoss(units, below) * BigInt(distance(place)),
  randomize(cell, randomness, payload, at) {
    for (const position of row(Number(cell))) flipBit(payload, at + position);
    this.refresh!(randomness, payload, at);
  },
  refresh(randomness, payload, at) {
    randomness.change(payload, at, width, Number(units));
  },
});

/** A bit of its own for every cell. */
const ONE_EACH: Codes = { row: (cell) => [cell], distance: () => 2, isDistinct: true };
const symmetric: Make = (cells, units, below) => flipped(Number(cells), ONE_EACH, units, below);

const oddsLoss = (odds: bigint): Loss => logUp(odds, BIG_UNIT);

const optimized: Make = (cells, odds) => ({
  width: Number(cells),
  lossOf: () => oddsLoss(odds),
  randomize(cell, randomness, payload, at) {
    const coin = randomness.below(2n);
    for (let i = 0; i < this.width; i++) {
      const drawn = randomness.below(odds + BIG_UNIT);
      if (i === Number(cell) ? coin : drawn < UNIT) flipBit(payload, at + i);
    }
  },
});

const subset: Make = (cells, odds) => {
  const width = Number(cells), w = largest([1n, (2n * cells * BIG_UNIT + odds + BIG_UNIT) / (2n * (odds + BIG_UNIT))]), size = Number(w);
  return {
    width,
    lossOf: () => oddsLoss(odds),
    randomize(cell, randomness, payload, at) {
      const isHeld = randomness.below(w * odds + (cells - w) * BIG_UNIT) < w * odds;
      randomness.prefix(width - 1, size).forEach((other, i) => {
        const drawn = other + +(other >= cell);
        flipBit(payload, at + [drawn, Number(cell)][+(isHeld && i === size - 1)]);
      });
    },
    check(payload, at) {
      if (sum(range(width).map((i) => bitAt(payload, at + i))) !== size) reject("weight");
    },
  };
};

/** A block that sends one number below `numbers`, in whole bytes. */
function numbered(numbers: bigint, lossOf: () => Loss, draw: (cell: bigint, randomness: Randomness) => bigint): Channel {
  const length = bytesFor(numbers), numberAt = (payload: Uint8Array, at: number): bigint => bigOf(payload.subarray(at / 8, at / 8 + length));
  return {
    width: 8 * length,
    lossOf,
    randomize(cell, randomness, payload, at) {
      let number = draw(cell, randomness);
      for (let i = length; i--; number >>= 8n) payload[at / 8 + i] = Number(number & 255n);
    },
    refresh(randomness, payload, at) {
      this.randomize(numberAt(payload, at), randomness, payload, at);
    },
    check(payload, at) {
      if (numberAt(payload, at) >= numbers) reject("range");
    },
  };
}

const direct: Make = (cells, odds, below) => {
  // through every cell that may be kept
  const lossOf = (): Loss => (below ? logUp(odds * below + (cells - 1n) * BIG_UNIT ** 2n, BIG_UNIT * (odds + below + (cells - 2n) * BIG_UNIT)) : oddsLoss(odds));
  return numbered(cells, lossOf, (cell, randomness) => {
    const drawn = randomness.below(odds + (cells - 1n) * BIG_UNIT) - odds + BIG_UNIT;
    return [drawn / BIG_UNIT, cell][+(drawn < 0n)];
  });
};

function nextPrime(n: number, step: number): bigint {
  while (range(Math.floor(Math.sqrt(n)) - 1).some((q) => n % (q + 2) === 0)) n += step;
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
  return numbered(functions * g, () => oddsLoss(odds), (cell, randomness) => {
    const number = randomness.below(functions), drawn = randomness.below(odds + (g - 1n) * BIG_UNIT);
    let value = drawn < odds ? 0n : (drawn - odds) / BIG_UNIT + 1n;
    for (let f = number, x = cell; x; f /= g, x /= g) value += (f % g) * (x % g);
    return number * g + (value % g);
  });
};

// ---- as a campaign names them

/** A mechanism whose blocks differ in nothing but their numbers of cells. */
function byCells(make: Make, read: (members: Members, key?: string) => Noise, members: Members, largestBlock = 65536n): Mechanism {
  const noise = read(members), permanent = (make === symmetric || make === direct) && has(members, "permanent") ? read(members, "permanent") : undefined;
  return {
    noise,
    permanent,
    largestBlock,
    differs: make === direct && !!permanent, // two layers hide more, the more cells there are
    areFew: (blocks) => noise.size * new Set(blocks.map(cellsOf)).size <= Most.laws,
    channel(block, nBlocks, isBelow) {
      const lower = permanent?.get(nBlocks), cells = cellsOf(block);
      return isBelow ? make(cells, lower!) : make(cells, noise.get(nBlocks)!, lower);
    },
    mostWidth(cells) {
      const most = largest([...noise.values()]), g = make === hashed && noise.size > 1 && valuesFor(most);
      return g ? 8 * bytesFor(cells * g * g) : make(cells, most).width;
    },
  };
}


function bloom(members: Members): Mechanism {
  const given = take(members, "bits"), lengths = isObject(given) ? every(membersOf(given), asInteger) : undefined, one = lengths ? 0 : asInteger(given);
  const layers = byCells(symmetric, unitsOf, members), hashes = take(members, "hashes", 0), salt = take(members, "salt", ""), known = new Map<string, Codes>(), parts = new Map<string, Uint8Array>();
  const prefixedOnce = (part: string): Uint8Array => {
    const found = parts.get(part) ?? prefixed(part);
    parts.set(part, found);
    return found;
  };
  const mostWidth = (_cells: bigint, block?: Block): number => lengths?.get(block![0].name) ?? one;
  need(hashes > 0 && hashes <= Most.hashes && [...(lengths?.values() ?? [one])].every((m) => m > 1 && m <= Most.bits && hashes <= m));
  function* derived(block: Block): Generator<void, Codes> {
    const key = block.map(({ name }) => name).join("\0"), found = known.get(key) ?? (yield* codesOf(block, mostWidth(0n, block), hashes, salt, prefixedOnce));
    known.set(key, found);
    return found;
  }
  return {
    ...layers,
    differs: true,
    derived,
    mostWidth,
    channel(block, nBlocks, isBelow) {
      const lower = layers.permanent?.get(nBlocks), make = flipped.bind(null, mostWidth(0n, block), finished(derived(block)));
      return isBelow ? make(lower!) : make(layers.noise.get(nBlocks)!, lower);
    },
    fits: (attributes, jointly) => !lengths || (!jointly && lengths.size === attributes.length && attributes.every(({ name }) => lengths.has(name))),
    areFew: (blocks) => sum(blocks.map((block) => Number(cellsOf(block)))) * hashes <= Most.positions && hashedBytes(blocks, salt) <= Most.hashedBytes,
  };
}

const MECHANISMS: Readonly<Record<string, (members: Members) => Mechanism>> = {
  bloom,
  unary(members) {
    const variant = take(members, "variant", ""), isSymmetric = variant === "symmetric";
    need(isSymmetric || variant === "optimized");
    return isSymmetric ? byCells(symmetric, unitsOf, members) : byCells(optimized, oddsOf, members);
  },
  subset: (members) => byCells(subset, oddsOf, members),
  direct: (members) => byCells(direct, oddsOf, members, 1n << 62n),
  hashed: (members) => byCells(hashed, oddsOf, members, 1n << 20n),
};

export function mechanismOf(members: Members): Mechanism {
  const name = take(members, "name", "");
  need(Object.hasOwn(MECHANISMS, name));
  const mechanism = MECHANISMS[name](members);
  done(members);
  return mechanism;
}

function asInteger(value: Json): number {
  need(typeof value === "number");
  return value;
}

/** Of two keys that stand for the same number, the later one counts; both are refused in the end. */
function noiseOf(members: Members, key: string, read: (value: Json) => bigint, isRight: (noise: bigint) => boolean): Noise {
  const each = [...every(membersOf(take(members, key)), read)].sort(), noise = new Map(each.map(([blocks, value]) => [+blocks, value]));
  note(each.every(([blocks]) => blocks === String(+blocks)));
  need(each.length && each.every(([blocks]) => /^\d{1,5}$/.test(blocks)) && [...noise.values()].every(isRight));
  return noise;
}

const unitsOf = (members: Members, key = "change_units"): Noise => noiseOf(members, key, (value) => BigInt(asInteger(value)), (units) => units > 0 && units < UNIT / 2);

const oddsOf = (members: Members, key = "odds"): Noise =>
  noiseOf(members, key, (value) => {
    need(typeof value === "string" && /^\d{1,100}$/.test(value));
    note(String(BigInt(value)) === value);
    return BigInt(value);
  }, (odds) => odds > BIG_UNIT && odds < 1n << 330n);
