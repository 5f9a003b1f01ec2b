// Where the page is, and what it was given: the campaign, the collector, and whether it may start.

import type { Campaign, LopubClient } from "./client";

const LONGEST = 4 * 2 ** 20;
const SECONDS = 15;
const DAY = 86_400_000;
const MOST_TURNS = 20_000;

const {
  campaign: campaignId = "",
  questions = "",
  collector = "",
  preview = "",
  closed = "",
  hosted = "",
} = document.body.dataset;
export const isPreview = !!preview;
/** Whether the collector that serves the page has closed the campaign. */
export const isClosed = !!closed;
export const collectorUrl = collector && new URL(collector, document.baseURI).href;

type Why = "noCrypto" | "noPart" | "unreachable" | "changed" | "unreadable" | "framed";

/** Why there are no questions to show; the words for it are the page's. */
export class Unavailable extends Error {
  constructor(readonly why: Why) {
    super(why);
  }
}

/**
 * Whether a page that is hosted as files lies in the frame of another site.
 *
 * A collector says by a header who may frame its page. Files cannot: so that nobody is led to click
 * on what they do not see, the page does not start there.
 */
function isForeignFrame(): boolean {
  if (!hosted || window.top === window) return false;
  try {
    return window.top!.location.origin !== location.origin;
  } catch {
    return true;
  }
}

/**
 * The campaign's bytes, from where the page was given; bounded in size and time, without redirects.
 */
async function bytesOf(url: string): Promise<Uint8Array> {
  const signal = AbortSignal.timeout(1000 * SECONDS);
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    const answer = await fetch(url, {
      credentials: "omit",
      referrerPolicy: "no-referrer",
      redirect: "error",
      signal,
    });
    if (!answer.ok) throw new Unavailable("unreachable");
    const reader = answer.body!.getReader();
    while (length <= LONGEST) {
      const part = await reader.read();
      if (part.done) break;
      parts.push(part.value);
      length += part.value.length;
    }
    void reader.cancel();
  } catch {
    throw new Unavailable("unreachable");
  }
  return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
}

export async function loaded(): Promise<Campaign> {
  if (isForeignFrame()) throw new Unavailable("framed");
  if (typeof lopub === "undefined") throw new Unavailable("noPart");
  if (typeof globalThis.crypto?.getRandomValues !== "function") throw new Unavailable("noCrypto");
  const bytes = await bytesOf(questions);
  try {
    const campaign = await lopub.Campaign.load(bytes, { expectedId: campaignId });
    // a preview stands within the campaign's days
    if (isPreview && timeOf(campaign)) Date.now = () => campaign.terms.schedule!.opens * DAY;
    return campaign;
  } catch (error) {
    const isChanged = error instanceof lopub.CampaignError && error.reason === "id";
    throw new Unavailable(isChanged ? "changed" : "unreadable");
  }
}

/**
 * A client that keeps nothing: what it draws is an example, which nobody can send. Of rounds, one
 * that
 * takes part in the present one.
 */
export async function exampleClient(campaign: Campaign): Promise<LopubClient> {
  for (let turn = 0; ; turn++) {
    const client = new lopub.Client(campaign, { store: new lopub.MemoryStore() });
    if (!campaign.repeat || turn > MOST_TURNS || (await client.due())) return client;
  }
}

/**
 * Ask the collector to forget the report with this id; its status, 0 where it cannot be reached.
 */
export async function forget(id: string): Promise<number> {
  try {
    const answer = await fetch(`${collectorUrl}/withdrawals`, {
      method: "POST",
      body: JSON.stringify({ id }),
      headers: { "Content-Type": "application/json" },
      credentials: "omit",
      referrerPolicy: "no-referrer",
      redirect: "manual",
      signal: AbortSignal.timeout(1000 * SECONDS),
    });
    return answer.status;
  } catch {
    return 0;
  }
}

/** Below zero before the campaign begins, above zero after its last day. */
export function timeOf({ terms: { schedule } }: Campaign): number {
  const today = Math.floor(Date.now() / DAY);
  if (!schedule || (today >= schedule.opens && today <= schedule.closes)) return 0;
  return today < schedule.opens ? -1 : 1;
}

/** Whether the browser promises to keep what is stored. */
export async function persisted(): Promise<boolean> {
  try {
    return !isPreview && (await navigator.storage.persist());
  } catch {
    return false;
  }
}
