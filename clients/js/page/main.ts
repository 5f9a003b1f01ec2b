// The page on which a person takes part: what is asked and what it means, the questions, what would leave the device, and then sending.

import { applying } from "./applying";
import type { Answers, Campaign, LopubClient, Raw, Report } from "./client";
import { controlOf, type Control } from "./controls";
import { h, type Child } from "./dom";
import { introduction, trust } from "./introduction";
import { clientOf, collectorUrl, copying, forget, isClosed, isPreview, loaded, Memory, persisted, timeOf, Unavailable, type Progress } from "./place";
import { base64url, idsIn, saveReceipt } from "./receipt";
import { isPresent, roundsInWords } from "./rounds";
import { Shown, type Own } from "./showing";
import { chosenLanguage, directionOf, Wording } from "./wording";
import { wordsIn, type Words } from "./words";

const RETRY_SECONDS = 20;
const PATIENCE = { seconds: 20, attempt: 10 };

class Page {
  private wording: Wording;
  private words: Words;
  private ownRounds = "";
  private nextRound = "";
  private controls: Control[] = [];
  private report?: Report;
  private own: Own;
  private answers?: Answers;
  private isKept = false;
  private nCopies = 0;
  private nNamed = 0;
  private retry?: number;
  private again?: () => void;
  private readonly memory = new Memory();
  private readonly status = h("p", { class: "status", role: "status", tabindex: -1 });

  constructor(private readonly main: HTMLElement, private readonly campaign: Campaign, private readonly raw: Raw, private readonly client: LopubClient) {
    const { terms } = campaign;
    this.wording = new Wording(campaign, raw, chosenLanguage(navigator.languages, [terms.language, ...terms.translations.keys()]));
    this.words = this.wording.words;
  }

  async begin(): Promise<void> {
    const { words, campaign, client, wording } = this, { schedule } = campaign.terms, time = timeOf(campaign);
    let later = "", needsRecord = true, earlier: readonly Report[] = [];
    try {
      await this.memory.read();
      const report = await client.kept(), isDue = !time && !!campaign.repeat && !!(await client.due());
      if (campaign.repeat) ({ own: this.ownRounds, next: later, then: this.nextRound } = await roundsInWords(client, wording));
      if (isDue) [needsRecord, later, earlier] = [await client.needsRecord(), "", await client.reports()];
      else this.report = report;
    } catch (error) {
      return this.render(alerting(this.sentence(error)));
    }
    if (this.report) return this.showReport(isPresent(campaign, this.report) ? "" : later);
    if (isClosed) later = words.closed;
    else if (time) later = time < 0 ? words.early(wording.date(schedule!.opens)) : words.over(wording.date(schedule!.closes));
    this.render(later ? alerting(later) : needsRecord ? this.form() : this.withoutQuestions(), this.earlier(earlier), trust(wording), this.fromReceipt());
    if (this.isWished(earlier)) void this.withdraw();
  }

  private render(...parts: Child[]): void {
    const { wording } = this, root = document.documentElement;
    root.lang = wording.language;
    if (wording.theirs.lang) this.main.lang = wording.own;
    else this.main.removeAttribute("lang");
    root.dir = directionOf(wording.language);
    document.title = wording.title;
    this.main.replaceChildren(...[isPreview && h("p", { class: "preview" }, this.words.preview), this.languages(), ...introduction(wording, this.ownRounds, !!this.report, this.isOver), ...parts].filter((part): part is Node => !!part));
    this.main.dataset.stage = this.report ? this.progress || "drawn" : "asking";
  }

  /** A choice of language, where there is one; what was answered stays answered. */
  private languages(): Child {
    const { languages, language } = this.wording;
    if (languages.length < 2) return null;
    const named = (tag: string): string => new Intl.DisplayNames([tag], { type: "language" }).of(tag) ?? tag;
    const select = h("select", { change: () => this.speak(select.value) }, ...languages.map((tag) => h("option", { value: tag, lang: tag, selected: tag === language }, named(tag))));
    return h("label", { class: "languages" }, this.words.language, " ", select);
  }

