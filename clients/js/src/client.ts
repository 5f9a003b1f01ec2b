// Client: a record becomes a report, here and nowhere else. It checks the record, draws, randomizes, keeps the finished report
// (never the record), and hands out the same bytes whenever it is asked again: a second draw would let the noise be averaged away.

import { checkCap, decimalUp, type Loss } from "./budget";
import type { Campaign } from "./campaign";
import { dayText, today } from "./dates";
import { CampaignError, ReportRejected, StoreError, ensure, expectNone } from "./errors";
import { begun, bytesOf, ensureKept, keptIn, withReport, type Kept } from "./keeping";
import { bigSum } from "./numbers";
import { base64url, framed, type Report } from "./report";
import { GRACE_DAYS, slotOn } from "./schedule";
import { counted, persist, targetOf, type SendOptions } from "./sending";
import { hex, sha256, utf8 } from "./sha256";
import { IndexedDbStore, same, type ClientStore, type Draw } from "./stores";

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
  declare readonly campaign: Campaign;
  /** The respondent's report: made from this record, or the one that was made before. Of a campaign that repeats, that of the present
   * round; refused where this device does not take part in it. In mode permanent the first record counts for ever, and none is needed later. */
  declare readonly encode: (record?: Answers) => Promise<Report>;
  /** The day that the next report would carry, such as 2026-05-31, where one is to be made now; of rounds, the first day of the present one. */
  declare readonly due: () => Promise<string | undefined>;
  /** The first days of the rounds in which this device takes part, drawn once; none of a campaign that does not repeat. */
  declare readonly rounds: () => Promise<string[]>;
  /** Whether this campaign is counted in what the store has spent: a report is kept, or a series has begun. */
  declare readonly hasBegun: () => Promise<boolean>;
  /** Whether the next report is made of answers: not where one is kept for good, or a permanent answer is. */
  declare readonly needsRecord: () => Promise<boolean>;
  /** The respondent's report, if it was made before; of a campaign that repeats, that of the latest round. */
  declare readonly kept: () => Promise<Report | undefined>;
  /** Epsilon of all of the respondent's reports in this store, six decimals, rounded up. */
  declare readonly spent: () => Promise<string>;
  /** The reports that were made so far, in the order of their rounds. */
  declare readonly reports: () => Promise<readonly Report[]>;
  /** What a call of `send` would send: the one report; of a campaign that repeats, those for which no collector has answered, as long as one takes them. */
  declare readonly waiting: () => Promise<readonly Report[]>;
  /** Send the kept report, always the same bytes, until the collector has it; how many attempts it took. Of a campaign that repeats, all
   * that are waiting, each in a request of its own and until the collector has answered for it once. ReportRejected where it refuses one. */
  declare readonly send: (url: string, options?: SendOptions) => Promise<number>;
  /** Ask the collector to forget the kept report, or those of all rounds; how many attempts it took. They stay kept here, so that none
   * is ever drawn again, and are not sent again. */
  declare readonly withdraw: (url: string, options?: SendOptions) => Promise<number>;

  constructor(campaign: Campaign, { epsilonCap, lifetimeCap, store = new IndexedDbStore(), respondent = "self", ...rest }: ClientOptions = {}) {
    expectNone(rest);
    checkCap(campaign.lifetimeLoss, epsilonCap, "epsilonCap");
    checkCap(0n, lifetimeCap, "lifetimeCap");
    const keeper = keeperOf(campaign, store, respondent, lifetimeCap);
    Object.assign(this, { campaign, ...making(campaign, keeper), ...sending(campaign, keeper) });
  }
}

/** The slot of this day, of rounds that of the present one; nothing outside the campaign's schedule. */
const slotNow = ({ terms: { schedule } }: Campaign): number | undefined => (schedule ? slotOn(schedule, today()) : today());

function openSlot(campaign: Campaign): number {
  const slot = slotNow(campaign), { opens, closes } = campaign.terms.schedule ?? {};
  ensure(slot !== undefined, CampaignError, `reports are taken from ${dayText(opens!)} to ${dayText(closes!)}`);
  return slot;
}

interface Keeper {
  /** What is kept, after a change that is made at once or not at all. Of a series that has begun, nothing may be missing. */
  change(change?: (kept: Kept) => Kept): Promise<Kept>;
  /** Count a draw before it is made: once, until what was drawn is kept. isDrawing: refuse where the total passes the cap. */
  charge(isDrawing?: boolean): Promise<unknown>;
  spent(): Promise<string>;
}

