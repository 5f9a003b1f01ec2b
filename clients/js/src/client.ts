// Client: a record becomes a report, here and nowhere else. It checks the record, counts what the
// report reveals, draws it, keeps it (never the record), and hands out the same bytes whenever it
// is
// asked again: a second draw would let the noise be averaged away.

import { checkCap } from "./budget";
import { base64url, framed } from "./bytes";
import type { Campaign } from "./campaign";
import { dayText, today } from "./dates";
import {
  CampaignError,
  CollectorError,
  ReportRejected,
  StoreError,
  TryLater,
  ensure,
  expectNone,
} from "./errors";
import { Keeper } from "./keeper";
import type { Report } from "./report";
import { begun, reportsIn, withFate, withReport, type Kept, type Fate, type Round } from "./rounds";
import { GRACE_DAYS } from "./schedule";
import { Exchange, isCounted, type SendOptions } from "./sending";
import { IndexedDbStore, type ClientStore } from "./store";

/** Question -> answer: a value, null for none, of a list the values that are ticked. */
export type Answers = Readonly<
  Record<string, string | number | boolean | null | readonly string[]>
>;

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

/** What came of taking part. It does not say what the report says, which nobody should go by. */
export interface Outcome {
  /** "waiting" where it goes out with the next `send`, as the same bytes. */
  readonly fate: Fate;
  /** What is in the way, or why the collector refuses the report; empty where it was sent. */
  readonly why: string;
  /** The reason of a refusal. */
  readonly reason?: string;
}

/** One respondent's side of a campaign. */
export class Client {
  readonly #keeper: Keeper;

  constructor(
    readonly campaign: Campaign,
    options: ClientOptions = {},
  ) {
    const { epsilonCap, lifetimeCap, store, respondent = "self", ...rest } = options;
    expectNone(rest);
    checkCap(campaign.lifetimeLoss, epsilonCap, "epsilonCap");
    checkCap(0n, lifetimeCap, "lifetimeCap");
    const place = store ?? new IndexedDbStore();
    this.#keeper = new Keeper(campaign, place, respondent, lifetimeCap);
  }

  // ---- taking part

  /**
   * Take part: count the report, draw it, keep it, and send it until the collector has it.
   *
   * To be called after consent. What comes back is how far the report has come, and not the report:
   * whoever decides by a drawn report whether it is sent can reveal their answer.
   */
  async contribute(
    record: Answers | undefined,
    url: string,
    options?: SendOptions,
  ): Promise<Outcome> {
    new Exchange(this.campaign.id, url, options); // a wrong address is refused before the draw
    await this.encode(record);
    let why = "";
    let reason: string | undefined;
    try {
      await this.send(url, options);
    } catch (error) {
      if (!(error instanceof CollectorError || error instanceof ReportRejected)) throw error;
      why = error.message;
      reason = error.reason;
    }
    return { fate: (await this.fate())!, why, reason };
  }

