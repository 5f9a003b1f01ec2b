// The terms of a campaign: its texts in every language, its schedule, what becomes of the reports (sections 3.1 and 3.5).

import { ANY, asText, mapOf, maybe, membersOf, need, type Json } from "./canonical";
import type { Domain } from "./domain";
import { Most } from "./limits";
import { scheduleOf, type Schedule } from "./schedule";

/** The texts of a campaign in one more language. */
export interface Translation {
  readonly title: string;
  readonly description: string;
  readonly consent: string;
  readonly titles: ReadonlyMap<string, string>;
  readonly questions: ReadonlyMap<string, string>;
  readonly labels: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

export interface Terms {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly language: string;
  readonly consent: string;
  readonly licence: string;
  readonly minReports: number;
  readonly retentionDays: number;
  readonly schedule?: Schedule;
  readonly translations: ReadonlyMap<string, Translation>;
}

const TEXTS = { title: "", description: "", consent: "" };
const MUST = { name: "", language: "", min_reports: 0, format: 0, schema: ANY, privacy: ANY, mechanism: ANY };
const MAY = { ...TEXTS, licence: "", retention_days: 0, schedule: ANY, translations: ANY };

const isLanguage = (tag: string): boolean => tag.length <= 100 && /^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i.test(tag);

/** An object that is left out where it is empty. */
function mapped<T>(value: Json | null, read: (value: Json) => T): Map<string, T> {
  const found = mapOf(value ?? {}, read);
  need(found.size || value === ANY);
  return found;
}

/** The terms in a campaign, whose other members are read already. */
export function termsOf(value: Json): Terms {
  const { format: _format, schema: _schema, privacy: _privacy, mechanism: _mechanism, min_reports: minReports, retention_days: retentionDays, schedule, translations, ...texts } = membersOf(value, MUST, MAY, "terms");
  need(Object.keys(translations ?? {}).length <= Most.translations); // before any is read
  const terms = { ...texts, minReports, retentionDays, schedule: maybe(schedule, scheduleOf), translations: mapped(translations, translationOf) };
  need(/^[a-z0-9][a-z0-9._-]{0,99}$/.test(terms.name) && minReports > 0 && retentionDays >= 0 && [terms.language, ...terms.translations.keys()].every(isLanguage));
  return terms;
}

function translationOf(value: Json): Translation {
  const { titles, questions, labels, ...texts } = membersOf(value, {}, { ...TEXTS, titles: ANY, questions: ANY, labels: ANY });
  return { ...texts, titles: mapped(titles, asText), questions: mapped(questions, asText), labels: mapped(labels, (each) => mapOf(each, asText)) };
}

/** Every question and every candidate that is translated must be there. */
export function checkTranslations({ translations }: Terms, { questions }: Domain): void {
  const known = new Map(questions.map(({ name, texts }) => [name, new Set(texts)]));
  for (const { titles, questions, labels } of translations.values()) {
    for (const each of [titles, questions, labels]) for (const name of each.keys()) need(known.has(name));
    for (const [name, each] of labels) for (const text of each.keys()) need(known.get(name)!.has(text));
  }
}
