// The bounds of the format (sections 2, 3.2 to 3.5 and 3.7), which keep the work of loading a stranger's campaign small.

export const enum Most {
  fileBytes = 4 * 2 ** 20,
  /** Signs { and [, those in texts included. */
  opened = 2 ** 18,
  depth = 16,
  attributes = 4096,
  candidates = 65536,
  candidatesInAll = 2 ** 18,
  options = 64,
  comparisons = 32,
  nameSigns = 1000,
  weight = 2 ** 32,
  /** Attributes that all listed sets name together. */
  listed = 2 ** 17,
  translations = 4096,
  roundDays = 366,
  rounds = 4096,
  bits = 65536,
  hashes = 64,
  /** Views whose codes are derived, and sets of attributes that are looked at to find them. */
  codedViews = 4096,
  tried = 2 ** 14,
  /** Beginnings of views of up to 62 attributes, of which so many mean too many views. */
  prefixes = 2 ** 18,
  /** Positions of all codes together, and bytes that are hashed for them. */
  positions = 2 ** 18,
  hashedBytes = 2 ** 25,
  /** Of a permanent answer: numbers of cells times numbers of blocks. */
  laws = 1024,
  /** Cells of a block up to which every two codes are compared. */
  compared = 256,
  reportBytes = 65535,
}

/** Of which there must be so many. */
export const enum Least {
  /** Devices that are expected to share a view for good. */
  alike = 100,
}
