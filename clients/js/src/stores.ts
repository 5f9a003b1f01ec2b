// Keeping: for each campaign and respondent a finished report, or what a series has come to, and the sum of what they reveal. Noise
// only, never an answer.

import { LopubError, StoreError } from "./errors";

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

const same = (state: State): State => state;

/** For programs that keep the bytes themselves, and for experiments. Forgets when the page is left. */
export class MemoryStore implements ClientStore {
  private readonly _kept = new Map<string, Uint8Array>();
  private _draws: readonly Draw[] = [];

  async change(key: string, change = same): Promise<State> {
    const state = change({ kept: this._kept.get(key), draws: this._draws });
    if (state.kept) this._kept.set(key, state.kept);
    this._draws = state.draws;
    return state;
  }
}

/** In the browser's own database, for this origin. A report is handed out only after it has reached it. */
export class IndexedDbStore implements ClientStore {
  declare private readonly _name: string;

  constructor(name = "lopub") {
    this._name = name;
  }

  async change(key: string, change = same): Promise<State> {
    try {
      const opening = indexedDB.open(this._name, 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
      const database = await outcome(opening), work = database.transaction("kept", "readwrite", { durability: "strict" }), table = work.objectStore("kept");
      const before = { kept: await outcome(table.get(`report ${key}`)), draws: (await outcome(table.get("draws"))) ?? [] }, state = change(before);
      if (state.kept !== before.kept) table.put(state.kept, `report ${key}`);
      if (state.draws !== before.draws) table.put(state.draws, "draws");
      database.close(); // once the work is done
      await new Promise((done, fail) => {
        work.oncomplete = done;
        work.onabort = fail;
      });
      return state;
    } catch (error) {
      throw error instanceof LopubError ? error : new StoreError("storage is blocked or full, so nothing is drawn");
    }
  }
}

/** What comes of a request to the database. */
const outcome = <T>(request: IDBRequest<T> & { onblocked?: unknown }): Promise<T> =>
  new Promise((done, fail) => {
    request.onsuccess = () => done(request.result);
    request.onerror = request.onblocked = fail;
  });
