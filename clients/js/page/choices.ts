// Controls that offer what can be answered: buttons, lists, and a search among many answers.

import type { Question } from "./client";
import type { Asked, Input } from "./controls";
import { freshId, h } from "./dom";
import type { Wording } from "./wording";

const MOST_SHOWN = 100;
/** Letters of a label up to which choices stand beside one another. */
const SHORT = 14;
const NOTHING = Symbol("none of these");

interface Choice {
  readonly label: string;
  readonly value: unknown;
}

/** The answer that a candidate stands for, as a record has it. */
function valueOf({ type, attributes }: Question, candidate: number): unknown {
  const text = attributes[0].texts[candidate];
  if (type === "boolean") return text === "true";
  return type === "integer" ? Number(text) : text;
}

function choicesOf({ question, wording }: Asked): Choice[] {
  const { texts } = question.attributes[0].kind;
  const choices = texts.map((text, i) => ({
    label: wording.label(question, text),
    value: valueOf(question, i),
  }));
  if (question.type === "boolean") choices.reverse(); // yes comes first
  return question.isRequired ? choices : [...choices, noAnswer(wording)];
}

const noAnswer = ({ words }: Wording): Choice => ({ label: words.noAnswer, value: null });

function choiceLabel({ label, value }: Choice, box: HTMLElement, wording: Wording): HTMLElement {
  const isNone = value === null || value === NOTHING;
  return h(
    "label",
    { class: isNone ? "choice none" : "choice" },
    box,
    h("span", wording.theirs, label),
  );
}

export function radios(asked: Asked): Input {
  const { wording, changed } = asked;
  const name = freshId();
  const choices = choicesOf(asked);
  const inputs = choices.map((_, i) =>
    h("input", { type: "radio", name, value: i, autocomplete: "off", change: changed }),
  );
  const isShort = choices.every(({ label }) => label.length < SHORT);
  const parts = choices.map((choice, i) => choiceLabel(choice, inputs[i], wording));
  return {
    parts: [h("div", { class: isShort ? "choices row" : "choices" }, ...parts)],
    answer: () => choices[inputs.findIndex(({ checked }) => checked)]?.value,
    focus: () => inputs[0].focus(),
  };
}

export function dropDown(asked: Asked): Input {
  const { question, wording, changed } = asked;
  const choices = choicesOf(asked);
  const select = h(
    "select",
    { autocomplete: "off", change: changed, "aria-label": wording.question(question) },
    h("option", { value: "" }, wording.words.choose),
    ...choices.map(({ label }, i) => h("option", { value: i }, label)),
  );
  return {
    parts: [select],
    answer: () => (select.value ? choices[+select.value].value : undefined),
    focus: () => select.focus(),
  };
}

/** A list that is searched by typing; what is chosen stays chosen, and in sight. */
export function searched(asked: Asked): Input {
  const search = new Search(asked, choicesOf(asked));
  return {
    parts: [h("div", { class: "searched" }, search.field, search.select), search.found],
    answer: () => search.chosen?.value,
    focus: () => search.field.focus(),
  };
}

class Search {
  readonly field: HTMLInputElement;
  readonly select: HTMLSelectElement;
  readonly found = h("p", { class: "hint", role: "status" });
  readonly #folded: readonly string[];
  #chosen?: number;

  constructor(
    readonly asked: Asked,
    readonly choices: readonly Choice[],
  ) {
    const { question, wording, changed } = asked;
    this.#folded = choices.map(({ label }) => folded(label));
    this.select = h("select", {
      size: 6,
      autocomplete: "off",
      "aria-label": wording.question(question),
      change: () => {
        this.#chosen = this.select.value ? +this.select.value : undefined;
        if (this.select.selectedOptions[0]?.text === "") this.#show(); // from another language
        changed();
      },
    });
    const hint = wording.words.search(wording.number(choices.length));
    this.field = h("input", {
      type: "search",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: hint,
      "aria-label": hint,
      input: () => this.#show(),
      keydown: (event) => this.#key(event as KeyboardEvent),
    });
    this.#show();
  }

  get chosen(): Choice | undefined {
    return this.#chosen === undefined ? undefined : this.choices[this.#chosen];
  }

  #key(event: KeyboardEvent): void {
    if (event.key === "ArrowDown") this.select.focus();
    if (event.key === "Enter") event.preventDefault();
  }

  #show(): void {
    const { words } = this.asked.wording;
    const wanted = folded(this.field.value);
    const hits = [...this.choices.keys()].filter((i) => this.#folded[i].includes(wanted));
    const shown = hits.slice(0, MOST_SHOWN);
    const chosen = this.#chosen;
    if (chosen !== undefined && !shown.includes(chosen)) shown.unshift(chosen);
    const option = (i: number): HTMLElement =>
      h("option", { value: i, selected: i === chosen }, this.choices[i].label);
    this.select.replaceChildren(...shown.map(option));
    const isPart = wanted || hits.length > MOST_SHOWN;
    const n = Math.min(hits.length, MOST_SHOWN);
    this.found.textContent = isPart ? words.found(hits.length, n) : "";
  }
}

const folded = (text: string): string =>
  text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

export function ticks({ question, wording, changed }: Asked): Input {
  const { words } = wording;
  const { most, none } = question.list!;
  const options = [...question.labels.keys()];
  const choices: Choice[] = [
    ...options.map((value) => ({ value, label: wording.label(question, value) })),
    ...(none ? [] : [{ value: NOTHING, label: words.noneOfThese }]),
    ...(question.isRequired ? [] : [noAnswer(wording)]),
  ];
  const boxes = choices.map((choice) => ({
    ...choice,
    box: h("input", { type: "checkbox", autocomplete: "off" }),
  }));
  const isAlone = ({ value }: Choice): boolean =>
    value === null || value === NOTHING || value === none;
  for (const one of boxes) {
    one.box.addEventListener("change", () => {
      const others = boxes.filter((other) => other !== one && (isAlone(one) || isAlone(other)));
      if (one.box.checked) for (const { box } of others) box.checked = false;
      changed();
    });
  }
  const alone = none && words.alone(wording.quoted(wording.label(question, none)));
  const hint = [most ? words.atMost(most) : words.tickAny, alone].filter(Boolean).join(" ");
  return {
    parts: [
      h("div", { class: "choices" }, ...boxes.map((one) => choiceLabel(one, one.box, wording))),
    ],
    hints: [hint],
    wanted: () => hint,
    answer() {
      const ticked = boxes.filter(({ box }) => box.checked).map(({ value }) => value);
      if (ticked.includes(null)) return null;
      return ticked.length ? ticked.filter((value) => value !== NOTHING) : undefined;
    },
    focus: () => boxes[0].box.focus(),
  };
}
