// The mechanisms: how one block is randomized, what it reveals, and how it lies in a report (sections 3.4, 5, 6, 7 and 10).
// A channel is one block under one mechanism; all else is written against channels.

import { BIG_UNIT, UNIT, bitLength, flipLoss, logUp, type Loss } from "./budget";
import { refuse, type Json, type Members } from "./canonical";
import { ReportRejected } from "./errors";
import { bigOf, bitAt, flipBit, largest, product, range, sum } from "./numbers";
import type { Attribute } from "./questions";
import type { Randomness } from "./randomness";
import { sha256, utf8 } from "./sha256";

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
  /** Where every block has codes of its own. */
  readonly bloom?: Bloom;
}

const cellsOf = (block: Block): bigint => product(block.map(({ size }) => size));
const bytesFor = (numbers: bigint): number => (bitLength(numbers - 1n) + 7) >> 3;

// ---- bloom

const MOST_COMPARED = 256;
const MOST_HASHED = 2 ** 18;
const MOST_HASHED_BYTES = 2 ** 25;

/** The parts one behind the other, each after its length. */
function prefixed(parts: readonly string[]): Uint8Array {
  const each = parts.map(utf8), bytes = new Uint8Array(sum(each.map(({ length }) => 4 + length))), view = new DataView(bytes.buffer);
  each.reduce((at, part) => {
    view.setUint32(at, part.length);
    bytes.set(part, at + 4);
    return at + 4 + part.length;
  }, 0);
  return bytes;
}

/** The distinct positions of one candidate, in the order in which they are found (section 6). */
export function positions(salt: string, names: readonly string[], texts: readonly string[], bits: number, hashes: number): number[] {
  const found = new Set<number>(), bytes = prefixed(["lopub/bloom/1", salt, ...names, ...texts, "\0\0\0\0"]), last = new DataView(bytes.buffer, bytes.length - 4);
  for (let turn = 0; ; turn++) {
    last.setUint32(0, turn);
    const words = new DataView(sha256(bytes).buffer);
    for (let i = 0; i < 32; i += 4) {
      const word = words.getUint32(i);
      if (word < UNIT - (UNIT % bits) && found.add(word % bits).size === hashes) return [...found];
    }
  }
}

/** The codes of a block: of every cell, its positions. Derived where they are needed, and once. */
class Codes {
  private _kept?: number[][];

  constructor(private readonly _block: Block, private readonly _bits: number, private readonly _hashes: number, private readonly _salt: string) {}

  /** Of one cell. */
  row(cell: number): number[] {
    if (this._kept) return this._kept[cell];
    const texts = [...this._block].reverse().map((attribute) => {
      const text = attribute.text(cell % attribute.size);
      cell = Math.floor(cell / attribute.size);
      return text;
    });
    return positions(this._salt, this._block.map(({ name }) => name), texts.reverse(), this._bits, this._hashes);
  }

  private get _rows(): number[][] {
    return (this._kept ??= range(Number(cellsOf(this._block))).map((cell) => this.row(cell)));
  }

  get isDistinct(): boolean {
    return new Set(this._rows.map((row) => String([...row].sort()))).size === this._rows.length;
  }

  /** The largest number of bits in which two cells differ, or a bound where they are many; place: that differ in the block's attribute there, alone. */
  distance(place?: number): number {
    const block = this._block, most = 2 * Math.min(this._hashes, this._bits - this._hashes), n = Number(cellsOf(block));
    if (n > MOST_COMPARED) return most;
    const stride = place === undefined ? 1 : Number(cellsOf(block.slice(place + 1))), span = place === undefined ? n : stride * block[place].size;
    let found = 0;
    for (let one = 0; one < n && found < most; one++) {
      const mine = new Set(this._rows[one]), end = one - (one % span) + span;
      for (let other = one + stride; other < end; other += stride) {
        found = Math.max(found, 2 * this._rows[other].filter((position) => !mine.has(position)).length);
      }
    }
    return found;
  }
}

