// A receipt: the noisy report as a file, with which it can be withdrawn from any device. It holds no answer.

import type { Campaign, Report } from "./client";
import { h } from "./dom";

const base64url = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

export function saveReceipt(campaign: Campaign, collector: string, report: Report): void {
  const content = { receipt: "lopub", campaign: campaign.id, collector, epsilon: campaign.epsilon, id: base64url(report.id), report: base64url(report.toBytes()) };
  const url = URL.createObjectURL(new Blob([`${JSON.stringify(content, null, 1)}\n`], { type: "application/json" }));
  const link = h("a", { href: url, download: `receipt-${campaign.terms.name}-${base64url(report.id).slice(0, 6)}.json` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** The report's id that a receipt of this campaign holds. */
export async function idIn(file: File, campaign: Campaign): Promise<string | undefined> {
  try {
    const content = file.size < 2 ** 20 ? JSON.parse(await file.text()) : {};
    return content.receipt === "lopub" && content.campaign === campaign.id && /^[\w-]{22}$/.test(content.id) ? content.id : undefined;
  } catch {
    return undefined;
  }
}
