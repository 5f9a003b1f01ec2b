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

export const same = <T>(value: T): T => value;

/** For programs that keep the bytes themselves, and for experiments. Forgets when the page is left. */
export class MemoryStore implements ClientStore {
  private readonly _table = new Map<string, unknown>();

  async change(key: string, change: (state: State) => State = same): Promise<State> {
    const table = this._table, state = change({ kept: table.get(key) as State["kept"], draws: (table.get("draws") as State["draws"]) ?? [] });
    table.set(key, state.kept).set("draws", state.draws);
    return state;
  }
}

/** In the browser's own database, for this origin. A report is handed out only after it has reached it. */
export class IndexedDbStore implements ClientStore {
  declare private readonly _name: string;

  constructor(name = "lopub") {
    this._name = name;
  }

  async change(key: string, change: (state: State) => State = same): Promise<State> {
    try {
      const opening = indexedDB.open(this._name, 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
      const database = await outcome(opening), work = database.transaction("kept", "readwrite", { durability: "strict" }), table = work.objectStore("kept");
      const before = { kept: await outcome(table.get(`report ${key}`)), draws: (await outcome(table.get("draws"))) ?? [] }, state = change(before);
      if (state.kept !== before.kept) table.put(state.kept, `report ${key}`);
      if (state.draws !== before.draws) table.put(state.draws, "draws");
      database.close(); // once the work is done
      await outcome(work);
      return state;
    } catch (error) {
      throw error instanceof LopubError ? error : new StoreError("storage is blocked or full");
    }
  }
}

interface Work<T> {
  readonly result?: T;
  onsuccess?: unknown;
  oncomplete?: unknown;
  onerror?: unknown;
  onblocked?: unknown;
  onabort?: unknown;
}

/** What comes of work on the database, be it one request or a transaction. */
const outcome = <T>(work: Work<T>): Promise<T> =>
  new Promise((done, fail) => {
    work.onsuccess = work.oncomplete = () => done(work.result!);
    work.onerror = work.onblocked = work.onabort = fail;
  });
