// After consent: the report is on its way, has arrived, or has been cancelled, refused or
// withdrawn.
// No view shows it before the collector has it.

import type { Campaign, Fate, Report } from "./client";
import { button, h, paragraph, type Child } from "./dom";
import { Confirmation } from "./form";
import { isPreview } from "./place";
import { Shown } from "./shown";
import { receiptButton, withdrawButton } from "./withdrawal";
import type { Wording } from "./wording";

export interface Actions {
  readonly saveReceipt: () => unknown;
  readonly cancel: () => unknown;
  readonly withdraw: () => unknown;
  /** The report that was sent. */
  readonly sent: () => Promise<Report | undefined>;
}

export interface Situation {
  readonly campaign: Campaign;
  readonly wording: Wording;
  readonly fate: Fate;
  /** Whether the collector takes nothing any more. */
  readonly isClosed: boolean;
  /** Whether the browser has promised to keep what is stored. */
  readonly isKept: boolean;
  /** When the next round begins. */
  readonly nextRound: string;
  /** Why the collector refuses the report. */
  readonly reason: string;
  readonly status: HTMLElement;
}

/** What the person sees of a report that was drawn. */
export function afterwards(situation: Situation, actions: Actions): HTMLElement {
  const { fate } = situation;
  const parts = {
    waiting,
    sent,
    refused,
    cancelled,
    withdrawing: sent,
    withdrawn,
  }[fate](situation, actions);
  return h("section", { class: "ended" }, ...parts);
}

const title = (text: string): HTMLElement => h("h2", { class: "step", tabindex: -1 }, text);

function waiting({ wording, isClosed, isKept, status }: Situation, actions: Actions): Child[] {
  const { words } = wording;
  const texts = {
    wish: words.cancel,
    question: words.cancelMeant,
    yes: words.cancelYes,
    no: words.cancelNo,
  };
  const cancel = new Confirmation(texts, "cancel", actions.cancel).element;
  return [
    title(words.waitingTitle),
    paragraph(words.waitingNote),
    status,
    !isClosed && h("div", { class: "act" }, receiptButton(wording, actions.saveReceipt), cancel),
    paragraph(isKept ? words.persisted : words.volatile, "hint"),
  ];
}

function sent(situation: Situation, actions: Actions): Child[] {
  const { wording, fate, nextRound } = situation;
  const { words } = wording;
  return [
    title(words.received),
    paragraph(words.receivedNote),
    nextRound && paragraph(nextRound, "next"),
    withdrawing(situation, actions),
    fate === "sent" && whatWasSent(situation, actions),
  ];
}

/** The way back; not offered where the collector takes no withdrawals. */
function withdrawing(situation: Situation, actions: Actions): Child {
  const { wording, isClosed, isKept, status } = situation;
  const { words } = wording;
  if (isClosed) return status;
  return h(
    "div",
    { class: "act" },
    receiptButton(wording, actions.saveReceipt),
    withdrawButton(wording, actions.withdraw),
    status,
    paragraph(`${words.withdrawNote} ${isKept ? words.persisted : words.volatile}`, "hint"),
  );
}

/** The report, after a sentence on what choosing by it would do. */
function whatWasSent({ campaign, wording }: Situation, actions: Actions): HTMLElement {
  const { words } = wording;
  const place = h("div", { "aria-live": "polite" });
  const show = button(words.show, "show", async () => {
    const report = await actions.sent();
    if (!report) return;
    const shown = new Shown(campaign, report, wording);
    const inner = [h("h3", {}, words.sentReport), ...shown.inWords(), shown.bytes()];
    place.replaceChildren(h("section", { class: "side goes" }, ...inner.filter(isNode)));
    show.remove();
  });
  const note = paragraph(words.showNote);
  return h("section", { class: "sent" }, h("h3", {}, words.showTitle), note, show, place);
}

const isNode = (child: Child): child is Node => child instanceof Node;

function refused({ wording, reason, status }: Situation): Child[] {
  const { words } = wording;
  return [title(words.refusedTitle), reason && paragraph(words.rejected(reason)), status];
}

function cancelled(situation: Situation, actions: Actions): Child[] {
  const { words } = situation.wording;
  return [
    title(words.cancelledTitle),
    paragraph(words.cancelled),
    !situation.isClosed && paragraph(words.cancelledNote),
    withdrawing(situation, actions),
  ];
}

function withdrawn({ wording, nextRound, status }: Situation): Child[] {
  return [title(wording.words.withdrawn), nextRound && paragraph(nextRound, "next"), status];
}

/** Reports of rounds that are over can be withdrawn also while the next one is being asked. */
export function earlierRounds(
  wording: Wording,
  history: readonly { readonly slot: number; readonly fate: Fate }[],
  status: HTMLElement,
  actions: Pick<Actions, "saveReceipt" | "withdraw">,
): Child {
  const { words } = wording;
  const left = history.filter(({ fate }) => fate !== "withdrawn");
  if (!left.length || isPreview) return status;
  const days = left.map(({ slot }) => wording.date(slot)).join("; ");
  return h(
    "section",
    { class: "earlier" },
    h("h2", {}, words.earlierTitle),
    paragraph(words.earlier(days)),
    receiptButton(wording, actions.saveReceipt),
    withdrawButton(wording, actions.withdraw),
    status,
  );
}
