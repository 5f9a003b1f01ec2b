// Canonical JSON (section 2 of the format), and reading a campaign's members.

import { CampaignError, type CampaignRefusal } from "./errors";
import { Most } from "./limits";
import { byCodePoints, composed } from "./texts";

export type Json = string | number | boolean | Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

// ---- refusing: a campaign is read at once, in the steps of section 3.10

let step: CampaignRefusal;

/** From here on, what is wrong is wrong for this reason. */
export function at(reason: CampaignRefusal): void {
  step = reason;
}

/** Refuse the campaign where something is wrong. */
export function need(isRight: unknown): asserts isRight {
  if (!isRight) throw new CampaignError(`the campaign is refused (${step})`, step);
}

// ---- members

export const isObject = (value: unknown): value is JsonObject => typeof value === "object" && !Array.isArray(value);

/** What all values of a sample's type have in common. */
type Like<T> = T extends string ? string : T extends number ? number : T extends boolean ? boolean : T extends readonly unknown[] ? Json[] : T extends object ? JsonObject : Json;
type Alike<T> = { readonly [K in keyof T]: Like<T[K]> };
type Samples = { readonly [key: string]: unknown };

/** The sample of a member that has any type. */
export const ANY = null;

/** The members of an object: all that must be there, those that may be, and no other. Each has the type of its sample; the sample of one that may be there is its default, with
 * which it must be left out. then: the step from which on there is no unknown one. */
export function membersOf<Must extends Samples, May extends Samples>(value: Json, must: Must, may?: May, then?: CampaignRefusal): Alike<Must> & Alike<May> {
  need(isObject(value));
  const samples: Samples = { ...must, ...may };
  for (const key in value) need(Object.hasOwn(samples, key)); // before they are copied, however many they are
  if (then) at(then);
  for (const key in { ...must, ...value }) {
    const sample = samples[key], given = value[key];
    need(Object.hasOwn(value, key) && given !== may?.[key] && (sample === ANY || (typeof given === typeof sample && Array.isArray(given) === Array.isArray(sample))));
  }
  return { ...samples, ...value } as never; // what may have any type is ANY where it is left out
}

/** What a reader makes of a member that may be left out. */
export const maybe = <T>(value: Json | null | undefined, read: (value: Json) => T): T | undefined => (value == ANY ? undefined : read(value));

/** All members, whatever their names. */
export function mapOf<T>(value: Json, read: (value: Json) => T): Map<string, T> {
  need(isObject(value));
  const found = new Map<string, T>();
  for (const key in value) found.set(key, read(value[key]));
  return found;
}

/** What a table has under a name. */
export function named<T>(table: Readonly<Record<string, T>>, name: unknown): T {
  need(typeof name === "string" && Object.hasOwn(table, name));
  return table[name];
}

/** A text, wherever one must stand. */
export function asText(value: Json): string {
  need(typeof value === "string");
  return value;
}

// ---- spelling

/** The only spelling of a value; refuses what no campaign has. */
function spelt(value: unknown, depth: number): string {
  if (typeof value === "string") {
    if (/^\w*$/.test(value)) return `"${value}"`; // many texts, and fast
    need(!/[\p{Cs}\p{NChar}]/u.test(value));
    return JSON.stringify(composed(value));
  }
  if (typeof value !== "object") {
    need(value === !!value || Number.isSafeInteger(value));
    return String(value);
  }
  need(value && depth < Most.depth);
  if (Array.isArray(value)) return `[${value.map((item) => spelt(item, depth + 1))}]`;
  return `{${Object.keys(value).sort().sort(byCodePoints).map((key) => `${spelt(key, 0)}:${spelt(value[key as never], depth + 1)}`)}}`;
}

/** The value of bytes that are spelt as they must be. JSON.parse hides members that come twice and takes 1.0 for 1; spelt again, they differ. */
export function parsed(bytes: Uint8Array): Json {
  let text, value: unknown = null;
  at("json");
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    // and null is refused
  }
  const canonical = spelt(value, 0);
  at("canonical");
  need(canonical === text);
  return value as Json;
}
