// Mechanisms as a campaign names them (section 3.4): which channel a block gets, and its bounds.

import { UNIT } from "./budget";
import { joined, utf8 } from "./bytes";
import { ANY, isObject, mapOf, maybe, membersOf, named, need, type Json } from "./canonical";
import { Direct, Flipped, FlippedCells, Hashed, Optimized, Subset, type Channel } from "./channels";
import {
  cellsOf,
  Filters,
  finished,
  OneHot,
  prefixed,
  sizeOf,
  type Block,
  type Code,
} from "./codes";
import { Most } from "./limits";
import { largest, sum } from "./numbers";

/** Noise by number of blocks. */
export type Noise = ReadonlyMap<number, bigint>;

type Kind = {
  /** The channel of a block of so many cells; below: the noise of the permanent layer. */
  readonly channel: (cells: bigint, noise: bigint, below?: bigint, code?: Code) => Channel;
  /** Samples of the members beside the noise. */
  readonly members?: object;
  /** The most cells of a jointly randomized block. */
  readonly largestBlock: bigint;
  /** Whether the noise counts changes, in units, and not odds. */
  readonly hasUnits?: boolean;
  /** Whether there may be a permanent layer, and whether epsilon then depends on the cells. */
  readonly mayKeep?: boolean;
  readonly keptByCells?: boolean;
};

const MEMBERS_OF_UNARY = { members: { variant: "" }, largestBlock: 65536n };

/** By name and variant. */
const KINDS: Readonly<Record<string, Kind>> = {
  "bloom,": {
    channel: (_cells, units, below, code) => new Flipped(code!, units, below),
    members: { bits: ANY, hashes: 0, salt: "" },
    largestBlock: 65536n,
    hasUnits: true,
    mayKeep: true,
  },
  "unary,symmetric": {
    channel: (cells, units, below) => new FlippedCells(new OneHot(Number(cells)), units, below),
    ...MEMBERS_OF_UNARY,
    hasUnits: true,
    mayKeep: true,
  },
  "unary,optimized": { channel: (cells, odds) => new Optimized(cells, odds), ...MEMBERS_OF_UNARY },
  "subset,": { channel: (cells, odds) => new Subset(cells, odds), largestBlock: 65536n },
  "direct,": {
    channel: (cells, odds, below) => new Direct(cells, odds, below),
    largestBlock: 1n << 62n,
    mayKeep: true,
    keptByCells: true,
  },
  "hashed,": { channel: (cells, odds) => new Hashed(cells, odds), largestBlock: 1n << 20n },
};

/** Noise of bits is an integer of units, and of cells one of odds, as a text. */
function noiseOf(value: Json, hasUnits: boolean): Noise {
  const each = mapOf(value, (item) => {
    need(typeof item === (hasUnits ? "number" : "string"));
    need(/^[1-9]\d{0,99}$/.test(item as string));
    const noise = BigInt(item as string);
    need(hasUnits ? noise < UNIT / 2 : noise > UNIT && noise < 1n << 330n);
    return noise;
  });
  need(each.size && [...each.keys()].every((blocks) => /^(0|[1-9]\d{0,4})$/.test(blocks)));
  return new Map([...each].map(([blocks, noise]) => [+blocks, noise]));
}

export class Mechanism {
  readonly noise: Noise;
  /** The noise of the layer below, which is drawn once and kept. */
  readonly lower?: Noise;
  readonly #kind: Kind;
  readonly #hashes: number;
  /** Bits of every filter, or of each attribute's. */
  readonly #bits: number | Readonly<Record<string, Json>>;
  /** What is hashed first for every code. */
  readonly #start: Uint8Array;
  readonly #codes = new Map<string, Filters>();

