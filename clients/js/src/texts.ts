// Texts that mean the same everywhere: characters of Unicode 14.0 in normal form C (section 2 of the format).

import { ASSIGNED, DIGITS } from "./assigned";

const MANY_MARKS = /\p{M}{31}/u;
let assigned: Uint8Array | undefined;

/** For every code point, whether it is assigned. */
function unpacked(): Uint8Array {
  const numbers: number[] = [], found = new Uint8Array(0x110000);
  for (const sign of ASSIGNED) {
    const digit = DIGITS.indexOf(sign);
    numbers.push(digit < 60 ? digit : 8 * numbers.pop()! + digit);
  }
  const n = numbers.length / 2;
  for (let i = 0, at = 0; i < n; i++) found.fill(1, (at += numbers[i]), (at += numbers[n + i]));
  return found;
}

/** Whether readers agree on the text: no character is newer than Unicode 14.0, none is half a pair, no run of marks is long. */
export function isKnown(text: string): boolean {
  if (isAscii(text)) return true;
  assigned ??= unpacked();
  for (const sign of text) if (!assigned[sign.codePointAt(0)!]) return false;
  return !MANY_MARKS.test(text);
}

export const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text);

/** The text in normal form C; nothing where it cannot be one of a campaign's. */
export const composed = (text: string): string | undefined => (isKnown(text) ? text.normalize() : undefined);

/** Below zero where a comes before b by code points, which UTF-16 units do not tell. */
export function byCodePoints(a: string, b: string): number {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return (a.codePointAt(i) ?? -1) - (b.codePointAt(i) ?? -1);
}
