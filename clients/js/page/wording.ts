// The campaign's texts in the person's language, as `campaign/wording.py` chooses them.

import type { Campaign, Question, Raw } from "./client";
import { isOurs, type Words, wordsIn } from "./words";

const RIGHT_TO_LEFT = ["ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"];
const base = (tag: string): string => tag.toLowerCase().split("-")[0];
export const directionOf = (tag: string): string => (RIGHT_TO_LEFT.includes(base(tag)) ? "rtl" : "ltr");

/** The first wanted language that is available: itself, else without its last parts, else one that begins like it; else the first available. */
export function chosenLanguage(wanted: readonly string[], available: readonly string[]): string {
  for (const tag of wanted) {
    const parts = tag.toLowerCase().split("-");
    for (let end = parts.length; end; end--) {
      const found = available.find((other) => other.toLowerCase() === parts.slice(0, end).join("-"));
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

  constructor(readonly campaign: Campaign, private readonly raw: Raw, readonly language: string) {
    this.own = isOurs(base(language)) ? base(language) : chosenLanguage(navigator.languages, ["en", "de"]);
    this.words = wordsIn(this.own);
  }

  /** For an element with a text of the campaign's: its language, where the page's own words are in another. */
  get theirs(): { readonly lang?: string } {
    return base(this.language) === this.own ? {} : { lang: this.language };
  }

  /** A text of the campaign's in quotation marks; whatever its direction, it does not turn the sentence around it. */
  quoted(text: string): string {
    return this.words.quoted(this.theirs.lang ? `\u2068${text}\u2069` : text);
  }

  get languages(): string[] {
    const { terms } = this.campaign;
    return [terms.language, ...terms.translations.keys()];
  }

  private get translated() {
    return this.campaign.terms.translations.get(this.language);
  }

  get title(): string {
    const { title, name } = this.campaign.terms;
    return this.translated?.title || title || name;
  }

  get description(): string {
    return this.translated?.description || this.campaign.terms.description;
  }

  get consent(): string {
    return this.translated?.consent || this.campaign.terms.consent;
  }

  question({ name, common }: Question): string {
    return this.translated?.questions.get(name) || common.question || this.titleOf({ name, common });
  }

  titleOf({ name, common }: Pick<Question, "name" | "common">): string {
    return this.translated?.titles.get(name) || common.title || name;
  }

  /** How an answer reads. text: of a candidate, or of an option of a list. */
  label(question: Question, text: string): string {
    const { words } = this, translated = this.translated?.labels.get(question.name)?.get(text);
    if (translated) return translated;
    if (text === "") return words.noAnswer;
    if (text === "(not applicable)") return words.notApplicable;
    if (question.type === "boolean") return text === "true" ? words.yes : words.no;
    const label = question.labels.get(text);
    return label ?? this.period(question, text) ?? this.range(question, text) ?? text;
  }

  periodOf({ name }: Question): string | undefined {
    return this.raw.schema.fields.find((field) => field.name === name)?.period;
  }

  private period(question: Question, text: string): string | undefined {
    const period = this.periodOf(question), place = question.attributes[0].texts.indexOf(text);
    const named = (day: string, options: Intl.DateTimeFormatOptions): string => new Intl.DateTimeFormat(this.language, { timeZone: "UTC", ...options }).format(new Date(`${day}T00:00Z`));
    if (period === "month") return named(`${text}-01`, { month: "long", year: "numeric" });
    if (period === "monthOfYear") return named(`2024-${String(place + 1).padStart(2, "0")}-01`, { month: "long" });
    if (period === "weekday") return named(`2024-01-0${place + 1}`, { weekday: "long" }); // which was a Monday
    if (period === "hour") return `${text}:00–${text}:59`;
    return undefined;
  }

  /** Bins as people say them. */
  private range(question: Question, text: string): string | undefined {
    const { words } = this, [, low, high] = /^[[(](\S+), (\S+)[\])]$/.exec(text) ?? [];
    if (question.type !== "number" || !low) return undefined;
    const number = (edge: string): string => new Intl.NumberFormat(this.language, { maximumFractionDigits: 20 }).format(+edge);
    if (low === "-inf") return words.upTo(number(high));
    if (high === "inf") return words.above(number(low));
    return text[0] === "[" ? words.fromTo(number(low), number(high)) : words.aboveTo(number(low), number(high));
  }

  date(slot: number): string {
    return new Intl.DateTimeFormat(this.own, { dateStyle: "long", timeZone: "UTC" }).format(new Date(slot * 86_400_000));
  }

  number(value: number): string {
    return new Intl.NumberFormat(this.own).format(value);
  }

  /** A probability to the nearest percent. */
  private about(share: number, places = 0): string {
    return `${new Intl.NumberFormat(this.own, { maximumSignificantDigits: (share < 0.1 ? 1 : 2) + places }).format(100 * share)} %`;
  }

  /** A probability, rounded up, and what it was before; with one more digit where they would look alike. */
  compared(now: number, before: number): [string, string] {
    const both = (places: number): [string, string] => [this.percent(now, places), this.about(before, places)], [first, second] = both(0);
    return first === second ? both(1) : [first, second];
  }

  /** A probability, rounded up, with as many digits as it takes not to be taken for certain. */
  percent(share: number, places = 0): string {
    while (share < 1 && Math.ceil(100 * share * 10 ** places - 1e-9) >= 100 * 10 ** places && places < 9) places++;
    const up = Math.ceil(100 * share * 10 ** places - 1e-9) / 10 ** places;
    return `${new Intl.NumberFormat(this.own, { maximumFractionDigits: places }).format(up)} %`;
  }
}
