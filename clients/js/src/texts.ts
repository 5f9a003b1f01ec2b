// Texts that mean the same everywhere: characters of Unicode 14.0 in normal form C (section 2 of the format).

import { ASSIGNED } from "./assigned";

const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ$_";
const MANY_MARKS = /\p{M}{31}/u;
let bounds: number[] = [];

/** Where runs of assigned code points begin and end, in turn: differences, in digits of base 32 of which the last is below 32. */
function unpacked(): number[] {
  let last = 0, value = 0, scale = 1;
  for (const sign of ASSIGNED) {
    const digit = DIGITS.indexOf(sign);
    value += (digit % 32) * scale;
    scale *= 32;
    if (digit < 32) {
      bounds.push((last += value));
      value = 0;
      scale = 1;
    }
  }
  return bounds;
}

function isAssigned(code: number): boolean {
  let low = 0, high = (bounds.length ? bounds : unpacked()).length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bounds[middle] <= code) low = middle + 1;
    else high = middle;
  }
  return low % 2 > 0;
}

/** Whether readers agree on the text: no character is newer than Unicode 14.0, none is half a pair, no run of marks is long. */
export function isKnown(text: string): boolean {
  if (isAscii(text)) return true;
  for (const sign of new Set(text)) if (!isAssigned(sign.codePointAt(0)!)) return false;
  return !MANY_MARKS.test(text);
}

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text);

/** The text in normal form C; nothing where it cannot be one of a campaign's. */
export const composed = (text: string): string | undefined => (isKnown(text) ? text.normalize() : undefined);

/** Below zero where a comes before b by code points, which UTF-16 units do not tell. */
export function byCodePoints(a: string, b: string): number {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return (a.codePointAt(i) ?? -1) - (b.codePointAt(i) ?? -1);
}
