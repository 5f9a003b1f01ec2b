// Questions and their candidates (sections 3.2, 3.9 and 4). An attribute turns an answer into the number of a candidate.

import { done, has, membersOf, need, note, optional, take, written, type Json, type Members } from "./canonical";
import { conditionOf, type Answer, type Comparison, type Condition } from "./condition";
import { CYCLES, hasPeriod, periodOf, spanNumber, spanText } from "./dates";
import { DomainError } from "./errors";
import { Most } from "./limits";
import { range, sum } from "./numbers";
import { composed } from "./texts";

const NOT_APPLICABLE = "(not applicable)";

/** What kinds of attributes differ in. */
interface Kind {
  readonly nAnswers: number;
  readonly isOrdered?: boolean;
  /** Whether format 1 does not know it. */
  readonly isNew?: boolean;
  /** Of bins: their edges. */
  readonly edges?: readonly string[];
  /** The text of an answer. */
  text(candidate: number): string;
  /** The candidate of an answer; nothing where it is none. */
  find(value: unknown): number | undefined;
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
export class Attribute {
  readonly size: number;

  constructor(private readonly _common: Common, readonly kind: Kind, readonly name = _common.name) {
    this.size = kind.nAnswers + (_common.isRequired ? 0 : 1) + (_common.onlyIf ? 1 : 0);
  }

  text(candidate: number): string {
    const { nAnswers } = this.kind;
    return candidate < nAnswers ? this.kind.text(candidate) : candidate > nAnswers || this._common.isRequired ? NOT_APPLICABLE : "";
  }

  texts(): string[] {
    return range(this.size).map((candidate) => this.text(candidate));
  }

  /** The candidate of an answer; null is no answer. */
  index(value: unknown): number {
    const { nAnswers } = this.kind, found = value !== null ? this.kind.find(value) : this._common.isRequired ? undefined : nAnswers;
    if (found === undefined) throw new DomainError(`'${this.name}' does not take this answer`);
    return found;
  }

  /** Whether a comparison holds, for each candidate; nothing where it cannot be made. */
  accepted({ operator, values }: Comparison): ((candidate: number) => boolean) | undefined {
    const { nAnswers, edges, isOrdered } = this.kind, find = (value: Answer) => (edges && typeof value !== "string" ? undefined : this.kind.find(value));
    if (operator === "equals" || operator === "oneOf") {
      const found = values.map(find);
      return found.includes(undefined) ? undefined : (candidate) => found.includes(candidate);
    }
    const isAbove = operator === "above", isUpper = isAbove || operator === "atLeast", isBehind = isAbove || operator === "atMost";
    const at = edges ? edges.slice(0, -1).indexOf(isBehind ? (values[0] as string) : "") || -1 : find(values[0])! + (isBehind ? 1 : 0);
    return isOrdered && at >= 0 && operator !== "includes" ? (candidate) => candidate < nAnswers && candidate >= at === isUpper : undefined;
  }
}

/** What is asked at once: one attribute, or a list with one attribute for each option. */
export class Question {
  constructor(
    readonly common: Common,
    readonly type: string,
    readonly attributes: readonly Attribute[],
    /** Value -> label, where there are categories. */
    readonly labels: ReadonlyMap<string, string> = new Map(),
    /** Of a list: how many may be ticked, 0 for any number, and the option that stands alone. */
    readonly list?: { readonly most: number; readonly none: string },
  ) {}

  get name(): string {
    return this.common.name;
  }

  /** The texts that translations may label. */
  texts(): string[] {
    const texts = this.attributes[0].texts();
    return this.list ? [...this.labels.keys(), ...texts.slice(2)] : texts;
  }

  /** The candidates of an answer. */
  indices(answer: unknown): number[] {
    const { list, attributes } = this, values = [...this.labels.keys()];
    if (!list || answer === null) return attributes.map((attribute) => attribute.index(answer));
    const ticks = Array.isArray(answer) ? answer.map((value) => values.indexOf(typeof value === "string" ? composed(value)! : "")) : [-1];
    const codes = values.map((_, i) => +ticks.includes(i)), n = sum(codes);
    if (n < ticks.length || (list.none && (!n || (n > 1 && codes[values.indexOf(list.none)]))) || (list.most && n > list.most)) {
      throw new DomainError(`'${this.name}' does not take this answer`);
    }
    return codes;
  }
}

// ---- kinds

/** Answers that are found by their texts. */
function listed(texts: () => readonly string[], nAnswers: number, isOrdered: boolean): Kind {
  let places: Map<string, number> | undefined;
  const find = (value: unknown): number | undefined => {
    places ??= new Map(texts().map((text, i) => [text, i]));
    return typeof value === "string" ? places.get(composed(value)!) : undefined;
  };
  return { nAnswers, isOrdered, text: (i) => texts()[i], find };
}

const BOOLEAN: Kind = {
  nAnswers: 2,
  text: (i) => String(!!i),
  find: (value) => (typeof value === "boolean" ? +value : undefined),
};

function integers(minimum: number, maximum: number): Kind {
  return {
    nAnswers: maximum - minimum + 1,
    isOrdered: true,
    text: (i) => String(minimum + i),
    find: (value) => (Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum ? (value as number) - minimum : undefined),
  };
}

const asDouble = (edge: string): number => +edge.replace("inf", "Infinity");

function bins(edges: readonly string[], clamp: boolean): Kind {
  const bounds = edges.map(asDouble), last = edges.length - 1;
  const texts = range(last).map((i) => `${i || edges[0] === "-inf" ? "(" : "["}${edges[i]}, ${edges[i + 1]}${edges[i + 1] === "inf" ? ")" : "]"}`);
  const named = listed(() => texts, last, true);
  return {
    ...named,
    edges,
    isNew: edges[0] === "-inf" || edges[last] === "inf",
    find(value) {
      if (typeof value !== "number") return named.find(value);
      if (!(clamp ? value === value : value >= bounds[0] && value <= bounds[last])) return undefined;
      let low = 1, high = last;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (bounds[middle] < value) low = middle + 1;
        else high = middle;
      }
      return low - 1;
    },
  };
}

