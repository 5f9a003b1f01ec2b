// The questions as form controls: real ones, so that keyboards, screen readers and phones know them.

import { indices } from "./applying";
import type { Question } from "./client";
import { freshId, h, type Child } from "./dom";
import type { Wording } from "./wording";

const MOST_RADIOS = 9;
const MOST_IN_A_SELECT = 30;
const MOST_SHOWN = 100;
const NOTHING = Symbol("none of these");

export interface Control {
  readonly question: Question;
  readonly element: HTMLFieldSetElement;
  /** What is answered: undefined while it is not. */
  answer(): unknown;
  /** Say what is wrong, or nothing; whether all is well. */
  check(): boolean;
  focus(): void;
}

/** What kinds of controls differ in. */
interface Input {
  readonly parts: Child[];
  readonly hints?: (string | HTMLElement)[];
  /** What can be answered, in a sentence. */
  readonly wanted?: string;
  answer(): unknown;
  focus(): void;
}

export function controlOf(question: Question, wording: Wording, changed: () => void): Control {
  const { words } = wording, input = inputOf(question, wording, changed), error = h("p", { class: "error", id: freshId(), hidden: true });
  const notes = [wording.campaign.domain.questions.length > 1 && !question.common.isRequired && words.optional, ...(input.hints ?? [])].filter((note) => !!note);
  const hint = notes.length ? h("p", { class: "hint", id: freshId() }, ...notes.flatMap((note, i) => [i ? " " : "", note])) : null;
  const described = [hint?.id, error.id].filter(Boolean).join(" ");
  const element = h("fieldset", { class: "question", "aria-describedby": described }, h("legend", wording.theirs, wording.question(question)),
    question.common.description && h("p", { class: "hint", ...wording.theirs }, question.common.description), hint, ...input.parts, error);
  const say = (text: string): boolean => {
    error.textContent = text;
    error.hidden = !text;
    element.classList.toggle("wrong", !!text);
    for (const field of element.querySelectorAll("input:not([type=radio]), select")) text ? field.setAttribute("aria-invalid", "true") : field.removeAttribute("aria-invalid");
    return !text;
  };
  element.addEventListener("input", () => say(""));
  const given = (): unknown => input.answer() ?? (question.common.isRequired ? undefined : null);
  return {
    question, element,
    answer: given,
    check() {
      const answer = given();
      return say(answer === undefined ? words.missing : indices(question, answer) ? "" : input.wanted ? words.unfitFor(input.wanted) : words.unfit);
    },
    focus: input.focus,
  };
}

function inputOf(question: Question, wording: Wording, changed: () => void): Input {
  const { kind } = question.attributes[0], week = wording.periodOf(question) === "week";
  if (question.list) return ticks(question, wording, changed);
  if (week) return typed(question, wording, changed, "date", (text) => (question.type === "datetime" ? `${text}T00:00` : text));
  if (question.type === "number") return typed(question, wording, changed, "number", Number);
  if (question.type === "integer" && kind.texts.length > MOST_RADIOS + 2) return typed(question, wording, changed, "number", Number);
  if (kind.texts.length <= MOST_RADIOS + (question.type === "integer" ? 2 : 0)) return radios(question, wording, changed);
  return kind.texts.length <= MOST_IN_A_SELECT ? dropDown(question, wording, changed) : searched(question, wording, changed);
}

/** The answer that a candidate stands for, as a record has it. */
function valueOf(question: Question, candidate: number): unknown {
  const text = question.attributes[0].texts[candidate];
  return question.type === "boolean" ? text === "true" : question.type === "integer" ? Number(text) : text;
}

interface Choice {
  readonly label: string;
  readonly value: unknown;
}

function choicesOf(question: Question, wording: Wording): Choice[] {
  const { kind } = question.attributes[0], order = [...Array(kind.texts.length).keys()];
  if (question.type === "boolean") order.reverse(); // yes comes first
  const choices = order.map((i) => ({ label: wording.label(question, kind.texts[i]), value: valueOf(question, i) }));
  return question.common.isRequired ? choices : [...choices, { label: wording.words.noAnswer, value: null }];
}

function radios(question: Question, wording: Wording, changed: () => void): Input {
  const name = freshId(), choices = choicesOf(question, wording);
  const inputs = choices.map((_, i) => h("input", { type: "radio", name, value: i, autocomplete: "off", change: changed }));
  const isShort = choices.every(({ label }) => label.length < 14);
  const parts = choices.map(({ label, value }, i) => h("label", { class: value === null ? "choice none" : "choice" }, inputs[i], h("span", wording.theirs, label)));
  return {
    parts: [h("div", { class: isShort ? "choices row" : "choices" }, ...parts)],
    answer: () => choices[inputs.findIndex(({ checked }) => checked)]?.value,
    focus: () => inputs[0].focus(),
  };
}

function dropDown(question: Question, wording: Wording, changed: () => void): Input {
  const choices = choicesOf(question, wording), options = choices.map(({ label }, i) => h("option", { value: i }, label));
  const select = h("select", { autocomplete: "off", change: changed, "aria-label": wording.question(question) }, h("option", { value: "" }, wording.words.choose), ...options);
  return { parts: [select], answer: () => (select.value ? choices[+select.value].value : undefined), focus: () => select.focus() };
}

