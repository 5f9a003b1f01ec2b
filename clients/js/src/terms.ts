// The terms of a campaign: its texts in every language, its schedule, what becomes of the reports (sections 3.1 and 3.5).

import { asText, done, every, has, membersOf, need, note, optional, sizeOf, take, written, type Json, type Members } from "./canonical";
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

const LANGUAGE = /^(?=.{0,100}$)[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/;

/** Title, description and consent. */
const texts = (members: Members): Pick<Terms, "title" | "description" | "consent"> => {
  const [title, description, consent] = ["title", "description", "consent"].map((key) => optional(members, key, ""));
  return { title, description, consent };
};

export function termsOf(members: Members): Terms {
  const terms = {
    ...texts(members),
    name: take(members, "name", ""), licence: optional(members, "licence", ""),
    language: written(members, "language", "en"), minReports: written(members, "min_reports", 1), retentionDays: optional(members, "retention_days", 0),
    translations: mapped(members, "translations", translationOf, Most.translations),
    schedule: has(members, "schedule") ? scheduleOf(membersOf(take(members, "schedule"))) : undefined,
  };
  need(/^[a-z0-9][a-z0-9._-]{0,99}$/.test(terms.name) && terms.minReports > 0 && terms.retentionDays >= 0);
  need([terms.language, ...terms.translations.keys()].every((tag) => LANGUAGE.test(tag)));
  return terms;
}

/** An object that is left out where it is empty. */
function mapped<T>(members: Members, key: string, read: (value: Json) => T, most = Infinity): Map<string, T> {
  if (!has(members, key)) return new Map();
  const inner = membersOf(take(members, key));
  need(sizeOf(inner) <= most); // before any is read
  note(sizeOf(inner) > 0);
  return every(inner, read);
}

function translationOf(value: Json): Translation {
  const members = membersOf(value);
  const translation = {
    ...texts(members),
    titles: mapped(members, "titles", asText), questions: mapped(members, "questions", asText),
    labels: mapped(members, "labels", (each) => every(membersOf(each), asText)),
  };
  done(members);
  return translation;
}

/** Every question and every candidate that is translated must be there. */
export function checkTranslations({ translations }: Terms, { questions }: Domain): void {
  const known = new Map(questions.map((question) => [question.name, question])), texts = new Map<string, Set<string>>();
  for (const { titles, questions, labels } of translations.values()) {
    for (const name of [...titles.keys(), ...questions.keys()]) need(known.has(name));
    for (const [name, each] of labels) {
      need(known.has(name));
      if (!texts.has(name)) texts.set(name, new Set(known.get(name)!.texts()));
      for (const text of each.keys()) need(texts.get(name)!.has(text));
    }
  }
}
