// A report in words and pictures: an example beside the person's answers, or the one that was sent.

import type { Attribute, Campaign, Question, Report } from "./client";
import { h, paragraph, type Child } from "./dom";
import { bar, Cells, labelOf, nameOf } from "./pictures";
import { blocksOf, isNamed, type Block } from "./reading";
import { Sureness } from "./sureness";
import type { Wording } from "./wording";

const MOST_LINES = 12;
const MOST_DIGITS = 3000;

/** The person's own candidates, by attribute. */
export type Own = ReadonlyMap<string, number>;

export class Shown {
  readonly blocks: readonly Block[];
  readonly #questionOf: ReadonlyMap<string, Question>;

  /** own: left out where the answers are forgotten. */
  constructor(
    readonly campaign: Campaign,
    readonly report: Report,
    readonly wording: Wording,
    readonly own?: Own,
  ) {
    this.blocks = blocksOf(campaign, report);
    this.#questionOf = new Map(
      campaign.domain.questions.flatMap((question) =>
        question.attributes.map(({ name }) => [name, question] as const),
      ),
    );
  }

  #ownCell({ attributes }: Block): number[] | undefined {
    return this.own && attributes.map(({ name }) => this.own!.get(name)!);
  }

  #names(attributes: readonly Attribute[]): string[] {
    return attributes.map((each) => nameOf(this.#questionOf.get(each.name)!, each, this.wording));
  }

  /** Whether reports of this kind name answers at all. */
  get canName(): boolean {
    return this.blocks.every(({ named }) => named);
  }

  /** Whether the report names the person's own answers. */
  get namesOwn(): boolean {
    return this.blocks.every((block) => isNamed(block, this.#ownCell(block) ?? []));
  }

  inWords(): Child[] {
    const { words } = this.wording;
    const isPart = this.report.view(this.campaign).length < this.campaign.domain.attributes.length;
    return [
      ...this.blocks.map((block) => this.#block(block)),
      this.#legend(),
      paragraph(isPart ? words.someQuestions : words.allQuestions, "hint"),
    ];
  }

  #block(block: Block): HTMLElement {
    const { words } = this.wording;
    const { attributes, named, nBits } = block;
    if (!named) return paragraph(words.pattern(nBits));
    if (named.length === 1 && attributes.length > 2) return this.#list(block);
    const own = this.#ownCell(block);
    const text = [this.#sentence(block), own && this.#comparison(block, own)];
    const questions = attributes.map(({ name }) => this.#questionOf.get(name)!);
    return h(
      "div",
      { class: "block" },
      paragraph(text.filter(Boolean).join(" ")),
      new Cells(block, questions, this.wording, own).draw(),
    );
  }

  #sentence({ attributes, named, nCells }: Block): string {
    const { wording } = this;
    const { words } = wording;
    const names = this.#names(attributes).map((name) => wording.quoted(name));
    if (named!.length === 1 && attributes.length === 1) {
      const question = this.#questionOf.get(attributes[0].name)!;
      const answer = labelOf(question, attributes[0], named![0][0], wording);
      return words.says(`${names[0]} – ${answer}`);
    }
    const counted = attributes.length > 1 ? words.namesPairs : words.names;
    return counted(named!.length, wording.number(nCells), names.join(words.and));
  }

  #comparison(block: Block, own: readonly number[]): string {
    const { words } = this.wording;
    const isOwn = isNamed(block, own);
    if (block.named!.length === 1) return isOwn ? words.isSame : words.isOther;
    return isOwn ? words.isYours : words.isNotYours;
  }

  /** One cell of many questions, question by question. */
  #list(block: Block): HTMLElement {
    const { words } = this.wording;
    const { attributes, named } = block;
    const own = this.#ownCell(block);
    const names = this.#names(attributes);
    const rows = attributes.map((each, i) => {
      const candidate = named![0][i];
      const label = labelOf(this.#questionOf.get(each.name)!, each, candidate, this.wording);
      const isSame = own?.[i] === candidate;
      return h(
        "li",
        { class: own ? (isSame ? "same" : "differs") : "" },
        h("span", { class: "asked" }, names[i]),
        h("span", { class: "answer" }, label),
        own && h("span", { class: "unseen" }, isSame ? words.isSame : words.isOther),
      );
    });
    const legend = own && paragraph(words.legendSame, "hint");
    return h("div", {}, h("ul", { class: "answers" }, ...rows), legend);
  }

  #legend(): Child {
    const { words } = this.wording;
    const isPicture = ({ named, attributes }: Block): boolean => !!named && attributes.length < 3;
    if (!this.blocks.some(isPicture)) return null;
    const square = (kind: string): HTMLElement =>
      h("i", { class: `cell ${kind}`, "aria-hidden": "true" });
    const yours = this.own ? [square("own"), words.legendYours] : [];
    return h("p", { class: "legend" }, square("hit"), words.legendNamed, ...yours);
  }

  /** The report's bytes, for those who want to see them. */
  bytes(): HTMLElement {
    const { words } = this.wording;
    const bytes = this.report.toBytes();
    const text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const shown = text.length > MOST_DIGITS ? `${text.slice(0, MOST_DIGITS)} …` : text;
    return h(
      "details",
      {},
      h("summary", {}, words.technical),
      paragraph(words.bytes(bytes.length), "hint"),
      h("p", { class: "code", dir: "ltr" }, shown),
    );
  }

  /** How sure somebody can become who sees this report. */
  sureness(): Child {
    const { wording, own } = this;
    if (!own) return null;
    const sureness = new Sureness(this.campaign, this.blocks);
    const lines = sureness.beliefs(own).slice(0, MOST_LINES);
    const rows = lines.map(({ question, attribute, before, now }) => {
      const through = sureness.through(question);
      const name = wording.quoted(nameOf(question, attribute, wording));
      const known = through.length ? `${name} (${this.throughWords(through)})` : name;
      const [likely, blind] = wording.compared(now, before);
      const text = wording.words.sure(known, likely, blind);
      return h("li", {}, paragraph(text), bar(now, before));
    });
    if (!rows.length) return null;
    const intro = paragraph(wording.words.sureIntro, "hint");
    return h("div", { class: "sure" }, intro, h("ul", { class: "plain" }, ...rows));
  }

  throughWords(questions: readonly Question[]): string {
    const { wording } = this;
    const names = questions.map((question) => wording.quoted(wording.question(question)));
    return wording.words.through(names.join(wording.words.and));
  }
}