/** A list that is searched by typing; what is chosen stays chosen, and stays in sight, whatever is searched for. */
function searched(question: Question, wording: Wording, changed: () => void): Input {
  const { words } = wording, choices = choicesOf(question, wording), folded = choices.map(({ label }) => fold(label));
  const found = h("p", { class: "hint", role: "status" }), select = h("select", { size: 6, autocomplete: "off", "aria-label": wording.question(question) });
  const search = h("input", { type: "search", autocomplete: "off", spellcheck: "false", placeholder: words.search(wording.number(choices.length)), "aria-label": words.search(wording.number(choices.length)) });
  let chosen: number | undefined;
  const show = (): void => {
    const wanted = fold(search.value), hits = [...choices.keys()].filter((i) => folded[i].includes(wanted)), shown = hits.slice(0, MOST_SHOWN);
    if (chosen !== undefined && !shown.includes(chosen)) shown.unshift(chosen);
    select.replaceChildren(...shown.map((i) => h("option", { value: i, selected: i === chosen }, choices[i].label)));
    found.textContent = wanted || hits.length > MOST_SHOWN ? words.found(hits.length, Math.min(hits.length, MOST_SHOWN)) : "";
  };
  search.addEventListener("input", show);
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") select.focus();
    if (event.key === "Enter") event.preventDefault();
  });
  select.addEventListener("change", () => {
    chosen = select.value ? +select.value : undefined;
    if (select.selectedOptions[0]?.text === "") show(); // chosen before, in another language
    changed();
  });
  show();
  return { parts: [h("div", { class: "searched" }, search, select), found], answer: () => (chosen === undefined ? undefined : choices[chosen].value), focus: () => search.focus() };
}

const fold = (text: string): string => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

function typed(question: Question, wording: Wording, changed: () => void, type: string, read: (text: string) => unknown): Input {
  const { words } = wording, { kind } = question.attributes[0], said = h("span", {});
  const field = h("input", { type, step: question.type === "number" ? "any" : undefined, inputmode: type !== "number" ? undefined : question.type === "integer" ? "numeric" : "decimal", autocomplete: "off", "aria-label": wording.question(question), input: () => {
    if (kind.edges) said.textContent = inRange();
    changed();
  } });
  const answer = (): unknown => (field.value ? read(field.value) : field.validity.badInput ? NaN : undefined);
  const inRange = (): string => {
    const [candidate] = indices(question, answer()) ?? [];
    return field.value && candidate !== undefined ? words.onlyRange(wording.label(question, kind.texts[candidate])) : "";
  };
  const ends = kind.edges ? [kind.edges[0], kind.edges[kind.edges.length - 1]] : [kind.texts[0], kind.texts.at(-1)!];
  const plain = (edge: string): string => new Intl.NumberFormat(wording.language, { maximumFractionDigits: 20, useGrouping: false }).format(+edge);
  const [low, high] = ends.map((end) => (end.endsWith("inf") ? "" : plain(end))), isWhole = question.type === "integer";
  const range = low && high ? (isWhole ? words.wholeBetween : words.between)(low, high) : low ? words.numberFrom(low) : high ? words.numberUpTo(high) : words.anyNumber;
  const isDate = type === "date", told = isDate ? words.onlyWeek : range;
  return { parts: [field], hints: [told, said], wanted: isDate ? undefined : range, answer, focus: () => field.focus() };
}

function ticks(question: Question, wording: Wording, changed: () => void): Input {
  const { words } = wording, { most, none } = question.list!, values = [...question.labels.keys()];
  const extra: Choice[] = [...(none ? [] : [{ value: NOTHING, label: words.noneOfThese }]), ...(question.common.isRequired ? [] : [{ value: null, label: words.noAnswer }])];
  const boxes = [...values.map((value) => ({ value, label: wording.label(question, value) })), ...extra].map((choice: Choice) => ({ ...choice, box: h("input", { type: "checkbox", autocomplete: "off" }) }));
  const alone = (value: unknown): boolean => value === null || value === NOTHING || value === none;
  for (const one of boxes) {
    one.box.addEventListener("change", () => {
      if (one.box.checked) for (const other of boxes) if (other !== one && (alone(one.value) || alone(other.value))) other.box.checked = false;
      changed();
    });
  }
  const hint = [most ? words.atMost(most) : words.tickAny, none && words.alone(wording.quoted(wording.label(question, none)))].filter(Boolean).join(" ");
  return {
    parts: [h("div", { class: "choices" }, ...boxes.map(({ value, box, label }) => h("label", { class: value === null || value === NOTHING ? "choice none" : "choice" }, box, h("span", wording.theirs, label))))],
    hints: [hint],
    wanted: hint,
    answer() {
      const ticked = boxes.filter(({ box }) => box.checked).map(({ value }) => value);
      return ticked.includes(null) ? null : ticked.length ? ticked.filter((value) => value !== NOTHING) : undefined;
    },
    focus: () => boxes[0].box.focus(),
  };
}
