// What several files do with lists of numbers.

/** 0 .. n - 1. */
export const range = (n: number): number[] => [...Array(n).keys()];
export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
export const bigSum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n);
export const product = (values: readonly bigint[]): bigint => values.reduce((total, value) => total * value, 1n);
/** The largest first. */
export const falling = <T extends number | bigint>(values: readonly T[]): T[] => [...values].sort((a, b) => (a < b ? 1 : -1));
export const ascending = (values: readonly number[]): number[] => falling(values).reverse();
export const largest = (values: readonly bigint[]): bigint => falling(values)[0];
/** Where the ones are among bits of bytes, so many from a place on. */
export const onesIn = (bytes: Uint8Array, at: number, n: number): number[] => range(n).filter((i) => (bytes[(at + i) >> 3] >> ((at + i) & 7)) & 1);
/** Turn over bits of bytes, at these places behind another one. */
export function turnOver(bytes: Uint8Array, at: number, places: readonly number[]): void {
  for (const i of places) bytes[(at + i) >> 3] ^= 1 << ((at + i) & 7);
}
/** So many milliseconds in which something else can run. */
export const pause = (milliseconds?: number): Promise<void> => new Promise((done) => setTimeout(done, milliseconds));
/** Bytes one behind the other. */
export function joined(parts: readonly ArrayLike<number>[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(sum(parts.map(({ length }) => length)));
  parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  return bytes;
}