function periods(type: string, period: string, first: number, last: number): Kind {
  let texts = CYCLES.get(period);
  const n = texts ? texts.length : last - first + 1, named = listed(() => (texts ??= range(n).map((i) => spanText(period, first + i))), n, !texts);
  return { ...named, isNew: true, find: (value) => named.find(value) ?? named.find(typeof value === "string" && periodOf(type, period, value)) };
}

// ---- as a campaign describes them

/** The shortest plain decimal of an edge's double; nothing where it is no number within 10^15 of zero. */
function decimalText(edge: string): string | undefined {
  const double = +edge, [digits, exponent] = String(Math.abs(double)).split("e-");
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(edge) || !(Math.abs(double) <= 1e15) || edge.length > 1000) return undefined;
  return (double < 0 ? "-" : "") + (exponent ? `0.${"0".repeat(+exponent - 1)}${digits.replace(".", "")}` : digits);
}

/** An edge, spelt as it should be. */
function edgeOf(edge: Json): string {
  const given = typeof edge === "object" ? "" : String(edge), text = isInfinite(given) ? given : decimalText(given);
  note(text === edge);
  need(text);
  return text;
}

const isInfinite = (edge: string): boolean => /^-?inf$/.test(edge);
const isName = (text: string): boolean => !!text && [...text].length <= Most.nameSigns && !/[\0-\x1f\x7f]/.test(text);

/** The values of the categories with their labels. */
function categories(members: Members): Map<string, string> {
  const found = new Map<string, string>();
  for (const item of take(members, "categories", [])) {
    const isText = typeof item === "string", category = membersOf(isText ? { value: item } : item), value = take(category, "value", "");
    note(!isText);
    need(isName(value) && !found.has(value));
    found.set(value, written(category, "label", value));
    done(category);
  }
  return found;
}

type Reader = (members: Members, constraints: Members, common: Common, type: string) => Kind | Question;

const dated: Reader = (members, constraints, _common, type) => {
  const period = take(members, "period", ""), isCycle = CYCLES.has(period), [first, last] = ["minimum", "maximum"].map((key) => optional(constraints, key, ""));
  need(hasPeriod(type, period));
  const [start, end] = [first, last].map((text) => (isCycle ? 0 : spanNumber(period, text)!));
  need(start <= end && !(isCycle && first + last));
  return periods(type, period, start, end);
};

const READERS: Readonly<Record<string, Reader>> = {
  string(members, constraints, common, type) {
    const labels = categories(members), values = [...labels.keys()];
    need(JSON.stringify(written(constraints, "enum", values)) === JSON.stringify(values) && !(common.onlyIf && labels.has(NOT_APPLICABLE)));
    return new Question(common, type, [new Attribute(common, listed(() => values, values.length, written(members, "categoriesOrdered", false)))], labels);
  },
  boolean: () => BOOLEAN,
  integer(_members, constraints) {
    const minimum = take(constraints, "minimum", 0), maximum = take(constraints, "maximum", 0);
    need(minimum <= maximum && maximum - minimum < Most.candidates);
    return integers(minimum, maximum);
  },
  number(members, constraints) {
    const inner = membersOf(take(members, "bins")), clamp = written(inner, "clamp", false), edges = take(inner, "edges", []).map(edgeOf), bounds = edges.map(asDouble);
    done(inner);
    need(edges.length > 1 && !(clamp && edges.some(isInfinite)) && bounds.every((bound, i) => !i || bounds[i - 1] < bound));
    for (const [key, edge] of [["minimum", edges[0]], ["maximum", edges.at(-1)!]]) {
      const isThere = has(constraints, key);
      note(isThere === !(clamp || isInfinite(edge)));
      need(!isThere || (!isInfinite(edge) && edgeOf(take(constraints, key)) === edge));
    }
    return bins(edges, clamp);
  },
  list(members, constraints, common, type) {
    const labels = categories(members), values = [...labels.keys()], n = values.length;
    const most = optional(constraints, "maxLength", 0), none = optional(members, "none", "");
    need(n > 1 && n <= Most.options && (!none || labels.has(none)) && (!most || (most > 0 && most < n - (none ? 1 : 0))));
    return new Question(common, type, values.map((value) => new Attribute(common, BOOLEAN, `${common.name}/${value}`)), labels, { most, none });
  },
  date: dated,
  time: dated,
  datetime: dated,
};

/** The question that a field of a campaign describes. */
export function questionOf(value: Json): Question {
  const members = membersOf(value), type = take(members, "type", ""), constraints = membersOf(written(members, "constraints", {}));
  const [title, question, description] = ["title", "question", "description"].map((key) => optional(members, key, ""));
  const common = {
    name: take(members, "name", ""), title, question, description,
    isRequired: written(constraints, "required", true),
    onlyIf: has(members, "onlyIf") ? conditionOf(take(members, "onlyIf")) : undefined,
  };
  need(Object.hasOwn(READERS, type));
  const read = READERS[type](members, constraints, common, type), asked = read instanceof Question ? read : new Question(common, type, [new Attribute(common, read)]);
  done(constraints);
  done(members);
  need(isName(common.name) && asked.attributes.every(({ name, size }) => isName(name) && size > 1 && size <= Most.candidates));
  return asked;
}
