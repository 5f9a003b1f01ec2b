// Canonical JSON (section 2 of the format), and reading the members of a campaign.

import { CampaignError, type CampaignRefusal } from "./errors";
import { Most } from "./limits";

export type Json = string | number | boolean | Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

// ---- refusing

/** Refuse the campaign unless something is right. */
export function need(isRight: unknown, reason: CampaignRefusal = "invalid"): asserts isRight {
  if (!isRight) throw new CampaignError(`the campaign is refused (${reason})`, reason);
}

// ---- members

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && !!value && !Array.isArray(value);

/** What all values of a sample's type have in common. */
type Like<T> = T extends string
  ? string
  : T extends number
    ? number
    : T extends boolean
      ? boolean
      : T extends readonly unknown[]
        ? Json[]
        : T extends object
          ? JsonObject
          : Json;
type Alike<T> = { readonly [K in keyof T]: Like<T[K]> };
type Samples = { readonly [key: string]: unknown };

/** The sample of a member of any type. */
export const ANY = null;

/**
 * The members of an object: all that must be there, those that may be, and no other.
 *
 * Each has the type of its sample. The sample of a member that may be there is its default, with
 * which it must be left out.
 */
export function membersOf<Must extends Samples, May extends Samples>(
  value: Json,
  must: Must,
  may?: May,
): Alike<Must> & Alike<May> {
  const samples: Samples = { ...must, ...may };
  need(isObject(value));
  for (const key in value) need(Object.hasOwn(samples, key)); // before they are copied
  for (const key in { ...must, ...value }) {
    const sample = samples[key];
    const given = value[key];
    need(Object.hasOwn(value, key) && given !== may?.[key]);
    need(
      sample === ANY ||
        (typeof given === typeof sample && Array.isArray(given) === Array.isArray(sample)),
    );
  }
  return { ...samples, ...value } as never; // what may have any type is ANY where it is left out
}

/** What a reader makes of a member that may be left out. */
export const maybe = <T>(
  value: Json | null | undefined,
  read: (value: Json) => T,
): T | undefined => (value == ANY ? undefined : read(value));

/** All members, whatever their names. */
export function mapOf<T>(value: Json, read: (value: Json) => T): Map<string, T> {
  need(isObject(value));
  return new Map(Object.keys(value).map((key) => [key, read(value[key])]));
}

/** What a table has under a name. */
export function named<T>(table: Readonly<Record<string, T>>, name: unknown): T {
  need(typeof name === "string" && Object.hasOwn(table, name));
  return table[name];
}

export function asText(value: Json): string {
  need(typeof value === "string");
  return value;
}

// ---- spelling

/** Below zero where a comes before b by code points, which UTF-16 units do not say. */
export function byCodePoints(a: string, b: string): number {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return (a.codePointAt(i) ?? -1) - (b.codePointAt(i) ?? -1);
}

/** The only spelling of a value; refuses what no campaign has. */
function spelling(value: unknown, depth: number): string {
  if (typeof value === "string") {
    need(!/\p{Cs}/u.test(value)); // half a surrogate pair
    return JSON.stringify(value);
  }
  if (typeof value !== "object") {
    need(typeof value === "boolean" || Number.isSafeInteger(value));
    return String(value);
  }
  need(value && depth < Most.depth);
  if (Array.isArray(value)) return `[${value.map((item) => spelling(item, depth + 1))}]`;
  const keys = Object.keys(value).sort().sort(byCodePoints);
  const member = (key: string): string =>
    `${spelling(key, 0)}:${spelling(value[key as never], depth + 1)}`;
  return `{${keys.map(member)}}`;
}

/**
 * The members of a campaign whose bytes are spelt as they must be.
 *
 * JSON.parse hides members that come twice, and takes 1.0 for 1; spelt again, they differ.
 */
export function parsed(bytes: Uint8Array): JsonObject {
  let text: string;
  let value: Json;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    need(false);
  }
  need(isObject(value));
  const { format } = value;
  need(format === 1, Number.isInteger(format) ? "format" : undefined);
  need(spelling(value, 0) === text);
  return value;
}
