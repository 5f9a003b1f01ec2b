// All attributes in order, the rules about records, and a record as candidates (sections 3.8, 3.9 and 4).

import { done, need, take, type Members } from "./canonical";
import type { Comparison } from "./condition";
import { DomainError } from "./errors";
import { Most } from "./limits";
import { sum } from "./numbers";
import { questionOf, type Attribute, type Question } from "./questions";


export class Domain {
  readonly questions: readonly Question[];
  readonly attributes: readonly Attribute[];
  readonly sizes: readonly number[];
  private readonly _positions: ReadonlyMap<string, number>;
  private readonly _accepted = new Map<Comparison, (candidate: number) => boolean>();

  constructor(schema: Members) {
    const fields = take(schema, "fields", []);
    done(schema);
    need(fields.length <= Most.attributes);
    this.questions = fields.map(questionOf);
    this.attributes = this.questions.flatMap((question) => question.attributes);
    this.sizes = this.attributes.map(({ size }) => size);
    this._positions = new Map(this.attributes.map(({ name }, i) => [name, i]));
    const n = this.attributes.length;
    need(n && n <= Most.attributes && this._positions.size === n && sum(this.sizes) <= Most.candidatesInAll);
  }

  /** The format that the questions need. */
  get format(): number {
    return this.questions.some(({ list, common, attributes }) => list || common.onlyIf || attributes[0].kind.isNew) ? 2 : 1;
  }

  position(name: string): number | undefined {
    return this._positions.get(name);
  }

  /** The attribute that a comparison looks at: of a list, the option that is to be ticked. */
  private _lookedAt({ field, operator, values }: Comparison): number {
    return this.position(operator === "includes" ? `${field}/${values[0]}` : field)!;
  }

  /** Refuse conditions on anything but earlier answers, or on answers that are not there. */
  checkQuestionnaire(): void {
    const before = new Map<Attribute, Question>(), names = new Set<string>();
    for (const question of this.questions) {
      for (const comparison of question.common.onlyIf?.comparisons ?? []) {
        const attribute = this.attributes[this._lookedAt(comparison)], asked = before.get(attribute), [value] = comparison.values;
        const isTick = comparison.operator === "includes" && typeof value === "string" && asked?.name === comparison.field;
        const accepted = asked?.list ? isTick && ((candidate: number) => candidate === 1) : asked && attribute.accepted(comparison);
        need(accepted);
        this._accepted.set(comparison, accepted);
      }
      for (const attribute of question.attributes) before.set(attribute, question);
      need(!names.has(question.name) && !(question.list && this._positions.has(question.name)));
      names.add(question.name);
    }
  }

  /** The attribute, the rest of its list, and all that applies or not because of these. */
  following(position: number): Set<number> {
    const found = new Set([position]);
    let at = 0;
    for (const { attributes, common } of this.questions) {
      const own = attributes.map(() => at++);
      if (own.includes(position) || common.onlyIf?.comparisons.some((each) => found.has(this._lookedAt(each)))) own.forEach((each) => found.add(each));
    }
    return found;
  }

  /** The record as candidates, in order; it answers every question that applies, and no other. Names questions, never an answer. */
  indices(record: Readonly<Record<string, unknown>>): number[] {
    if (!record || typeof record !== "object") throw new DomainError("a record is an object, question: answer");
    const codes: number[] = [], given = new Map(Object.entries(record));
    for (const question of this.questions) {
      const { name, attributes, common } = question, answer = given.get(name);
      const applies = !common.onlyIf || common.onlyIf.evaluate((each) => this._accepted.get(each)!(codes[this._lookedAt(each)]));
      if (applies ? answer === undefined : (answer ?? null) !== null) {
        throw new DomainError(applies ? `'${name}' is not answered` : `'${name}' does not apply`);
      }
      codes.push(...(applies ? question.indices(answer) : attributes.map(({ size }) => size - 1)));
      given.delete(name);
    }
    if (given.size) throw new DomainError("an answer is not asked for");
    return codes;
  }
}
