// What is kept for one respondent of a campaign, as one record that is changed at once or not at all. So no part of it can be lost by
// itself, and no crash, no clock that goes back and no other tab leads to a second report, to another choice of rounds or to a second
// permanent answer.
//
// The record is framed: the rounds that were drawn, three bytes each, their number and whether the collector has had the last word about
// their report (of a campaign that does not repeat, one such entry where its report was withdrawn, and else nothing); from its beginning on the permanent answer (else nothing); the reports.

import type { Campaign } from "./campaign";
import { ReportRejected, StoreError, ensure } from "./errors";
import { ascending, range } from "./numbers";
import { stream } from "./randomness";
import { Report, drawn, framed, refreshed, remembered, unframed } from "./report";
import type { Schedule } from "./schedule";

export interface Kept {
  /** The first days of the rounds in which this device takes part, and whether the report of each need not be sent; nothing where they are not drawn. */
  readonly own?: ReadonlyMap<number, boolean>;
  /** The permanent answer, from its beginning on; nothing in it where there is none to keep. */
  readonly start?: Uint8Array;
  /** By slot. */
  readonly reports: readonly Report[];
}

/** Refuse to go on unless everything is there. */
export const ensureKept = (isThere: unknown): void => ensure(isThere, StoreError, "what was kept is lost or damaged");

const isRising = (numbers: readonly number[]): boolean => numbers.every((number, i) => !i || numbers[i - 1] < number);
const firstDay = ({ opens, repeat }: Schedule, round: number): number => opens + round * repeat!.everyDays;

/** What the bytes stand for; refuses what no client of this campaign keeps. */
export function keptIn(campaign: Campaign, bytes: Uint8Array | undefined): Kept {
  if (!bytes) return { reports: [] };
  try {
    const { repeat, terms: { schedule } } = campaign, [drawn, start, ...parts] = unframed(bytes), n = repeat?.takePart ?? drawn.length >> 1;
    const reports = parts.map((part) => Report.fromBytes(part, campaign)), slots = reports.map(({ slot }) => slot);
    const own = new Map(range(n).map((i) => {
      const [high, low, isSettled] = drawn.slice(3 * i);
      return [repeat ? firstDay(schedule!, high * 256 + low) : slots[0], !!isSettled];
    })), days = [...own.keys()];
    if (start && repeat?.isPermanent) remembered(campaign, start, schedule!.opens);
    else ensureKept(!start?.length);
    ensureKept(drawn.length === 3 * n && days.length === n && isRising(days) && (repeat ? days.every((day) => day <= schedule!.closes) && isRising(slots) && slots.every((slot) => own.has(slot)) : slots.length === 1));
    return { own, start, reports };
  } catch (error) {
    ensureKept(!(error instanceof ReportRejected));
    throw error;
  }
}

/** The same as bytes. */
export function bytesOf({ terms: { schedule } }: Campaign, { own = new Map(), start, reports }: Kept): Uint8Array {
  const rounds = [...own].flatMap(([day, isSettled]) => {
    const round = schedule?.repeat ? (day - schedule.opens) / schedule.repeat.everyDays : 0;
    return [round >> 8, round, +isSettled];
  });
  return framed([rounds, ...(start ? [start] : []), ...reports.map((report) => report.toBytes())]);
}

/** With the rounds of this device, drawn blindly before anything is made. */
export const begun = (kept: Kept, { repeat, terms: { schedule } }: Campaign): Kept =>
  kept.own || !repeat ? kept : { ...kept, own: new Map(ascending(stream().prefix(repeat.rounds, repeat.takePart)).map((round) => [firstDay(schedule!, round), false])) };

/** With a report of this slot; the permanent answer, too, where there is none yet. */
export function withReport(campaign: Campaign, kept: Kept, candidates: readonly number[] | undefined, slot: number): Kept {
  const { repeat } = campaign, isPermanent = repeat?.isPermanent, answers = candidates ?? [];
  ensureKept((!repeat || kept.own?.has(slot)) && (candidates || (isPermanent && kept.start)));
  const start = kept.start ?? (isPermanent ? drawn(campaign, answers, 0, stream(), true) : new Uint8Array());
  const report = new Report(isPermanent ? refreshed(campaign, start, slot, stream()) : drawn(campaign, answers, slot, stream()), campaign);
  return { ...kept, start, reports: [...kept.reports, report].sort((a, b) => a.slot - b.slot) };
}
