// Channels: how one block is randomized, what that reveals, and how it lies in a report (sections
// 5,
// 6, 7 and 10). All else is written against them.

import { BIG_UNIT, UNIT, bitLength, flipLoss, logUp, type Loss } from "./budget";
import type { Code } from "./codes";
import type { Reason } from "./errors";
import { digitsOf, largest, range } from "./numbers";
import type { Randomness } from "./randomness";

/** Places of bits in a block. */
export type Places = readonly number[];

/** One block under one mechanism. */
export abstract class Channel {
  abstract readonly width: number;

  /** loss: epsilon between any two cells. */
  constructor(protected readonly loss: Loss) {}

  /** The most bits of such a block, where odds may be smaller. */
  get widest(): number {
    return this.width;
  }

  /** Epsilon between two cells; place: that differ in the block's attribute there, alone. */
  lossOf(_place?: number): Loss {
    return this.loss;
  }

  /**
   * A noisy output for the cell: what to turn over in an empty block; the same work for every cell.
   */
  abstract draw(cell: bigint, randomness: Randomness): Places;

  /** Fresh noise over a permanent output with these ones: what to turn over in it. */
  refresh(_ones: Places, _randomness: Randomness): Places {
    throw new TypeError("this mechanism has no second layer of noise");
  }

  /** Why no cell can give an output with these ones; undefined where one can. */
  refusal(_ones: Places): Reason | undefined {
    return undefined;
  }

  /** The cells that an output names; undefined where it is a pattern that many cells share. */
  named(_ones: Places): readonly bigint[] | undefined {
    return undefined;
  }
}

/** Bits, each changed with the same probability: those of the cell's code. */
export class Flipped extends Channel {
  readonly width: number;

  /** below: the units of the permanent layer, where there is one. */
  constructor(
    readonly code: Code,
    readonly units: bigint,
    below?: bigint,
  ) {
    super(flipLoss(units, below));
    this.width = code.width;
  }

  override lossOf(place?: number): Loss {
    return this.loss * BigInt(this.code.distance(place));
  }

  draw(cell: bigint, randomness: Randomness): Places {
    return [...this.code.row(Number(cell)), ...this.refresh([], randomness)];
  }

  override refresh(_ones: Places, randomness: Randomness): Places {
    return randomness.changes(this.width, Number(this.units));
  }
}

/** Flipped bits of which each stands for one cell. */
export class FlippedCells extends Flipped {
  override named(ones: Places): readonly bigint[] {
    return ones.map(BigInt);
  }
}

/** One bit for each cell: the true one by a fair coin, the others seldom. */
export class Optimized extends Channel {
  readonly width: number;

  constructor(
    cells: bigint,
    readonly odds: bigint,
  ) {
    super(logUp(odds, BIG_UNIT));
    this.width = Number(cells);
  }

  draw(cell: bigint, randomness: Randomness): Places {
    const coin = randomness.below(2n);
    return range(this.width).filter((i) => {
      const drawn = randomness.below(this.odds + BIG_UNIT);
      return i === Number(cell) ? coin : drawn < UNIT;
    });
  }

  override named(ones: Places): readonly bigint[] {
    return ones.map(BigInt);
  }
}

/** A set of cells of a fixed size, which holds the true one more often than others. */
export class Subset extends Channel {
  readonly width: number;
  readonly size: bigint;

  constructor(
    readonly cells: bigint,
    readonly odds: bigint,
  ) {
    super(logUp(odds, BIG_UNIT));
    this.width = Number(cells);
    const sum = odds + BIG_UNIT;
    this.size = largest([1n, (2n * cells * BIG_UNIT + sum) / (2n * sum)]);
  }

  draw(cell: bigint, randomness: Randomness): Places {
    const { size: w, odds, cells, width } = this;
    const last = Number(w) - 1;
    const isHeld = randomness.below(w * odds + (cells - w) * BIG_UNIT) < w * odds;
    const others = randomness.prefix(width - 1, last + 1);
    return others.map((other, i) => {
      const choices = [other + +(other >= cell), Number(cell)];
      return choices[+(isHeld && i === last)];
    });
  }

  override refusal(ones: Places): Reason | undefined {
    return ones.length === Number(this.size) ? undefined : "weight";
  }

  override named(ones: Places): readonly bigint[] {
    return ones.map(BigInt);
  }
}

