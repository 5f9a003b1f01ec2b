// What is kept for one respondent of a campaign: a finished report; or of a campaign that repeats, its whole series as one record,
// which is changed at once or not at all. So no part of it can be lost by itself, and no crash, no clock that goes back and no other
// tab leads to another choice of rounds, to a second permanent answer, or to two reports of a round.
//
// The record of a series is framed: the rounds that were drawn, three bytes each, their number and whether the collector has had the
// last word about their report; from its beginning on the permanent answer (mode sampled: nothing); then the reports.

import type { Campaign } from "./campaign";
import { ReportRejected, StoreError } from "./errors";
import { range } from "./numbers";
import { Randomness } from "./randomness";
import { Report, framed, unframed } from "./report";
import type { Repeat, Schedule } from "./schedule";

export interface Kept {
  /** The numbers of the rounds in which this device takes part; nothing where they are not drawn. */
  readonly rounds?: readonly number[];
  /** The permanent answer, from its beginning on; mode sampled: nothing in it. */
  readonly start?: Uint8Array;
  /** By slot. */
  readonly reports: readonly Report[];
  /** The slots of those that need not be sent. */
  readonly settled: readonly number[];
}

const NOTHING: Kept = { reports: [], settled: [] };
const KEPT = "what is kept of this campaign is lost or damaged; restore it, because drawing it anew would reveal more than was agreed to";

export function lost(): never {
  throw new StoreError(KEPT);
}

/** What the bytes stand for; refuses what no client of this campaign keeps. */
export function keptIn(campaign: Campaign, bytes: Uint8Array | undefined): Kept {
  if (!bytes) return NOTHING;
  try {
    const { schedule } = campaign.terms;
    return schedule?.repeat ? seriesIn(campaign, bytes, schedule, schedule.repeat) : { ...NOTHING, reports: [Report.fromBytes(bytes, campaign)] };
  } catch (error) {
    throw error instanceof ReportRejected ? new StoreError(`${KEPT} (${error.reason})`) : error;
  }
}

function seriesIn(campaign: Campaign, bytes: Uint8Array, schedule: Schedule, { takePart, rounds: n, isPermanent }: Repeat): Kept {
  const [drawn = lost(), start, ...parts] = unframed(bytes) ?? [], places = range(takePart), rounds = places.map((i) => drawn[3 * i] * 256 + drawn[3 * i + 1]);
  const reports = parts.map((part) => Report.fromBytes(part, campaign)), slots = reports.map(({ slot }) => slot), own = firstDays(schedule, rounds);
  if (drawn.length !== 3 * takePart || !isRising(rounds) || rounds[takePart - 1] >= n || !isRising(slots) || !slots.every((slot) => own.includes(slot))) lost();
  if (start && isPermanent) Report.remembered(campaign, start, schedule.opens);
  else if (start?.length) lost();
  return { rounds, start, reports, settled: own.filter((_, i) => drawn[3 * i + 2]) };
}

const isRising = (numbers: readonly number[]): boolean => numbers.every((number, i) => !i || numbers[i - 1] < number);

/** The same as bytes. */
export function bytesOf({ terms: { schedule } }: Campaign, { rounds, start, reports, settled }: Kept): Uint8Array {
  const each = reports.map((report) => report.toBytes()), own = firstDays(schedule, rounds);
  if (!rounds) return each[0];
  const drawn = Uint8Array.from(rounds.flatMap((round, i) => [round >> 8, round & 255, +settled.includes(own[i])]));
  return framed([drawn, ...(start ? [start] : []), ...each]);
}

/** Whether noise over the answers was drawn. */
export const hasBegun = ({ start, reports }: Kept): boolean => !!start || reports.length > 0;

/** The first days of rounds. */
export const firstDays = (schedule: Schedule | undefined, rounds: readonly number[] = []): number[] => rounds.map((round) => schedule!.opens + round * schedule!.repeat!.everyDays);

/** With the rounds of this device, drawn blindly before anything is made. */
export const begun = (kept: Kept, { rounds, takePart }: Repeat): Kept => ({ ...kept, rounds: kept.rounds ?? new Randomness().prefix(rounds, takePart).sort((a, b) => a - b) });

/** With a report of this slot; the permanent answer, too, where there is none yet. */
export function withReport(campaign: Campaign, kept: Kept, candidates: readonly number[] | undefined, slot: number): Kept {
  const { repeat } = campaign;
  if (repeat && !firstDays(campaign.terms.schedule, kept.rounds).includes(slot)) lost();
  const answers = (): readonly number[] => candidates ?? lost();
  const start = repeat && (kept.start ?? (repeat.isPermanent ? Report.memorized(campaign, answers(), new Randomness()) : new Uint8Array()));
  const report = repeat?.isPermanent ? Report.refreshed(campaign, start!, slot, new Randomness()) : Report.randomized(campaign, answers(), slot, new Randomness());
  return { ...kept, start, reports: [...kept.reports, report].sort((a, b) => a.slot - b.slot) };
}
