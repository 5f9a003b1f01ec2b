// What the tests look at beside the public names.

export * from "../src/index";
export { begun, firstDays } from "../src/keeping";
export { slotOn } from "../src/schedule";
export { mechanismOf, positions } from "../src/mechanisms";
export { Members, parsed } from "../src/canonical";
import { Randomness as Stream } from "../src/randomness";
export { Report } from "../src/report";
export { hex, sha256, utf8 } from "../src/sha256";
export { isKnown } from "../src/texts";
export { handIn } from "./entropy";

/** The stream, which also counts what was taken. */
export class Randomness extends Stream {
  n = 0;

  override take(n: number): Uint8Array {
    this.n += n;
    return super.take(n);
  }
}
