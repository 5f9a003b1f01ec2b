// Privacy arithmetic in integers: odds and change units over UNIT, epsilons as integers over 2^512
// that are never below the truth.

import { CampaignError, EpsilonTooHigh, ensure } from "./errors";

export const UNIT = 2 ** 32;
export const BIG_UNIT = 1n << 32n;
/** Odds have at most 330 bits; so many tell an epsilon from every decimal that could be claimed. */
const PLACES = 512n;

/** An epsilon, in units of 2^-512. */
export type Loss = bigint;

export const bitLength = (n: bigint): number => (n ? n.toString(2).length : 0);

/** 2 atanh(n / d), a series of which every term is at most a ninth of the one before. */
function twiceAtanh(n: bigint, d: bigint): bigint {
  const z = (n << PLACES) / d;
  const square = (z * z) >> PLACES;
  let total = 0n;
  let odd = 1n;
  for (let power = z; power > 0n; power = (power * square) >> PLACES) {
    total += power / odd;
    odd += 2n;
  }
  return 2n * total;
}

const LN2 = twiceAtanh(1n, 3n);
/** More than all roundings together. */
const ROUNDING = 4096n;
const known = new Map<string, Loss>();

/** ln(n / d) for n >= d, rounded up. */
export function logUp(n: bigint, d: bigint): Loss {
  const key = `${n}/${d}`;
  let loss = known.get(key);
  if (!loss) {
    let shift = BigInt(bitLength(n) - bitLength(d));
    if (n < d << shift) shift--;
    const scaled = d << shift; // within a factor of 2 below n
    loss = shift * LN2 + twiceAtanh(n - scaled, n + scaled) + ROUNDING;
    known.set(key, loss);
  }
  return loss;
}

/**
 * The loss of one bit that is changed with probability units / UNIT.
 *
 * below: the same of a permanent layer, so that one of the two changes the bit, and not both.
 */
export function flipLoss(units: bigint, below = 0n): Loss {
  const change = units * (BIG_UNIT - below) + below * (BIG_UNIT - units);
  return logUp(BIG_UNIT * BIG_UNIT - change, change);
}

/** With six decimals, rounded up: what is claimed and shown. */
export function decimalUp(loss: Loss): string {
  const millionths = -((loss * -1000000n) >> PLACES); // a shift rounds down, below zero as well
  return String(millionths).padStart(7, "0").replace(/.{6}$/, ".$&");
}

/**
 * Refuse what reveals more than a cap, or a cap that is not a number.
 *
 * The cap is rounded down to units of 2^-512: a loss is above the one exactly where it is above the
 * other. A number counts with all its binary digits.
 */
export function checkCap(loss: Loss, cap: number | string | undefined, name: string): void {
  if (cap === undefined) return;
  const exact = unitsOf(cap);
  ensure(exact, CampaignError, `${name} must be a number above 0`);
  ensure(loss <= exact, EpsilonTooHigh, `epsilon ${decimalUp(loss)} is above ${name} ${cap}`);
}

function unitsOf(cap: number | string): bigint | false {
  if (typeof cap === "number") {
    return cap > 0 && cap < Infinity && BigInt(Math.floor(Math.min(cap, 1e99) * 2 ** 512));
  }
  const [, whole, decimals = ""] = /^(\d+)(?:\.(\d+))?$/.exec(cap) ?? [];
  return !!whole && (BigInt(whole + decimals) << PLACES) / 10n ** BigInt(decimals.length);
}
