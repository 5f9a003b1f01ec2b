// All attributes in order, the rules about records, and a record as candidates (sections 3.8, 3.9 and 4).

import { membersOf, need, type Json } from "./canonical";
import type { Comparison } from "./condition";
import { DomainError, ensure } from "./errors";
import { Most } from "./limits";
import { sum } from "./numbers";
import { questionOf, type Attribute, type Question } from "./questions";

export interface Domain {
  readonly questions: readonly Question[];
  readonly attributes: readonly Attribute[];
  readonly sizes: readonly number[];
  /** The format that the questions need. */
  readonly format: number;
  position(name: string): number | undefined;
  /** Refuse conditions on anything but earlier answers, or on answers that are not there. */
  checkQuestionnaire(): void;
  /** The attribute, the rest of its list, and all that applies or not because of these. */
  following(position: number): Set<number>;
  /** The record as candidates, in order; it answers every question that applies, and no other. Names questions, never an answer. */
  indices(record: Readonly<Record<string, unknown>>): number[];
}

export function domainOf(schema: Json): Domain {
  const { fields } = membersOf(schema, { fields: [] });
  let left: number = Most.candidatesInAll;
  need(fields.length <= Most.attributes);
  const questions = fields.map((field) => {
    const question = questionOf(field);
    left -= sum(question.attributes.map(({ size }) => size));
    need(left >= 0); // before more of them are made
    return question;
  });
  const attributes = questions.flatMap((question) => question.attributes), sizes = attributes.map(({ size }) => size), n = sizes.length;
  const positions = new Map(attributes.map(({ name }, i) => [name, i])), owners = questions.flatMap((question) => question.attributes.map(() => question));
  need(n && n <= Most.attributes && positions.size === n);

  /** The attribute that a comparison looks at: of a list, the option that is to be ticked. */
  const lookedAt = ({ field, operator, values }: Comparison): number => positions.get(operator === "includes" ? `${field}/${values[0]}` : field)!;

  return {
    questions,
    attributes,
    sizes,
    format: questions.some(({ common, attributes: [{ kind }] }) => common.onlyIf || kind.isNew) ? 2 : 1,
    position: (name) => positions.get(name),
    checkQuestionnaire() {
      need(new Set(questions.map(({ name }) => name)).size === questions.length && !questions.some(({ list, name }) => list && positions.has(name)));
      owners.forEach(({ common, attributes: [{ name: first }] }) => {
        for (const each of common.onlyIf?.comparisons ?? []) {
          const at = lookedAt(each);
          need(at < positions.get(first)! && owners[at].name === each.field && attributes[at].accepted(each));
        }
      });
    },
    following(position) {
      const found = new Set([position]);
      owners.forEach((owner, i) => {
        if (owner === owners[position] || owner.common.onlyIf?.comparisons.some((each) => found.has(lookedAt(each)))) found.add(i);
      });
      return found;
    },
    indices(record) {
      ensure(record && typeof record === "object", DomainError, "a record is an object");
      const codes: number[] = [], given = new Map(Object.entries(record));
      for (const { name, attributes: own, common, indices } of questions) {
        const answer = given.get(name), applies = !common.onlyIf || common.onlyIf.evaluate((each) => (attributes[lookedAt(each)].accepted(each) as (candidate: number) => boolean)(codes[lookedAt(each)]));
        ensure(applies ? answer !== undefined : answer == null, DomainError, `'${name}' ${applies ? "is not answered" : "does not apply"}`);
        codes.push(...(applies ? indices(answer) : own.map(({ size }) => size - 1)));
        given.delete(name);
      }
      ensure(!given.size, DomainError, "an answer is not asked for");
      return codes;
    },
  };
}