  private speak(language: string): void {
    const before = this.controls;
    this.wording = new Wording(this.campaign, this.raw, language);
    this.words = this.wording.words;
    if (this.report) return this.showReport();
    void this.begin().then(() => {
      before.forEach(({ element }, i) => copyFields(element, this.controls[i].element));
      this.main.querySelector<HTMLElement>(".languages select")?.focus();
    });
  }

  /** Whether the collector has said that nothing is taken any more. */
  private get isClosed(): boolean {
    return isClosed || !!this.memory.of("campaign");
  }

  private get isOver(): boolean {
    return this.isClosed || timeOf(this.campaign) > 0;
  }

  /** How far the report has come. */
  private get progress(): Progress {
    return this.report ? this.memory.of(this.report.slot) : "";
  }

  // ---- asking

  private form(): HTMLElement {
    const { words, campaign } = this, summary = h("p", { class: "error", role: "alert", hidden: true });
    const update = (): void => {
      const seen = applying(campaign, (question) => this.controls.find((control) => control.question === question)!.answer());
      for (const { element, question } of this.controls) element.hidden = !seen.has(question);
    };
    this.controls = campaign.domain.questions.map((question) => controlOf(question, this.wording, update));
    update();
    const submit = (event: Event): void => {
      event.preventDefault();
      const wrong = this.controls.filter((control) => !control.element.hidden && !control.check());
      summary.hidden = !wrong.length;
      summary.textContent = wrong.length ? words.mistakes(wrong.length) : "";
      if (wrong.length) wrong[0].focus();
      else void this.draw(summary, button);
    };
    const button = h("button", { type: "submit", class: "main" }, words.draw);
    return h("form", { class: "asking", submit, autocomplete: "off", novalidate: true }, h("h2", {}, words.answering), h("p", { class: "staying" }, words.staying),
      ...this.controls.map(({ element }) => element), summary, h("div", { class: "act" }, button, h("p", { class: "hint" }, words.drawNote)));
  }

  /** Of a permanent answer, every round after the first. */
  private withoutQuestions(): HTMLElement {
    const { words } = this, alert = h("p", { class: "error", role: "alert", hidden: true });
    const make = async (): Promise<void> => {
      try {
        this.report = await this.client.encode();
        this.showReport();
      } catch (error) {
        alert.textContent = this.sentence(error);
        alert.hidden = false;
      }
    };
    return h("section", { class: "asking" }, h("div", { class: "act" }, h("button", { type: "button", class: "main", click: () => void make() }, words.drawAgain), h("p", { class: "hint" }, words.drawAgainNote), alert));
  }

  private async draw(alert: HTMLElement, button: HTMLButtonElement): Promise<void> {
    button.disabled = true;
    const given = this.controls.filter(({ element }) => !element.hidden).map(({ question, answer }) => [question.name, answer()]);
    try {
      this.answers = Object.fromEntries(given) as Answers;
      const { attributes } = this.campaign.domain, codes = this.campaign.domain.indices(this.answers);
      this.isKept = await persisted();
      const before = await this.client.reports(), report = await this.client.encode(this.answers);
      if (before.some(({ slot }) => slot === report.slot)) this.answers = undefined; // another tab has drawn, from answers that are not these
      else this.own = new Map(attributes.map(({ name }, i) => [name, codes[i]]));
      await this.memory.read();
      this.report = report;
      this.showReport();
    } catch (error) {
      this.answers = undefined;
      alert.textContent = this.sentence(error);
      alert.hidden = button.disabled = false;
    }
  }

  // ---- showing

  private showReport(later = ""): void {
    const { progress } = this;
    const told = this.isClosed ? this.words.closed : later;
    this.render(told ? alerting(told) : null, ["sent", "withdrawing", "withdrawn"].includes(progress) ? this.ended(progress) : this.review(), trust(this.wording));
    this.main.querySelector<HTMLElement>("h2.step")?.focus();
    if (progress === "agreed") void this.send();
    else void this.client.reports().then((reports) => (this.isWished(reports) ? this.withdraw() : undefined));
  }