/** Whole bytes that hold every number below n. */
const bytesFor = (n: bigint): number => (bitLength(n - 1n) + 7) >> 3;

/** A block that sends one number below `numbers`, in whole bytes, the most significant first. */
abstract class Numbered extends Channel {
  readonly width: number;

  constructor(
    loss: Loss,
    readonly numbers: bigint,
  ) {
    super(loss);
    this.width = 8 * bytesFor(numbers);
  }

  protected abstract number(cell: bigint, randomness: Randomness): bigint;

  draw(cell: bigint, randomness: Randomness): Places {
    const digits = this.number(cell, randomness).toString(2).padStart(this.width, "0");
    return [...digits].flatMap((digit, i) => (+digit ? i ^ 7 : []));
  }

  override refusal(ones: Places): Reason | undefined {
    return this.numberOf(ones) < this.numbers ? undefined : "range";
  }

  protected numberOf(ones: Places): bigint {
    return ones.reduce((number, i) => number + (1n << BigInt(this.width - 1 - (i ^ 7))), 0n);
  }
}

/** The cell, or at random another one. */
export class Direct extends Numbered {
  /** below: the odds of the permanent layer, where there is one. */
  constructor(
    readonly cells: bigint,
    readonly odds: bigint,
    below?: bigint,
  ) {
    super(below ? twoLayers(cells, odds, below) : logUp(odds, BIG_UNIT), cells);
  }

  protected number(cell: bigint, randomness: Randomness): bigint {
    const { odds, cells } = this;
    const drawn = randomness.below(odds + (cells - 1n) * BIG_UNIT) - odds + BIG_UNIT;
    return [drawn / BIG_UNIT, cell][+(drawn < 0n)]; // from 0 on, every cell has one unit
  }

  override refresh(ones: Places, randomness: Randomness): Places {
    return [...ones, ...this.draw(this.numberOf(ones), randomness)];
  }

  override named(ones: Places): readonly bigint[] {
    return [this.numberOf(ones)];
  }
}

/** Epsilon through every cell that may be kept. */
function twoLayers(cells: bigint, odds: bigint, below: bigint): Loss {
  return logUp(
    odds * below + (cells - 1n) * BIG_UNIT ** 2n,
    BIG_UNIT * (odds + below + (cells - 2n) * BIG_UNIT),
  );
}

/** A random hash function, and the cell's value under it or at random another value. */
export class Hashed extends Numbered {
  /** g: how many values a function has. */
  readonly values: bigint;
  readonly functions: bigint;
  readonly digits: number;

  constructor(
    readonly cells: bigint,
    readonly odds: bigint,
  ) {
    const values = valuesFor(odds);
    let digits = 1;
    while (values ** BigInt(digits) < cells) digits++;
    const functions = values ** BigInt(digits);
    super(logUp(odds, BIG_UNIT), functions * values);
    this.values = values;
    this.functions = functions;
    this.digits = digits;
  }

  override get widest(): number {
    return 8 * bytesFor(this.cells * this.values * this.values);
  }

  protected number(cell: bigint, randomness: Randomness): bigint {
    const { functions, odds, values: g, digits } = this;
    const number = randomness.below(functions);
    const drawn = randomness.below(odds + (g - 1n) * BIG_UNIT);
    const moved = drawn < odds ? 0n : (drawn - odds) / BIG_UNIT + 1n;
    const factors = digitsOf(number, g, digits);
    const hash = digitsOf(cell, g, digits).reduce((sum, digit, i) => sum + factors[i] * digit, 0n);
    return number * g + ((hash + moved) % g);
  }
}

function nextPrime(n: number, step: number): bigint {
  while (range((Math.sqrt(n) | 0) - 1).some((q) => n % (q + 2) === 0)) n += step;
  return BigInt(n);
}

/** g, the number of values of a hash function: a prime that the odds decide. */
function valuesFor(odds: bigint): bigint {
  const best = Number(odds / BIG_UNIT) + 1;
  if (best >= 65521) return 65521n;
  const [g1, g2] = [nextPrime(best, -1), nextPrime(best + 1, 1)];
  const spread = (g: bigint): bigint => (odds - BIG_UNIT + g * BIG_UNIT) ** 2n;
  return spread(g1) * (g2 - 1n) <= spread(g2) * (g1 - 1n) ? g1 : g2;
}
