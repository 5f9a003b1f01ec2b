// SHA-256, at once: WebCrypto's own can only be awaited, which costs more than the hash where there are thousands of short ones.

/** The first 32 bits of the fraction of a prime's root. No constant lies near a whole number, so that doubles are enough. */
const fraction = (prime: number, power: number): number => (prime ** (1 / power) % 1) * 2 ** 32;

const primes: number[] = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
const ROUNDS = primes.map((prime) => fraction(prime, 3) | 0);
const START = primes.slice(0, 8).map((prime) => fraction(prime, 2) | 0);

const words = new Int32Array(64);
const turn = (x: number, n: number): number => (x >>> n) | (x << (32 - n));

/** The eight words of the hash. */
export function sha256(bytes: Uint8Array): number[] {
  const n = bytes.length, end = (n + 72) & ~63, state = START.slice();
  for (let at = 0; at < end; ) {
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const x = words[i - 15], y = words[i - 2];
      if (i > 15) words[i] = words[i - 16] + words[i - 7] + (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10));
      else {
        for (let j = 0; j < 4; j++, at++) words[i] = (words[i] << 8) | (bytes[at] ?? (at === n ? 128 : 0));
        if (at > end - 8) words[i] = at < end ? n / 2 ** 29 : n << 3; // how many bits there are
      }
      const s = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[i] + words[i]) | 0;
      const t = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + s) | 0; d = c; c = b; b = a; a = (s + t) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = (state[i] + word) | 0));
  }
  return state.map((word) => word >>> 0);
}

/** Hexadecimal digits, so many of each number. */
export const hex = (numbers: ArrayLike<number>, digits = 2): string => Array.from(numbers, (number) => number.toString(16).padStart(digits, "0")).join("");

const encoder = new TextEncoder();
export const utf8 = (text: string): Uint8Array => encoder.encode(text);
