// A receipt: the id of a report as a file, with which the report can be withdrawn from any device.
// It
// holds neither the report nor an answer.

import type { Campaign, Report } from "./client";
import { h } from "./dom";

const LONGEST = 2 ** 20;
const ID = /^[\w-]{22}$/;

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");

/** The id of a report as text. */
export const idOf = ({ id }: Report): string => base64url(id);

const dayOf = (slot: number): string => new Date(slot * 86_400_000).toISOString().slice(0, 10);

/**
 * With the id of every report of the device: of a campaign that repeats, one for each round so far.
 */
export function saveReceipt(
  campaign: Campaign,
  collector: string,
  history: readonly { readonly slot: number }[],
  ids: readonly string[],
): void {
  const each = history.map(({ slot }, i) => ({ day: dayOf(slot), id: ids[i] }));
  const { epsilon, lifetimeEpsilon, terms, id } = campaign;
  const rounds = { lifetime_epsilon: lifetimeEpsilon, rounds: each };
  const content = {
    receipt: "lopub",
    campaign: id,
    collector,
    epsilon,
    ...(campaign.repeat ? rounds : { id: each[0].id }),
  };
  const text = `${JSON.stringify(content, null, 1)}\n`;
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  h("a", {
    href: url,
    download: `receipt-${terms.name}-${each[0].id.slice(0, 6)}.json`,
  }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** The ids in a receipt of this campaign; none where the file is not one. */
export async function idsIn(file: File, campaign: Campaign): Promise<string[]> {
  try {
    const found = file.size < LONGEST ? JSON.parse(await file.text()) : {};
    if (found.receipt !== "lopub" || found.campaign !== campaign.id) return [];
    const ids = (found.rounds ?? [found]).map((each: { id: unknown }) => each.id);
    return ids.every((id: unknown) => typeof id === "string" && ID.test(id)) ? ids : [];
  } catch {
    return [];
  }
}