  constructor(value: Json) {
    const { name, variant } = Object(value);
    const kind = named(KINDS, String([name, variant]));
    const key = kind.hasUnits ? "change_units" : "odds";
    const members = membersOf(
      value,
      { name: "", [key]: ANY, ...kind.members },
      kind.mayKeep ? { permanent: ANY } : undefined,
    ) as unknown as Record<"odds" | "change_units" | "bits" | "permanent", Json> & {
      readonly hashes: number;
      readonly salt: string;
    };
    const read = (each: Json): Noise => noiseOf(each, !!kind.hasUnits);
    this.#kind = kind;
    this.noise = read(members[key]);
    this.lower = maybe(members.permanent, read);
    this.#hashes = members.hashes;
    this.#bits = members.bits as number;
    this.#start = joined(["lopub/bloom/1", members.salt].map((part) => prefixed(part)));
    if (this.#hashes !== undefined) this.#checkFilters();
  }

  #checkFilters(): void {
    need(this.#hashes > 0 && this.#hashes <= Most.hashes);
    const widths = isObject(this.#bits) ? Object.values(this.#bits) : [this.#bits];
    for (const bits of widths) {
      need(typeof bits === "number" && bits > 1 && bits <= Most.bits && this.#hashes <= bits);
    }
  }

  /** The most cells of a jointly randomized block. */
  get largestBlock(): bigint {
    return this.#kind.largestBlock;
  }

  /** Whether a block's epsilon depends on which attributes it holds. */
  get differs(): boolean {
    return !!this.#hashes || (!!this.#kind.keptByCells && !!this.lower);
  }

  /**
   * The block's channel, where a report has so many blocks; isBelow: of the permanent layer alone.
   */
  channel(block: Block, nBlocks: number, isBelow?: boolean): Channel {
    const below = this.lower?.get(nBlocks);
    const code = this.#hashes ? finished(this.derived(block)) : undefined;
    const { channel } = this.#kind;
    if (isBelow) return channel(cellsOf(block), below!, undefined, code);
    return channel(cellsOf(block), this.noise.get(nBlocks)!, below, code);
  }

  /** Derives the codes of a block, where it has some; yields now and then. */
  *derived(block: Block): Generator<void, Filters | undefined> {
    const key = block.map(({ name }) => name).join("\0");
    if (this.#hashes && !this.#codes.has(key)) {
      const width = this.#widthOf(block);
      this.#codes.set(key, yield* Filters.derived(block, width, this.#hashes, this.#start));
    }
    return this.#codes.get(key);
  }

  #widthOf(block: Block): number {
    return (isObject(this.#bits) ? this.#bits[block[0].name] : this.#bits) as number;
  }

  /** Bits of a block of so many cells at most, whatever the number of blocks. */
  mostWidth(cells: bigint, block: Block): number {
    if (this.#hashes) return this.#widthOf(block);
    const channel = this.#kind.channel(cells, largest([...this.noise.values()]));
    return this.noise.size > 1 ? channel.widest : channel.width;
  }

  /** Whether lengths of filters are given for these attributes, and for no other. */
  fits(attributes: Block, jointly: boolean): boolean {
    const bits = this.#bits;
    if (!isObject(bits)) return true;
    const isEach = attributes.every(({ name }) => Object.hasOwn(bits, name));
    return !jointly && isEach && Object.keys(bits).length === attributes.length;
  }

  /** Whether so many blocks, and their codes, can be looked at in a moment. */
  areFew(blocks: readonly Block[]): boolean {
    const hashes = this.#hashes;
    if (!hashes) {
      return this.noise.size * new Set(blocks.map((each) => cellsOf(each))).size <= Most.laws;
    }
    const positions = sum(blocks.map(sizeOf)) * hashes;
    return (
      positions <= Most.positions &&
      sum(blocks.map((each) => this.#hashed(each))) <= Most.hashedBytes
    );
  }

  /**
   * Bytes for the first hashes of all cells: the start, a counter, names and texts, each after its
   * length.
   */
  #hashed(block: Block): number {
    const average = block.map(
      ({ name, texts, size }) => 8 + utf8(name).length + utf8(texts.join("")).length / size,
    );
    return sizeOf(block) * (this.#start.length + 8 + sum(average));
  }
}
