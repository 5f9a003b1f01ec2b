// Only-if: when a question applies (section 3.8).

import { ANY, membersOf, need, type Json } from "./canonical";
import { Most } from "./limits";

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
  const [operator] = Object.keys(value).filter((key) => key !== "field"), isJoining = /^(and|or)$/.test(operator), isNot = operator === "not";
  need(isJoining || isNot || /^(equals|oneOf|includes|atLeast|atMost|above|below)$/.test(operator));
  const { field, [operator]: inner } = membersOf(value, { [operator]: ANY, ...(isJoining || isNot ? {} : { field: "" }) }), values = isJoining || operator === "oneOf" ? inner : [inner];
  need(Array.isArray(values) && values.length > +isJoining);
  if (field === undefined) {
    const parts = values.map((part) => read(part, found));
    return (holds) => (operator === "or" ? parts.some((part) => part(holds)) : parts.every((part) => part(holds)) !== isNot);
  }
  need(values.every((each) => typeof each !== "object"));
  const comparison = { field: field as string, operator, values: values as Answer[] };
  found.push(comparison);
  return (holds) => holds(comparison);
}
