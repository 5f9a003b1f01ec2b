// "This is what leaves your device": the person's answers on one side, the report on the other, and copies to play with.

import type { Campaign, Question, Raw, Report } from "./client";
import { h, type Child } from "./dom";
import { bar, cellsOf, labelOf, nameOf } from "./pictures";
import { blocksOf, isNamed, mostSure, type Block } from "./reading";
import { Sureness } from "./sureness";
import type { Wording } from "./wording";

/** The person's own candidates, by attribute; nothing once the page was left, since answers are not kept. */
export type Own = ReadonlyMap<string, number> | undefined;

export class Shown {
  private readonly questionOf: ReadonlyMap<string, Question>;

  constructor(private readonly campaign: Campaign, private readonly raw: Raw, private readonly wording: Wording, private readonly own: Own) {
    this.questionOf = new Map(campaign.domain.questions.flatMap((question) => question.attributes.map(({ name }) => [name, question] as const)));
  }

  /** Two sides: what stays, what goes. */
  sides(report: Report): HTMLElement {
    const { words } = this.wording, blocks = blocksOf(this.campaign, this.raw, report);
    return h("div", { class: this.own ? "sides" : "" }, this.own ? this.answers(blocks) : null,
      h("section", { class: "side goes" }, h("h3", {}, words.report), ...this.inWords(report, blocks), this.bytes(report)));
  }

  private answers(blocks: readonly Block[]): HTMLElement {
    const { words } = this.wording, covered = new Set(blocks.flatMap(({ attributes }) => attributes.map(({ name }) => name))), sureness = new Sureness(this.campaign, blocks);
    const rows = this.campaign.domain.questions.map((question) => {
      const isIn = question.attributes.some(({ name }) => covered.has(name)), through = sureness.through(question);
      return h("li", { class: isIn ? "in" : "out" }, h("span", { class: "asked", ...this.wording.theirs }, this.wording.question(question)),
        h("span", { class: "given" }, h("span", { class: "said" }, this.answerTo(question)), h("span", { class: "tag" }, isIn ? words.covered : through.length ? words.through(this.named(through)) : words.notCovered)));
    });
    return h("section", { class: "side stays" }, h("h3", {}, words.yours), h("ul", { class: "answers" }, ...rows));
  }

  private named(questions: readonly Question[]): string {
    return questions.map((question) => this.wording.quoted(this.wording.question(question))).join(this.wording.words.and);
  }

  private answerTo(question: Question): string {
    const { wording } = this, codes = question.attributes.map(({ name }) => this.own!.get(name)!);
    if (!question.list || codes[0] > 1) return wording.label(question, question.attributes[0].texts[codes[0]]);
    const ticked = [...question.labels.keys()].filter((_, i) => codes[i]).map((value) => wording.label(question, value));
    return ticked.join(", ") || wording.words.nothing;
  }

  private ownCell({ attributes }: Block): number[] | undefined {
    return this.own && attributes.map(({ name }) => this.own!.get(name)!);
  }

  /** Whether a report names the person's own answers. */
  namesOwn(report: Report): boolean {
    return blocksOf(this.campaign, this.raw, report).every((block) => isNamed(block, this.ownCell(block) ?? []));
  }

  /** Whether reports of this campaign name answers at all. */
  canName(report: Report): boolean {
    return blocksOf(this.campaign, this.raw, report).every(({ named }) => named);
  }

  inWords(report: Report, blocks: readonly Block[] = blocksOf(this.campaign, this.raw, report)): Child[] {
    const { campaign, wording: { words } } = this, n = campaign.domain.attributes.length, k = report.view(campaign).length;
    const lot = h("p", { class: "hint" }, k < n ? words.drawnQuestions : words.allQuestions);
    return [...blocks.map((block) => this.block(block)), this.legend(blocks), lot];
  }

  private block(block: Block): HTMLElement {
    const { words } = this.wording, { attributes, named, nCells } = block, own = this.ownCell(block);
    const questions = attributes.map(({ name }) => this.questionOf.get(name)!), quoted = attributes.map((each, i) => this.wording.quoted(nameOf(questions[i], each, this.wording))).join(words.and);
    if (!named) return h("p", {}, words.pattern(block.nBits));
    const yours = own && isNamed(block, own);
    if (named.length === 1 && attributes.length > 2) return this.list(block, questions, own);
    const sentence = named.length === 1 && attributes.length === 1
      ? words.says(`${quoted} – ${labelOf(questions[0], attributes[0], named[0][0], this.wording)}`)
      : (attributes.length > 1 ? words.namesPairs : words.names)(named.length, this.wording.number(nCells), quoted);
    const told = own ? (named.length === 1 ? (yours ? words.isSame : words.isOther) : yours ? words.isYours : words.isNotYours) : "";
    return h("div", { class: "block" }, h("p", {}, sentence, told && ` ${told}`), cellsOf(block, questions, this.wording, own));
  }

  /** One cell of many questions, question by question. */
  private list({ attributes, named }: Block, questions: readonly Question[], own?: readonly number[]): HTMLElement {
    const { wording } = this, rows = attributes.map((each, i) => {
      const label = labelOf(questions[i], each, named![0][i], wording), isSame = own && own[i] === named![0][i];
      return h("li", { class: own ? (isSame ? "same" : "differs") : "" }, h("span", { class: "asked" }, nameOf(questions[i], each, wording)), h("span", { class: "said" }, label),
        own ? h("span", { class: "unseen" }, isSame ? wording.words.isSame : wording.words.isOther) : null);
    });
    return h("div", {}, h("ul", { class: "answers" }, ...rows), own ? h("p", { class: "hint" }, wording.words.legendSame) : null);
  }

  private legend(blocks: readonly Block[]): Child {
    const { words } = this.wording;
    if (!blocks.some(({ named, attributes }) => named && attributes.length < 3)) return null;
    return h("p", { class: "legend" }, h("i", { class: "cell hit", "aria-hidden": "true" }), words.legendNamed, this.own ? h("i", { class: "cell own", "aria-hidden": "true" }) : null, this.own ? words.legendYours : null);
  }

  private bytes(report: Report): HTMLElement {
    const { words } = this.wording, bytes = report.toBytes(), text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    return h("details", {}, h("summary", {}, words.technical), h("p", { class: "hint" }, words.bytes(bytes.length)), h("p", { class: "code", dir: "ltr" }, text.length > 3000 ? `${text.slice(0, 3000)} …` : text));
  }

  /** How sure somebody can become who sees this report. */
  sureness(report: Report): HTMLElement {
    const { wording, wording: { words } } = this, sureness = new Sureness(this.campaign, blocksOf(this.campaign, this.raw, report));
    const lines = (this.own ? sureness.beliefs(this.own) : []).map(({ question, attribute, before, now }) => {
      const through = sureness.through(question), name = wording.quoted(nameOf(question, attribute, wording)), [likely, blind] = wording.compared(now, before);
      return h("li", {}, h("p", {}, words.sure(through.length ? `${name} (${words.through(this.named(through))})` : name, likely, blind)), bar(now, before));
    });
    return h("section", { class: "sure" }, h("h3", {}, words.sureTitle), lines.length ? h("ul", { class: "plain" }, ...lines.slice(0, 12)) : null,
      h("p", { class: "hint" }, words.sureBound(wording.percent(mostSure(Number(this.campaign.epsilon))))));
  }
}
