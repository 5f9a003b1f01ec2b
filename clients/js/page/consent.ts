// Consent: what the person agrees to, what it costs together with everything else, and the button
// that
// cannot be taken back.

import { limitControl, Spent } from "./device";
import { alerting, button, h, paragraph, type Child } from "./dom";
import type { People } from "./people";
import { isPreview } from "./place";
import type { Wording } from "./wording";

/** That the limit would be passed, and a field to change it; null where it would not. */
export async function limitBox(
  people: People,
  wording: Wording,
  changed: () => unknown,
): Promise<Child> {
  if (isPreview) return null;
  const spent = await Spent.of(people);
  if (!spent.isTooMuch) return null;
  const control = limitControl(people, wording, changed);
  return h("section", { class: "too-much" }, alerting(spent.refusal(wording)), control);
}

export interface ConsentOptions {
  readonly agreeText: string;
  readonly agree: () => unknown;
  /** Back to the questions; left out where none are asked. */
  readonly change?: () => unknown;
  readonly limitChanged: () => unknown;
  readonly status: HTMLElement;
}

export async function consentSection(
  people: People,
  wording: Wording,
  { agreeText, agree, change, limitChanged, status }: ConsentOptions,
): Promise<HTMLElement> {
  const { words, consent, theirs } = wording;
  const limit = await limitBox(people, wording, limitChanged);
  const spent = isPreview ? "" : (await Spent.of(people)).inWords(wording);
  const isOff = isPreview || !!limit;
  const click = { type: "button", class: "main agree", disabled: isOff, click: () => void agree() };
  return h(
    "section",
    { class: "act" },
    consent &&
      h("div", { class: "consent" }, h("h3", {}, words.agreeTitle), h("p", theirs, consent)),
    paragraph(words.agreeNote),
    spent && paragraph(spent, "hint"),
    limit,
    h("button", click, agreeText),
    change && button(words.change, "change", change),
    status,
  );
}
