// Where the page is, what it was told, and what it remembers: of a report only how far it has come, never an answer.

import type { Campaign, LopubClient, Raw } from "./client";

const LONGEST = 4 * 2 ** 20;
const SECONDS = 15;
const DAY = 86_400_000;
const MOST_TURNS = 20_000;

const { campaign: campaignId = "", questions = "", collector = "", preview = "", closed = "" } = document.body.dataset;
export const isPreview = !!preview;
/** Whether the collector that serves the page has closed the campaign. */
export const isClosed = !!closed;
export const collectorUrl = collector && new URL(collector, document.baseURI).href;

/** Why there are no questions to show; the words for it are the page's. */
export class Unavailable extends Error {
  constructor(readonly why: "noCrypto" | "noPart" | "unreachable" | "changed" | "unreadable") {
    super(why);
  }
}

/** The campaign's bytes, from where the page was told; bounded in size and time, without redirects. */
async function bytesOf(url: string): Promise<Uint8Array> {
  const stop = new AbortController(), timer = setTimeout(() => stop.abort(), 1000 * SECONDS), parts: Uint8Array[] = [];
  let length = 0;
  try {
    const answer = await fetch(url, { credentials: "omit", referrerPolicy: "no-referrer", redirect: "error", signal: stop.signal });
    if (!answer.ok) throw new Unavailable("unreachable");
    for (let part, reader = answer.body!.getReader(); length <= LONGEST && !(part = await reader.read()).done; length += part.value.length) parts.push(part.value);
  } catch {
    throw new Unavailable("unreachable");
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
  const bytes = new Uint8Array(length);
  parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  return bytes;
}

export async function loaded(): Promise<{ campaign: Campaign; raw: Raw }> {
  if (typeof lopub === "undefined") throw new Unavailable("noPart");
  if (typeof globalThis.crypto?.getRandomValues !== "function") throw new Unavailable("noCrypto");
  const bytes = await bytesOf(questions);
  try {
    return { campaign: await lopub.Campaign.load(bytes, { expectedId: campaignId }), raw: JSON.parse(new TextDecoder().decode(bytes)) };
  } catch (error) {
    throw new Unavailable(error instanceof lopub.CampaignError && error.reason === "id" ? "changed" : "unreadable");
  }
}

/** The person's side; of a preview, one that forgets, and whose clock stands within the campaign's days. */
export async function clientOf(campaign: Campaign): Promise<LopubClient> {
  if (isPreview && timeOf(campaign)) Date.now = () => campaign.terms.schedule!.opens * DAY;
  return isPreview ? copying(campaign) : new lopub.Client(campaign);
}

/** A client that keeps nothing: what it draws is a copy, which nobody can send. Of rounds, one that takes part in the present one. */
export async function copying(campaign: Campaign): Promise<LopubClient> {
  for (let turn = 0; ; turn++) {
    const client = new lopub.Client(campaign, { store: new lopub.MemoryStore() });
    if (!campaign.repeat || turn > MOST_TURNS || (await client.due())) return client;
  }
}

/** Ask the collector to forget the report with this id; its status, 0 where it cannot be reached. */
export async function forget(id: string): Promise<number> {
  try {
    const request = { method: "POST", body: JSON.stringify({ id }), headers: { "Content-Type": "application/json" }, signal: AbortSignal.timeout(1000 * SECONDS) };
    return (await fetch(`${collectorUrl}/withdrawals`, { ...request, credentials: "omit", referrerPolicy: "no-referrer", redirect: "manual" })).status;
  } catch {
    return 0;
  }
}

/** Below zero before the campaign begins, above zero after its last day. */
export function timeOf({ terms: { schedule } }: Campaign): number {
  const today = Math.floor(Date.now() / DAY);
  return !schedule ? 0 : today < schedule.opens ? -1 : today > schedule.closes ? 1 : 0;
}

/** How far a report has come, and what its person wants of it. */
export type Progress = "agreed" | "sent" | "withdrawing" | "withdrawn" | "closed" | "";

/** How far each report has come, by its slot: one word, beside the reports in the browser's database. What cannot be stored is known until
 * the page is left; a report that is sent once more is counted once. */
export class Memory {
  private known: Readonly<Record<string, Progress>> = {};
  private readonly store = isPreview ? new lopub.MemoryStore() : new lopub.IndexedDbStore("lopub page");

  async read(): Promise<void> {
    this.known = spelt((await this.store.change(campaignId)).kept);
  }

  of(slot: number | "campaign"): Progress {
    return this.known[slot] ?? "";
  }

  async set(told: Readonly<Record<string, Progress>>): Promise<void> {
    this.known = { ...this.known, ...told };
    try {
      await this.store.change(campaignId, (state) => ({ ...state, kept: new TextEncoder().encode(JSON.stringify({ ...spelt(state.kept), ...told })) }));
    } catch {
      // the report itself is kept; this only spares the person a question
    }
  }
}

const spelt = (bytes?: Uint8Array): Record<string, Progress> => (bytes ? JSON.parse(new TextDecoder().decode(bytes)) : {});

/** Whether the browser promises to keep what is stored. */
export async function persisted(): Promise<boolean> {
  try {
    return !isPreview && (await navigator.storage.persist());
  } catch {
    return false;
  }
}