export class BloomChannel implements Channel {
  constructor(readonly codes: Codes, readonly width: number, private readonly _units: bigint, private readonly _below?: bigint) {}

  /** What one differing bit reveals. */
  get bitLoss(): Loss {
    return flipLoss(this._units, this._below);
  }

  /** Epsilon between two cells; place: that differ in the block's attribute there, alone. */
  lossOf(place?: number): Loss {
    return this.bitLoss * BigInt(this.codes.distance(place));
  }

  randomize(cell: bigint, randomness: Randomness, payload: Uint8Array, at: number): void {
    for (const position of this.codes.row(Number(cell))) flipBit(payload, at + position);
    this.refresh(randomness, payload, at);
  }

  refresh(randomness: Randomness, payload: Uint8Array, at: number): void {
    randomness.change(payload, at, this.width, Number(this._units));
  }
}

export class Bloom implements Mechanism {
  readonly largestBlock = 65536n;
  readonly noise: Noise;
  readonly permanent?: Noise;
  readonly differs = true;
  readonly bloom = this;
  private readonly _bits: number | ReadonlyMap<string, number>;
  private readonly _hashes: number;
  private readonly _salt: string;
  private readonly _codes = new Map<string, Codes>();

  constructor(members: Members) {
    const bits = members.take("bits");
    this._bits = typeof bits === "object" ? members.inner(bits).every(asInteger) : asInteger(bits);
    this.noise = unitsOf(members);
    this.permanent = below(members, unitsOf);
    this._hashes = members.integer("hashes");
    this._salt = members.text("salt");
    members.need(this._hashes <= 64 && this._lengths.every((m) => m > 1 && m <= 65536 && this._hashes > 0 && this._hashes <= m));
  }

  private get _lengths(): number[] {
    return typeof this._bits === "number" ? [this._bits] : [...this._bits.values()];
  }

  channel(block: Block, nBlocks: number, isBelow?: boolean): BloomChannel {
    const width = this.mostWidth(0n, block), key = block.map(({ name }) => name).join("\0"), known = this._codes.get(key);
    const codes = known ?? new Codes(block, width, this._hashes, this._salt), lower = this.permanent?.get(nBlocks);
    if (!known) this._codes.set(key, codes);
    return isBelow ? new BloomChannel(codes, width, lower!) : new BloomChannel(codes, width, this.noise.get(nBlocks)!, lower);
  }

  mostWidth(_cells: bigint, block?: Block): number {
    return typeof this._bits === "number" ? this._bits : this._bits.get(block![0].name)!;
  }

  /** Whether there is a filter's length for every attribute, and none to spare. */
  fits(attributes: Block, jointly: boolean): boolean {
    const bits = this._bits;
    return typeof bits === "number" || (!jointly && bits.size === attributes.length && attributes.every(({ name }) => bits.has(name)));
  }

  /** Refuse more codes than can be derived in a moment, before any is. */
  checkCodes(blocks: readonly Block[]): void {
    const lengths = new Map<Attribute, number>(), length = (texts: readonly string[]): number => sum(texts.map((text) => 4 + utf8(text).length));
    if (sum(blocks.map((block) => Number(cellsOf(block)))) * this._hashes > MOST_HASHED) refuse("limit");
    let bytes = 0;
    for (const block of blocks) {
      const n = Number(cellsOf(block));
      bytes += n * length(["lopub/bloom/1", this._salt, "\0\0\0\0", ...block.map(({ name }) => name)]);
      for (const attribute of block) {
        const texts = lengths.get(attribute) ?? length(attribute.texts());
        lengths.set(attribute, texts);
        bytes += (n / attribute.size) * texts;
      }
    }
    if (bytes > MOST_HASHED_BYTES) refuse("limit");
  }
}

// ---- unary, subset, direct, hashed

/** The channel of a block of so many cells; below: the noise of the permanent layer, where there is one. */
type Make = (cells: bigint, noise: bigint, below?: bigint) => Channel;

