// Only-if: when a question applies (section 3.8).

import { asText, done, has, membersOf, need, take, type Json } from "./canonical";
import { Most } from "./limits";

const OPERATORS = ["equals", "oneOf", "includes", "atLeast", "above", "atMost", "below"];
export type Answer = string | number | boolean;

export interface Comparison {
  readonly field: string;
  readonly operator: string;
  readonly values: readonly Answer[];
}

/** Whether it holds, where each comparison does or does not. */
export interface Condition {
  readonly comparisons: readonly Comparison[];
  readonly evaluate: (holds: (comparison: Comparison) => boolean) => boolean;
}

export function conditionOf(value: Json): Condition {
  const comparisons: Comparison[] = [], evaluate = read(value, comparisons);
  need(comparisons.length <= Most.comparisons);
  return { comparisons, evaluate };
}

function read(value: Json, found: Comparison[]): Condition["evaluate"] {
  const members = membersOf(value), words = ["not", "and", "or", ...OPERATORS].filter((each) => has(members, each)), [word] = words, isNot = word === "not";
  const field = has(members, "field") && asText(take(members, "field")), isComparison = OPERATORS.includes(word);
  need(words.length === 1 && isComparison === (field !== false));
  const inner = take(members, word), values = isNot || (isComparison && word !== "oneOf") ? [inner] : inner;
  done(members);
  need(Array.isArray(values) && values.length > +!(isNot || isComparison));
  if (!isComparison) {
    const parts = values.map((part) => read(part, found));
    return (holds) => (word === "or" ? parts.some((part) => part(holds)) : parts.every((part) => part(holds)) !== isNot);
  }
  need(values.every((each) => typeof each !== "object"));
  const comparison = { field: field as string, operator: word, values: values as Answer[] };
  found.push(comparison);
  return (holds) => holds(comparison);
}
