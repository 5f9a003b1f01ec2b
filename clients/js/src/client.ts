// Client: a record becomes a report, here and nowhere else. It checks the record, draws, randomizes, keeps the finished report
// (never the record), and hands out the same bytes whenever it is asked again: a second draw would let the noise be averaged away.

import { decimalUp, exactCap, type Loss } from "./budget";
import type { Campaign } from "./campaign";
import { dayText } from "./dates";
import { CampaignError, EpsilonTooHigh, ReportRejected, StoreError } from "./errors";
import { begun, bytesOf, firstDays, keptIn, lost, withReport, type Kept } from "./keeping";
import { base64url, framed, type Report } from "./report";
import { GRACE_DAYS, slotOn, type Schedule } from "./schedule";
import { addressOf, counted, post, type SendOptions } from "./sending";
import { hex, sha256, utf8 } from "./sha256";
import { IndexedDbStore, totalOf, type ClientStore, type Draw } from "./stores";

/** Question -> answer: a value, null for none, of a list the values that are ticked. */
export type Answers = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

export interface ClientOptions {
  /** The most that the app lets a campaign reveal, in all its rounds together. */
  readonly epsilonCap?: number | string;
  /** The most that all of the respondent's reports in the store may reveal together. */
  readonly lifetimeCap?: number | string;
  /** Where finished reports are kept; the browser's database unless given. */
  readonly store?: ClientStore;
  /** Who answers, where several people share a device; only a hash of it is kept. */
  readonly respondent?: string;
}

/** One respondent's side of a campaign. */
export class Client {
  private readonly _store: ClientStore;
  private readonly _person: string;
  private readonly _key: string;
  private readonly _lifetimeCap?: Loss;

  constructor(readonly campaign: Campaign, { epsilonCap, lifetimeCap, store = new IndexedDbStore(), respondent = "self", ...rest }: ClientOptions = {}) {
    for (const name in rest) throw new TypeError(`there is no option '${name}'`);
    if (epsilonCap !== undefined && campaign.lifetimeLoss > exactCap(epsilonCap, "epsilonCap")) {
      throw new EpsilonTooHigh(`epsilon ${campaign.lifetimeEpsilon} would pass the epsilonCap`);
    }
    this._store = store;
    this._person = hex(sha256(utf8(respondent)), 8).slice(0, 32);
    this._key = `${campaign.id}-${this._person}`;
    if (lifetimeCap !== undefined) this._lifetimeCap = exactCap(lifetimeCap, "lifetimeCap");
  }

  /** The respondent's report: made from this record, or the one that was made before. Of a campaign that repeats, that of the present
   * round; refused where this device does not take part in it. In mode permanent the first record counts for ever, and none is needed later. */
  async encode(record: Answers = {}): Promise<Report> {
    const { campaign } = this, { repeat } = campaign, now = repeat && today(campaign), kept = await this._kept(true), own = this._own(kept);
    const slot = now ?? (kept.reports.length ? 0 : today(campaign)), made = ({ reports }: Kept): Report | undefined => reports.find((report) => !repeat || report.slot === slot);
    if (repeat && !own.includes(slot)) throw new CampaignError(`this device takes part from ${own.map(dayText).join(", ")}`);
    const candidates = made(kept) || (repeat?.isPermanent && kept.start) ? undefined : campaign.domain.indices(record);
    await this._charge(!made(kept)); // before the noise is drawn: there may be a count without a report, never a report without its count
    return made(kept) ?? made(await this._change((before) => (made(before) ? before : withReport(campaign, before, candidates, slot))))!;
  }

  /** The day that the next report would carry, such as 2026-05-31, where one is to be made now; of rounds, the first day of the present one. */
  async due(): Promise<string | undefined> {
    const slot = slotNow(this.campaign), { repeat } = this.campaign, kept = slot === undefined ? undefined : await this._kept(true);
    return kept && (repeat ? this._own(kept).includes(slot!) && !kept.reports.some((report) => report.slot === slot) : !kept.reports.length) ? dayText(slot!) : undefined;
  }

  /** The first days of the rounds in which this device takes part, drawn once; none of a campaign that does not repeat. */
  async rounds(): Promise<string[]> {
    return this._own(await this._kept(true)).map(dayText);
  }

  /** Whether this campaign is counted in what the store has spent: a report is kept, or a series has begun. */
  async hasBegun(): Promise<boolean> {
    return !!(await this._kept()).start;
  }

  /** Whether the next report is made of answers: not where one is kept for good, or a permanent answer is. */
  async needsRecord(): Promise<boolean> {
    const { repeat } = this.campaign;
    return !(await this.hasBegun()) || (!!repeat && !repeat.isPermanent);
  }

  /** The respondent's report, if it was made before; of a campaign that repeats, that of the latest round. */
  async kept(): Promise<Report | undefined> {
    return (await this._kept()).reports.at(-1);
  }

  /** Epsilon of all of the respondent's reports in this store, six decimals, rounded up. */
  async spent(): Promise<string> {
    return decimalUp(totalOf((await this._store.change(this._key)).draws, this._person));
  }

  /** The reports that were made so far, in the order of their rounds. */
  async reports(): Promise<readonly Report[]> {
    return (await this._kept()).reports;
  }

