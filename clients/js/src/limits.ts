// The bounds of the format (sections 2, 3.2 to 3.5 and 3.7). They keep the work of loading a
// stranger's campaign small.

export const enum Most {
  fileBytes = 4 * 2 ** 20,
  /** `{` and `[` in a file, those in texts included. */
  brackets = 2 ** 18,
  depth = 32,
  /** Conditions inside one another, the comparison counted. */
  conditions = 8,
  attributes = 4096,
  candidates = 65536,
  candidatesInAll = 2 ** 18,
  options = 64,
  comparisons = 32,
  nameLength = 1000,
  /** Code points of an answer that is put into normal form. */
  composed = 4000,
  weight = 2 ** 32,
  /** Attributes that all listed sets name together. */
  listed = 2 ** 17,
  /** Listed sets where devices keep their view, each with at least 1 / keptShares of the weight. */
  keptSets = 16,
  keptShares = 50,
  translations = 4096,
  sendWithin = 1440,
  roundDays = 366,
  rounds = 4096,
  invitedRounds = 64,
  bits = 65536,
  hashes = 64,
  /** Views whose codes are derived. */
  codedViews = 4096,
  /** Sets of attributes that are looked at to find all views of `fill`. */
  tried = 2 ** 14,
  /** The same for `sample`, counting beginnings of views. */
  prefixes = 2 ** 18,
  /** Positions of all codes together, and bytes that are hashed for them. */
  positions = 2 ** 18,
  hashedBytes = 2 ** 25,
  /** Numbers of cells times numbers of blocks of a permanent answer. */
  laws = 1024,
  /** Cells of a block up to which every two codes are compared. */
  compared = 256,
  reportBytes = 65535,
}
