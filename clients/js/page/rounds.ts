// Campaigns that ask again: which rounds are this device's, and what all of its reports reveal together.

import type { Campaign, LopubClient, Report } from "./client";
import { isPreview } from "./place";
import type { Wording } from "./wording";

const DAY = 86_400_000;

/** Epsilon of everything that this device ever sends to the campaign. */
export const lifetimeOf = (campaign: Campaign): number => Number(campaign.lifetimeEpsilon);

/** Whether the report is that of the present round; always, where there are none. */
export function isPresent({ repeat }: Campaign, report: Report): boolean {
  return !repeat || isPreview || Math.floor(Date.now() / DAY) < report.slot + repeat.everyDays;
}

/** When this device's rounds begin, and which is the next. */
export async function roundsInWords(client: LopubClient, wording: Wording): Promise<{ own: string; next: string; then: string }> {
  const days = await client.rounds(), today = new Date(Date.now()).toISOString().slice(0, 10), next = days.find((day) => day > today);
  const said = (day: string): string => wording.date(Date.parse(day) / DAY);
  const { words } = wording, own = days.length ? words.roundsOwn(days.map(said).join("; ")) : "";
  return { own, next: next ? words.notDue(said(next)) : words.noMoreRounds, then: next ? words.nextRound(said(next)) : words.lastRound };
}
