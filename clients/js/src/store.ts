// Stores: for each campaign and respondent what is kept of the reports, and the sum of what they
// reveal. Noise only, never an answer.

import { LopubError, StoreError } from "./errors";

/** Noise that was drawn, or is about to be. */
export interface Draw {
  readonly key: string;
  readonly person: string;
  /** In units of 2^-512. */
  readonly loss: string;
  /** Whether what was drawn is kept. */
  readonly isKept: boolean;
}

/** What is kept under a key, and every draw of the store; both can be written as JSON. */
export interface State {
  readonly kept?: unknown;
  readonly draws: readonly Draw[];
}

/** Where finished reports are kept. */
export interface ClientStore {
  read(key: string): Promise<State>;
  /**
   * What a change makes of the state, once it is kept for good: at once or not at all, with nobody
   * in between. Where the change throws, everything stays as it is.
   */
  change(key: string, change: (state: State) => State): Promise<State>;
  /** Delete everything: reports, draws and totals, of all campaigns and respondents. */
  clear(): Promise<void>;
}

/**
 * For programs that keep the state themselves, and for experiments. Forgets when the page is left.
 */
export class MemoryStore implements ClientStore {
  readonly #kept = new Map<string, unknown>();
  #draws: readonly Draw[] = [];

  async read(key: string): Promise<State> {
    return { kept: this.#kept.get(key), draws: this.#draws };
  }

  async change(key: string, change: (state: State) => State): Promise<State> {
    const state = change({ kept: this.#kept.get(key), draws: this.#draws });
    if (state.kept) this.#kept.set(key, state.kept);
    this.#draws = state.draws;
    return state;
  }

  async clear(): Promise<void> {
    this.#kept.clear();
    this.#draws = [];
  }
}

const TABLE = "kept";
const DRAWS = "draws";

/**
 * In the browser's own database, for this origin. A report is handed out only after it has reached
 * it.
 */
export class IndexedDbStore implements ClientStore {
  readonly #name: string;

  constructor(name = "lopub") {
    this.#name = name;
  }

  /** Reading writes nothing, so that it works on a full disk. */
  read(key: string): Promise<State> {
    return this.#within("readonly", (table) => stateIn(table, key));
  }

  change(key: string, change: (state: State) => State): Promise<State> {
    return this.#within("readwrite", async (table) => {
      const before = await stateIn(table, key);
      const state = change(before);
      if (state.kept !== before.kept) table.put(state.kept, `report ${key}`);
      if (state.draws !== before.draws) table.put(state.draws, DRAWS);
      return state;
    });
  }

  clear(): Promise<void> {
    return this.#within("readwrite", async (table) => void table.clear());
  }

  /** What comes of work in one transaction, once that is complete. */
  async #within<T>(
    mode: IDBTransactionMode,
    work: (table: IDBObjectStore) => Promise<T>,
  ): Promise<T> {
    try {
      const opening = indexedDB.open(this.#name, 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore(TABLE);
      const database = await outcome(opening);
      const transaction = database.transaction(TABLE, mode, { durability: "strict" });
      const isComplete = outcome(transaction);
      database.close(); // once the work is done
      try {
        const result = await work(transaction.objectStore(TABLE));
        await isComplete;
        return result;
      } catch (error) {
        isComplete.catch(() => undefined);
        if (error instanceof LopubError) transaction.abort();
        throw error;
      }
    } catch (error) {
      throw error instanceof LopubError ? error : new StoreError("storage is blocked or full");
    }
  }
}

async function stateIn(table: IDBObjectStore, key: string): Promise<State> {
  const kept = await outcome(table.get(`report ${key}`));
  return { kept, draws: (await outcome(table.get(DRAWS))) ?? [] };
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
