// SHA-256, at once: WebCrypto's own can only be awaited, which costs more than the hash where there are thousands of short ones.

const primes: number[] = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
/** The first 32 bits of the fractions of the primes' roots. No constant lies near a whole number, so that doubles are enough. */
const fractions = (power: number): number[] => primes.map((prime) => ((prime ** (1 / power) % 1) * 2 ** 32) | 0);
const ROUNDS = fractions(3), START = fractions(2).slice(0, 8);

const words = new Int32Array(64), state = new Int32Array(8), digest = new Uint32Array(state.buffer);
/** What is hashed, with what the hash adds to it; kept, because making room costs as much as a hash. */
let padded = new Uint8Array(), view: DataView;
/** Three turns to the right of one word, all at once. */
const turns = (x: number, i: number, j: number, k: number): number => ((x >>> i) | (x << (32 - i))) ^ ((x >>> j) | (x << (32 - j))) ^ ((x >>> k) | (x << (32 - k)));

/** The eight words of the hash, until the next one; head: what comes before the bytes. */
export function sha256(bytes: ArrayLike<number>, head: ArrayLike<number> = []): Uint32Array {
  state.set(START);
  const n = head.length + bytes.length, end = (n + 72) & ~63;
  if (padded.length < end) view = new DataView((padded = new Uint8Array(end)).buffer);
  padded.set(head);
  padded.set(bytes, head.length);
  padded.fill(0, n, end)[n] = 128;
  view.setUint32(end - 4, 8 * n); // the length has eight bytes; nothing of 2 ** 29 bytes comes here
  for (let at = 0; at < end; at += 64) {
    let { 0: a, 1: b, 2: c, 3: d, 4: e, 5: f, 6: g, 7: h } = state; // [a, …] would go through an iterator, which takes as long as half of the rounds
    for (let i = 0; i < 64; i++) {
      const x = words[i - 15], y = words[i - 2];
      words[i] = i < 16 ? view.getInt32(at + 4 * i) : words[i - 16] + words[i - 7] + (turns(x, 7, 18, 3) ^ (x << 29)) + (turns(y, 17, 19, 10) ^ (y << 22)); // the last is a shift
      const s = (h + turns(e, 6, 11, 25) + (g ^ (e & (f ^ g))) + ROUNDS[i] + words[i]) | 0, t = (turns(a, 2, 13, 22) + ((a & b) | (c & (a | b)))) | 0;
      h = g; g = f; f = e; e = (d + s) | 0; d = c; c = b; b = a; a = (s + t) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] += word));
  }
  return digest;
}

/** Hexadecimal digits, so many of each number. */
export const hex = (numbers: ArrayLike<number>, digits = 2): string => Array.from(numbers, (number) => number.toString(16).padStart(digits, "0")).join("");

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
