// Attributes: the answers to one question, or to one option of a list, as numbered candidates
// (sections 3.2, 3.9 and 4).

import { ANY, asText, membersOf, need, type Json } from "./canonical";
import { type Comparison, type Condition } from "./condition";
import { periodOf, textsOf } from "./dates";
import { DomainError, ensure } from "./errors";
import { Most } from "./limits";
import { range } from "./numbers";

export const NOT_APPLICABLE = "(not applicable)";

/** How the answers of one kind of question are spelt. */
export interface Kind {
  /** The texts of the answers. */
  readonly texts: readonly string[];
  readonly isOrdered?: boolean;
  /** The edges of bins. */
  readonly edges?: readonly string[];
  /** The label of each category. */
  readonly labels?: ReadonlyMap<string, string>;
  /**
   * How many options of a list may be ticked, 0 for any number, and the option that stands alone.
   */
  readonly list?: { readonly most: number; readonly none: string };
  /** The text of an answer; anything but a text where it is none. */
  spell(value: unknown): unknown;
}

/** The members of a field and of its constraints; those that are left out have their defaults. */
export interface Field {
  readonly name: string;
  readonly type: string;
  readonly title: string;
  readonly question: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly onlyIf?: Condition;
  readonly categories: Json[];
  readonly categoriesOrdered: boolean;
  readonly enum: Json[];
  readonly bins: Json;
  readonly none: string;
  readonly maxLength: number;
  readonly period: string;
  readonly minimum: Json | null;
  readonly maximum: Json | null;
}

/**
 * One question, or one option of a list: its answers, then "no answer" and "not applicable" where
 * it has them.
 */
export class Attribute {
  readonly texts: readonly string[];
  readonly size: number;
  readonly #places: ReadonlyMap<unknown, number>;

  constructor(
    readonly name: string,
    readonly kind: Kind,
    { isRequired, onlyIf }: Pick<Field, "isRequired" | "onlyIf">,
  ) {
    this.texts = [...kind.texts, ...(isRequired ? [] : [""]), ...(onlyIf ? [NOT_APPLICABLE] : [])];
    this.size = this.texts.length;
    this.#places = new Map(kind.texts.map((text, i) => [text, i]));
    need(isName(name) && this.size > 1 && this.size <= Most.candidates);
  }

  /** The candidate of an answer; null is no answer. */
  index(value: unknown): number {
    const { texts, kind } = this;
    let found = value === null ? texts.indexOf("", kind.texts.length) : this.#find(value);
    if (found < 0 && kind.labels) found = this.#find(composed(value));
    refuseUnless(found >= 0, this.name);
    return found;
  }

  #find(value: unknown): number {
    return this.#places.get(this.kind.spell(value)) ?? -1;
  }

  /** Whether a comparison holds, for each candidate; undefined where it cannot be made. */
  accepted({ operator, values }: Comparison): ((candidate: number) => boolean) | undefined {
    const { list, edges, isOrdered, texts } = this.kind;
    if (list) {
      const isOption = operator === "includes" && typeof values[0] === "string";
      return isOption ? (candidate) => candidate === 1 : undefined;
    }
    if (operator === "includes") return undefined;
    if (/equals|oneOf/.test(operator)) {
      const isText = (value: unknown): boolean => !edges || typeof value === "string";
      const places = values.map((value) => (isText(value) ? this.#find(value) : -1));
      return places.includes(-1) ? undefined : (candidate) => places.includes(candidate);
    }
    const isUpper = /above|atLeast/.test(operator);
    const start = this.#startOf(operator, values[0]);
    if (!isOrdered || start < 0) return undefined;
    return (candidate) => candidate < texts.length && candidate >= start === isUpper;
  }

  /** The first candidate behind a comparison's value; -1 where it cannot be compared. */
  #startOf(operator: string, value: unknown): number {
    const { edges } = this.kind;
    const isBehind = /above|atMost/.test(operator);
    if (edges) return isBehind ? edges.slice(0, -1).indexOf(value as string) || -1 : -1;
    const place = this.#find(value);
    return place < 0 ? -1 : place + +isBehind;
  }
}

/** An answer in normal form C, in which campaigns are made; a very long one as it is. */
export const composed = (value: unknown): unknown =>
  typeof value === "string" && [...value].length <= Most.composed ? value.normalize() : value;

/** Refuse an answer; names the question, never the answer. */
export const refuseUnless = (isFitting: unknown, name: string): void =>
  ensure(isFitting, DomainError, `question '${name}' does not take this answer`);

/** Whether a text can be the name of a field, or a category's value. */
export const isName = (text: string): boolean =>
  [...text].length <= Most.nameLength && !/^$|[\0-\x1f\x7f]/.test(text);

// ---- kinds

