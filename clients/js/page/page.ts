// The page on which a person takes part: what is asked and what it means, the questions, what could
// leave the device, consent, and then sending.

import { afterwards, earlierRounds } from "./afterwards";
import type { Answers, Campaign, LopubClient, Fate } from "./client";
import { consentSection, limitBox } from "./consent";
import { deleteButton, deviceSection, Spent } from "./device";
import { alerting, h, paragraph, type Child } from "./dom";
import { Examples } from "./examples";
import { Form } from "./form";
import { languageChoice, show } from "./frame";
import { introduction, trust, whyNothing } from "./introduction";
import { PATIENCE, People } from "./people";
import { collectorUrl, isClosed, isPreview, persisted, timeOf } from "./place";
import { idOf, saveReceipt } from "./receipt";
import { isPresent, roundsInWords, type RoundsInWords } from "./rounds";
import { isClosing, receiptSection, sentenceFor, withdrawAll } from "./withdrawal";
import { chosenLanguage, Wording } from "./wording";

const RETRY_SECONDS = 20;
const NO_ROUNDS: RoundsInWords = { own: "", next: "", afterwards: "" };

type Stage = "asking" | "examples" | "deleted" | Fate;
/** How far each report of this person has come. */
type History = Awaited<ReturnType<LopubClient["history"]>>;

export class Page {
  readonly #people: People;
  #client: LopubClient;
  #wording: Wording;
  #rounds = NO_ROUNDS;
  #history: History = [];
  /** The ids of the reports, in case what was stored is deleted while the page is open. */
  #ids: readonly string[] = [];
  #form?: Form;
  #answers?: Answers;
  #stage: Stage = "asking";
  #reason = "";
  #isKept = false;
  #sending?: AbortController;
  #retry?: number;
  #again?: () => void;
  #status = h("p", { class: "status", role: "status", tabindex: -1 });

  constructor(
    readonly main: HTMLElement,
    readonly campaign: Campaign,
  ) {
    const { terms } = campaign;
    const languages = [terms.language, ...terms.translations.keys()];
    this.#people = new People(campaign);
    this.#client = this.#people.client();
    this.#wording = new Wording(campaign, chosenLanguage(navigator.languages, languages));
  }

  // ---- what is to be seen

  async begin(): Promise<void> {
    try {
      await this.#people.read();
      this.#client = this.#people.client();
      await this.#read();
      if ((await this.#isAsking()) || !this.#latest) await this.#ask();
      else await this.#showReport();
      void this.#sendOthers();
    } catch (error) {
      const deletion = deleteButton(this.#wording, () => this.#deleteEverything());
      this.#render(alerting(sentenceFor(error, this.#wording)), deletion);
    }
  }

  async #read(): Promise<void> {
    this.#history = await this.#client.history();
    this.#ids = (await this.#client.reports()).map(idOf);
    if (this.campaign.repeat) this.#rounds = await roundsInWords(this.#client, this.#wording);
  }

  get #latest(): History[number] | undefined {
    return this.#history.at(-1);
  }

  async #isAsking(): Promise<boolean> {
    if (!this.#latest) return true;
    return !timeOf(this.campaign) && !!this.campaign.repeat && !!(await this.#client.due());
  }

  get #isClosed(): boolean {
    return isClosed || this.#people.isClosed;
  }

  #render(...parts: Child[]): void {
    const wording = this.#wording;
    const about = introduction(wording, {
      ownRounds: this.#rounds.own,
      isFolded: this.#stage !== "asking",
      isOver: this.#isClosed || timeOf(this.campaign) > 0,
    });
    const languages = languageChoice(wording, (tag) => this.#speak(tag));
    show(this.main, wording, [languages, ...about, ...parts]);
    this.main.dataset.stage = this.#stage;
  }

  async #speak(language: string): Promise<void> {
    const before = this.#form;
    this.#wording = new Wording(this.campaign, language);
    if (this.campaign.repeat) this.#rounds = await roundsInWords(this.#client, this.#wording);
    if (before) this.#form = this.#newForm();
    if (before) this.#form!.copyFrom(before);
    if (this.#stage === "examples") await this.#showExamples();
    else if (this.#stage === "asking") await this.#ask();
    else await this.#showReport();
    this.main.querySelector<HTMLElement>(".languages select")?.focus();
  }

  /** What stands below everything. */
  async #below(): Promise<Child[]> {
    const wording = this.#wording;
    if (isPreview) return [trust(wording)];
    const spent = await Spent.of(this.#people);
    const device = deviceSection(this.#people, wording, spent, {
      limitChanged: () => this.#refresh(),
      next: () => this.#next(),
      deleteEverything: () => this.#deleteEverything(),
    });
    const receipt = !this.#isClosed && receiptSection(this.campaign, wording);
    return [device, trust(wording), receipt];
  }

  #focusStep(): void {
    this.main.querySelector<HTMLElement>("h2.step")?.focus();
  }

