// Canonical JSON (section 2 of the format). JSON.parse hides members that come twice and takes 1.0 for 1, so what lies outside of
// texts is looked at, too.

import { CampaignError, type CampaignRefusal } from "./errors";
import { byCodePoints, isKnown } from "./texts";

export type Json = string | number | boolean | Json[] | { [key: string]: Json };

const DEEPEST = 16;

export function refuse(reason: CampaignRefusal): never {
  throw new CampaignError(`this campaign is refused (${reason}); ask its maker for a right one`, reason);
}

/** The value of a text that is spelt as it must be; refuses any other. */
export function parsed(text: string): Json {
  const texts: string[] = [];
  let nKeys = 0;

  /** The only spelling of a value; refuses what no campaign has. */
  function spelt(value: unknown, depth: number): string {
    const inner = depth + 1;
    if (typeof value === "string") texts.push(value);
    if (typeof value === "number" && !Number.isSafeInteger(value)) refuse("json");
    if (typeof value !== "object") return JSON.stringify(value);
    if (!value || depth === DEEPEST) refuse("json");
    if (Array.isArray(value)) return `[${value.map((item) => spelt(item, inner))}]`;
    const members = Object.entries(value).sort(([a], [b]) => byCodePoints(a, b));
    nKeys += members.length;
    return `{${members.map(([key, item]) => `${spelt(key, inner)}:${spelt(item, inner)}`)}}`;
  }

  let value: Json = "";
  try {
    value = JSON.parse(text);
  } catch {
    refuse("json");
  }
  const canonical = spelt(value, 0), together = texts.join("\n"); // which composes with nothing
  const outside = text.replace(/\\./g, "").split('"').filter((_, i) => i % 2 === 0).join("");
  if (outside.split(":").length - 1 > nKeys || /\d[.eE]/.test(outside) || !isKnown(together)) refuse("json");
  if (canonical !== text || together !== together.normalize()) refuse("canonical");
  return value;
}

/** An object being read: each member is taken with its type, and none may be left over. `reason`: of what is wrong from here on;
 * `spelling` remembers what should be written otherwise, which is refused last. */
export class Members {
  private readonly _left: Map<string, Json>;

  constructor(value: Json, public reason: CampaignRefusal, private readonly _spelling = { isRight: true }) {
    if (typeof value !== "object" || Array.isArray(value)) this.fail();
    this._left = new Map(Object.entries(value as object));
  }

  get size(): number {
    return this._left.size;
  }

  get isSpeltRight(): boolean {
    return this._spelling.isRight;
  }

  note(isRight: boolean): void {
    this._spelling.isRight &&= isRight;
  }

  fail(): never {
    return refuse(this.reason);
  }

  /** Refuse where something is wrong. */
  need(isRight: unknown): void {
    if (!isRight) this.fail();
  }

  has(key: string): boolean {
    return this._left.has(key);
  }

  take(key: string): Json {
    const value = this._left.get(key);
    this._left.delete(key);
    return value ?? this.fail();
  }

  /** A member of the same type as the sample. */
  like<T extends Json>(key: string, sample: T): T {
    const value = this.take(key);
    this.need(typeof value === typeof sample && Array.isArray(value) === Array.isArray(sample));
    return value as T;
  }

  text(key: string): string {
    return this.like(key, "");
  }

  integer(key: string): number {
    return this.like(key, 0);
  }

  list(key: string): Json[] {
    return this.like<Json[]>(key, []);
  }

  texts(key: string): string[] {
    const items = this.list(key);
    this.need(items.every((item) => typeof item === "string"));
    return items as string[];
  }

  /** What goes without saying where it has its default: it must then be left out. */
  optional<T extends string | number>(key: string, usual: T): T {
    if (!this.has(key)) return usual;
    const value = this.like(key, usual);
    this.note(value !== usual);
    return value;
  }

  /** What must be written even where it is the default; drafts may leave it out. */
  written<T extends Json>(key: string, usual: T): T {
    const isThere = this.has(key);
    this.note(isThere);
    return isThere ? this.like(key, usual) : usual;
  }

  members(key: string): Members {
    return this.inner(this.take(key));
  }

  inner(value: Json): Members {
    return new Members(value, this.reason, this._spelling);
  }

  /** All members, whatever their names. */
  every<T>(read: (value: Json) => T): Map<string, T> {
    const found = new Map<string, T>();
    this._left.forEach((value, key) => found.set(key, read(value)));
    return found;
  }

  done(): void {
    this.need(!this.size);
  }
}
