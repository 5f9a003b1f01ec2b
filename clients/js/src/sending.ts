// Sending: the same bytes to a collector until it acknowledges them. No cookie, no referrer, no
// redirect; sending again is always safe.

import { UNIT } from "./budget";
import { joined } from "./bytes";
import { Campaign } from "./campaign";
import {
  CampaignError,
  CollectorError,
  TryLater,
  accept,
  ensure,
  expectNone,
  type Reason,
} from "./errors";
import { Most } from "./limits";
import { Randomness } from "./randomness";

export interface SendOptions {
  /** Seconds for one attempt. */
  readonly timeout?: number;
  /** Seconds for everything together. */
  readonly patience?: number;
  /** Stops trying where it is aborted; a report stays kept. */
  readonly signal?: AbortSignal;
  readonly allowPlainHttp?: boolean;
}

/** Seconds of the first wait between attempts, and of the longest. */
const FIRST_WAIT = 0.5;
const LONGEST_WAIT = 20;

const ADDRESS = /^(https?:\/\/[\w.:[\]-]+(?:\/[\w.~-]+)*\/campaigns\/([\da-f]{64}))\/?$/i;
const SAFE = /^https:|^http:\/\/(localhost|127[\d.]+|\[::1\])[:/]/i;

/** Too slow, too early, too many: these may pass, as everything from 500 on may. */
const PASSING = [408, 425, 429];

/** Requests to one campaign at its collector. */
export class Exchange {
  readonly campaignId: string;
  readonly #place: string;
  readonly #timeout: number;
  readonly #patience: number;
  readonly #signal?: AbortSignal;

  /** url: https://host/campaigns/ID. Nothing else may be in it: a query could tell people apart. */
  constructor(expectedId: string | undefined, url: string, options: SendOptions = {}) {
    const { timeout = 10, patience = 60, signal, allowPlainHttp, ...rest } = options;
    expectNone(rest);
    const [, place, campaignId] = ADDRESS.exec(url) ?? [];
    const isSafe = place && (allowPlainHttp || SAFE.test(place));
    ensure(isSafe, CampaignError, "an address is https://HOST/campaigns/ID");
    const isSame = !expectedId || expectedId === campaignId.toLowerCase();
    ensure(isSame, CampaignError, "the address names another campaign");
    const isTime = timeout > 0 && patience > 0;
    ensure(isTime, CampaignError, "timeout and patience must be numbers of seconds above 0");
    this.#place = place;
    this.campaignId = campaignId;
    this.#timeout = timeout;
    this.#patience = patience;
    this.#signal = signal;
  }

  /** The same request until an answer is understood; how many attempts it took. */
  async persist(
    path: string,
    request: RequestInit,
    understand: (body: Uint8Array, status: number) => boolean,
  ): Promise<number> {
    const ends = Date.now() + 1000 * this.#patience;
    for (let n = 1; ; n++) {
      this.#signal?.throwIfAborted();
      const { status, asked, body } = await this.#ask(this.#place + path, request, ends);
      const isAnswer = status === 200 || status === 204;
      if ((isAnswer || status === 422) && understand(body, status)) return n;
      const isPassing = status < 300 || status >= 500 || PASSING.includes(status);
      ensure(isPassing, CollectorError, `the request is refused (${status})`);
      // by chance, so that a crowd does not come back at the same moment
      const most = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (n - 1));
      const wait = asked + (most * new Randomness().below(UNIT)) / UNIT;
      ensure(Date.now() + 1000 * wait < ends, TryLater, `no clear answer (${status})`);
      await paused(1000 * wait, this.#signal);
    }
  }

  /** One attempt; its status is 0 without an answer in time, or with one that is too long. */
  async #ask(
    url: string,
    request: RequestInit,
    ends: number,
  ): Promise<{ status: number; asked: number; body: Uint8Array }> {
    const left = Math.min(1000 * this.#timeout, Math.max(ends - Date.now(), 1));
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), left);
    const abort = (): void => stop.abort();
    this.#signal?.addEventListener("abort", abort);
    let asked = 0;
    try {
      const answer = await fetch(url, {
        ...request,
        credentials: "omit",
        referrerPolicy: "no-referrer",
        redirect: "manual",
        cache: "no-store",
        signal: stop.signal,
      });
      asked = Math.max(0, Number(answer.headers.get("Retry-After")) || 0);
      const body = await whole(answer);
      return { status: answer.status || 300, asked, body }; // of a redirect, no status is shown
    } catch {
      return { status: 0, asked, body: new Uint8Array() };
    } finally {
      clearTimeout(timer);
      this.#signal?.removeEventListener("abort", abort);
    }
  }
}

/** The campaign at this address; its bytes must have the hash that the address names. */
export async function fetchCampaign(address: string, options?: SendOptions): Promise<Campaign> {
  const exchange = new Exchange(undefined, address, options);
  let bytes!: Uint8Array;
  await exchange.persist("", {}, (body, status) => {
    bytes = body;
    return status === 200;
  });
  return Campaign.load(bytes, { expectedId: exchange.campaignId });
}

function paused(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      done();
    });
  });
}

/** The body of an answer; fails where it is longer than any that is expected. */
async function whole({ body }: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  const reader = body?.getReader();
  let left: number = Most.fileBytes;
  for (;;) {
    const part = await reader?.read();
    if (!part || part.done) return joined(parts);
    parts.push(part.value);
    left -= part.value.length;
    if (left < 0) {
      void reader!.cancel();
      throw new RangeError();
    }
  }
}

/**
 * Whether the one report that was sent is in the collector's keeping.
 *
 * Refuses the report where the collector does; false where the answer is unclear.
 */
export function isCounted(body: Uint8Array): boolean {
  let reason: Reason | undefined;
  try {
    const { received, refused } = JSON.parse(new TextDecoder().decode(body));
    const [item] = refused;
    if (!item) return received === 1;
    if (item.index === 0) reason = item.reason.replace(/[^a-z]/g, "").slice(0, 40);
  } catch {
    // unclear
  }
  if (reason) accept(false, reason);
  return false;
}