  private shown(): Shown {
    return new Shown(this.campaign, this.raw, this.wording, this.own);
  }

  private review(): HTMLElement {
    const { words, report } = this, shown = this.shown();
    return h("section", { class: "leaving" }, h("h2", { class: "step", tabindex: -1 }, words.leaving), h("p", {}, this.own ? words.leavingNote : words.leavingGone),
      shown.sides(report!), shown.sureness(report!), this.dice(shown), this.sendBox());
  }

  /** Copies: drawn anew by a client that keeps nothing, from the answers that are still on the page. */
  private dice(shown: Shown): Child {
    const { words, answers } = this;
    if (!answers) return null;
    const table = h("div", { class: "copy", role: "status" }), roll = async (): Promise<void> => {
      const copy = await (await copying(this.campaign)).encode(answers);
      this.nCopies++;
      this.nNamed += +shown.namesOwn(copy);
      table.replaceChildren(h("h4", {}, words.copy(this.nCopies)), ...shown.inWords(copy).filter((part): part is Node => !!part),
        ...(shown.canName(copy) ? [h("p", { class: "tally" }, words.copies(this.nNamed, this.nCopies))] : []));
    };
    return h("section", { class: "dice" }, h("p", { class: "hint" }, words.againNote), h("button", { type: "button", class: "again", click: () => void roll() }, words.again), table);
  }

  private sendBox(): HTMLElement {
    const { words, wording } = this, { consent } = wording;
    const button = h("button", { type: "button", class: "main send", disabled: isPreview, click: () => void this.send() }, words.send);
    this.status.textContent = isPreview ? words.preview : "";
    return h("div", { class: "act" }, consent && h("div", { class: "consent" }, h("h3", {}, words.agreeTitle), h("p", wording.theirs, consent)), button, this.receiptButton(), this.status,
      h("p", { class: "hint" }, this.isKept ? words.persisted : words.volatile));
  }

  private receiptButton(): HTMLElement {
    return h("button", { type: "button", class: "receipt", click: async () => saveReceipt(this.campaign, collectorUrl, await this.client.reports()) }, this.words.receipt);
  }

  // ---- sending

  private async send(): Promise<void> {
    clearTimeout(this.retry);
    const { words, status, memory } = this, { slot } = this.report!, button = this.main.querySelector<HTMLButtonElement>("button.send")!;
    if (isPreview) return;
    button.disabled = true;
    this.main.dataset.stage = "agreed";
    await memory.set({ [slot]: "agreed" });
    status.textContent = words.sending;
    try {
      await this.client.send(collectorUrl, { patience: PATIENCE });
      await memory.set({ [slot]: "sent" });
      this.showReport();
    } catch (error) {
      const isLater = error instanceof lopub.TryLater;
      if (!isLater) await memory.set({ [slot]: "", ...closing(error) });
      status.textContent = isLater ? words.waiting : error instanceof lopub.StoreError ? words.gone : this.sentence(error);
      button.disabled = false;
      if (isLater) this.later(() => void this.send());
    }
  }

  private later(again: () => void): void {
    this.again = again;
    this.retry = setTimeout(again, 1000 * RETRY_SECONDS);
  }

  /** Try again at once where the network has come back. */
  online(): void {
    if (["agreed", "withdrawing"].includes(this.main.dataset.stage!)) this.again?.();
  }

  /** Nothing of the answers may be seen again by whoever comes back to this page. */
  leave(): void {
    clearTimeout(this.retry);
    [this.controls, this.answers, this.own] = [[], undefined, undefined];
    this.main.replaceChildren();
  }

