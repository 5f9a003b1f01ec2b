// The keeper: what one respondent of a campaign has in a store, and what that has cost.

import { checkCap, decimalUp, type Loss } from "./budget";
import { hex, utf8 } from "./bytes";
import type { Campaign } from "./campaign";
import { bigSum } from "./numbers";
import { check, ensureKept, type Kept } from "./rounds";
import { sha256 } from "./sha256";
import type { ClientStore, Draw, State } from "./store";

/** Hexadecimal digits of the hash by which a store knows a respondent. */
const PERSON_DIGITS = 32;

export class Keeper {
  readonly #person: string;
  readonly #key: string;

  constructor(
    readonly campaign: Campaign,
    readonly store: ClientStore,
    respondent: string,
    readonly lifetimeCap?: number | string,
  ) {
    this.#person = hex(sha256(utf8(respondent)), 8).slice(0, PERSON_DIGITS);
    this.#key = `${campaign.id}-${this.#person}`;
  }

  async read(): Promise<Kept | undefined> {
    return this.#checked(await this.store.read(this.#key));
  }

  /** What a change makes of what is kept, once it is kept for good. */
  async change<T extends Kept | undefined>(change: (kept: Kept | undefined) => T): Promise<T> {
    let after!: T;
    await this.store.change(this.#key, (state) => {
      const before = this.#checked(state);
      after = change(before);
      if (!after || after === before) return state;
      return { kept: after, draws: hasBegun(after) ? this.#finished(state.draws) : state.draws };
    });
    return after;
  }

  /**
   * Count a draw before it is made: once, until what was drawn is kept; refuse it above the cap.
   */
  async charge(): Promise<void> {
    await this.store.change(this.#key, (state) => {
      const draws = this.#counted(state.draws);
      checkCap(this.#total(draws), this.lifetimeCap, "lifetimeCap");
      return { ...state, draws };
    });
  }

  /** Epsilon of all of the respondent's reports in the store. */
  async spent(): Promise<string> {
    return decimalUp(this.#total((await this.store.read(this.#key)).draws));
  }

  /** What is kept; refused where it is damaged, or where the totals know of more. */
  #checked(state: State): Kept | undefined {
    const { draws } = state;
    const kept = state.kept as Kept | undefined;
    if (kept) check(this.campaign, kept);
    const isMade = !!kept && hasBegun(kept);
    ensureKept(isMade || !draws.some(({ key, isKept }) => key === this.#key && isKept));
    return kept;
  }

  /** With this campaign among them; sorted, so that their order says nothing about time. */
  #counted(draws: readonly Draw[]): readonly Draw[] {
    if (draws.some(({ key }) => key === this.#key)) return draws;
    const loss = String(this.campaign.lifetimeLoss);
    const draw: Draw = { key: this.#key, person: this.#person, loss, isKept: false };
    return [...draws, draw].sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  #finished(draws: readonly Draw[]): Draw[] {
    return draws.map((draw) => (draw.key === this.#key ? { ...draw, isKept: true } : draw));
  }

  #total(draws: readonly Draw[]): Loss {
    const own = draws.filter(({ person }) => person === this.#person);
    return bigSum(own.map(({ loss }) => BigInt(loss)));
  }
}

const hasBegun = ({ rounds }: Kept): boolean => rounds.some(({ report }) => report);
