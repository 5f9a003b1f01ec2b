// All attributes in order, the rules about records, and a record as candidates (sections 3.8, 3.9
// and 4).

import type { Attribute } from "./attribute";
import { membersOf, need, type Json } from "./canonical";
import type { Comparison } from "./condition";
import { DomainError, ensure } from "./errors";
import { Most } from "./limits";
import { sum } from "./numbers";
import { Question } from "./question";

export class Domain {
  readonly questions: readonly Question[];
  readonly attributes: readonly Attribute[];
  readonly sizes: readonly number[];
  /** The question of each attribute. */
  readonly #owners: readonly Question[];
  readonly #positions: ReadonlyMap<string, number>;

  constructor(schema: Json) {
    const { fields } = membersOf(schema, { fields: [] });
    need(fields.length <= Most.attributes);
    let left: number = Most.candidatesInAll;
    this.questions = fields.map((field) => {
      const question = new Question(field);
      left -= sum(question.attributes.map(({ size }) => size));
      need(left >= 0); // before more of them are made
      return question;
    });
    this.attributes = this.questions.flatMap(({ attributes }) => attributes);
    this.sizes = this.attributes.map(({ size }) => size);
    this.#owners = this.questions.flatMap((each) => each.attributes.map(() => each));
    this.#positions = new Map(this.attributes.map(({ name }, i) => [name, i]));
    const n = this.attributes.length;
    need(n && n <= Most.attributes && this.#positions.size === n);
  }

  position(name: string): number | undefined {
    return this.#positions.get(name);
  }

  /** Refuse conditions on anything but earlier answers, and lists that share a name. */
  checkQuestionnaire(): void {
    const names = new Set(this.questions.map(({ name }) => name));
    need(names.size === this.questions.length);
    need(!this.questions.some(({ list, name }) => list && this.#positions.has(name)));
    for (const { onlyIf, attributes } of this.questions) {
      const first = this.position(attributes[0].name)!;
      for (const each of onlyIf?.comparisons ?? []) {
        const place = this.#lookedAt(each);
        need(place < first && this.#owners[place].name === each.field);
        need(this.attributes[place].accepted(each));
      }
    }
  }

  #lookedAt(comparison: Comparison): number {
    return this.position(comparison.attribute)!;
  }

  /** The attribute, the rest of its list, and all that applies or not because of these. */
  following(position: number): Set<number> {
    const found = new Set([position]);
    this.#owners.forEach((owner, i) => {
      const isDecided = owner.onlyIf?.comparisons.some((each) => found.has(this.#lookedAt(each)));
      if (owner === this.#owners[position] || isDecided) found.add(i);
    });
    return found;
  }

  /** Whether a question applies, where the candidates of earlier attributes are these. */
  applies({ onlyIf }: Question, candidateOf: (position: number) => number): boolean {
    return (
      !onlyIf ||
      onlyIf.evaluate((each) => {
        const place = this.#lookedAt(each);
        return this.attributes[place].accepted(each)!(candidateOf(place));
      })
    );
  }

  /**
   * The record as candidates, in order; it answers every question that applies, and no other.
   *
   * Its errors name questions, never an answer.
   */
  indices(record: Readonly<Record<string, unknown>>): number[] {
    ensure(record && typeof record === "object", DomainError, "a record is an object");
    const found: number[] = [];
    const given = new Map(Object.entries(record));
    for (const question of this.questions) {
      const { name, attributes } = question;
      const answer = given.get(name);
      const applies = this.applies(question, (place) => found[place]);
      if (applies) ensure(answer !== undefined, DomainError, `question '${name}' is not answered`);
      else ensure(answer == null, DomainError, `question '${name}' does not apply`);
      found.push(...(applies ? question.indices(answer) : attributes.map(({ size }) => size - 1)));
      given.delete(name);
    }
    ensure(!given.size, DomainError, "the record answers what is not asked");
    return found;
  }
}
