// Sending: the same bytes to a collector until it acknowledges them. No cookie, no referrer, no redirect; sending again is always safe.

import { UNIT } from "./budget";
import { Campaign } from "./campaign";
import { CampaignError, CollectorError, TryLater, accept, ensure, expectNone, type Reason } from "./errors";
import { Most } from "./limits";
import { joined, pause } from "./numbers";
import { stream } from "./randomness";

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

/** The address of a campaign, the id in it, and how long to try. */
export type Target = readonly [url: string, campaignId: string, patience: Patience];

/** Takes https://host/campaigns/ID. Nothing else may be in it: a query could tell people apart. */
export function targetOf(url: string, { allowPlainHttp, patience = {}, ...rest }: SendOptions = {}): Target {
  expectNone(rest);
  const [, place, campaignId] = /^(https?:\/\/[\w.:[\]-]+(?:\/[\w.~-]+)*\/campaigns\/([\da-f]{64}))\/?$/i.exec(url) ?? [];
  ensure(place && (allowPlainHttp || /^https:|^http:\/\/(localhost|127[\d.]+|\[::1\])[:/]/i.test(place)), CampaignError, "an address is https://HOST/campaigns/ID");
  return [place, campaignId, patience];
}

/** The campaign at this address; its bytes must have the hash that the address names. */
export async function fetchCampaign(address: string, options?: SendOptions): Promise<Campaign> {
  const [url, expectedId, patience] = targetOf(address, options);
  let bytes!: Uint8Array;
  await persist(url, patience, (body) => (bytes = body));
  return Campaign.load(bytes, { expectedId });
}

/** The same request until an answer is understood; how many attempts it took. Anything from 500 on may pass, and so may "too slow, too early, too many"; other refusals and
 * redirects are final. */
export async function persist(url: string, { seconds = 60, attempt = 10, firstWait = 0.5, longestWait = 20, ...rest }: Patience, understand: (body: Uint8Array) => unknown, request?: RequestInit): Promise<number> {
  expectNone(rest);
  const ends = Date.now() + 1000 * seconds;
  for (let n = 1; ; n++) {
    let status = 0, wait = 0, body = new Uint8Array();
    try {
      const signal = AbortSignal.timeout(Math.min(1000 * attempt, Math.max(ends - Date.now(), 1)));
      const answer = await fetch(url, { ...request, credentials: "omit", referrerPolicy: "no-referrer", redirect: "manual", cache: "no-store", signal });
      wait = Math.max(0, +answer.headers.get("Retry-After")! || 0);
      body = await whole(answer);
      status = answer.status || 300; // none is shown of a redirect
    } catch {
      // no answer in time, or one that is too long
    }
    if (status === 200 || status === 204 || (status === 422 && understand === counted)) { // 422: all reports are refused, each with its reason
      if (understand(body)) return n;
    } else ensure(!status || status >= 500 || [408, 425, 429].includes(status), CollectorError, `the request is refused (${status})`);
    wait += (Math.min(longestWait, firstWait * 2 ** (n - 1)) * stream().below(UNIT)) / UNIT; // so that a crowd does not come back as one
    ensure(Date.now() + 1000 * wait < ends, TryLater, `no clear answer (${status})`);
    await pause(1000 * wait);
  }
}

/** The body of an answer; fails where it is longer than any that is expected. */
async function whole({ body }: Response): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  for (let part, left: number = Most.fileBytes, reader = body?.getReader(); reader && !(part = await reader.read()).done; parts.push(part.value)) {
    left -= part.value.length;
    if (left < 0) throw void reader.cancel();
  }
  return joined(parts);
}

/** Whether the one report that was sent is in the collector's keeping; refuses it where the collector does, and says nothing where that is unclear. */
export function counted(body: Uint8Array): boolean {
  let reason = false;
  try {
    const { received, refused: [item] } = JSON.parse(new TextDecoder().decode(body));
    if (!item) return received === 1;
    reason = item.index === 0 && item.reason.replace(/[^a-z]/g, "").slice(0, 40);
  } catch {
    // not such an answer: unclear
  }
  accept(reason === false, reason as unknown as Reason);
  return false;
}
