// Lists of numbers.

/** 0 .. n - 1. */
export const range = (n: number): number[] => [...Array(n).keys()];

export const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);

export const bigSum = (values: readonly bigint[]): bigint =>
  values.reduce((total, value) => total + value, 0n);

export const product = (values: readonly bigint[]): bigint =>
  values.reduce((total, value) => total * value, 1n);

/** The largest first. */
export const descending = <T extends number | bigint>(values: readonly T[]): T[] =>
  [...values].sort((a, b) => (a < b ? 1 : -1));

export const ascending = (values: readonly number[]): number[] => descending(values).reverse();

export const largest = (values: readonly bigint[]): bigint => descending(values)[0];

/** The digits of a number in a base, the least significant first: always n of them. */
export function digitsOf(number: bigint, base: bigint, n: number): bigint[] {
  return range(n).map(() => {
    const digit = number % base;
    number /= base;
    return digit;
  });
}
