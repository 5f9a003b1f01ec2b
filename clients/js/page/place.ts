// Where the page is, what it was told, and what it remembers: of a report only how far it has come, never an answer.

import type { Campaign, LopubClient, Raw } from "./client";

const LONGEST = 4 * 2 ** 20;
const SECONDS = 15;
const DAY = 86_400_000;

const { campaign: campaignId = "", questions = "", collector = "", preview = "" } = document.body.dataset;
export const isPreview = !!preview;
export const collectorUrl = collector && new URL(collector, document.baseURI).href;

/** Why there are no questions to show; the words for it are the page's. */
export class Unavailable extends Error {
  constructor(readonly why: "noCrypto" | "unreachable" | "changed" | "unreadable") {
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
  if (typeof globalThis.crypto?.getRandomValues !== "function" || typeof lopub === "undefined") throw new Unavailable("noCrypto");
  const bytes = await bytesOf(questions);
  try {
    return { campaign: lopub.Campaign.fromBytes(bytes, { expectedId: campaignId }), raw: JSON.parse(new TextDecoder().decode(bytes)) };
  } catch (error) {
    throw new Unavailable(error instanceof lopub.CampaignError && error.reason === "id" ? "changed" : "unreadable");
  }
}

/** The person's side; of a preview, one that forgets, and whose clock stands within the campaign's days. */
export function clientOf(campaign: Campaign): LopubClient {
  if (isPreview && timeOf(campaign)) Date.now = () => campaign.terms.schedule!.opens * DAY;
  return new lopub.Client(campaign, isPreview ? { store: new lopub.MemoryStore() } : {});
}

/** A client that keeps nothing: what it draws is a copy, which nobody can send. */
export const copying = (campaign: Campaign): LopubClient => new lopub.Client(campaign, { store: new lopub.MemoryStore() });

/** A client that holds the report of a receipt, to withdraw it. */
export function holding(campaign: Campaign, report: Uint8Array): LopubClient {
  const held = async (): Promise<Uint8Array> => report;
  return new lopub.Client(campaign, { store: { kept: held, keep: held } });
}

/** Below zero before the campaign begins, above zero after its last day. */
export function timeOf({ terms: { schedule } }: Campaign): number {
  const today = Math.floor(Date.now() / DAY);
  return !schedule ? 0 : today < schedule.opens ? -1 : today > schedule.closes ? 1 : 0;
}

export type Progress = "agreed" | "sent" | "withdrawn" | "";

/** How far the report has come; a report that is sent once more is counted once, so that forgetting this loses nothing. */
export function remembered(): Progress {
  try {
    return (localStorage.getItem(`lopub ${campaignId}`) ?? "") as Progress;
  } catch {
    return "";
  }
}

export function remember(progress: Progress): void {
  if (isPreview) return;
  try {
    localStorage.setItem(`lopub ${campaignId}`, progress);
  } catch {
    // the report itself is kept; this only spares the person a question
  }
}

/** Whether the browser promises to keep what is stored. */
export async function persisted(): Promise<boolean> {
  try {
    return !isPreview && (await navigator.storage.persist());
  } catch {
    return false;
  }
}
