// In place of src/entropy.ts in the build for tests: bytes that the test hands in, then nothing.

let left = new Uint8Array(0);
let taken = 0;

/** Hand in the bytes of the next draws. */
export function handIn(bytes: Uint8Array): void {
  left = bytes.slice();
  taken = 0;
}

/**
 * The stream fetches ahead: what is behind the last byte is filled with zeros, and the test sees
 * how far it was read.
 */
export function fill(bytes: Uint8Array): Uint8Array {
  bytes.fill(0);
  bytes.set(left.subarray(taken, taken + bytes.length));
  taken += bytes.length;
  return bytes;
}
