// Withdrawing: the reports of this device, or those that a receipt names.

import type { Campaign, LopubClient } from "./client";
import { button, h } from "./dom";
import { Confirmation } from "./form";
import { PATIENCE } from "./people";
import { collectorUrl, forget } from "./place";
import { idsIn } from "./receipt";
import type { Wording } from "./wording";

/** A button that withdraws what this device has made, after asking once more. */
export function withdrawButton(
  { words }: Wording,
  act: () => unknown,
  kind = "withdraw own",
  isReady?: () => Promise<boolean>,
): HTMLElement {
  const texts = {
    wish: words.withdraw,
    question: words.isMeant,
    yes: words.meant,
    no: words.keep,
  };
  return new Confirmation(texts, kind, act, isReady).element;
}

/** Withdrawing from any device, with a receipt. */
export function receiptSection(campaign: Campaign, wording: Wording): HTMLElement {
  const { words } = wording;
  const status = h("p", { class: "status", role: "status", tabindex: -1 });
  const file = h("input", { type: "file", accept: "application/json,.json" });
  const chosen = async (): Promise<string[]> =>
    file.files?.[0] ? idsIn(file.files[0], campaign) : [];
  const isReceipt = async (): Promise<boolean> => {
    const isOne = (await chosen()).length > 0;
    status.textContent = isOne ? "" : words.badReceipt;
    return isOne;
  };
  const withdraw = async (): Promise<void> => {
    let answer = 204;
    for (const id of await chosen()) if (answer === 204) answer = await forget(id);
    if (answer === 204) status.textContent = words.withdrawn;
    else status.textContent = answer === 409 ? words.closed : words.unwithdrawn;
    status.focus();
  };
  return h(
    "details",
    { class: "other receipt-file" },
    h("summary", {}, words.fromReceipt),
    h("label", { class: "file" }, words.chooseReceipt, " ", file),
    withdrawButton(wording, withdraw, "withdraw", isReceipt),
    status,
  );
}

/**
 * Ask for all reports of this device; by their ids, where what was kept here has been deleted
 * meanwhile.
 */
export async function withdrawAll(client: LopubClient, ids: readonly string[]): Promise<void> {
  if (await client.hasBegun()) {
    await client.withdraw(collectorUrl, { patience: PATIENCE });
    return;
  }
  for (const id of ids) {
    const answer = await forget(id);
    if (answer === 409) throw new lopub.CollectorError("(409)");
    if (answer !== 204) throw new lopub.TryLater("");
  }
}

/** Whether an error says that the collector has closed the campaign. */
export const isClosing = (error: unknown): boolean =>
  error instanceof lopub.CollectorError && error.message.includes("(409)");

/** One sentence about what went wrong. It never has an answer in it: no message is shown. */
export function sentenceFor(error: unknown, { words }: Wording): string {
  if (error instanceof lopub.StoreError || error instanceof DOMException) return words.noStore;
  if (error instanceof lopub.TryLater) return words.waiting;
  if (isClosing(error)) return words.closed;
  if (error instanceof lopub.CollectorError) return words.refused;
  return words.failed;
}

export const receiptButton = ({ words }: Wording, save: () => unknown): HTMLElement =>
  button(words.receipt, "receipt", save);
