// The questions as form controls: real ones, so that keyboards, screen readers and phones know
// them.

import { indices } from "./applying";
import type { Question } from "./client";
import { freshId, h, type Child } from "./dom";
import { numberIn } from "./numerals";
import { radios, dropDown, searched, ticks } from "./choices";
import type { Wording } from "./wording";

const MOST_RADIOS = 9;
/** Numbers are short, so that more of them fit. */
const MOST_NUMBERS = 11;
const MOST_IN_A_SELECT = 30;

/** What kinds of controls differ in. */
export interface Input {
  readonly parts: Child[];
  readonly hints?: (string | HTMLElement)[];
  /** What can be answered, in a sentence. */
  readonly wanted?: () => string;
  /** What is answered: undefined while it is not. */
  answer(): unknown;
  focus(): void;
}

/** What a control is made of. */
export interface Asked {
  readonly question: Question;
  readonly wording: Wording;
  /** To be called after every change. */
  readonly changed: () => void;
}

/** One question of the form. */
export class Control {
  readonly element: HTMLFieldSetElement;
  readonly question: Question;
  readonly #input: Input;
  readonly #error = h("p", { class: "error", id: freshId(), hidden: true });
  readonly #wording: Wording;

  constructor(asked: Asked) {
    const { question, wording } = asked;
    this.question = question;
    this.#wording = wording;
    this.#input = inputOf(asked);
    const hint = this.#hint();
    this.element = h(
      "fieldset",
      {
        class: "question",
        "aria-describedby": [hint?.id, this.#error.id].filter(Boolean).join(" "),
      },
      h("legend", wording.theirs, wording.question(question)),
      question.description && h("p", { class: "hint", ...wording.theirs }, question.description),
      hint,
      ...this.#input.parts,
      this.#error,
    );
    this.element.addEventListener("input", () => this.#show(""));
  }

  #hint(): HTMLElement | null {
    const { words, campaign } = this.#wording;
    const isOptional = campaign.domain.questions.length > 1 && !this.question.isRequired;
    const notes = [isOptional && words.optional, ...(this.#input.hints ?? [])];
    const shown = notes.filter((note): note is string | HTMLElement => !!note);
    if (!shown.length) return null;
    const spaced = shown.flatMap((note, i) => [i ? " " : "", note]);
    return h("p", { class: "hint", id: freshId() }, ...spaced);
  }

  /** What is answered: undefined while it is not. */
  answer(): unknown {
    return this.#input.answer() ?? (this.question.isRequired ? undefined : null);
  }

  /** Say what is wrong, or nothing; whether all is well. */
  check(): boolean {
    const { words } = this.#wording;
    const answer = this.answer();
    if (answer === undefined) return this.#show(words.missing);
    if (indices(this.question, answer)) return this.#show("");
    const { wanted } = this.#input;
    return this.#show(wanted ? words.unfitFor(wanted()) : words.unfit);
  }

  #show(text: string): boolean {
    this.#error.textContent = text;
    this.#error.hidden = !text;
    this.element.classList.toggle("wrong", !!text);
    for (const field of this.element.querySelectorAll("input:not([type=radio]), select")) {
      if (text) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
    }
    return !text;
  }

  focus(): void {
    this.#input.focus();
  }

  /** Take over what was answered in another language: the same fields in the same order. */
  copyFrom(other: Control): void {
    const fields = "input:not([type=search]), select"; // what was searched for is not an answer
    type Field = HTMLInputElement | HTMLSelectElement;
    const old = [...other.element.querySelectorAll<Field>(fields)];
    [...this.element.querySelectorAll<Field>(fields)].forEach((field, i) => {
      const { value } = old[i];
      if (field instanceof HTMLSelectElement) {
        const isThere = [...field.options].some((option) => option.value === value);
        if (value && !isThere) field.append(h("option", { value }));
        field.value = value;
      } else if (/radio|checkbox/.test(field.type)) {
        field.checked = (old[i] as HTMLInputElement).checked;
      } else field.value = value;
      for (const kind of ["input", "change"]) {
        field.dispatchEvent(new Event(kind, { bubbles: true }));
      }
    });
  }
}

function inputOf(asked: Asked): Input {
  const { question } = asked;
  const n = question.attributes[0].kind.texts.length;
  if (question.list) return ticks(asked);
  if (question.period === "week") return day(asked);
  if (question.type === "number") return number(asked);
  if (question.type === "integer") return n > MOST_NUMBERS ? number(asked) : radios(asked);
  if (n <= MOST_RADIOS) return radios(asked);
  return n <= MOST_IN_A_SELECT ? dropDown(asked) : searched(asked);
}

/** A day of which only the week is used. */
function day({ question, wording, changed }: Asked): Input {
  const field = h("input", {
    type: "date",
    autocomplete: "off",
    "aria-label": wording.question(question),
    input: changed,
  });
  const time = question.type === "datetime" ? "T00:00" : "";
  return {
    parts: [field],
    hints: [wording.words.onlyWeek],
    answer: () => (field.value ? field.value + time : field.validity.badInput ? NaN : undefined),
    focus: () => field.focus(),
  };
}

/** A number as text: what a browser makes of a comma depends on its own language. */
function number({ question, wording, changed }: Asked): Input {
  const { words, language } = wording;
  const { kind } = question.attributes[0];
  const isWhole = question.type === "integer";
  const used = h("span", {});
  const field = h("input", {
    type: "text",
    inputmode: isWhole ? "numeric" : "decimal",
    autocomplete: "off",
    "aria-label": wording.question(question),
    input: () => {
      if (kind.edges) used.textContent = inRange();
      changed();
    },
  });
  const answer = (): unknown => (field.value.trim() ? numberIn(field.value, language) : undefined);
  const inRange = (): string => {
    const [candidate] = indices(question, answer()) ?? [];
    if (candidate === undefined || !field.value) return "";
    return words.onlyRange(wording.label(question, kind.texts[candidate]));
  };
  const range = rangeOf(question, wording);
  const wanted = (): string => {
    const digits = /^\s*[-+]?(\d{1,3})[.,](\d{3})\s*$/.exec(field.value);
    if (!digits || !Number.isNaN(answer())) return range;
    const [, whole, rest] = digits;
    const plain = new Intl.NumberFormat(language, {
      maximumFractionDigits: 4,
      minimumFractionDigits: 4,
    });
    return words.unclear(whole + rest, plain.format(Number(`${whole}.${rest}`)));
  };
  return { parts: [field], hints: [range, used], wanted, answer, focus: () => field.focus() };
}

/** What numbers a question takes, in a sentence. */
function rangeOf(question: Question, { words, language }: Wording): string {
  const { texts, edges } = question.attributes[0].kind;
  const plain = new Intl.NumberFormat(language, { maximumFractionDigits: 20, useGrouping: false });
  const [low, high] = [(edges ?? texts)[0], (edges ?? texts).at(-1)!].map((end) =>
    end.endsWith("inf") ? "" : plain.format(+end),
  );
  if (low && high) {
    return (question.type === "integer" ? words.wholeBetween : words.between)(low, high);
  }
  if (low) return words.numberFrom(low);
  return high ? words.numberUpTo(high) : words.anyNumber;
}
