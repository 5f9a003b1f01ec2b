// The two pictures: how sure an observer could become, and what a report names. Sizes are set by
// script, never by inline styles.

import type { Attribute, Question } from "./client";
import { h } from "./dom";
import { isNamed, type Block } from "./reading";
import type { Wording } from "./wording";

const MOST_SQUARES = 700;
const MOST_COLUMNS = 6;
const MOST_ROWS = 12;
const MOST_WIDE = 30;

const range = (size: number): number[] => [...Array(size).keys()];

function placed<E extends HTMLElement>(element: E, name: string, value: string | number): E {
  element.style.setProperty(name, String(value));
  return element;
}

/** From a coin toss to certainty, and how far reports can lead at most. */
export function scaleOf(wording: Wording, sure: number): HTMLElement {
  const { words } = wording;
  const percent = wording.percent(sure);
  const mark = (share: number, text: string, kind: string): HTMLElement =>
    placed(h("li", { class: `mark ${kind}` }, text), "--at", share);
  const line = h(
    "div",
    { class: "line", role: "img", "aria-label": `${words.before}; ${words.after(percent)}` },
    h("i", { class: "even" }),
    h("i", { class: "gained" }),
  );
  const marks = [mark(0.5, words.before, "first"), mark(sure, words.after(percent), "last")];
  return h(
    "figure",
    { class: "sureness" },
    placed(line, "--sure", sure),
    h("ul", { class: "marks" }, ...marks),
  );
}

/** A bar for a probability, with a tick where it stood before. */
export function bar(now: number, before: number): HTMLElement {
  const element = h("div", { class: "bar", "aria-hidden": "true" }, h("i"), h("b"));
  return placed(placed(element, "--now", now), "--before", before);
}

/** All cells of a block: named ones filled, the person's own one ringed. */
export class Cells {
  readonly #rows: Attribute;
  readonly #columns?: Attribute;

  constructor(
    readonly block: Block,
    readonly questions: readonly Question[],
    readonly wording: Wording,
    readonly own?: readonly number[],
  ) {
    [this.#rows, this.#columns] = block.attributes;
  }

  /** The picture; null where there would be too many cells. */
  draw(): HTMLElement | null {
    const { attributes, named, nCells } = this.block;
    if (!named || attributes.length > 2 || nCells > MOST_SQUARES) return null;
    const isShort = this.#rows.size <= MOST_ROWS;
    if (!this.#columns) return isShort ? this.#chips() : this.#squares();
    const isTable = isShort && this.#columns.size <= MOST_COLUMNS;
    return h("div", {}, this.#axes(), isTable ? this.#table() : this.#squares());
  }

  #isHit(cell: readonly number[]): boolean {
    return isNamed(this.block, cell);
  }

  #isOwn(cell: readonly number[]): boolean {
    return !!this.own && cell.every((candidate, i) => candidate === this.own![i]);
  }

  #kind(cell: readonly number[]): string {
    return `cell${this.#isHit(cell) ? " hit" : ""}${this.#isOwn(cell) ? " own" : ""}`;
  }

  /** The same for those who do not see it. */
  #unseen(cell: readonly number[]): HTMLElement {
    const { words } = this.wording;
    const parts = [this.#isHit(cell) && words.legendNamed, this.#isOwn(cell) && words.legendYours];
    return h("span", { class: "unseen" }, ` ${parts.filter(Boolean).join(", ")}`);
  }

  #label(place: number, candidate: number): string {
    const attribute = this.block.attributes[place];
    return labelOf(this.questions[place], attribute, candidate, this.wording);
  }

  #names(): string[] {
    return this.block.attributes.map((each, i) => nameOf(this.questions[i], each, this.wording));
  }

  #chips(): HTMLElement {
    const chip = (i: number): HTMLElement =>
      h("li", { class: this.#kind([i]) }, h("span", {}, this.#label(0, i)), this.#unseen([i]));
    return h("ul", { class: "chips" }, ...range(this.#rows.size).map(chip));
  }

  #axes(): HTMLElement {
    const { wording } = this;
    const [rows, columns] = this.#names().map((name) => wording.quoted(name));
    return h("p", { class: "hint" }, wording.words.axes(rows, columns));
  }

  #table(): HTMLElement {
    const columns = range(this.#columns!.size);
    const head = columns.map((j) => h("th", { scope: "col" }, this.#label(1, j)));
    const cell = (i: number, j: number): HTMLElement =>
      h("td", {}, h("span", { class: this.#kind([i, j]) }), this.#unseen([i, j]));
    const row = (i: number): HTMLElement =>
      h("tr", {}, h("th", { scope: "row" }, this.#label(0, i)), ...columns.map((j) => cell(i, j)));
    const table = h(
      "table",
      { class: "cells" },
      h("thead", {}, h("tr", {}, h("td"), ...head)),
      h("tbody", {}, ...range(this.#rows.size).map(row)),
    );
    const name = this.#names().join(this.wording.words.and);
    return h("div", { class: "wide", tabindex: 0, role: "group", "aria-label": name }, table);
  }

  #squares(): HTMLElement {
    const n = this.#columns?.size;
    const cellAt = (i: number): number[] => (n ? [Math.floor(i / n), i % n] : [i]);
    const { nCells } = this.block;
    const squares = range(nCells).map((i) => h("i", { class: this.#kind(cellAt(i)) }));
    const across = n ?? Math.ceil(Math.sqrt(nCells));
    const kind = across > MOST_WIDE ? "squares many" : "squares";
    const element = h("div", { class: kind, "aria-hidden": "true" }, ...squares);
    return placed(element, "--columns", across);
  }
}

/** How a candidate of an attribute reads; of a list's option, ticked or not. */
export function labelOf(
  question: Question,
  attribute: Attribute,
  candidate: number,
  wording: Wording,
): string {
  const text = attribute.texts[candidate];
  if (!question.list || candidate > 1) return wording.label(question, text);
  return text === "true" ? wording.words.yes : wording.words.no;
}

/** What an attribute is called: its question, and of a list the option too. */
export function nameOf(question: Question, { name }: Attribute, wording: Wording): string {
  const asked = wording.question(question);
  if (!question.list) return asked;
  return `${asked} – ${wording.label(question, name.slice(question.name.length + 1))}`;
}
