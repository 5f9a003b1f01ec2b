// The two pictures: how sure an observer could become, and what a report names. Sizes are set by script, never by inline styles.

import { h } from "./dom";
import { isNamed, type Block } from "./reading";
import type { Wording } from "./wording";
import type { Question } from "./client";

const MOST_SQUARES = 700;
const MOST_COLUMNS = 6;
const MOST_ROWS = 12;
const MOST_WIDE = 30;

function placed<E extends HTMLElement>(element: E, name: string, value: string | number): E {
  element.style.setProperty(name, String(value));
  return element;
}

/** From a coin toss to certainty, and how far one report can lead at most. */
export function scaleOf(wording: Wording, sure: number): HTMLElement {
  const { words } = wording, percent = wording.percent(sure);
  const mark = (share: number, text: string, kind: string): HTMLElement => placed(h("li", { class: `mark ${kind}` }, text), "--at", share);
  return h("figure", { class: "sureness" },
    placed(h("div", { class: "line", role: "img", "aria-label": `${words.before}; ${words.after(percent)}` }, h("i", { class: "even" }), h("i", { class: "gained" })), "--sure", sure),
    h("ul", { class: "marks" }, mark(0.5, words.before, "first"), mark(sure, words.after(percent), "last")));
}

/** A bar for a probability, with a tick where it stood before. */
export function bar(now: number, before: number): HTMLElement {
  return placed(placed(h("div", { class: "bar", "aria-hidden": "true" }, h("i"), h("b")), "--now", now), "--before", before);
}

/** All cells of a block: named ones filled, the person's own one ringed. */
export function cellsOf(block: Block, questions: readonly Question[], wording: Wording, own?: readonly number[]): HTMLElement | null {
  const { attributes, named, nCells } = block;
  if (!named || attributes.length > 2 || nCells > MOST_SQUARES) return null;
  const [rows, columns] = attributes.length === 2 ? attributes : [attributes[0], undefined], n = columns?.size ?? 1;
  const hit = (cell: readonly number[]): boolean => isNamed(block, cell), isOwn = (cell: readonly number[]): boolean => !!own && cell.every((candidate, i) => candidate === own[i]);
  const kind = (cell: readonly number[]): string => `cell${hit(cell) ? " hit" : ""}${isOwn(cell) ? " own" : ""}`;
  const told = (cell: readonly number[]): string => [hit(cell) && wording.words.legendNamed, isOwn(cell) && wording.words.legendYours].filter(Boolean).join(", ");
  const axes = columns ? h("p", { class: "hint" }, wording.words.axes(...attributes.map((each, i) => wording.quoted(nameOf(questions[i], each, wording))))) : null;
  const label = (place: number, candidate: number): string => labelOf(questions[place], attributes[place], candidate, wording);
  if (!columns && rows.size <= MOST_ROWS) {
    return h("ul", { class: "chips" }, ...range(rows.size).map((i) => h("li", { class: kind([i]) }, h("span", {}, label(0, i)), h("span", { class: "unseen" }, ` ${told([i])}`))));
  }
  if (columns && n <= MOST_COLUMNS && rows.size <= MOST_ROWS) {
    const head = h("tr", {}, h("td"), ...range(n).map((j) => h("th", { scope: "col" }, label(1, j))));
    const body = range(rows.size).map((i) => h("tr", {}, h("th", { scope: "row" }, label(0, i)), ...range(n).map((j) => h("td", {}, h("span", { class: kind([i, j]) }), h("span", { class: "unseen" }, told([i, j]))))));
    return h("div", {}, axes, h("div", { class: "wide", tabindex: 0, role: "group", "aria-label": attributes.map(({ name }) => name).join(wording.words.and) }, h("table", { class: "cells" }, h("thead", {}, head), h("tbody", {}, ...body))));
  }
  const squares = range(rows.size).flatMap((i) => range(n).map((j) => h("i", { class: kind(columns ? [i, j] : [i]) })));
  const across = columns ? n : Math.ceil(Math.sqrt(nCells));
  return h("div", {}, axes, placed(h("div", { class: across > MOST_WIDE ? "squares many" : "squares", "aria-hidden": "true" }, ...squares), "--columns", across));
}

const range = (size: number): number[] => [...Array(size).keys()];

/** How a candidate of an attribute reads; of a list's option, ticked or not. */
export function labelOf(question: Question, attribute: Block["attributes"][number], candidate: number, wording: Wording): string {
  const text = attribute.texts[candidate];
  if (!question.list || candidate > 1) return wording.label(question, text);
  return text === "true" ? wording.words.yes : wording.words.no;
}

/** What an attribute is called: its question, and of a list the option too. */
export function nameOf(question: Question, { name }: Block["attributes"][number], wording: Wording): string {
  return question.list ? `${wording.question(question)} – ${wording.label(question, name.slice(question.name.length + 1))}` : wording.question(question);
}
