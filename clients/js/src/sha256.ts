// SHA-256, at once: WebCrypto's own can only be awaited, which costs more than the hash where there
// are thousands of short ones.

const primes: number[] = [];
for (let n = 2; primes.length < 64; n++) {
  if (primes.every((prime) => n % prime)) primes.push(n);
}

/** The first 32 bits of the fractions of the primes' roots; doubles are exact enough for these. */
const fractions = (power: number): number[] =>
  primes.map((prime) => ((prime ** (1 / power) % 1) * 2 ** 32) | 0);
const ROUNDS = fractions(3);
const START = fractions(2).slice(0, 8);

const words = new Int32Array(64);
const state = new Int32Array(8);
const digest = new Uint32Array(state.buffer);
/** What is hashed, with its padding; kept, because allocating costs as much as a hash. */
let padded = new Uint8Array();
let view: DataView;

const turned = (x: number, i: number): number => (x >>> i) | (x << (32 - i));
const mixed = (x: number, i: number, j: number, k: number): number =>
  turned(x, i) ^ turned(x, j) ^ turned(x, k);

/** The eight words of the hash, valid until the next one; head: what comes before the bytes. */
export function sha256(bytes: ArrayLike<number>, head: ArrayLike<number> = []): Uint32Array {
  state.set(START);
  const n = head.length + bytes.length;
  const end = (n + 72) & ~63;
  if (padded.length < end) {
    padded = new Uint8Array(end);
    view = new DataView(padded.buffer);
  }
  padded.set(head);
  padded.set(bytes, head.length);
  padded.fill(0, n, end)[n] = 128;
  view.setUint32(end - 4, 8 * n); // the length has eight bytes; nothing of 2 ** 29 bytes comes here
  for (let at = 0; at < end; at += 64) compress(at);
  return digest;
}

/** One block of 64 bytes. */
function compress(at: number): void {
  // [a, …] would go through an iterator, which takes as long as half of the rounds
  let { 0: a, 1: b, 2: c, 3: d, 4: e, 5: f, 6: g, 7: h } = state;
  for (let i = 0; i < 64; i++) {
    words[i] = i < 16 ? view.getInt32(at + 4 * i) : expanded(i);
    const s = (h + mixed(e, 6, 11, 25) + (g ^ (e & (f ^ g))) + ROUNDS[i] + words[i]) | 0;
    const t = (mixed(a, 2, 13, 22) + ((a & b) | (c & (a | b)))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + s) | 0;
    d = c;
    c = b;
    b = a;
    a = (s + t) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] += word));
}

/** The word of the message schedule. */
function expanded(i: number): number {
  const x = words[i - 15];
  const y = words[i - 2];
  const first = turned(x, 7) ^ turned(x, 18) ^ (x >>> 3);
  const second = turned(y, 17) ^ turned(y, 19) ^ (y >>> 10);
  return words[i - 16] + words[i - 7] + first + second;
}
