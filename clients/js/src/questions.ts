// Questions and their candidates (sections 3.2, 3.9 and 4). An attribute turns an answer into the number of a candidate.

import { ANY, asText, maybe, membersOf, named, need, type Json } from "./canonical";
import { conditionOf, type Comparison, type Condition } from "./condition";
import { periodOf, textsOf } from "./dates";
import { DomainError, ensure } from "./errors";
import { Most } from "./limits";
import { range, sum } from "./numbers";
import { composed } from "./texts";

const NOT_APPLICABLE = "(not applicable)";

/** What kinds of attributes differ in. */
interface Kind {
  /** Of the answers. */
  readonly texts: readonly string[];
  readonly isOrdered?: boolean;
  /** Whether format 1 does not know it. */
  readonly isNew?: boolean;
  /** Of bins: their edges. */
  readonly edges?: readonly string[];
  /** Of categories: value -> label. */
  readonly labels?: ReadonlyMap<string, string>;
  /** Of a list: how many may be ticked, 0 for any number, and the option that stands alone. */
  readonly list?: { readonly most: number; readonly none: string };
  /** The text of an answer; anything but a text where it is none. */
  spell(value: unknown): unknown;
}

/** What all questions have. */
interface Common {
  readonly name: string;
  readonly title: string;
  readonly question: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly onlyIf?: Condition;
}

/** One question, or one option of a list, with its candidates: its answers, then "no answer" and "not applicable", each where there is one. */
export interface Attribute {
  readonly name: string;
  readonly kind: Kind;
  readonly size: number;
  readonly texts: readonly string[];
  /** The candidate of an answer; null is no answer. */
  index(value: unknown): number;
  /** Whether a comparison holds, for each candidate; nothing where it cannot be made. */
  accepted(comparison: Comparison): ((candidate: number) => boolean) | false;
}

/** What is asked at once: one attribute, or a list with one attribute for each option. */
export interface Question {
  readonly name: string;
  readonly type: string;
  readonly common: Common;
  readonly attributes: readonly Attribute[];
  /** Value -> label, where there are categories. */
  readonly labels: ReadonlyMap<string, string>;
  /** Of a list: how many may be ticked, 0 for any number, and the option that stands alone. */
  readonly list?: { readonly most: number; readonly none: string };
  /** The texts that translations may label. */
  readonly texts: readonly string[];
  /** The candidates of an answer. */
  indices(answer: unknown): number[];
}

/** Refuse an answer; names the question, never the answer. */
const fitting = (isFitting: unknown, name: string): void => ensure(isFitting, DomainError, `'${name}' does not take this answer`);

function attributeOf({ isRequired, onlyIf }: Common, kind: Kind, name: string): Attribute {
  const { edges, isOrdered, list } = kind, nAnswers = kind.texts.length, texts = [...kind.texts, ...(isRequired ? [] : [""]), ...(onlyIf ? [NOT_APPLICABLE] : [])];
  const places = new Map<unknown, number>(kind.texts.map((text, i) => [text, i])), find = (value: unknown): number => places.get(composed(kind.spell(value))) ?? -1;
  return {
    name,
    kind,
    texts,
    size: texts.length,
    index(value) {
      const found = value === null ? texts.indexOf("", nAnswers) : find(value);
      fitting(found >= 0, name);
      return found;
    },
    accepted({ operator, values }) {
      if (list) return operator === "includes" && typeof values[0] === "string" && ((candidate) => candidate === 1);
      const places = values.map((value) => (edges && typeof value !== "string" ? -1 : find(value)));
      if (/equals|oneOf/.test(operator)) return !places.includes(-1) && ((candidate) => places.includes(candidate));
      const isBehind = /above|atMost/.test(operator), isUpper = /above|atLeast/.test(operator);
      const at = edges ? edges.slice(0, -1).indexOf(isBehind ? (values[0] as string) : "") || -1 : places[0] < 0 ? -1 : places[0] + +isBehind;
      return !!isOrdered && at >= 0 && operator !== "includes" && ((candidate) => candidate < nAnswers && candidate >= at === isUpper);
    },
  };
}

function asked(common: Given, kind: Kind): Question {
  const { labels = new Map<string, string>(), list } = kind, { name, type } = common, values = [...labels.keys()];
  const attributes = (list ? values.map((value) => `${name}/${value}`) : [name]).map((each) => attributeOf(common, kind, each));
  return {
    name,
    type,
    common,
    attributes,
    labels,
    list,
    texts: list ? [...values, ...attributes[0].texts.slice(2)] : attributes[0].texts,
    indices(answer) {
      if (!list || answer === null) return attributes.map(({ index }) => index(answer));
      const ticks = Array.isArray(answer) ? answer.map((value) => values.indexOf(composed(value))) : [-1];
      const codes = values.map((_, i) => +ticks.includes(i)), n = sum(codes);
      fitting(n === ticks.length && !(list.none && (!n || (n > 1 && codes[values.indexOf(list.none)]))) && !(list.most && n > list.most), name);
      return codes;
    },
  };
}

// ---- kinds

const BOOLEAN: Kind = { texts: ["false", "true"], spell: (value) => value === !!value && String(value) };

