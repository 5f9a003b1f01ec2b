// Campaigns that ask again: what all reports of a device reveal together.

import type { Campaign } from "./client";

/** Epsilon of everything that this device ever sends to the campaign. */
export function lifetimeOf(campaign: Campaign): number {
  return Number((campaign as { readonly lifetimeEpsilon?: string }).lifetimeEpsilon ?? campaign.epsilon);
}