  private ended(progress: Progress): HTMLElement {
    const { words } = this, isSent = progress !== "withdrawn";
    return h("section", { class: "ended" }, h("h2", { class: "step", tabindex: -1 }, isSent ? words.sent : words.withdrawn), isSent && h("p", {}, words.sentNote),
      this.nextRound && isPresent(this.campaign, this.report!) && h("p", { class: "next" }, this.nextRound),
      isSent && h("div", { class: "act" }, this.receiptButton(), ...this.withdrawing(), h("p", { class: "hint" }, words.withdrawNote, " ", this.isKept ? words.persisted : words.volatile)),
      h("details", {}, h("summary", {}, words.leaving), this.shown().sides(this.report!)));
  }

  private withdrawing(): HTMLElement[] {
    this.status.textContent = "";
    return [this.askingAgain("withdraw own", this.status, () => true, () => this.withdraw()), this.status];
  }

  /** A button that asks once more before it withdraws: nobody can take that back. isReady: whether there is anything to withdraw. */
  private askingAgain(name: string, status: HTMLElement, isReady: () => boolean | Promise<boolean>, act: () => Promise<void>): HTMLElement {
    const { words } = this, swap = (from: HTMLElement, to: HTMLElement, next: HTMLElement): void => {
      from.replaceWith(to);
      next.focus();
    };
    const wish = h("button", { type: "button", class: name, click: async () => (await isReady()) && swap(wish, asked, keep) }, words.withdraw);
    const keep = h("button", { type: "button", class: "keep", click: () => swap(asked, wish, wish) }, words.keep);
    const sure = h("button", { type: "button", class: "sure", click: () => {
      swap(asked, wish, status);
      void act();
    } }, words.meant);
    const asked = h("div", { class: "confirm", role: "group", "aria-label": words.isMeant }, h("p", {}, words.isMeant), keep, sure);
    return wish;
  }

  /** Reports of rounds that are over can be withdrawn also while the next one is being asked. */
  private earlier(reports: readonly Report[]): Child {
    const { words, wording } = this, left = reports.filter(({ slot }) => this.memory.of(slot) !== "withdrawn");
    if (!left.length || isPreview) return null;
    return h("section", { class: "earlier" }, h("h2", {}, words.earlierTitle), h("p", {}, words.earlier(left.map(({ slot }) => wording.date(slot)).join("; "))),
      h("div", { class: "act" }, this.receiptButton(), ...this.withdrawing()));
  }

  private isWished(reports: readonly Report[]): boolean {
    return reports.some(({ slot }) => this.memory.of(slot) === "withdrawing");
  }

  /** Withdraw the reports of all rounds so far; where that was wished before and has failed, those that were meant then. */
  private async withdraw(): Promise<void> {
    clearTimeout(this.retry);
    const { words, status, memory, client } = this, button = this.main.querySelector<HTMLButtonElement>("button.withdraw.own"), kept = await client.reports();
    const reports = kept.length || !this.report ? kept : [this.report]; // what was kept may have been deleted while the page is open
    const meant = this.isWished(reports) ? reports.filter(({ slot }) => memory.of(slot) === "withdrawing") : reports, wish = (progress: Progress): Record<string, Progress> => Object.fromEntries(meant.map(({ slot }) => [slot, progress]));
    const before = Object.fromEntries(meant.map(({ slot }) => [slot, this.isWished(reports) ? "sent" : memory.of(slot)]));
    if (button) button.disabled = true;
    if (this.report && this.progress === "sent") this.main.dataset.stage = "withdrawing";
    status.textContent = words.withdrawing;
    await memory.set(wish("withdrawing"));
    try {
      if (meant.length === kept.length) await client.withdraw(collectorUrl, { patience: PATIENCE });
      else for (const { id } of meant) await this.forgotten(id);
      await memory.set(wish("withdrawn"));
      if (this.report) return this.showReport();
      button?.remove();
      status.textContent = words.withdrawn;
    } catch (error) {
      const isLater = error instanceof lopub.TryLater;
      if (!isLater) await memory.set({ ...before, ...closing(error) });
      status.textContent = isLater ? words.notWithdrawnYet : this.sentence(error);
      if (button) button.disabled = false;
      if (isLater) this.later(() => void this.withdraw());
    }
  }

