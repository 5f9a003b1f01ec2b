// What is kept for one respondent of a campaign, as one record that is changed at once or not at all. So no part of it can be lost by
// itself, and no crash, no clock that goes back and no other tab leads to a second report, to another choice of rounds or to a second
// permanent answer.
//
// The record is framed: the rounds that were drawn, three bytes each, their number and whether the collector has had the last word about
// their report (of a campaign that does not repeat, nothing); from its beginning on the permanent answer (else nothing); the reports.

import type { Campaign } from "./campaign";
import { ReportRejected, StoreError } from "./errors";
import { range } from "./numbers";
import { Randomness } from "./randomness";
import { Report, framed, unframed } from "./report";
import type { Schedule } from "./schedule";

export interface Kept {
  /** The numbers of the rounds in which this device takes part; nothing where they are not drawn. */
  readonly rounds?: readonly number[];
  /** The permanent answer, from its beginning on; nothing in it where there is none to keep. */
  readonly start?: Uint8Array;
  /** By slot. */
  readonly reports: readonly Report[];
  /** The slots of those that need not be sent. */
  readonly settled: readonly number[];
}

export function lost(): never {
  throw new StoreError("what was kept is lost or damaged, and is not drawn again");
}

/** What the bytes stand for; refuses what no client of this campaign keeps. */
export function keptIn(campaign: Campaign, bytes: Uint8Array | undefined): Kept {
  if (!bytes) return { reports: [], settled: [] };
  try {
    const { terms: { schedule }, repeat } = campaign, [drawn, start, ...parts] = unframed(bytes), n = repeat?.takePart ?? 0;
    const rounds = range(n).map((i) => drawn[3 * i] * 256 + drawn[3 * i + 1]), own = firstDays(schedule, rounds), isRising = (numbers: readonly number[]): boolean => numbers.every((number, i) => !i || numbers[i - 1] < number);
    const reports = parts.map((part) => Report.fromBytes(part, campaign)), slots = reports.map(({ slot }) => slot);
    if (start && repeat?.isPermanent) Report.remembered(campaign, start, schedule!.opens);
    else if (start?.length) lost();
    if (drawn.length !== 3 * n || !isRising(rounds) || (n && rounds[n - 1] >= repeat!.rounds) || !(repeat ? isRising(slots) && slots.every((slot) => own.includes(slot)) : slots.length === 1)) lost();
    return { rounds, start, reports, settled: own.filter((_, i) => drawn[3 * i + 2]) };
  } catch (error) {
    throw error instanceof ReportRejected ? lost() : error;
  }
}

/** The same as bytes. */
export function bytesOf(campaign: Campaign, { rounds = [], start, reports, settled }: Kept): Uint8Array {
  const own = firstDays(campaign.terms.schedule, rounds);
  return framed([rounds.flatMap((round, i) => [round >> 8, round, +settled.includes(own[i])]), ...(start ? [start] : []), ...reports.map((report) => report.toBytes())]);
}

/** The first days of rounds. */
export const firstDays = (schedule: Schedule | undefined, rounds: readonly number[]): number[] => rounds.map((round) => schedule!.opens + round * schedule!.repeat!.everyDays);

/** With the rounds of this device, drawn blindly before anything is made. */
export const begun = (kept: Kept, { repeat }: Campaign): Kept => ({ ...kept, rounds: kept.rounds ?? new Randomness().prefix(repeat!.rounds, repeat!.takePart).sort((a, b) => a - b) });

/** With a report of this slot; the permanent answer, too, where there is none yet. */
export function withReport(campaign: Campaign, kept: Kept, candidates: readonly number[] | undefined, slot: number): Kept {
  const { repeat, terms: { schedule } } = campaign, isPermanent = repeat?.isPermanent, answers = candidates ?? [];
  if ((repeat && !firstDays(schedule, kept.rounds ?? []).includes(slot)) || (!candidates && !(isPermanent && kept.start))) lost();
  const start = kept.start ?? (isPermanent ? Report.memorized(campaign, answers, new Randomness()) : new Uint8Array());
  const report = isPermanent ? Report.refreshed(campaign, start, slot, new Randomness()) : Report.randomized(campaign, answers, slot, new Randomness());
  return { ...kept, start, reports: [...kept.reports, report].sort((a, b) => a.slot - b.slot) };
}
