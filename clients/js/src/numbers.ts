// What several files do with lists of numbers.

/** 0 .. n - 1. */
export const range = (n: number): number[] => [...Array(n).keys()];
export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
export const bigSum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n);
export const product = (sizes: readonly number[]): bigint => sizes.reduce((total, size) => total * BigInt(size), 1n);
export const largest = (values: readonly bigint[]): bigint => values.reduce((a, b) => (a > b ? a : b));
/** The largest first. */
export const falling = <T extends number | bigint>(values: readonly T[]): T[] => [...values].sort((a, b) => (a < b ? 1 : -1));
/** Bit i of bytes. */
export const bitAt = (bytes: Uint8Array, i: number): number => (bytes[i >> 3] >> (i & 7)) & 1;
export const flipBit = (bytes: Uint8Array, i: number): void => void (bytes[i >> 3] ^= 1 << (i & 7));
/** Bytes as one integer, the first the most significant. */
export const bigOf = (bytes: Uint8Array): bigint => bytes.reduce((number, byte) => number * 256n + BigInt(byte), 0n);
/** Bytes one behind the other. */
export function joined(parts: readonly ArrayLike<number>[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(sum(parts.map(({ length }) => length)));
  parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  return bytes;
}
