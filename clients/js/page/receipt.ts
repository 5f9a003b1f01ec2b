// A receipt: the noisy report as a file, with which it can be withdrawn from any device. It holds no answer.

import type { Campaign, Report } from "./client";
import { h } from "./dom";

export const base64url = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

/** With every report of the device: of a campaign that repeats, one for each round so far. */
export function saveReceipt(campaign: Campaign, collector: string, reports: readonly Report[]): void {
  const [first] = reports, each = reports.map((report) => ({ day: new Date(report.slot * 86_400_000).toISOString().slice(0, 10), id: base64url(report.id), report: base64url(report.toBytes()) }));
  const { id, report } = each[0], content = { receipt: "lopub", campaign: campaign.id, collector, epsilon: campaign.epsilon, ...(campaign.repeat ? { lifetime_epsilon: campaign.lifetimeEpsilon, rounds: each } : { id, report }) };
  const url = URL.createObjectURL(new Blob([`${JSON.stringify(content, null, 1)}\n`], { type: "application/json" }));
  const link = h("a", { href: url, download: `receipt-${campaign.terms.name}-${base64url(first.id).slice(0, 6)}.json` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** The ids of the reports that a receipt of this campaign holds; none, where it is no such receipt. */
export async function idsIn(file: File, campaign: Campaign): Promise<string[]> {
  try {
    const content = file.size < 2 ** 20 ? JSON.parse(await file.text()) : {}, ids = (content.rounds ?? [content]).map(({ id }: { readonly id: string }) => id);
    return content.receipt === "lopub" && content.campaign === campaign.id && ids.every((id: string) => /^[\w-]{22}$/.test(id)) ? ids : [];
  } catch {
    return [];
  }
}
