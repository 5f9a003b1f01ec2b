// The rounds of this device, in words.

import type { Campaign, LopubClient } from "./client";
import { isPreview } from "./place";
import type { Wording } from "./wording";

const DAY = 86_400_000;

/** Epsilon of everything that a device ever sends. */
export const lifetimeOf = ({ lifetimeEpsilon }: Campaign): number => Number(lifetimeEpsilon);

/** Whether a report is that of the present round; always, where the campaign does not repeat. */
export function isPresent({ repeat }: Campaign, slot: number): boolean {
  return !repeat || isPreview || Math.floor(Date.now() / DAY) < slot + repeat.everyDays;
}

export interface RoundsInWords {
  /** When this device's rounds begin. */
  readonly own: string;
  /** When the next one begins, where none is due, and after a report. */
  readonly next: string;
  readonly afterwards: string;
}

export async function roundsInWords(client: LopubClient, wording: Wording): Promise<RoundsInWords> {
  const { words } = wording;
  const days = await client.rounds();
  const today = new Date(Date.now()).toISOString().slice(0, 10);
  const next = days.find((day) => day > today);
  const inWords = (day: string): string => wording.date(Date.parse(day) / DAY);
  return {
    own: days.length ? words.roundsOwn(days.map(inWords).join("; ")) : "",
    next: next ? words.notDue(inWords(next)) : words.noMoreRounds,
    afterwards: next ? words.nextRound(inWords(next)) : words.lastRound,
  };
}
