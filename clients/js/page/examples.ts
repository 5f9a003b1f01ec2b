// What could leave the device: examples that are drawn from the person's answers, shown and thrown
// away. The report itself is drawn after consent, and not here.

import type { Answers, Campaign, Question } from "./client";
import { button, h, paragraph } from "./dom";
import { exampleClient } from "./place";
import { mostSure } from "./reading";
import { Shown, type Own } from "./shown";
import type { Wording } from "./wording";

const EXAMPLES = 3;

export class Examples {
  readonly element: HTMLElement;
  readonly #own: Own;
  readonly #shown = h("div", { class: "examples", "aria-live": "polite" });
  readonly #tally = h("p", { class: "tally", role: "status" });
  #n = 0;
  #nNamed = 0;

  constructor(
    readonly campaign: Campaign,
    readonly wording: Wording,
    readonly answers: Answers,
  ) {
    const { words } = wording;
    const codes = campaign.domain.indices(answers);
    this.#own = new Map(campaign.domain.attributes.map(({ name }, i) => [name, codes[i]]));
    const bound = words.sureBound(wording.percent(mostSure(Number(campaign.epsilon))));
    this.element = h(
      "section",
      { class: "leaving" },
      h("h2", { class: "step", tabindex: -1 }, words.examplesTitle),
      paragraph(words.examplesNote),
      h("section", { class: "side stays" }, h("h3", {}, words.yours), this.#answers()),
      this.#shown,
      this.#tally,
      button(words.moreExamples, "again", () => this.draw()),
      h("section", { class: "sureness-bound" }, h("h3", {}, words.sureTitle), paragraph(bound)),
    );
  }

  /** Examples in place of those that are shown. */
  async draw(): Promise<void> {
    const { words } = this.wording;
    const sections: HTMLElement[] = [];
    for (let i = 0; i < EXAMPLES; i++) {
      const report = await (await exampleClient(this.campaign)).encode(this.answers);
      const shown = new Shown(this.campaign, report, this.wording, this.#own);
      this.#n++;
      this.#nNamed += +shown.namesOwn;
      const title = h("h3", {}, words.example(this.#n));
      const note = paragraph(words.exampleNote, "hint");
      const parts = [title, note, ...shown.inWords(), shown.sureness(), shown.bytes()];
      sections.push(h("section", { class: "side example" }, ...parts));
      if (shown.canName) this.#tally.textContent = words.tally(this.#nNamed, this.#n);
    }
    this.#shown.replaceChildren(...sections);
  }

  #answers(): HTMLElement {
    const { wording } = this;
    const rows = this.campaign.domain.questions.map((question) =>
      h(
        "li",
        {},
        h("span", { class: "asked", ...wording.theirs }, wording.question(question)),
        h("span", { class: "answer" }, this.#answerTo(question)),
      ),
    );
    return h("ul", { class: "answers" }, ...rows);
  }

  #answerTo(question: Question): string {
    const { wording } = this;
    const codes = question.attributes.map(({ name }) => this.#own.get(name)!);
    if (!question.list || codes[0] > 1) {
      return wording.label(question, question.attributes[0].texts[codes[0]]);
    }
    const ticked = [...question.labels.keys()].filter((_, i) => codes[i]);
    const labels = ticked.map((value) => wording.label(question, value));
    return labels.join(", ") || wording.words.nothing;
  }
}