  /**
   * The report from this record, or the one that was made before; of a campaign that repeats, that
   * of the present round.
   *
   * For transports of your own. To be called after consent; do not show the report before it is
   * received. In mode permanent the first record counts for ever, and none is needed later.
   */
  async encode(record: Answers = {}): Promise<Report> {
    const { campaign } = this;
    const { repeat, terms, domain } = campaign;
    ensure(
      !terms.invitingKeys,
      CampaignError,
      "this version cannot take part in campaigns that need an invitation",
    );
    const before = await this.#begun();
    const [earlier] = repeat ? [] : reportsIn(campaign, before);
    const slot = earlier?.slot ?? this.#openSlot();
    if (repeat && !roundOf(before, slot)) {
      throw new CampaignError(`this device takes part from ${await this.rounds()} on`);
    }
    if (!roundOf(before, slot)?.report) {
      const candidates = before?.permanent ? undefined : domain.indices(record);
      await this.#keeper.charge(); // a count may lack its report, never a report its count
      await this.#keeper.change((kept) =>
        this.#isMade(kept, slot) ? kept : withReport(campaign, kept, candidates, slot),
      );
    }
    const reports = await this.reports();
    return repeat ? reports.find((report) => report.slot === slot)! : reports[0];
  }

  #isMade(kept: Kept | undefined, slot: number): boolean {
    return !!(this.campaign.repeat ? roundOf(kept, slot) : kept?.rounds[0])?.report;
  }

  /** What is kept, with the rounds of this device, drawn where they were not yet. */
  async #begun(): Promise<Kept | undefined> {
    const kept = await this.#keeper.read();
    if (kept || !this.campaign.repeat) return kept;
    return this.#keeper.change((found) => begun(this.campaign, found));
  }

  /** The slot of this day, of rounds that of the present one; undefined outside the schedule. */
  get #slotNow(): number | undefined {
    const { schedule } = this.campaign.terms;
    return schedule ? schedule.slotOn(today()) : today();
  }

  #openSlot(): number {
    const slot = this.#slotNow;
    const { opens, closes } = this.campaign.terms.schedule ?? {};
    const days = `from ${dayText(opens!)} to ${dayText(closes!)}`;
    ensure(slot !== undefined, CampaignError, `reports are taken ${days}`);
    return slot;
  }

  // ---- what there is

  /**
   * The day of the next report, such as 2026-05-31, where one is to be made now; of rounds, the
   * first day.
   */
  async due(): Promise<string | undefined> {
    const slot = this.#slotNow;
    if (slot === undefined) return undefined;
    const kept = await this.#begun();
    const takesPart = !this.campaign.repeat || roundOf(kept, slot);
    return takesPart && !this.#isMade(kept, slot) ? dayText(slot) : undefined;
  }

  /**
   * The first days of the rounds in which this device takes part; none of a campaign that does not
   * repeat.
   */
  async rounds(): Promise<string[]> {
    if (!this.campaign.repeat) return [];
    return (await this.#begun())!.rounds.map(({ slot }) => dayText(slot));
  }

  /** Whether a report was made, so that this campaign is counted in what is spent. */
  async hasBegun(): Promise<boolean> {
    return (await this.reports()).length > 0;
  }

  /**
   * Whether the next report is made of answers: not where one is kept for good, or a permanent
   * answer is.
   */
  async needsRecord(): Promise<boolean> {
    return !(await this.hasBegun()) || this.campaign.repeat?.isPermanent === false;
  }

  /**
   * The respondent's report, if it was made before; of a campaign that repeats, that of the latest
   * round.
   */
  async kept(): Promise<Report | undefined> {
    return (await this.reports()).at(-1);
  }

  /** How far the latest report has come; undefined where none was made. */
  async fate(): Promise<Fate | undefined> {
    return (await this.history()).at(-1)?.fate;
  }

  /** How far each report has come, in the order of their rounds, without the reports. */
  async history(): Promise<readonly { readonly slot: number; readonly fate: Fate }[]> {
    return made(await this.#keeper.read()).map(({ slot, fate }) => ({
      slot,
      fate: fate!,
    }));
  }

  /** The reports that were made so far, in the order of their rounds. */
  async reports(): Promise<readonly Report[]> {
    return reportsIn(this.campaign, await this.#keeper.read());
  }

  /**
   * What a call of `send` would send: what no collector has answered for, as long as one takes it.
   */
  async waiting(): Promise<readonly Report[]> {
    return this.#waitingIn(await this.#keeper.read());
  }

  #waitingIn(kept: Kept | undefined): Report[] {
    const { repeat } = this.campaign;
    return this.#those(
      kept,
      ({ slot, fate }) =>
        fate === "waiting" && (!repeat || slot + repeat.everyDays + GRACE_DAYS > today()),
    );
  }

  /**
   * The reports that a collector has acknowledged, and was not asked to forget: what may be shown.
   */
  async sent(): Promise<readonly Report[]> {
    return this.#those(await this.#keeper.read(), ({ fate }) => fate === "sent");
  }

  #those(kept: Kept | undefined, isMeant: (round: Round) => boolean): Report[] {
    const slots = made(kept).filter(isMeant);
    return reportsIn(this.campaign, kept).filter((report) => roundIn(slots, report.slot));
  }

  /** Epsilon of all of the respondent's reports in this store, six decimals, rounded up. */
  spent(): Promise<string> {
    return this.#keeper.spent();
  }

  // ---- sending

  /**
   * Send the reports that are waiting, always the same bytes, each in a request of its own, until
   * the
   * collector has answered for it; how many attempts it took. ReportRejected where it refuses one.
   */
  async send(url: string, options?: SendOptions): Promise<number> {
    const exchange = await this.#exchange(url, options);
    return this.#persist(await this.waiting(), "sent", (report) =>
      exchange.persist(
        "/reports",
        {
          method: "POST",
          body: framed(report.toBytes()),
          headers: { "Content-Type": "application/vnd.lopub.reports.v1" },
        },
        isCounted,
      ),
    );
  }

  /**
   * Send nothing of what is waiting, unseen. It stays counted, and is never drawn again. What was
   * under way may have arrived: `withdraw` asks for that, too.
   */
  async cancel(): Promise<void> {
    await this.#keeper.change((kept) => kept && withFate(kept, this.#waitingIn(kept), "cancelled"));
  }

  /**
   * Ask the collector to forget the reports of all rounds; how many attempts it took.
   *
   * They stay kept here, so that none is ever drawn again, and are not sent again. A wish that does
   * not get through is kept: `fate` says "withdrawing" until a call succeeds.
   */
  async withdraw(url: string, options?: SendOptions): Promise<number> {
    const exchange = await this.#exchange(url, options);
    const wished = (round: Round): boolean => round.fate === "withdrawing";
    const kept = (await this.#keeper.read())!;
    const isAgain = made(kept).some(wished); // of rounds, those that were meant then
    const meant = this.#those(kept, isAgain ? wished : (round) => round.fate !== "withdrawn");
    await this.#settle(meant, "withdrawing");
    try {
      return await this.#persist(meant, "withdrawn", (report) =>
        exchange.persist(
          "/withdrawals",
          {
            method: "POST",
            body: JSON.stringify({ id: base64url(report.id) }),
            headers: { "Content-Type": "application/json" },
          },
          (_, status) => status === 204,
        ),
      );
    } catch (error) {
      const isFinal = error instanceof CollectorError && !(error instanceof TryLater);
      if (isFinal) await this.#keeper.change((now) => now && withoutWish(now, kept));
      throw error;
    }
  }

  async #exchange(url: string, options?: SendOptions): Promise<Exchange> {
    const exchange = new Exchange(this.campaign.id, url, options);
    ensure(await this.hasBegun(), StoreError, "no report is kept");
    return exchange;
  }

  /** Each report until the collector has the last word about it; how many attempts it took. */
  async #persist(
    reports: readonly Report[],
    success: Fate,
    ask: (report: Report) => Promise<number>,
  ): Promise<number> {
    let attempts = 0;
    let refusal: unknown;
    for (const report of reports) {
      try {
        attempts += await ask(report);
        await this.#settle([report], success);
      } catch (error) {
        if (!(error instanceof ReportRejected)) throw error;
        refusal ??= error;
        // where the day is refused, one of the clocks may be wrong: tried again
        if (error.reason === "withdrawn") await this.#settle([report], "withdrawn");
        else if (error.reason !== "slot") await this.#settle([report], "refused");
      }
    }
    if (refusal) throw refusal;
    return attempts;
  }

  async #settle(reports: readonly Report[], fate: Fate): Promise<void> {
    await this.#keeper.change((kept) => kept && withFate(kept, reports, fate));
  }
}

const made = (kept: Kept | undefined): Round[] => kept?.rounds.filter(({ report }) => report) ?? [];

const roundIn = (rounds: readonly Round[], slot: number): Round | undefined =>
  rounds.find((round) => round.slot === slot);

/** As it was before a wish to withdraw that the collector does not take. */
function withoutWish(kept: Kept, before: Kept): Kept {
  const restored = kept.rounds.map((round) => {
    const { fate } = roundOf(before, round.slot)!;
    const isWished = round.fate === "withdrawing";
    return isWished ? { ...round, fate: fate === "withdrawing" ? "sent" : fate } : round;
  });
  return { ...kept, rounds: restored as Round[] };
}

const roundOf = (kept: Kept | undefined, slot: number): Round | undefined =>
  roundIn(kept?.rounds ?? [], slot);
