// Client: a record becomes a report, here and nowhere else. It checks the record, draws, randomizes, keeps the finished report
// (never the record), and hands out the same bytes whenever it is asked again: a second draw would let the noise be averaged away.

import { decimalUp, exactCap, isAbove, type Cap } from "./budget";
import type { Campaign } from "./campaign";
import { dayText } from "./dates";
import { CampaignError, EpsilonTooHigh, ReportRejected, StoreError } from "./errors";
import { Randomness } from "./randomness";
import { Report, base64url } from "./report";
import { addressOf, counted, post, type SendOptions } from "./sending";
import { hex, sha256, utf8 } from "./sha256";
import { IndexedDbStore, type ClientStore } from "./stores";

/** Question -> answer: a value, null for none, of a list the values that are ticked. */
export type Answers = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

export interface ClientOptions {
  /** The most that the app lets a campaign reveal. */
  readonly epsilonCap?: number | string;
  /** The most that all of the respondent's reports in the store may reveal together. */
  readonly lifetimeCap?: number | string;
  /** Where the finished report is kept; the browser's database unless given. */
  readonly store?: ClientStore;
  /** Who answers, where several people share a device; only a hash of it is kept. */
  readonly respondent?: string;
}

/** One respondent's side of a campaign. */
export class Client {
  private readonly _store: ClientStore;
  private readonly _person: string;
  private readonly _key: string;
  private readonly _lifetimeCap?: Cap;

  constructor(readonly campaign: Campaign, { epsilonCap, lifetimeCap, store = new IndexedDbStore(), respondent = "self" }: ClientOptions = {}) {
    if (epsilonCap !== undefined && isAbove(campaign.loss, exactCap(epsilonCap, "epsilonCap"))) {
      throw new EpsilonTooHigh(`this campaign has epsilon ${campaign.epsilon}; this app allows ${epsilonCap}`);
    }
    this._store = store;
    this._person = hex(sha256(utf8(respondent))).slice(0, 32);
    this._key = `${campaign.id}-${this._person}`;
    if (lifetimeCap !== undefined) this._lifetimeCap = exactCap(lifetimeCap, "lifetimeCap");
    if (this._lifetimeCap && !store.charge) throw new CampaignError("lifetimeCap needs a store that keeps totals");
  }

  /** The respondent's report: made from this record, or the one that was made before. */
  async encode(record: Answers): Promise<Report> {
    const { campaign } = this, made = await this.kept();
    const candidates = made ? [] : campaign.domain.indices(record), slot = made ? 0 : today(campaign);
    await this._charge(); // before the noise is drawn: there may be a count without a report, never a report without its count
    return made ?? this._reread(await this._store.keep(this._key, Report.randomized(campaign, candidates, slot, new Randomness()).toBytes()));
  }

  /** The respondent's report, if it was made before. */
  async kept(): Promise<Report | undefined> {
    const bytes = await this._store.kept(this._key);
    return bytes && this._reread(bytes);
  }

  /** Epsilon of all of the respondent's reports in this store, six decimals, rounded up. */
  async spent(): Promise<string> {
    return decimalUp((await this._store.spent?.(this._person)) ?? 0n);
  }

  /** Send the kept report, always the same bytes, until the collector has it; how many attempts it took. */
  async send(url: string, options: SendOptions = {}): Promise<number> {
    const place = this._place(url, options), bytes = (await this._finished()).toBytes();
    await this._charge();
    return post(`${place}/reports`, "application/vnd.lopub.reports.v1", Uint8Array.of(bytes.length >> 8, bytes.length, ...bytes), options, counted);
  }

  /** Ask the collector to forget the kept report; how many attempts it took. It stays kept here, so that no second one is drawn. */
  async withdraw(url: string, options: SendOptions = {}): Promise<number> {
    const place = this._place(url, options), { id } = await this._finished();
    return post(`${place}/withdrawals`, "application/json", JSON.stringify({ id: base64url(id) }), options);
  }

  private async _charge(): Promise<void> {
    await this._store.charge?.(this._key, this._person, this.campaign.loss, this._lifetimeCap);
  }

  private async _finished(): Promise<Report> {
    const report = await this.kept();
    if (!report) throw new StoreError("no report is kept for this campaign and this respondent; encode a record first");
    return report;
  }

  private _place(url: string, options: SendOptions): string {
    const address = addressOf(url, options);
    if (address.campaignId !== this.campaign.id) throw new CampaignError("the address is that of another campaign");
    return address.url;
  }

  private _reread(bytes: Uint8Array): Report {
    try {
      return Report.fromBytes(bytes, this.campaign);
    } catch (error) {
      throw error instanceof ReportRejected ? new StoreError(`the kept report is damaged (${error.reason}); restore it, or delete it if it was never sent`) : error;
    }
  }
}

/** The slot of this day in UTC; refuses a day outside the campaign's schedule. */
function today({ terms: { schedule = { opens: 0, closes: 2_932_896 } } }: Campaign): number {
  const slot = Math.floor(Date.now() / 86_400_000);
  if (!(slot >= schedule.opens && slot <= schedule.closes)) {
    throw new CampaignError(`this campaign takes reports from ${dayText(schedule.opens)} to ${dayText(schedule.closes)}, which today is not`);
  }
  return slot;
}