function keeperOf(campaign: Campaign, store: ClientStore, respondent: string, lifetimeCap?: number | string): Keeper {
  const person = hex(sha256(utf8(respondent)), 8).slice(0, 32), key = `${campaign.id}-${person}`;
  const totalOf = (draws: readonly Draw[]): Loss => bigSum(draws.filter((draw) => draw.person === person).map(({ loss }) => BigInt(loss)));
  return {
    async change(change = same) {
      let after!: Kept;
      await store.change(key, (state) => {
        const before = keptIn(campaign, state.kept);
        ensureKept(!campaign.repeat || before.start || !state.draws.some((draw) => draw.key === key && draw.finished));
        after = change(before);
        const finish = (draw: Draw): Draw => (draw.key === key ? { ...draw, finished: true } : draw);
        return after === before ? state : { kept: bytesOf(campaign, after), draws: after.start ? state.draws.map(finish) : state.draws };
      });
      return after;
    },
    charge: (isDrawing) =>
      store.change(key, (state) => {
        const finished = !!keptIn(campaign, state.kept).start, isCounted = state.draws.some((draw) => draw.key === key && (finished || !draw.finished));
        const draws = isCounted ? state.draws : [...state.draws, { key, person, loss: String(campaign.lifetimeLoss), finished }];
        if (isDrawing) checkCap(totalOf(draws), lifetimeCap, "lifetimeCap");
        return { ...state, draws };
      }),
    spent: async () => decimalUp(totalOf((await store.change(key)).draws)),
  };
}

type Making = Pick<Client, "encode" | "due" | "rounds" | "hasBegun" | "needsRecord" | "kept" | "spent">;

function making(campaign: Campaign, { change, charge, spent }: Keeper): Making {
  const { repeat } = campaign, drawn = (): Promise<Kept> => change((kept) => begun(kept, campaign)), hasBegun = async (): Promise<boolean> => !!(await change()).start;
  const madeIn = ({ reports }: Kept, slot: number): Report | undefined => reports.find((report) => !repeat || report.slot === slot), takesPart = ({ own }: Kept, slot: number): boolean => !repeat || own!.has(slot);
  const rounds = async (): Promise<string[]> => (repeat ? [...(await drawn()).own!.keys()] : []).map(dayText);
  return {
    async encode(record = {}) {
      const now = repeat && openSlot(campaign), before = await drawn(), slot = now ?? (before.reports.length ? 0 : openSlot(campaign)), made = madeIn(before, slot);
      if (!takesPart(before, slot)) throw new CampaignError(`this device takes part from ${await rounds()}`);
      const candidates = made || (repeat?.isPermanent && before.start) ? undefined : campaign.domain.indices(record);
      await charge(!made); // before the noise is drawn: there may be a count without a report, never a report without its count
      return made ?? madeIn(await change((kept) => (madeIn(kept, slot) ? kept : withReport(campaign, kept, candidates, slot))), slot)!;
    },
    async due() {
      const slot = slotNow(campaign), kept = slot === undefined ? undefined : await drawn();
      return kept && takesPart(kept, slot!) && !madeIn(kept, slot!) ? dayText(slot!) : undefined;
    },
    rounds,
    hasBegun,
    needsRecord: async () => !(await hasBegun()) || repeat?.isPermanent === false,
    kept: async () => (await change()).reports.at(-1),
    spent,
  };
}

function sending(campaign: Campaign, { change, charge }: Keeper): Pick<Client, "waiting" | "reports" | "send" | "withdraw"> {
  const { repeat } = campaign, reports = async (): Promise<readonly Report[]> => (await change()).reports, waiting = async (): Promise<readonly Report[]> => {
    const { reports, own } = await change();
    return reports.filter(({ slot }) => !own!.get(slot) && (!repeat || slot + repeat.everyDays + GRACE_DAYS > today()));
  };

  /** Tells the collector something of each report, in a request of its own, until that has the last word about it; how many attempts it took. success: what has become of a report then. */
  const telling = (path: string, type: string, those: typeof reports, bodyOf: (report: Report) => BodyInit, understand: (body: Uint8Array) => boolean, success?: string): Client["send"] => async (url, options) => {
    const [place, campaignId, patience] = targetOf(url, options);
    ensure(campaignId === campaign.id, CampaignError, "the address is another campaign's");
    ensure((await reports()).length, StoreError, "no report is kept");
    await charge();
    let attempts = 0, refusal: unknown;
    for (const report of await those()) {
      let fate = success;
      try {
        attempts += await persist(place + path, patience, understand, { method: "POST", body: bodyOf(report), headers: { "Content-Type": type } });
      } catch (error) {
        if (!(error instanceof ReportRejected)) throw error;
        refusal ??= error;
        fate = error.reason;
      }
      // where the day is refused, one of the clocks may be wrong: tried until the round is over by this one. Without rounds, only a withdrawal is the last word
      if (repeat ? fate !== "slot" : fate === "withdrawn") await change((kept) => ({ ...kept, own: new Map([...kept.own!, [report.slot, true]]) }));
    }
    if (refusal) throw refusal;
    return attempts;
  };

  return {
    waiting,
    reports,
    send: telling("/reports", "application/vnd.lopub.reports.v1", waiting, (report) => framed([report.toBytes()]), counted),
    withdraw: telling("/withdrawals", "application/json", reports, ({ id }) => JSON.stringify({ id: base64url(id) }), () => true, "withdrawn"),
  };
}
