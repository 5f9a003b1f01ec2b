// What is kept for one respondent of a campaign: one record that is changed at once or not at all.
//
// So no part of it can be lost by itself, and no crash, no clock that is set back and no other tab
// leads to a second report, to another choice of rounds or to a second permanent answer.

import { fromHex, hex } from "./bytes";
import type { Campaign } from "./campaign";
import { ReportRejected, StoreError, ensure } from "./errors";
import { memorized, randomized, refreshed, remembered } from "./noise";
import { ascending } from "./numbers";
import { Randomness } from "./randomness";
import { Report } from "./report";

/**
 * How far a report has come. Only a waiting one is sent; of a wish to withdraw, the answer is
 * awaited.
 */
export type Fate = "waiting" | "sent" | "refused" | "cancelled" | "withdrawing" | "withdrawn";

/** A round in which this device takes part; of a campaign that does not repeat, its one report. */
export interface Round {
  readonly slot: number;
  /** Its bytes in hexadecimal digits. */
  readonly report?: string;
  readonly fate?: Fate;
}

/** What is kept; it can be written as JSON. */
export interface Kept {
  /**
   * Ascending; drawn before anything is made, of a campaign that does not repeat with its report.
   */
  readonly rounds: readonly Round[];
  /** The permanent answer as hexadecimal digits, from the first report on. */
  readonly permanent?: string;
}

/** Refuse to go on unless everything is there. */
export const ensureKept: (isThere: unknown) => asserts isThere = (isThere) =>
  ensure(isThere, StoreError, "what was kept on this device is lost or damaged");

/** The reports, in the order of their rounds. */
export function reportsIn(campaign: Campaign, kept?: Kept): Report[] {
  const made = kept?.rounds.filter(({ report }) => report) ?? [];
  return made.map(({ report }) => Report.fromBytes(fromHex(report!), campaign));
}

/** Refuse what no client of this campaign keeps. */
export function check(campaign: Campaign, kept: Kept): void {
  try {
    const { repeat, terms } = campaign;
    const { rounds, permanent } = kept;
    const slots = rounds.map(({ slot }) => slot);
    ensureKept(rounds.length === (repeat?.takePart ?? 1));
    ensureKept(slots.every((slot, i) => !i || slots[i - 1] < slot));
    const reports = reportsIn(campaign, kept);
    const made = rounds.filter(({ report }) => report);
    ensureKept(reports.every(({ slot }, i) => slot === made[i].slot));
    ensureKept(made.every(({ fate }) => fate));
    if (repeat) ensureKept(slots.every((slot) => terms.schedule!.slotOn(slot) === slot));
    else ensureKept(made.length);
    ensureKept(!!permanent === (!!repeat?.isPermanent && !!made.length));
    if (permanent) remembered(campaign, fromHex(permanent), slots[0]);
  } catch (error) {
    if (error instanceof ReportRejected || error instanceof TypeError) ensureKept(false);
    throw error;
  }
}

/** With the rounds of this device, drawn blindly before anything is made. */
export function begun(campaign: Campaign, kept?: Kept): Kept | undefined {
  const { repeat, terms } = campaign;
  if (kept || !repeat) return kept;
  const drawn = ascending(new Randomness().prefix(repeat.rounds, repeat.takePart));
  return { rounds: drawn.map((round) => ({ slot: terms.schedule!.firstDay(round) })) };
}

/**
 * With a report of this slot, waiting to be sent; the permanent answer, too, where there is none
 * yet.
 */
export function withReport(
  campaign: Campaign,
  kept: Kept | undefined,
  candidates: readonly number[] | undefined,
  slot: number,
): Kept {
  const { repeat } = campaign;
  const rounds = repeat ? kept!.rounds : [{ slot }];
  const reportId = new Randomness().take(16);
  let report: Report;
  let permanent: string | undefined;
  if (repeat?.isPermanent) {
    permanent = kept!.permanent ?? hex(memorized(campaign, candidates!, new Randomness()));
    report = refreshed(campaign, fromHex(permanent), reportId, slot, new Randomness());
  } else report = randomized(campaign, candidates!, reportId, slot, new Randomness());
  const made: Round = { slot, report: hex(report.toBytes()), fate: "waiting" };
  return { permanent, rounds: rounds.map((each) => (each.slot === slot ? made : each)) };
}

/**
 * With the fate of these reports. Once one does not wait any more, only a withdrawal changes its
 * fate: no answer that comes late does.
 */
export const withFate = (
  kept: Kept,
  reports: readonly { readonly slot: number }[],
  fate: Fate,
): Kept => ({
  ...kept,
  rounds: kept.rounds.map((each) =>
    (each.fate === "waiting" || (each.report && fate.startsWith("with"))) &&
    reports.some(({ slot }) => slot === each.slot)
      ? { ...each, fate }
      : each,
  ),
});
