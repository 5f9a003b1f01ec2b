// This device: what it has revealed through this address, the person's limit, a fresh start for the
// next person, and deleting everything.

import { button, freshId, h, paragraph } from "./dom";
import { Confirmation } from "./form";
import { numberIn } from "./numerals";
import type { People } from "./people";
import { lifetimeOf } from "./rounds";
import type { Wording } from "./wording";

/** Errors of six decimals that add up. */
const TINY = 1e-5;

/** What a person's reports reveal together, and what they would with this campaign. */
export class Spent {
  private constructor(
    readonly sofar: number,
    readonly together: number,
    readonly limit: string,
  ) {}

  static async of(people: People): Promise<Spent> {
    const client = people.client();
    const sofar = Number(await client.spent());
    const more = (await client.hasBegun()) ? 0 : lifetimeOf(people.campaign);
    return new Spent(sofar, sofar + more, people.limit);
  }

  get isTooMuch(): boolean {
    return this.together > Number(this.limit) + TINY;
  }

  /** In a sentence or two. */
  inWords(wording: Wording): string {
    const { words } = wording;
    const [sofar, together] = [this.sofar, this.together].map((e) => wording.epsilon(e));
    const limit = wording.epsilon(this.limit);
    const after = words.together(together, limit);
    return `${words.spent(sofar)} ${after}`;
  }

  refusal(wording: Wording): string {
    const together = wording.epsilon(this.together);
    return wording.words.tooMuch(together, wording.epsilon(this.limit));
  }
}

const numberFor = ({ language }: Wording): Intl.NumberFormat =>
  new Intl.NumberFormat(language, { useGrouping: false, maximumFractionDigits: 6 });

/** A field for the limit, and what happens once it is changed. */
export function limitControl(
  people: People,
  wording: Wording,
  changed: () => unknown,
): HTMLElement {
  const { words } = wording;
  const status = h("p", { class: "error", role: "alert" });
  const id = freshId();
  const value = numberFor(wording).format(Number(people.limit));
  const field = h("input", { id, type: "text", inputmode: "decimal", autocomplete: "off", value });
  const change = async (): Promise<void> => {
    const limit = numberIn(field.value, wording.language);
    status.textContent = limit > 0 ? "" : words.badLimit;
    if (!(limit > 0)) return field.focus();
    await people.setLimit(String(limit));
    changed();
  };
  const label = h("label", { for: id }, words.limit);
  return h("div", { class: "limit" }, label, field, button(words.setLimit, "set", change), status);
}

/** Deletes everything, after saying what that means and asking once more. */
export function deleteButton({ words }: Wording, act: () => unknown): HTMLElement {
  const texts = {
    wish: words.deleteAll,
    question: words.deleteNote,
    yes: words.deleteMeant,
    no: words.deleteNot,
  };
  return new Confirmation(texts, "delete", act).element;
}

export interface DeviceActions {
  readonly limitChanged: () => unknown;
  readonly next: () => unknown;
  readonly deleteEverything: () => unknown;
}

export function deviceSection(
  people: People,
  wording: Wording,
  spent: Spent,
  actions: DeviceActions,
): HTMLElement {
  const { words } = wording;
  return h(
    "details",
    { class: "other device" },
    h("summary", {}, words.deviceTitle),
    paragraph(spent.inWords(wording)),
    limitControl(people, wording, actions.limitChanged),
    h("h3", {}, words.nextTitle),
    paragraph(words.nextNote),
    button(words.next, "next-person", actions.next),
    h("h3", {}, words.deleteTitle),
    deleteButton(wording, actions.deleteEverything),
  );
}