  /** The same stage once more, after something has changed. */
  #refresh(): Promise<void> {
    if (this.#stage === "examples") return this.#showExamples();
    return this.#stage === "asking" ? this.#ask() : this.#showReport();
  }

  // ---- asking

  /** The questions; or why nothing is asked. */
  async #ask(): Promise<void> {
    this.#stage = "asking";
    const why = whyNothing(this.#wording, this.#isClosed);
    const parts: Child[] = why ? [alerting(why)] : await this.#questions();
    const earlier = this.#isClosed
      ? null
      : earlierRounds(this.#wording, this.#history, this.#status, {
          saveReceipt: () => this.#saveReceipt(),
          withdraw: () => this.#withdraw(),
        });
    this.#render(...parts, earlier, ...(await this.#below()));
    if (this.#history.some(({ fate }) => fate === "withdrawing")) void this.#withdraw();
  }

  async #questions(): Promise<Child[]> {
    const { repeat } = this.campaign;
    const { words } = this.#wording;
    if (repeat && !(await this.#client.due())) return [alerting(this.#rounds.next)];
    const limit = await limitBox(this.#people, this.#wording, () => this.#refresh());
    if (await this.#client.needsRecord()) {
      this.#form ??= this.#newForm();
      return [limit, this.#form.element];
    }
    const nothing = paragraph(words.nothingAsked);
    return [h("section", { class: "asking" }, nothing, await this.#consent(words.agreeAgain))];
  }

  #newForm(): Form {
    return new Form(this.campaign, this.#wording, (answers) => {
      this.#answers = answers;
      void this.#showExamples(true);
    });
  }

  // ---- what could leave, and consent

  async #showExamples(isFirst = false): Promise<void> {
    const examples = new Examples(this.campaign, this.#wording, this.#answers!);
    await examples.draw();
    this.#stage = "examples";
    const consent = await this.#consent(this.#wording.words.agree);
    this.#render(examples.element, consent, ...(await this.#below()));
    if (isFirst) this.#focusStep();
  }

  #consent(agree: string): Promise<HTMLElement> {
    const change = this.#answers && (() => this.#ask().then(() => this.#focusStep()));
    this.#status.textContent = "";
    return consentSection(this.#people, this.#wording, {
      agreeText: agree,
      agree: () => this.#agree(),
      change,
      limitChanged: () => this.#refresh(),
      status: this.#status,
    });
  }

  /** The irrevocable step: the report is counted, drawn and kept; then it is sent. */
  async #agree(): Promise<void> {
    const agree = this.main.querySelector<HTMLButtonElement>("button.agree")!;
    agree.disabled = true;
    try {
      if (await this.#people.isSomebodyElse()) return location.reload();
      this.#isKept = await persisted();
      this.#client = this.#people.client();
      await this.#client.encode(this.#answers);
      this.#forgetAnswers();
      await this.#read();
      await this.#showReport();
    } catch (error) {
      if (error instanceof lopub.EpsilonTooHigh) return this.#refresh();
      this.#status.textContent = sentenceFor(error, this.#wording);
      agree.disabled = false;
    }
  }

  #forgetAnswers(): void {
    this.#answers = undefined;
    this.#form = undefined;
  }

  // ---- afterwards

