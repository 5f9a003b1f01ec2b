// The campaign's texts in the person's language, as `campaign/wording.py` chooses them.

import type { Campaign, Question } from "./client";
import { isOurs, wordsIn, type Words } from "./words";

const RIGHT_TO_LEFT = ["ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"];
const base = (tag: string): string => tag.toLowerCase().split("-")[0];
export const directionOf = (tag: string): string =>
  RIGHT_TO_LEFT.includes(base(tag)) ? "rtl" : "ltr";

/**
 * The first wanted language that is available: itself, else without its last parts, else one that
 * begins like it; else the first available.
 */
export function chosenLanguage(wanted: readonly string[], available: readonly string[]): string {
  for (const tag of wanted) {
    const parts = tag.toLowerCase().split("-");
    for (let end = parts.length; end; end--) {
      const shorter = parts.slice(0, end).join("-");
      const found = available.find((other) => other.toLowerCase() === shorter);
      if (found) return found;
    }
    const alike = available.find((other) => base(other) === parts[0]);
    if (alike) return alike;
  }
  return available[0];
}

export class Wording {
  readonly words: Words;
  /** The language of the page's own words. */
  readonly own: string;

  constructor(
    readonly campaign: Campaign,
    readonly language: string,
  ) {
    const isKnown = isOurs(base(language));
    this.own = isKnown ? base(language) : chosenLanguage(navigator.languages, ["en", "de"]);
    this.words = wordsIn(this.own);
  }

  /**
   * For an element with a text of the campaign's: its language, where the page's own words are in
   * another.
   */
  get theirs(): { readonly lang?: string } {
    return base(this.language) === this.own ? {} : { lang: this.language };
  }

  /**
   * A text of the campaign's in quotation marks; its direction does not turn the sentence around
   * it.
   */
  quoted(text: string): string {
    return this.words.quoted(this.theirs.lang ? `\u2068${text}\u2069` : text);
  }

  get languages(): string[] {
    const { terms } = this.campaign;
    return [terms.language, ...terms.translations.keys()];
  }

  get #translated() {
    return this.campaign.terms.translations.get(this.language);
  }

  get title(): string {
    const { title, name } = this.campaign.terms;
    return this.#translated?.title || title || name;
  }

  get description(): string {
    return this.#translated?.description || this.campaign.terms.description;
  }

  get consent(): string {
    return this.#translated?.consent || this.campaign.terms.consent;
  }

  question({ name, title, question }: Question): string {
    const { questions, titles } = this.#translated ?? {};
    return questions?.get(name) || question || titles?.get(name) || title || name;
  }

  /** How an answer reads. text: of a candidate, or of an option of a list. */
  label(question: Question, text: string): string {
    const { words } = this;
    const translated = this.#translated?.labels.get(question.name)?.get(text);
    if (translated) return translated;
    if (text === "") return words.noAnswer;
    if (text === "(not applicable)") return words.notApplicable;
    if (question.type === "boolean") return text === "true" ? words.yes : words.no;
    const label = question.labels.get(text);
    return label ?? this.#period(question, text) ?? this.#range(question, text) ?? text;
  }

  #period({ period, attributes }: Question, text: string): string | undefined {
    const two = String(attributes[0].texts.indexOf(text) + 1).padStart(2, "0");
    if (period === "month") return this.#day(`${text}-01`, { month: "long", year: "numeric" });
    if (period === "monthOfYear") return this.#day(`2024-${two}-01`, { month: "long" });
    if (period === "weekday") return this.#day(`2024-01-${two}`, { weekday: "long" }); // a Monday
    if (period === "hour") return `${text}:00–${text}:59`;
    return undefined;
  }

  #day(day: string, options: Intl.DateTimeFormatOptions): string {
    const format = new Intl.DateTimeFormat(this.language, { timeZone: "UTC", ...options });
    return format.format(new Date(`${day}T00:00Z`));
  }

  /** Bins as people say them. */
  #range({ type }: Question, text: string): string | undefined {
    const { words } = this;
    const [, low, high] = /^[[(](\S+), (\S+)[\])]$/.exec(text) ?? [];
    if (type !== "number" || !low) return undefined;
    const format = new Intl.NumberFormat(this.language, { maximumFractionDigits: 20 });
    const number = (edge: string): string => format.format(+edge);
    if (low === "-inf") return words.upTo(number(high));
    if (high === "inf") return words.above(number(low));
    return (text[0] === "[" ? words.fromTo : words.aboveTo)(number(low), number(high));
  }

  date(slot: number): string {
    const format = new Intl.DateTimeFormat(this.own, { dateStyle: "long", timeZone: "UTC" });
    return format.format(new Date(slot * 86_400_000));
  }

  number(value: number): string {
    return new Intl.NumberFormat(this.own).format(value);
  }

  /** An epsilon with three decimals, rounded up, without zeros that say nothing. */
  epsilon(value: number | string): string {
    return this.number(Math.max(0, Math.ceil(Number(value) * 1000 - 1e-6)) / 1000);
  }

  /** A probability to the nearest percent. */
  #about(share: number, places = 0): string {
    const digits = (share < 0.1 ? 1 : 2) + places;
    const format = new Intl.NumberFormat(this.own, { maximumSignificantDigits: digits });
    return `${format.format(100 * share)} %`;
  }

  /**
   * A probability, rounded up, and what it was before; with one more digit where they would look
   * alike.
   */
  compared(now: number, before: number): [string, string] {
    const both = (places: number): [string, string] => [
      this.percent(now, places),
      this.#about(before, places),
    ];
    const [first, second] = both(0);
    return first === second ? both(1) : [first, second];
  }

  /** A probability, rounded up, with as many digits as it takes not to be taken for certain. */
  percent(share: number, places = 0): string {
    const up = (digits: number): number => Math.ceil(100 * share * 10 ** digits - 1e-9);
    while (share < 1 && up(places) >= 100 * 10 ** places && places < 9) places++;
    const format = new Intl.NumberFormat(this.own, { maximumFractionDigits: places });
    return `${format.format(up(places) / 10 ** places)} %`;
  }
}