  /** What a call of `send` would send: the one report; of a campaign that repeats, those for which no collector has answered, as long as one takes them. */
  async waiting(): Promise<readonly Report[]> {
    const { reports, settled } = await this._kept(), { repeat } = this.campaign;
    return reports.filter(({ slot }) => !repeat || (!settled.includes(slot) && slot + repeat.everyDays + GRACE_DAYS > day()));
  }

  /** Send the kept report, always the same bytes, until the collector has it; how many attempts it took. Of a campaign that repeats, all
   * that are waiting, each in a request of its own and until the collector has answered for it once. ReportRejected where it refuses one. */
  async send(url: string, options: SendOptions = {}): Promise<number> {
    const place = this._place(url, options), { repeat } = this.campaign;
    await this._finished();
    await this._charge();
    let attempts = 0, refusal: unknown;
    for (const report of await this.waiting()) {
      let isFinal = true;
      try {
        attempts += await post(`${place}/reports`, "application/vnd.lopub.reports.v1", framed([report.toBytes()]), options, counted);
      } catch (error) {
        if (!(error instanceof ReportRejected)) throw error;
        refusal ??= error;
        isFinal = !repeat || error.reason !== "slot"; // one of the clocks may be wrong: tried until the round is over by this one
      }
      if (isFinal) await this._settle(report);
    }
    if (refusal) throw refusal;
    return attempts;
  }

  /** Ask the collector to forget the kept report, or those of all rounds; how many attempts it took. They stay kept here, so that none
   * is ever drawn again, and are not sent again. */
  async withdraw(url: string, options: SendOptions = {}): Promise<number> {
    const place = this._place(url, options);
    let attempts = 0;
    for (const report of (await this._finished()).reports) {
      attempts += await post(`${place}/withdrawals`, "application/json", JSON.stringify({ id: base64url(report.id) }), options);
      await this._settle(report);
    }
    return attempts;
  }

  /** Remember that the collector has had the last word about the report of a round. */
  private async _settle({ slot }: Report): Promise<void> {
    if (this.campaign.repeat) await this._change((kept) => ({ ...kept, settled: [...kept.settled, slot] }));
  }

  // ---- what is kept

  /** What there is; drawing: with the rounds of this device, drawn where they are not yet. */
  private _kept(drawing?: boolean): Promise<Kept> {
    return this._change((kept) => (drawing && this.campaign.repeat && !kept.rounds ? begun(kept, this.campaign) : kept));
  }

  private _own({ rounds = [] }: Kept): number[] {
    return firstDays(this.campaign.terms.schedule, rounds);
  }

  /** Change what is kept, at once or not at all; what is kept then. Of a series that has begun, nothing may be missing. */
  private async _change(change: (kept: Kept) => Kept): Promise<Kept> {
    const { campaign, _key: key } = this;
    const { kept } = await this._store.change(key, (state) => {
      const before = keptIn(campaign, state.kept);
      if (campaign.repeat && !before.start && state.draws.some((draw) => draw.key === key && draw.finished)) lost();
      const after = change(before), finish = (draw: Draw): Draw => (draw.key === key ? { ...draw, finished: true } : draw);
      return after === before ? state : { kept: bytesOf(campaign, after), draws: after.start ? state.draws.map(finish) : state.draws };
    });
    return keptIn(campaign, kept);
  }

  /** Count a draw before it is made: once, until what was drawn is kept. drawing: refuse where the total passes the cap. */
  private async _charge(drawing?: boolean): Promise<void> {
    const { campaign, _key: key, _person: person, _lifetimeCap: cap } = this;
    await this._store.change(key, (state) => {
      const finished = !!keptIn(campaign, state.kept).start, isCounted = state.draws.some((draw) => draw.key === key && (finished || !draw.finished));
      const draws = isCounted ? state.draws : [...state.draws, { key, person, loss: String(campaign.lifetimeLoss), finished }];
      if (cap !== undefined && drawing && totalOf(draws, person) > cap) throw new EpsilonTooHigh(`epsilon ${decimalUp(totalOf(draws, person))} would pass the lifetimeCap`);
      return { ...state, draws };
    });
  }

  private async _finished(): Promise<Kept> {
    const kept = await this._kept();
    if (!kept.reports.length) throw new StoreError("no report is kept");
    return kept;
  }

  private _place(url: string, options: SendOptions): string {
    const address = addressOf(url, options);
    if (address.campaignId !== this.campaign.id) throw new CampaignError("the address is another campaign's");
    return address.url;
  }
}

/** This day in UTC. */
const day = (): number => Math.floor(Date.now() / 86_400_000);
const ALWAYS: Schedule = { opens: 0, closes: 2_932_896 };

/** The slot of this day, of rounds that of the present one; nothing outside the campaign's schedule. */
const slotNow = ({ terms: { schedule = ALWAYS } }: Campaign): number | undefined => slotOn(schedule, day());

function today(campaign: Campaign): number {
  const { opens, closes } = campaign.terms.schedule ?? ALWAYS, slot = slotNow(campaign);
  if (slot === undefined) throw new CampaignError(`this campaign takes reports from ${dayText(opens)} to ${dayText(closes)}`);
  return slot;
}
