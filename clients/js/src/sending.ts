// Sending: the same bytes to a collector until it acknowledges them. No cookie, no referrer, no redirect; sending again is always safe.

import { Campaign } from "./campaign";
import { CampaignError, CollectorError, TryLater, reject, type Reason } from "./errors";
import { Most } from "./limits";
import { Randomness } from "./randomness";

/** How long to try, in seconds: everything together, one attempt, and the limits of the first wait and of the longest. */
export interface Patience {
  readonly seconds?: number;
  readonly attempt?: number;
  readonly firstWait?: number;
  readonly longestWait?: number;
}

export interface SendOptions {
  readonly patience?: Patience;
  readonly allowPlainHttp?: boolean;
}

export interface Address {
  readonly url: string;
  readonly campaignId: string;
}

/** The parts of https://host/campaigns/ID. Nothing else may be in it: a query could tell people apart. */
export function addressOf(url: string, { allowPlainHttp }: SendOptions): Address {
  const [, place, host, campaignId] = /^(https?:\/\/(\[[\da-f:.]+\]|[a-z\d.-]+)(?::\d{1,5})?(?:\/[\w.~-]+)*\/campaigns\/([\da-f]{64}))\/?$/i.exec(url) ?? [];
  if (!place || !(/^https:/.test(place) || allowPlainHttp || /^(localhost|127[\d.]+|\[::1\])$/.test(host))) {
    throw new CampaignError("an address is https://host/campaigns/ and an id");
  }
  return { url: place, campaignId };
}

/** The campaign at this address; its bytes must have the hash that the address names. */
export async function fetchCampaign(url: string, options: SendOptions = {}): Promise<Campaign> {
  const address = addressOf(url, options), [bytes] = await persist(address.url, {}, options, (body) => body);
  return Campaign.load(bytes, { expectedId: address.campaignId });
}

/** The same bytes until the collector has understood them; how many attempts it took. */
export async function post(url: string, type: string, body: BodyInit, options: SendOptions, understand?: (body: Uint8Array) => void): Promise<number> {
  return (await persist(url, { method: "POST", body, headers: { "Content-Type": type } }, options, understand))[1];
}

/** No answer that can be relied on. wait: seconds that the collector asks for. */
class Unclear extends Error {
  constructor(message: string, readonly wait = 0) {
    super(message);
  }
}

/** The same request until an answer is understood, and how many attempts it took. */
async function persist<T>(url: string, request: RequestInit, { patience = {} }: SendOptions, understand?: (body: Uint8Array) => T): Promise<[T, number]> {
  const { seconds = 60, attempt = 10, firstWait = 0.5, longestWait = 20 } = patience, ends = Date.now() + 1000 * seconds;
  for (let n = 1; ; n++) {
    try {
      const body = await exchange(url, request, Math.min(1000 * attempt, Math.max(ends - Date.now(), 1)));
      return [understand?.(body) as T, n];
    } catch (error) {
      if (!(error instanceof Unclear)) throw error;
      const limit = Math.min(longestWait, firstWait * 2 ** (n - 1)); // drawn below it, so that a crowd does not come back as one
      const wait = 1000 * (error.wait + (limit * new Randomness().below(2 ** 20)) / 2 ** 20);
      if (Date.now() + wait >= ends) throw new TryLater(`${error.message}; try later`);
      await new Promise((done) => setTimeout(done, wait));
    }
  }
}

/** One attempt: the request and the whole answer, before the deadline. Anything from 500 on may pass, and so may "too slow, too early,
 * too many"; other refusals and redirects are final. */
async function exchange(url: string, request: RequestInit, milliseconds: number): Promise<Uint8Array> {
  const stop = new AbortController(), timer = setTimeout(() => stop.abort(), milliseconds), body: number[] = [];
  let status = 0, wait = 0;
  try {
    const answer = await fetch(url, { ...request, credentials: "omit", referrerPolicy: "no-referrer", redirect: "manual", cache: "no-store", signal: stop.signal });
    status = answer.status || 300; // none is shown of a redirect
    wait = +(/^\d{1,6}$/.exec(answer.headers.get("Retry-After")!) ?? 0);
    for (let part, reader = answer.body?.getReader(); reader && body.length <= Most.fileBytes && !(part = await reader.read()).done; ) for (const byte of part.value) body.push(byte);
  } catch {
    status = 0;
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
  if (!status || status >= 500 || [408, 425, 429].includes(status) || body.length > Most.fileBytes) throw new Unclear(`the collector cannot be reached (${status})`, wait);
  if (status !== 200 && status !== 204) throw new CollectorError(`the collector refuses this, or points elsewhere (${status})`);
  return Uint8Array.from(body);
}

/** Whether the one report that was sent is in the collector's keeping. */
export function counted(body: Uint8Array): void {
  let answer: { readonly refused?: unknown; readonly received?: unknown } | null = null;
  try {
    answer = JSON.parse(new TextDecoder().decode(body));
  } catch {
    // not JSON: unclear, as below
  }
  const refused = answer?.refused, [item] = Array.isArray(refused) ? refused : [0];
  if (item === undefined && answer?.received === 1) return;
  if (item?.index !== 0 || typeof item.reason !== "string") throw new Unclear("the collector's answer is unclear");
  reject(item.reason.replace(/[^a-z]/g, "").slice(0, 40) as Reason);
}