const BOOLEAN: Kind = {
  texts: ["false", "true"],
  spell: (value) => typeof value === "boolean" && String(value),
};

/** The values of the categories with their labels. */
function labelsOf({ categories }: Field): Map<string, string> {
  const found = new Map<string, string>();
  for (const item of categories) {
    const { value, label } = membersOf(item, { value: "", label: "" });
    need(isName(value) && !found.has(value));
    found.set(value, label);
  }
  return found;
}

function categories(field: Field): Kind {
  const labels = labelsOf(field);
  const texts = [...labels.keys()];
  need(JSON.stringify(field.enum) === JSON.stringify(texts));
  need(!(field.onlyIf && labels.has(NOT_APPLICABLE)));
  return { texts, isOrdered: field.categoriesOrdered, labels, spell: (value) => value };
}

function integers(field: Field): Kind {
  const low = field.minimum as number;
  const size = (field.maximum as number) - low + 1;
  need(size > 0 && size <= Most.candidates);
  return {
    texts: range(size).map((i) => String(low + i)),
    isOrdered: true,
    spell: (value) => Number.isSafeInteger(value) && String(value),
  };
}

function options(field: Field): Kind {
  const { maxLength: most, none } = field;
  const labels = labelsOf(field);
  const n = labels.size;
  need(n > 1 && n <= Most.options && (!none || labels.has(none)));
  need(!most || (most > 0 && most < n - +!!none));
  return { ...BOOLEAN, labels, list: { most, none } };
}

const asNumber = (edge: string): number => Number(edge.replace("inf", "Infinity"));
const isInfinite = (edge: Json): boolean => edge === "-inf" || edge === "inf";

/** Whether an edge is the one spelling of its number: the shortest, without an exponent. */
function isDecimal(edge: string): boolean {
  const [digits, exponent] = String(+edge).split("e-");
  const shortest = exponent
    ? digits.replace(/(\d)\.?/, `0.${"0".repeat(+exponent - 1)}$1`)
    : digits;
  return Math.abs(+edge) <= 1e15 && edge === shortest;
}

function bins(field: Field): Kind {
  const { clamp, edges: items } = membersOf(field.bins, { clamp: false, edges: [] });
  const edges = items.map(asText);
  const bounds = edges.map(asNumber);
  const last = edges.length - 1;
  need(last > 0 && edges.every((edge) => (isInfinite(edge) ? !clamp : isDecimal(edge))));
  need(bounds.every((bound, i) => !i || bounds[i - 1] < bound));
  for (const [limit, edge] of [
    [field.minimum, edges[0]],
    [field.maximum, edges[last]],
  ]) {
    need(limit === (clamp || isInfinite(edge!) ? ANY : edge));
  }
  const texts = range(last).map((i) => {
    const opening = i || isInfinite(edges[0]) ? "(" : "[";
    return `${opening}${edges[i]}, ${edges[i + 1]}${isInfinite(edges[i + 1]) ? ")" : "]"}`;
  });
  return {
    texts,
    edges,
    isOrdered: true,
    spell(value) {
      if (typeof value !== "number") return value;
      const near = clamp ? Math.max(bounds[0], Math.min(value, bounds[last])) : value;
      const isInside = near >= bounds[0] && near <= bounds[last];
      return (
        isInside &&
        texts[
          Math.max(
            1,
            bounds.findIndex((bound) => near <= bound),
          ) - 1
        ]
      );
    },
  };
}

function periods({ type, period, minimum, maximum }: Field): Kind {
  const texts = textsOf(type, period, minimum as string, maximum as string);
  need(texts);
  return {
    texts,
    isOrdered: !!minimum,
    spell: (value) => (typeof value === "string" && periodOf(type, period, value)) || value,
  };
}

type Reader = {
  readonly read: (field: Field) => Kind;
  /**
   * Samples of members that must be there, and that may be; of the field, and of its constraints.
   */
  readonly must?: object;
  readonly may?: object;
  readonly constraints?: object;
  readonly mayConstrain?: object;
};

const DATED: Reader = {
  read: periods,
  must: { period: "" },
  mayConstrain: { minimum: "", maximum: "" },
};

/** By type. */
export const READERS: Readonly<Record<string, Reader>> = {
  string: {
    read: categories,
    must: { categories: [], categoriesOrdered: false },
    constraints: { enum: [] },
  },
  boolean: { read: () => BOOLEAN },
  integer: { read: integers, constraints: { minimum: 0, maximum: 0 } },
  number: { read: bins, must: { bins: ANY }, mayConstrain: { minimum: ANY, maximum: ANY } },
  list: {
    read: options,
    must: { categories: [] },
    may: { none: "" },
    mayConstrain: { maxLength: 0 },
  },
  date: DATED,
  time: DATED,
  datetime: DATED,
};
