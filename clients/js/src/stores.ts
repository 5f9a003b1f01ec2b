// Keeping: for each campaign and respondent a finished report, or what a series has come to, and the sum of what they reveal. Noise
// only, never an answer.

import type { Loss } from "./budget";
import { StoreError } from "./errors";

/** Noise that was drawn, or is about to be. */
export interface Draw {
  readonly key: string;
  readonly person: string;
  /** In units of 2^-512. */
  readonly loss: string;
  /** Whether what was drawn is kept. */
  readonly finished: boolean;
}

/** What is kept under a key, and every draw of the store. */
export interface State {
  readonly kept?: Uint8Array;
  readonly draws: readonly Draw[];
}

/** Where finished reports are kept. */
export interface ClientStore {
  /** What there is, or what a change makes of it: at once or not at all, with nobody in between, and for good. Where the change
   * throws, everything stays as it is. */
  change(key: string, change?: (state: State) => State): Promise<State>;
}

export const totalOf = (draws: readonly Draw[], person: string): Loss =>
  draws.reduce((total, draw) => (draw.person === person ? total + BigInt(draw.loss) : total), 0n);

/** For programs that keep the bytes themselves, and for experiments. Forgets when the page is left. */
export class MemoryStore implements ClientStore {
  private readonly _kept = new Map<string, Uint8Array>();
  private _draws: readonly Draw[] = [];

  async change(key: string, change = (state: State): State => state): Promise<State> {
    const state = change({ kept: this._kept.get(key), draws: this._draws });
    if (state.kept) this._kept.set(key, state.kept);
    this._draws = state.draws;
    return state;
  }
}

/** In the browser's own database, for this origin. A report is handed out only after it has reached it. */
export class IndexedDbStore implements ClientStore {
  constructor(private readonly _name = "lopub") {}

  async change(key: string, change = (state: State): State => state): Promise<State> {
    let refusal: unknown;
    try {
      return await new Promise((done, fail) => {
        const opening = indexedDB.open(this._name, 1);
        opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
        opening.onerror = opening.onblocked = fail;
        opening.onsuccess = () => {
          const database = opening.result, work = database.transaction("kept", "readwrite", { durability: "strict" }), table = work.objectStore("kept");
          const kept = table.get(`report ${key}`), draws = table.get("draws");
          let state: State;
          draws.onsuccess = () => {
            try {
              const before = { kept: kept.result, draws: draws.result ?? [] };
              state = change(before);
              if (state.kept !== before.kept) table.put(state.kept, `report ${key}`);
              if (state.draws !== before.draws) table.put(state.draws, "draws");
            } catch (error) {
              refusal = error;
              work.abort();
            }
          };
          work.oncomplete = () => done(state);
          work.onabort = fail;
          database.close(); // once the work is done
        };
      });
    } catch {
      throw refusal ?? new StoreError("storage is blocked or full, so nothing is drawn");
    }
  }
}