function integers({ minimum, maximum }: Given): Kind {
  const n = (maximum as number) - (minimum as number) + 1;
  need(n > 0 && n <= Most.candidates);
  return { isOrdered: true, texts: range(n).map((i) => String((minimum as number) + i)), spell: (value) => typeof value === "number" && String(value) };
}

const asDouble = (edge: string): number => +edge.replace("inf", "Infinity");
const isInfinite = (edge: string): boolean => /^-?inf$/.test(edge);

/** Whether it is the shortest plain decimal of its double, within 10^15 of zero. */
function isDecimal(edge: string): boolean {
  const [digits, exponent] = String(+edge).split("e-");
  return Math.abs(+edge) <= 1e15 && edge === (exponent ? digits.replace(/(\d)\.?/, `0.${"0".repeat(+exponent - 1)}$1`) : digits);
}

function bins(given: Given): Kind {
  const { clamp, edges: items } = membersOf(given.bins, { clamp: false, edges: [] }), edges = items.map(asText), bounds = edges.map(asDouble), last = edges.length - 1;
  need(last > 0 && edges.every((edge, i) => (isInfinite(edge) ? !clamp : isDecimal(edge)) && (!i || bounds[i - 1] < bounds[i])));
  for (const [outer, edge] of [[given.minimum, edges[0]], [given.maximum, edges[last]]]) need(outer === (clamp || isInfinite(edge as string) ? ANY : edge));
  const texts = range(last).map((i) => `${i || isInfinite(edges[0]) ? "(" : "["}${edges[i]}, ${edges[i + 1]}${isInfinite(edges[i + 1]) ? ")" : "]"}`);
  return {
    texts,
    edges,
    isOrdered: true,
    isNew: edges.some(isInfinite),
    spell(value) {
      if (typeof value !== "number") return value;
      const near = clamp ? Math.max(bounds[0], Math.min(value, bounds[last])) : value;
      return near >= bounds[0] && near <= bounds[last] && texts[Math.max(1, bounds.findIndex((bound) => near <= bound)) - 1];
    },
  };
}

function periods({ type, period, minimum, maximum }: Given): Kind {
  const texts = textsOf(type, period, minimum as string, maximum as string);
  need(texts);
  return { texts, isOrdered: !!minimum, isNew: true, spell: (value) => (typeof value === "string" && periodOf(type, period, value)) || value };
}

// ---- as a campaign describes them

/** The members of a field and of its constraints, and those that are left out with their defaults. */
interface Given extends Common {
  readonly type: string;
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

const isName = (text: string): boolean => [...text].length <= Most.nameSigns && !/^$|[\0-\x1f\x7f]/.test(text);

/** The values of the categories with their labels. */
function labelsOf({ categories }: Given): Map<string, string> {
  const found = new Map<string, string>();
  for (const item of categories) {
    const { value, label } = membersOf(item, { value: "", label: "" });
    need(isName(value) && !found.has(value));
    found.set(value, label);
  }
  return found;
}

function categorical(given: Given): Kind {
  const labels = labelsOf(given), values = [...labels.keys()];
  need(JSON.stringify(given.enum) === JSON.stringify(values) && !(given.onlyIf && labels.has(NOT_APPLICABLE)));
  return { texts: values, isOrdered: given.categoriesOrdered, labels, spell: (value) => value };
}

function options(given: Given): Kind {
  const { maxLength: most, none } = given, labels = labelsOf(given), n = labels.size;
  need(n > 1 && n <= Most.options && (!none || labels.has(none)) && (!most || (most > 0 && most < n - +!!none)));
  return { ...BOOLEAN, isNew: true, labels, list: { most, none } };
}

const DATED: Reader = [periods, { period: "" }, {}, { minimum: "", maximum: "" }];
type Reader = readonly [(given: Given) => Kind, ...samples: object[]];

/** By type: the reader, the samples of members that must be there, of constraints that must, and of constraints and members that may be left out. */
const READERS: Readonly<Record<string, Reader>> = {
  string: [categorical, { categories: [], categoriesOrdered: false }, { enum: [] }],
  boolean: [() => BOOLEAN],
  integer: [integers, {}, { minimum: 0, maximum: 0 }],
  number: [bins, { bins: ANY }, {}, { minimum: ANY, maximum: ANY }],
  list: [options, { categories: [] }, {}, { maxLength: 0 }, { none: "" }],
  date: DATED,
  time: DATED,
  datetime: DATED,
};

/** The question that a field of a campaign describes. */
export function questionOf(value: Json): Question {
  const [read, must, mustBe, mayBe, may] = named(READERS, Object(value).type);
  const { constraints, onlyIf, ...members } = membersOf(value, { name: "", type: "", constraints: ANY, ...must }, { title: "", question: "", description: "", onlyIf: ANY, ...may });
  const { required: isRequired, ...inner } = membersOf(constraints, { required: false, ...mustBe }, { ...mayBe });
  const given = { ...members, ...inner, isRequired, onlyIf: maybe(onlyIf, conditionOf) } as Given;
  const question = asked(given, read(given));
  need(isName(given.name) && question.attributes.every(({ name, size }) => isName(name) && size > 1 && size <= Most.candidates));
  return question;
}
