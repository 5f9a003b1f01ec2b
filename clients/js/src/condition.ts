// Only-if: when a question applies (section 3.8).

import { ANY, isObject, membersOf, need, type Json } from "./canonical";
import { Most } from "./limits";

export type Answer = string | number | boolean;

export class Comparison {
  constructor(
    readonly field: string,
    readonly operator: string,
    readonly values: readonly Answer[],
  ) {}

  /** The name of the attribute that is looked at: of a list, the option that is to be ticked. */
  get attribute(): string {
    return this.operator === "includes" ? `${this.field}/${this.values[0]}` : this.field;
  }
}

type Evaluate = (holds: (comparison: Comparison) => boolean) => boolean;

export class Condition {
  readonly comparisons: Comparison[] = [];
  /** Whether it holds, where each comparison does or does not. */
  readonly evaluate: Evaluate;

  constructor(value: Json) {
    this.evaluate = this.#read(value, 1);
    need(this.comparisons.length <= Most.comparisons);
  }

  #read(value: Json, depth: number): Evaluate {
    need(isObject(value) && depth <= Most.conditions);
    const [operator] = Object.keys(value).filter((key) => key !== "field");
    const isJoining = /^(and|or)$/.test(operator);
    if (isJoining || operator === "not") {
      const { [operator]: inner } = membersOf(value, { [operator]: ANY });
      const values = isJoining ? inner : [inner];
      need(Array.isArray(values) && values.length > +isJoining);
      const parts = values.map((part) => this.#read(part, depth + 1));
      if (operator === "or") return (holds) => parts.some((part) => part(holds));
      return (holds) => parts.every((part) => part(holds)) === isJoining;
    }
    need(/^(equals|oneOf|includes|atLeast|atMost|above|below)$/.test(operator));
    const members = membersOf(value, { field: "", [operator]: ANY });
    const given = members[operator as "field"] as Json;
    const values = operator === "oneOf" ? given : [given];
    need(Array.isArray(values) && values.length);
    need(values.every((each) => typeof each !== "object"));
    const comparison = new Comparison(members.field, operator, values as Answer[]);
    this.comparisons.push(comparison);
    return (holds) => holds(comparison);
  }
}
