// SHA-256, at once: WebCrypto's own can only be awaited, which costs more than the hash where there are thousands of short ones.

/** floor(2^32 * the fraction of p's root): exact, in integers. */
function fraction(p: bigint, power: bigint): number {
  const target = p << (32n * power);
  let root = 1n << 36n;
  for (let step = root; step; step >>= 1n) {
    while (root ** power > target) root -= step;
    while ((root + step) ** power <= target) root += step;
  }
  return Number(root & 0xffffffffn) | 0;
}

const ROUNDS = new Int32Array(64);
const START = new Int32Array(8);
for (let p = 2n, found = 0; found < 64; p++) {
  let prime = true;
  for (let q = 2n; q * q <= p; q++) prime &&= p % q > 0n;
  if (prime) {
    if (found < 8) START[found] = fraction(p, 2n);
    ROUNDS[found++] = fraction(p, 3n);
  }
}

const words = new Int32Array(64);

function turn(x: number, n: number): number {
  return (x >>> n) | (x << (32 - n));
}

function compress(state: Int32Array, data: DataView, at: number): void {
  for (let i = 0; i < 16; i++) words[i] = data.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const x = words[i - 15], y = words[i - 2];
    words[i] = words[i - 16] + words[i - 7] + (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10));
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const s = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[i] + words[i]) | 0;
    const t = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g; g = f; f = e; e = (d + s) | 0; d = c; c = b; b = a; a = (s + t) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] += word));
}

/** The 32 bytes of the hash. */
export function sha256(bytes: Uint8Array): Uint8Array {
  const padded = new Uint8Array(((bytes.length + 72) >> 6) << 6);
  padded.set(bytes);
  padded[bytes.length] = 128;
  const view = new DataView(padded.buffer), state = START.slice();
  view.setUint32(padded.length - 8, bytes.length / 2 ** 29);
  view.setUint32(padded.length - 4, bytes.length << 3);
  for (let at = 0; at < padded.length; at += 64) compress(state, view, at);
  const hash = new Uint8Array(32), out = new DataView(hash.buffer);
  state.forEach((word, i) => out.setInt32(4 * i, word));
  return hash;
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const encoder = new TextEncoder();
export const utf8 = (text: string): Uint8Array => encoder.encode(text);
