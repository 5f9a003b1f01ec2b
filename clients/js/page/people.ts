// Who uses this device, one after the other, and what the page remembers of that: for this address
// only, since a browser keeps what pages store apart by their origins.

import type { Campaign, LopubClient } from "./client";
import { collectorUrl, isPreview } from "./place";

/** The most that a person's reports may reveal together, until that person decides otherwise. */
export const USUAL_LIMIT = "8";
/** Seconds to try at a time. */
export const PATIENCE = 20;

interface Remembered {
  /** The number of the person who uses the device. */
  readonly person: number;
  /** That person's limit on epsilon. */
  readonly limit: string;
  /** Campaign -> earlier people whose report, or withdrawal, no collector has answered yet. */
  readonly waiting: Readonly<Record<string, readonly number[]>>;
  /** Campaigns that their collector has closed. */
  readonly closed: readonly string[];
}

const NOTHING: Remembered = { person: 0, limit: USUAL_LIMIT, waiting: {}, closed: [] };

const nameOf = (person: number): string => (person ? `person ${person}` : "self");

export class People {
  #known = NOTHING;
  readonly #store = isPreview ? new lopub.MemoryStore() : new lopub.IndexedDbStore("lopub page");
  /** Of a preview, what forgets. */
  readonly #reports = isPreview ? new lopub.MemoryStore() : new lopub.IndexedDbStore();

  constructor(readonly campaign: Campaign) {}

  async read(): Promise<void> {
    const { kept } = await this.#store.read("device");
    this.#known = { ...NOTHING, ...(kept as Partial<Remembered> | undefined) };
  }

  /** Change what is remembered; what cannot be stored is known until the page is left. */
  async #change(change: (known: Remembered) => Remembered): Promise<void> {
    const store = this.#store;
    try {
      await store.change("device", ({ kept, draws }) => {
        this.#known = change({ ...NOTHING, ...(kept as Partial<Remembered> | undefined) });
        return { kept: this.#known, draws };
      });
    } catch {
      this.#known = change(this.#known);
    }
  }

  /** The side of the person who uses the device. */
  client(): LopubClient {
    return this.#clientOf(this.#known.person, this.#known.limit);
  }

  #clientOf(person: number, lifetimeCap?: string): LopubClient {
    const store = this.#reports;
    return new lopub.Client(this.campaign, { respondent: nameOf(person), lifetimeCap, store });
  }

  /** Whether another tab has begun with the next person meanwhile. */
  async isSomebodyElse(): Promise<boolean> {
    const { person } = this.#known;
    await this.read();
    return this.#known.person !== person;
  }

  get limit(): string {
    return this.#known.limit;
  }

  setLimit(limit: string): Promise<void> {
    return this.#change((known) => ({ ...known, limit }));
  }

  get isClosed(): boolean {
    return this.#known.closed.includes(this.campaign.id);
  }

  close(): Promise<void> {
    const { id } = this.campaign;
    return this.#change((known) => ({ ...known, closed: [...new Set([...known.closed, id])] }));
  }

  /** A fresh start for somebody else; what still waits goes on being sent, unseen. */
  async next(): Promise<void> {
    const isLeft = await isUnsettled(this.client());
    const { id } = this.campaign;
    await this.#change(({ person, waiting, closed }) => ({
      person: person + 1,
      limit: USUAL_LIMIT,
      waiting: isLeft ? { ...waiting, [id]: [...(waiting[id] ?? []), person] } : waiting,
      closed,
    }));
  }

  /** Send what earlier people have left behind; whether all of it has arrived. */
  async sendOthers(): Promise<boolean> {
    const { id } = this.campaign;
    for (const person of this.#known.waiting[id] ?? []) {
      const client = this.#clientOf(person);
      await settled(client);
      if (await isUnsettled(client)) continue;
      await this.#change((known) => ({
        ...known,
        waiting: {
          ...known.waiting,
          [id]: (known.waiting[id] ?? []).filter((each) => each !== person),
        },
      }));
    }
    return !(this.#known.waiting[id] ?? []).length;
  }

  /** Delete all that pages of this address keep on this device, of everybody. */
  async deleteEverything(): Promise<void> {
    await this.#reports.clear();
    await this.#store.clear();
    this.#known = NOTHING;
  }
}

/** Whether a collector still has to answer for a report, or for a withdrawal. */
async function isUnsettled(client: LopubClient): Promise<boolean> {
  const history = await client.history();
  const isWished = history.some(({ fate }) => fate === "withdrawing");
  return isWished || (await client.waiting()).length > 0;
}

/** Whatever comes of it, nothing of somebody else is shown. */
async function settled(client: LopubClient): Promise<void> {
  try {
    const history = await client.history();
    const isWished = history.some(({ fate }) => fate === "withdrawing");
    if (isWished) await client.withdraw(collectorUrl, { patience: PATIENCE });
    await client.send(collectorUrl, { patience: PATIENCE });
  } catch {
    // tried again when the page is opened the next time
  }
}
