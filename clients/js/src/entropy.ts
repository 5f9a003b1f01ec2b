// The one source of randomness. Tests are built with another file in place of this one; what is
// shipped has no such seam.

import { LopubError, ensure } from "./errors";

/**
 * The array, filled with random bytes by the operating system; without a generator nothing is
 * drawn.
 */
export function fill(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  ensure(globalThis.crypto?.getRandomValues, LopubError, "this browser has no secure randomness");
  return crypto.getRandomValues(bytes);
}
