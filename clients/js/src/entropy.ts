// The one source of randomness. Tests are built with another file in place of this one; what is shipped has no such seam.

import { LopubError, ensure } from "./errors";

/** The array, filled with random bytes of the operating system; without a generator, or for more than 65,536 bytes at once, nothing is drawn. */
export function fill(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  ensure(globalThis.crypto?.getRandomValues, LopubError, "no crypto.getRandomValues");
  return crypto.getRandomValues(bytes);
}