const symmetric: Make = (cells, noise, below) => ({
  width: Number(cells),
  lossOf: () => 2n * flipLoss(noise, below),
  randomize(cell, randomness, payload, at) {
    flipBit(payload, at + Number(cell));
    this.refresh!(randomness, payload, at);
  },
  refresh(randomness, payload, at) {
    randomness.change(payload, at, this.width, Number(noise));
  },
});

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
      if (sum(range(width).map((i) => bitAt(payload, at + i))) !== size) throw new ReportRejected("weight");
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
      if (numberAt(payload, at) >= numbers) throw new ReportRejected("range");
    },
  };
}

const direct: Make = (cells, odds, below) => {
  // through every cell that may be kept
  const loss = (): Loss => (below ? logUp(odds * below + (cells - 1n) * BIG_UNIT ** 2n, BIG_UNIT * (odds + below + (cells - 2n) * BIG_UNIT)) : oddsLoss(odds));
  return numbered(cells, loss, (cell, randomness) => {
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

const byCells = (make: Make, noise: Noise, largestBlock = 65536n, permanent?: Noise): Mechanism => ({
  noise,
  permanent,
  largestBlock,
  differs: make === direct && !!permanent, // two layers hide more, the more cells there are
  channel(block, nBlocks, isBelow) {
    const lower = permanent?.get(nBlocks), cells = cellsOf(block);
    return isBelow ? make(cells, lower!) : make(cells, noise.get(nBlocks)!, lower);
  },
  mostWidth(cells) {
    const most = largest([...noise.values()]), g = make === hashed && noise.size > 1 && valuesFor(most);
    return g ? 8 * bytesFor(cells * g * g) : make(cells, most).width;
  },
});

const MECHANISMS: Readonly<Record<string, (members: Members) => Mechanism>> = {
  bloom: (members) => new Bloom(members),
  unary(members) {
    const variant = members.text("variant");
    members.need(variant === "symmetric" || variant === "optimized");
    return variant === "symmetric" ? byCells(symmetric, unitsOf(members), undefined, below(members, unitsOf)) : byCells(optimized, oddsOf(members));
  },
  subset: (members) => byCells(subset, oddsOf(members)),
  direct: (members) => byCells(direct, oddsOf(members), 1n << 62n, below(members, oddsOf)),
  hashed: (members) => byCells(hashed, oddsOf(members), 1n << 20n),
};

export function mechanismOf(members: Members): Mechanism {
  const name = members.text("name");
  members.need(Object.keys(MECHANISMS).includes(name));
  const mechanism = MECHANISMS[name](members);
  members.done();
  return mechanism;
}

const asInteger = (value: Json): number => (typeof value === "number" ? value : refuse("mechanism"));

function noiseOf(members: Members, key: string, read: (value: Json) => bigint): Noise {
  const each = [...members.members(key).every(read)];
  members.need(each.length && each.every(([blocks]) => /^\d{1,5}$/.test(blocks)));
  members.note(each.every(([blocks]) => blocks === String(+blocks)));
  return new Map(each.map(([blocks, value]) => [+blocks, value]));
}

/** The same of the permanent layer, where there is one. */
const below = (members: Members, read: (members: Members, key: string) => Noise): Noise | undefined => (members.has("permanent") ? read(members, "permanent") : undefined);

const unitsOf = (members: Members, key = "change_units"): Noise =>
  noiseOf(members, key, (value) => {
    members.need(asInteger(value) > 0 && (value as number) < UNIT / 2);
    return BigInt(value as number);
  });

const oddsOf = (members: Members, key = "odds"): Noise =>
  noiseOf(members, key, (value) => {
    members.need(typeof value === "string" && /^\d{1,100}$/.test(value));
    const odds = BigInt(value as string);
    members.note(String(odds) === value);
    members.need(odds > BIG_UNIT && odds < 1n << 330n);
    return odds;
  });
