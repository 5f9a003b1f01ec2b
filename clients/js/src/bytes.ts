// Bytes, their bits and their spellings.

import { range, sum } from "./numbers";

/** Parts one behind the other. */
export function joined(parts: readonly ArrayLike<number>[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(sum(parts.map(({ length }) => length)));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** A report as it is sent: behind its length in two bytes. */
export const framed = (part: Uint8Array): Uint8Array<ArrayBuffer> =>
  joined([[part.length >> 8, part.length & 255], part]);

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Hexadecimal digits, so many of each number. */
export const hex = (numbers: ArrayLike<number>, digits = 2): string =>
  Array.from(numbers, (number) => number.toString(16).padStart(digits, "0")).join("");

/** The bytes of hexadecimal digits. */
export const fromHex = (digits: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));

export const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=/g, "");

/** The places of the ones among n bits of bytes, from bit `at` on. */
export const onesIn = (bytes: Uint8Array, at: number, n: number): number[] =>
  range(n).filter((i) => (bytes[(at + i) >> 3] >> ((at + i) & 7)) & 1);

/** Turn over the bits at these places behind bit `at`. */
export function turnOver(bytes: Uint8Array, at: number, places: readonly number[]): void {
  for (const i of places) bytes[(at + i) >> 3] ^= 1 << ((at + i) & 7);
}
