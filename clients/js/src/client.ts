// Client: a record becomes a report, here and nowhere else. It checks the record, draws, randomizes, keeps the finished report
// (never the record), and hands out the same bytes whenever it is asked again: a second draw would let the noise be averaged away.

import { decimalUp, exactCap, type Loss } from "./budget";
import type { Campaign } from "./campaign";
import { dayText, today } from "./dates";
import { CampaignError, EpsilonTooHigh, ReportRejected, StoreError } from "./errors";
import { begun, bytesOf, keptIn, lost, withReport, type Kept } from "./keeping";
import { bigSum } from "./numbers";
import { base64url, framed, type Report } from "./report";
import { GRACE_DAYS, slotOn } from "./schedule";
import { addressOf, counted, post, type SendOptions } from "./sending";
import { hex, sha256, utf8 } from "./sha256";
import { IndexedDbStore, type ClientStore, type Draw } from "./stores";

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
    for (const name in rest) throw new TypeError(`there is no option '${name}'`);
    checkCap(campaign.lifetimeLoss, { epsilonCap });
    checkCap(0n, { lifetimeCap });
    const keeper = keeperOf(campaign, store, respondent, lifetimeCap);
    Object.assign(this, { campaign, ...making(campaign, keeper), ...sending(campaign, keeper) });
  }
}

/** Refuse what reveals more than a cap, or a cap that is none. */
function checkCap(loss: Loss, caps: Readonly<Record<string, number | string | undefined>>): void {
  for (const name in caps) {
    const cap = caps[name];
    if (cap !== undefined && loss > exactCap(cap, name)) throw new EpsilonTooHigh(`epsilon ${decimalUp(loss)} would pass the ${name}`);
  }
}

/** The slot of this day, of rounds that of the present one; nothing outside the campaign's schedule. */
const slotNow = ({ terms: { schedule } }: Campaign): number | undefined => (schedule ? slotOn(schedule, today()) : today());

function openSlot(campaign: Campaign): number {
  const slot = slotNow(campaign), { opens, closes } = campaign.terms.schedule ?? {};
  if (slot === undefined) throw new CampaignError(`this campaign takes reports from ${dayText(opens!)} to ${dayText(closes!)}`);
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
    async change(change = (kept) => kept) {
      const { kept } = await store.change(key, (state) => {
        const before = keptIn(campaign, state.kept);
        if (campaign.repeat && !before.start && state.draws.some((draw) => draw.key === key && draw.finished)) lost();
        const after = change(before), finish = (draw: Draw): Draw => (draw.key === key ? { ...draw, finished: true } : draw);
        return after === before ? state : { kept: bytesOf(campaign, after), draws: after.start ? state.draws.map(finish) : state.draws };
      });
      return keptIn(campaign, kept);
    },
    charge: (isDrawing) =>
      store.change(key, (state) => {
        const finished = !!keptIn(campaign, state.kept).start, isCounted = state.draws.some((draw) => draw.key === key && (finished || !draw.finished));
        const draws = isCounted ? state.draws : [...state.draws, { key, person, loss: String(campaign.lifetimeLoss), finished }];
        if (isDrawing) checkCap(totalOf(draws), { lifetimeCap });
        return { ...state, draws };
      }),
    spent: async () => decimalUp(totalOf((await store.change(key)).draws)),
  };
}

type Making = Pick<Client, "encode" | "due" | "rounds" | "hasBegun" | "needsRecord" | "kept" | "spent" | "reports">;

function making(campaign: Campaign, { change, charge, spent }: Keeper): Making {
  const { repeat } = campaign, drawn = (): Promise<Kept> => change((kept) => begun(kept, campaign)), hasBegun = async (): Promise<boolean> => !!(await change()).start;
  const madeIn = ({ reports }: Kept, slot: number): Report | undefined => reports.find((report) => !repeat || report.slot === slot), takesPart = ({ own }: Kept, slot: number): boolean => !repeat || own!.has(slot);
  const rounds = async (): Promise<string[]> => [...((await drawn()).own?.keys() ?? [])].map(dayText);
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
    needsRecord: async () => !(await hasBegun()) || (!!repeat && !repeat.isPermanent),
    kept: async () => (await change()).reports.at(-1),
    reports: async () => (await change()).reports,
    spent,
  };
}

function sending(campaign: Campaign, { change, charge }: Keeper): Pick<Client, "waiting" | "send" | "withdraw"> {
  const { repeat } = campaign, waiting = async (): Promise<Report[]> => {
    const { reports, own } = await change();
    return reports.filter(({ slot }) => !repeat || (!own!.get(slot) && slot + repeat.everyDays + GRACE_DAYS > today()));
  };

  /** Where to send, once there is something. */
  async function placeOf(url: string, options: SendOptions): Promise<string> {
    const address = addressOf(url, options);
    if (address.campaignId !== campaign.id) throw new CampaignError("the address is another campaign's");
    if (!(await change()).reports.length) throw new StoreError("no report is kept");
    return address.url;
  }

  /** Remember that the collector has had the last word about the report of a round. */
  const settle = ({ slot }: Report): unknown => repeat && change((kept) => ({ ...kept, own: new Map([...kept.own!, [slot, true]]) }));

  return {
    waiting,
    async send(url, options = {}) {
      const place = await placeOf(url, options);
      await charge();
      let attempts = 0, refusal: unknown;
      for (const report of await waiting()) {
        let isFinal = true;
        try {
          attempts += await post(`${place}/reports`, "application/vnd.lopub.reports.v1", framed([report.toBytes()]), options, counted);
        } catch (error) {
          if (!(error instanceof ReportRejected)) throw error;
          refusal ??= error;
          isFinal = error.reason !== "slot"; // one of the clocks may be wrong: tried until the round is over by this one
        }
        if (isFinal) await settle(report);
      }
      if (refusal) throw refusal;
      return attempts;
    },
    async withdraw(url, options = {}) {
      const place = await placeOf(url, options);
      let attempts = 0;
      for (const report of (await change()).reports) {
        attempts += await post(`${place}/withdrawals`, "application/json", JSON.stringify({ id: base64url(report.id) }), options);
        await settle(report);
      }
      return attempts;
    },
  };
}
