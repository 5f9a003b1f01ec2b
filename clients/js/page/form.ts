// The form: every question that applies, checked before anything is made of the answers.

import { applying } from "./applying";
import type { Answers, Campaign } from "./client";
import { Control } from "./controls";
import { button, h, paragraph } from "./dom";
import type { Wording } from "./wording";

export class Form {
  readonly element: HTMLFormElement;
  readonly #controls: readonly Control[];
  readonly #summary = h("p", { class: "error", role: "alert", hidden: true });

  /** answered: called once all questions that apply have an answer. */
  constructor(
    readonly campaign: Campaign,
    readonly wording: Wording,
    readonly answered: (answers: Answers) => void,
  ) {
    const { words } = wording;
    const changed = (): void => this.#update();
    const { questions } = campaign.domain;
    this.#controls = questions.map((question) => new Control({ question, wording, changed }));
    this.element = h(
      "form",
      {
        class: "asking",
        submit: (event) => this.#submit(event),
        autocomplete: "off",
        novalidate: true,
      },
      h("h2", { class: "step", tabindex: -1 }, words.answering),
      paragraph(words.staying, "staying"),
      ...this.#controls.map(({ element }) => element),
      this.#summary,
      h(
        "div",
        { class: "act" },
        h("button", { type: "submit", class: "main look" }, words.look),
        paragraph(words.lookNote, "hint"),
      ),
    );
    this.#update();
  }

  #update(): void {
    const seen = applying(this.campaign, (question) =>
      this.#controls.find((control) => control.question === question)!.answer(),
    );
    for (const { element, question } of this.#controls) element.hidden = !seen.has(question);
  }

  get #shown(): Control[] {
    return this.#controls.filter(({ element }) => !element.hidden);
  }

  #submit(event: Event): void {
    event.preventDefault();
    const wrong = this.#shown.filter((control) => !control.check());
    this.#summary.hidden = !wrong.length;
    this.#summary.textContent = wrong.length ? this.wording.words.mistakes(wrong.length) : "";
    if (wrong.length) return wrong[0].focus();
    const given = this.#shown.map((control) => [control.question.name, control.answer()]);
    this.answered(Object.fromEntries(given) as Answers);
  }

  /** Take over what was answered in another language. */
  copyFrom(other: Form): void {
    this.#controls.forEach((control, i) => control.copyFrom(other.#controls[i]));
  }
}

/** A button that asks once more before it acts: what it does cannot be undone. */
export class Confirmation {
  readonly element: HTMLElement;
  readonly #wish: HTMLButtonElement;
  readonly #question: HTMLElement;

  constructor(texts: ConfirmationTexts, kind: string, act: () => unknown, isReady = always) {
    const keep = button(texts.no, "keep", () => this.#ask(false));
    const sure = button(texts.yes, "sure", () => {
      this.#ask(false);
      return act();
    });
    this.#wish = button(texts.wish, kind, async () => {
      if (!(await isReady())) return;
      this.#ask(true);
      keep.focus();
    });
    this.#question = h(
      "div",
      { class: "confirm", role: "group", "aria-label": texts.question, hidden: true },
      paragraph(texts.question),
      keep,
      sure,
    );
    this.element = h("div", { class: "confirmed" }, this.#wish, this.#question);
  }

  #ask(isAsking: boolean): void {
    this.#question.hidden = !isAsking;
    this.#wish.hidden = isAsking;
    if (!isAsking) this.#wish.focus();
  }
}

const always = (): boolean | Promise<boolean> => true;

export interface ConfirmationTexts {
  readonly wish: string;
  readonly question: string;
  readonly yes: string;
  readonly no: string;
}