  /** One report by its id alone, as a receipt does. */
  private async forgotten(id: Uint8Array): Promise<void> {
    const answer = await forget(base64url(id));
    if (answer === 409) throw new lopub.CollectorError("(409)");
    if (answer !== 204) throw new lopub.TryLater("");
  }

  private fromReceipt(): Child {
    if (isPreview || this.isClosed) return null;
    const { words } = this, status = h("p", { class: "status", role: "status", tabindex: -1 }), file = h("input", { type: "file", accept: "application/json,.json" });
    const chosen = (): Promise<string[]> => (file.files?.[0] ? idsIn(file.files[0], this.campaign) : Promise.resolve([]));
    const isReceipt = async (): Promise<boolean> => {
      const isOne = !!(await chosen()).length;
      status.textContent = isOne ? "" : words.badReceipt;
      return isOne;
    };
    const button = this.askingAgain("withdraw", status, isReceipt, async () => {
      let answer: number | undefined;
      for (const id of await chosen()) if (answer === undefined || answer === 204) answer = await forget(id);
      status.textContent = answer === undefined ? words.badReceipt : answer === 204 ? words.withdrawn : answer === 409 ? words.closed : words.unwithdrawn;
    });
    return h("details", { class: "other" }, h("summary", {}, words.fromReceipt), h("label", { class: "file" }, words.chooseReceipt, " ", file), button, status);
  }

  /** One sentence about what went wrong. It never has an answer in it: no message of the client does, and none of these is shown. */
  private sentence(error: unknown): string {
    const { words } = this;
    if (error instanceof lopub.StoreError || error instanceof DOMException) return words.noStore;
    if (error instanceof lopub.ReportRejected) return words.rejected(error.reason ?? "");
    if (error instanceof lopub.TryLater) return words.waiting;
    if (error instanceof lopub.CollectorError) return isClosing(error) ? words.closed : words.refused;
    return words.failed;
  }
}

const isClosing = (error: unknown): boolean => error instanceof lopub.CollectorError && error.message.includes("(409)");
const closing = (error: unknown): Record<string, Progress> => (isClosing(error) ? { campaign: "closed" } : {});
const alerting = (sentence: string): HTMLElement => h("p", { class: "alert", role: "alert" }, sentence);

/** What was answered in one language, in another: the same fields in the same order. What was searched for is not an answer. */
function copyFields(from: Element, to: Element): void {
  const fields = "input:not([type=search]), select", old = [...from.querySelectorAll<HTMLInputElement | HTMLSelectElement>(fields)];
  [...to.querySelectorAll<HTMLInputElement | HTMLSelectElement>(fields)].forEach((field, i) => {
    const { value } = old[i];
    if (field instanceof HTMLSelectElement && value && ![...field.options].some((option) => option.value === value)) field.append(h("option", { value }));
    if (field instanceof HTMLInputElement && /radio|checkbox/.test(field.type)) field.checked = (old[i] as HTMLInputElement).checked;
    else field.value = value;
    for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, { bubbles: true }));
  });
}

async function start(main: HTMLElement): Promise<void> {
  const language = chosenLanguage(navigator.languages, ["en", "de"]), words = wordsIn(language), said = main.querySelector<HTMLElement>(".told")!;
  said.lang = language;
  said.replaceChildren(words.loading);
  try {
    const { campaign, raw } = await loaded(), page = new Page(main, campaign, raw, await clientOf(campaign));
    addEventListener("online", () => page.online());
    addEventListener("pagehide", () => page.leave());
    addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
    await page.begin();
  } catch (error) {
    const why = error instanceof Unavailable ? error.why : "failed";
    said.replaceChildren(h("span", { class: "alert" }, words[why]), ...(why === "unreachable" ? [h("button", { type: "button", click: () => void start(main) }, words.retry)] : []));
  }
}

void start(document.getElementById("page")!);
