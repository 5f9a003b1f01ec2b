// The one source of randomness. Tests are built with another file in place of this one; what is shipped has no such seam.

import { LopubError, ensure } from "./errors";

/** Fill with random bytes of the operating system; without a generator nothing is drawn. */
export function fill(bytes: Uint8Array): void {
  ensure(globalThis.crypto?.getRandomValues, LopubError, "there is no crypto.getRandomValues");
  for (let at = 0; at < bytes.length; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));
}
