// Only-if: when a question applies (section 3.8).

import type { Json, Members } from "./canonical";

const MOST_COMPARISONS = 32;
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

export function conditionOf(owner: Members, value: Json): Condition {
  const comparisons: Comparison[] = [], evaluate = read(owner, value, comparisons);
  owner.need(comparisons.length <= MOST_COMPARISONS);
  return { comparisons, evaluate };
}

function read(owner: Members, value: Json, found: Comparison[]): Condition["evaluate"] {
  const members = owner.inner(value), word = ["not", "and", "or"].find((each) => members.has(each));
  if (word) {
    const parts = (word === "not" ? [members.take(word)] : members.list(word)).map((part) => read(owner, part, found));
    members.done();
    owner.need(word === "not" || parts.length > 1);
    return (holds) => (word === "or" ? parts.some((part) => part(holds)) : parts.every((part) => part(holds)) !== (word === "not"));
  }
  const field = members.text("field"), given = OPERATORS.filter((each) => members.has(each)), [operator] = given;
  owner.need(given.length === 1);
  const values = operator === "oneOf" ? members.list(operator) : [members.take(operator)];
  members.done();
  owner.need(values.length && values.every((each) => typeof each !== "object"));
  const comparison = { field, operator, values: values as Answer[] };
  found.push(comparison);
  return (holds) => holds(comparison);
}
