// The terms of a campaign: its texts in every language, its schedule, what becomes of the reports
// (sections 3.1 and 3.5).

import { ANY, asText, mapOf, maybe, membersOf, need, type Json } from "./canonical";
import type { Domain } from "./domain";
import { Most } from "./limits";
import { Schedule } from "./schedule";

const TEXTS = { title: "", description: "", consent: "" };

/** A member that is left out where it would be an empty object. */
function nonEmpty<T>(value: Json | null, read: (value: Json) => T): Map<string, T> {
  const found = mapOf(value ?? {}, read);
  need(found.size || value === ANY);
  return found;
}

/** The texts of a campaign in one more language. */
export class Translation {
  readonly title: string;
  readonly description: string;
  readonly consent: string;
  readonly titles: ReadonlyMap<string, string>;
  readonly questions: ReadonlyMap<string, string>;
  readonly labels: ReadonlyMap<string, ReadonlyMap<string, string>>;

  constructor(value: Json) {
    const members = membersOf(value, {}, { ...TEXTS, titles: ANY, questions: ANY, labels: ANY });
    this.title = members.title;
    this.description = members.description;
    this.consent = members.consent;
    this.titles = nonEmpty(members.titles, asText);
    this.questions = nonEmpty(members.questions, asText);
    this.labels = nonEmpty(members.labels, (each) => mapOf(each, asText));
  }

  /** Every question and every candidate that is translated must be there. */
  check({ questions }: Domain): void {
    const known = new Map(questions.map(({ name, texts }) => [name, new Set(texts)]));
    for (const each of [this.titles, this.questions, this.labels]) {
      for (const name of each.keys()) need(known.has(name));
    }
    for (const [name, each] of this.labels) {
      for (const text of each.keys()) need(known.get(name)!.has(text));
    }
  }
}

/** The samples of all members of a campaign; those that are not terms are read elsewhere. */
const MUST = {
  name: "",
  language: "",
  min_reports: 0,
  format: 0,
  schema: ANY,
  privacy: ANY,
  mechanism: ANY,
};
const MAY = {
  ...TEXTS,
  licence: "",
  retention_days: 0,
  send_within_minutes: 0,
  schedule: ANY,
  admission: ANY,
  translations: ANY,
};

const isLanguage = (tag: string): boolean =>
  tag.length <= 100 && /^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i.test(tag);

/** 256 bytes as base64url, of which the first bit and the last are ones. */
const KEY = /^[g-z0-9_-][\w-]{340}[Qw]$/;

/** The keys of an invited campaign: one, or one for each round. */
function keysOf(value: Json, schedule?: Schedule): readonly string[] {
  const { keys: items, kind } = membersOf(value, { keys: [], kind: "" });
  const keys = items.map(asText);
  const rounds = schedule?.repeat?.rounds ?? 1;
  need(kind === "invited" && keys.length === rounds && rounds <= Most.invitedRounds);
  need(keys.every((key) => KEY.test(key)) && new Set(keys).size === rounds);
  return keys;
}

export class Terms {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly language: string;
  readonly consent: string;
  readonly licence: string;
  readonly minReports: number;
  readonly retentionDays: number;
  /**
   * Minutes from the opening of a page within which a report is sent at a random moment; 0: at
   * once.
   */
  readonly sendWithinMinutes: number;
  readonly schedule?: Schedule;
  /**
   * The keys of those who invite, where not everybody may take part: one, or one for each round.
   */
  readonly invitingKeys?: readonly string[];
  readonly translations: ReadonlyMap<string, Translation>;

  /** Of a whole campaign. */
  constructor(value: Json) {
    const members = membersOf(value, MUST, MAY);
    this.name = members.name;
    this.title = members.title;
    this.description = members.description;
    this.language = members.language;
    this.consent = members.consent;
    this.licence = members.licence;
    this.minReports = members.min_reports;
    this.retentionDays = members.retention_days;
    this.sendWithinMinutes = members.send_within_minutes;
    this.schedule = maybe(members.schedule, (each) => new Schedule(each));
    this.invitingKeys = maybe(members.admission, (each) => keysOf(each, this.schedule));
    need(Object.keys(members.translations ?? {}).length <= Most.translations); // before any is read
    this.translations = nonEmpty(members.translations, (each) => new Translation(each));
    need(/^[a-z0-9][a-z0-9._-]{0,99}$/.test(this.name));
    need(this.minReports > 0 && this.retentionDays >= 0);
    need(this.sendWithinMinutes >= 0 && this.sendWithinMinutes <= Most.sendWithin);
    need([this.language, ...this.translations.keys()].every(isLanguage));
  }

  checkTranslations(domain: Domain): void {
    for (const each of this.translations.values()) each.check(domain);
  }
}
