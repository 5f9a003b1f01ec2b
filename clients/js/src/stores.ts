// Keeping: one finished report per campaign and respondent, and the sum of what they reveal. Noise only, never an answer.

import { isAbove, type Cap, type Loss } from "./budget";
import { EpsilonTooHigh, StoreError } from "./errors";
import { bigSum } from "./numbers";

/** Where finished reports are kept. */
export interface ClientStore {
  /** The report kept under this key, if there is one. */
  kept(key: string): Promise<Uint8Array | undefined>;
  /** Keep the report for good, unless there is one already; the one that is kept. */
  keep(key: string, report: Uint8Array): Promise<Uint8Array>;
  /** What this respondent's reports reveal at most, together; a store that keeps totals has this and the next. */
  spent?(person: string): Promise<Loss>;
  /** Count a draw before it is made; refuse one that would pass the cap. */
  charge?(key: string, person: string, loss: Loss, cap?: Cap): Promise<void>;
}

interface Draw {
  readonly key: string;
  readonly person: string;
  readonly loss: string;
  readonly finished: boolean;
}

/** What is there, and what it becomes. */
interface State {
  readonly report?: Uint8Array;
  readonly draws: readonly Draw[];
}

const totalOf = ({ draws }: State, person: string): Loss => bigSum(draws.filter((draw) => draw.person === person).map(({ loss }) => BigInt(loss)));

abstract class CountingStore implements ClientStore {
  /** Change what is kept under the key, and the draws, at once or not at all; what is there then. */
  protected abstract _change(key: string, change?: (state: State) => State): Promise<State>;

  async kept(key: string): Promise<Uint8Array | undefined> {
    return (await this._change(key)).report;
  }

  async keep(key: string, report: Uint8Array): Promise<Uint8Array> {
    const state = await this._change(key, (state) =>
      state.report ? state : { report, draws: state.draws.map((draw) => (draw.key === key ? { ...draw, finished: true } : draw)) },
    );
    return state.report!;
  }

  async spent(person: string): Promise<Loss> {
    return totalOf(await this._change(""), person);
  }

  async charge(key: string, person: string, loss: Loss, cap?: Cap): Promise<void> {
    await this._change(key, (state) => {
      const finished = !!state.report, isCounted = state.draws.some((draw) => draw.key === key && (finished || !draw.finished));
      const after = isCounted ? state : { ...state, draws: [...state.draws, { key, person, loss: String(loss), finished }] };
      if (cap && !finished && isAbove(totalOf(after, person), cap)) throw new EpsilonTooHigh("with this report, everything sent from this store would pass the lifetimeCap");
      return after;
    });
  }
}

/** For programs that keep the bytes themselves, and for experiments. Forgets when the page is left. */
export class MemoryStore extends CountingStore {
  private readonly _reports = new Map<string, Uint8Array>();
  private _draws: readonly Draw[] = [];

  protected async _change(key: string, change = (state: State): State => state): Promise<State> {
    const state = change({ report: this._reports.get(key), draws: this._draws });
    if (state.report) this._reports.set(key, state.report);
    this._draws = state.draws;
    return state;
  }
}

/** In the browser's own database, for this origin. A report is handed out only after it has reached it. */
export class IndexedDbStore extends CountingStore {
  constructor(private readonly _name = "lopub") {
    super();
  }

  protected async _change(key: string, change = (state: State): State => state): Promise<State> {
    let refusal: unknown;
    try {
      return await new Promise((done, fail) => {
        const opening = indexedDB.open(this._name, 1);
        opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
        opening.onerror = opening.onblocked = fail;
        opening.onsuccess = () => {
          const database = opening.result, work = database.transaction("kept", "readwrite", { durability: "strict" }), table = work.objectStore("kept");
          const report = table.get(`report ${key}`), draws = table.get("draws");
          let state: State;
          draws.onsuccess = () => {
            try {
              state = change({ report: report.result, draws: draws.result ?? [] });
              if (!report.result && state.report) table.put(state.report, `report ${key}`);
              table.put(state.draws, "draws");
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
      throw refusal ?? new StoreError("the browser's storage is blocked or full, so that nothing is drawn; let this site keep data, or free some space");
    }
  }
}
