// Canonical JSON (section 2 of the format), and reading a campaign's members. JSON.parse hides members that come twice and takes 1.0
// for 1, so what lies outside of texts is looked at, too.

import { CampaignError, type CampaignRefusal } from "./errors";
import { Most } from "./limits";
import { byCodePoints, isKnown } from "./texts";

export type Json = string | number | boolean | Json[] | { [key: string]: Json };
/** An object that is being read, and how many of its members were. */
export interface Members {
  readonly value: { readonly [key: string]: Json };
  taken: number;
}


// ---- refusing: a campaign is read at once, in the steps of section 3.10

let step: CampaignRefusal;
let isSpeltRight: boolean;

/** From here on, what is wrong is wrong for this reason. The first step begins a campaign. */
export function at(reason: CampaignRefusal): void {
  step = reason;
  if (reason === "id") isSpeltRight = true;
}

/** Refuse the campaign where something is wrong. */
export function need(isRight: unknown): asserts isRight {
  if (!isRight) throw new CampaignError(`the campaign is refused (${step})`, step);
}

/** Remember what should be written otherwise, which is refused last. */
export function note(isRight: boolean): void {
  isSpeltRight &&= isRight;
}

/** Whether everything that was read so far was spelt as it should be. */
export const isSpelling = (): boolean => isSpeltRight;

// ---- members: each is taken with its type, and none may be left over

export const isObject = (value: unknown): value is { readonly [key: string]: Json } => typeof value === "object" && !Array.isArray(value);

export function membersOf(value: Json): Members {
  need(isObject(value));
  return { value, taken: 0 };
}

export const has = ({ value }: Members, key: string): boolean => Object.hasOwn(value, key);
export const sizeOf = ({ value }: Members): number => Object.keys(value).length;

/** What all values of a sample's type have in common. */
type Like<T> = T extends string ? string : T extends number ? number : T extends boolean ? boolean : T extends readonly unknown[] ? Json[] : Json;

/** A member, of the same type as the sample. */
export function take<T extends Json = Json>(members: Members, key: string, sample?: T): Like<T> {
  need(has(members, key));
  const value = members.value[key];
  need(sample === undefined || (typeof value === typeof sample && Array.isArray(value) === Array.isArray(sample)));
  members.taken++;
  return value as Like<T>;
}

/** What goes without saying where it has its default: it must then be left out. */
export function optional<T extends string | number>(members: Members, key: string, usual: T): Like<T> {
  const isThere = has(members, key), value = isThere ? take(members, key, usual) : (usual as Json as Like<T>);
  note(!isThere || (value as Json) !== usual);
  return value;
}

/** What must be written even where it is the default; drafts may leave it out. */
export function written<T extends Json>(members: Members, key: string, usual: T): Like<T> {
  const isThere = has(members, key);
  note(isThere);
  return isThere ? take(members, key, usual) : (usual as Json as Like<T>);
}

/** All members, whatever their names. */
export const every = <T>({ value }: Members, read: (value: Json) => T): Map<string, T> => new Map(Object.entries(value).map(([key, item]) => [key, read(item)]));

export const done = (members: Members): void => need(sizeOf(members) === members.taken);

/** A text, wherever one must stand. */
export function asText(value: Json): string {
  need(typeof value === "string");
  return value;
}

/** The value of a text that is spelt as it must be; refuses any other. */
export function parsed(text: string): Json {
  const texts: string[] = [], hasPairs = /[\ud800-\udfff]/.test(text); // without them, units tell the same order
  let nKeys = 0, value: Json = "";

  /** The only spelling of a value; refuses what no campaign has. */
  function spelt(value: unknown, depth: number): string {
    if (typeof value === "string") texts.push(value);
    need(typeof value !== "number" || Number.isSafeInteger(value));
    if (typeof value !== "object") return JSON.stringify(value);
    need(value && depth < Most.depth);
    if (Array.isArray(value)) return `[${value.map((item) => spelt(item, depth + 1))}]`;
    const keys = Object.keys(value).sort();
    nKeys += keys.length;
    return `{${(hasPairs ? keys.sort(byCodePoints) : keys).map((key) => `${spelt(key, 0)}:${spelt(value[key as keyof typeof value], depth + 1)}`)}}`;
  }

  at("json");
  try {
    value = JSON.parse(text);
  } catch {
    need(0);
  }
  const canonical = spelt(value, 0), together = texts.join("\n"); // which composes with nothing
  const isCanonical = canonical === text, outside = isCanonical ? "" : text.replace(/\\./g, "").split('"').filter((_, i) => i % 2 === 0).join("");
  need(outside.split(":").length - 1 <= nKeys && !/\d[.eE]/.test(outside) && isKnown(together));
  at("canonical");
  need(isCanonical && together === together.normalize());
  return value;
}