  async #showReport(): Promise<void> {
    const { slot, fate } = this.#latest!;
    const { words } = this.#wording;
    this.#stage = fate;
    this.#status.textContent = "";
    const isNow = isPresent(this.campaign, slot);
    const section = afterwards(
      {
        campaign: this.campaign,
        wording: this.#wording,
        fate,
        isClosed: this.#isClosed,
        isKept: this.#isKept,
        nextRound: isNow ? this.#rounds.afterwards : "",
        reason: this.#reason,
        status: this.#status,
      },
      {
        saveReceipt: () => this.#saveReceipt(),
        cancel: () => this.#cancel(),
        withdraw: () => this.#withdraw(),
        sent: async () => (await this.#client.sent()).at(-1),
      },
    );
    const later = !isNow && !!this.campaign.repeat && this.#rounds.next;
    const alert = this.#isClosed ? words.closed : later;
    this.#render(alert ? alerting(alert) : null, section, ...(await this.#below()));
    this.#focusStep();
    if (fate === "waiting" && !this.#isClosed) void this.#send();
    if (this.#history.some((each) => each.fate === "withdrawing")) void this.#withdraw();
  }

  #saveReceipt(): void {
    saveReceipt(this.campaign, collectorUrl, this.#history, this.#ids);
  }

  async #send(): Promise<void> {
    clearTimeout(this.#retry);
    if (isPreview || this.#sending) return;
    const { words } = this.#wording;
    this.#sending = new AbortController();
    const { signal } = this.#sending;
    this.#status.textContent = words.beingSent;
    this.#reason = "";
    let error: unknown;
    try {
      await this.#client.send(collectorUrl, { patience: PATIENCE, signal });
    } catch (caught) {
      error = caught;
    }
    this.#sending = undefined;
    if (signal.aborted) return;
    if (isClosing(error)) await this.#people.close();
    if (error instanceof lopub.StoreError) this.#status.textContent = words.gone;
    else await this.#attempted(error);
  }

  /** What has become of the report, after an attempt to send it. */
  async #attempted(error: unknown): Promise<void> {
    const { words } = this.#wording;
    const isRefused = error instanceof lopub.ReportRejected;
    if (isRefused) this.#reason = error.reason!;
    await this.#read();
    if (this.#latest!.fate !== "waiting") return this.#showReport();
    const sentence = error ? sentenceFor(error, this.#wording) : words.waiting;
    this.#status.textContent = isRefused ? words.rejected(this.#reason) : sentence;
    if (!error || isRefused || error instanceof lopub.TryLater) this.#later(() => this.#send());
  }

  async #cancel(): Promise<void> {
    this.#sending?.abort();
    clearTimeout(this.#retry);
    await this.#client.cancel();
    await this.#read();
    await this.#showReport();
  }

  #later(again: () => Promise<void>): void {
    clearTimeout(this.#retry);
    this.#again = () => {
      this.#again = undefined;
      void again();
    };
    this.#retry = setTimeout(this.#again, 1000 * RETRY_SECONDS);
  }

  // ---- withdrawing

  /**
   * Withdraw the reports of all rounds so far; where a wish has failed before, those that were
   * meant then.
   */
  async #withdraw(): Promise<void> {
    clearTimeout(this.#retry);
    const { words } = this.#wording;
    this.#status.textContent = words.withdrawing;
    this.#status.focus();
    try {
      await withdrawAll(this.#client, this.#ids);
      await this.#read();
      if (this.#stage !== "asking") return await this.#afterWithdrawal();
      await this.#ask();
      this.#status.textContent = words.withdrawn;
    } catch (error) {
      const isLater = error instanceof lopub.TryLater;
      if (isClosing(error)) await this.#people.close();
      this.#status.textContent = isLater
        ? words.notWithdrawnYet
        : sentenceFor(error, this.#wording);
      if (isLater) await this.#keepWish();
    }
  }

  /** Try again later; the page shows that, where the wish is about the report that it shows. */
  async #keepWish(): Promise<void> {
    this.#later(() => this.#withdraw());
    await this.#read();
    const isShown = this.#stage !== "asking";
    if (isShown) this.main.dataset.stage = this.#latest?.fate ?? "withdrawing";
  }

  async #afterWithdrawal(): Promise<void> {
    if (this.#latest) return this.#showReport();
    this.#stage = "withdrawn";
    const title = h("h2", { class: "step", tabindex: -1 }, this.#wording.words.withdrawn);
    this.#render(h("section", { class: "ended" }, title));
    this.#focusStep();
  }

  // ---- the device

  async #next(): Promise<void> {
    this.leave();
    await this.#people.next();
    location.reload();
  }

  async #deleteEverything(): Promise<void> {
    this.#sending?.abort();
    clearTimeout(this.#retry);
    try {
      await this.#people.deleteEverything();
      this.#forgetAnswers();
      [this.#history, this.#ids] = [[], []];
      this.#stage = "deleted";
      this.#render(alerting(this.#wording.words.deleted));
    } catch (error) {
      this.#render(alerting(sentenceFor(error, this.#wording)));
    }
  }

  async #sendOthers(): Promise<void> {
    if (isPreview || this.#isClosed) return;
    const isDone = await this.#people.sendOthers();
    if (!isDone) setTimeout(() => void this.#sendOthers(), 1000 * RETRY_SECONDS);
  }

  // ---- the browser

  /** Try again at once where the network has come back. */
  online(): void {
    this.#again?.();
  }

  /** Nothing of the answers may be seen again by whoever comes back to this page. */
  leave(): void {
    clearTimeout(this.#retry);
    this.#forgetAnswers();
    this.main.replaceChildren();
  }
}
