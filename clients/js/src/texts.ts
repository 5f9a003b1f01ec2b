// Texts that mean the same everywhere (section 2 of the format).

/** What is normalized: scripts of which Unicode 14.0 assigns every code point here, so that no later version sees them otherwise. */
const SETTLED = /[\0-\u0377\u038e-\u03a1\u03a3-\u052f\u0591-\u05c7\u05d0-\u05ea\u0600-\u070d\u0898-\u0983\u10d0-\u1248\u1d00-\u1f15\u3041-\u3096\u3099-\u30ff\uac00-\ud7a3]+/g;

/** A text in normal form; what has none, a long run of marks, becomes a line end, which no name or value has. What is no text stays as it is. */
export const composed = <T>(value: T): T => (typeof value === "string" ? (value.replace(SETTLED, (part) => (/\p{M}{31}/u.test(part) ? "\n" : part.normalize())) as T) : value);

/** Below zero where a comes before b by code points, which UTF-16 units do not tell. */
export function byCodePoints(a: string, b: string): number {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return (a.codePointAt(i) ?? -1) - (b.codePointAt(i) ?? -1);
}
