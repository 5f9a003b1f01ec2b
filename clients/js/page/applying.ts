// Which questions apply, while they are being answered. What counts in the end is the client's own check of the whole record.

import type { Campaign, Question } from "./client";

/** The questions that are to be seen. answerOf: nothing where a question is not answered yet, or not rightly. */
export function applying({ domain: { questions } }: Campaign, answerOf: (question: Question) => unknown): Set<Question> {
  const seen = new Set<Question>(), codes = new Map<string, number | undefined>();
  const byName = new Map(questions.flatMap((question) => question.attributes.map((attribute) => [attribute.name, attribute])));
  for (const question of questions) {
    const { onlyIf } = question.common;
    const lookedAt = ({ field, operator, values }: { field: string; operator: string; values: readonly unknown[] }): string => (operator === "includes" ? `${field}/${values[0]}` : field);
    const isKnown = onlyIf?.comparisons.every((each) => codes.get(lookedAt(each)) !== undefined) ?? true;
    const applies = !onlyIf || (isKnown && onlyIf.evaluate((each) => {
      const code = codes.get(lookedAt(each))!;
      return each.operator === "includes" ? code === 1 : !!byName.get(each.field)!.accepted(each)?.(code);
    }));
    if (applies) seen.add(question);
    const found = applies ? indices(question, answerOf(question)) : undefined;
    question.attributes.forEach(({ name, size }, i) => codes.set(name, applies ? found?.[i] : isKnown ? size - 1 : undefined));
  }
  return seen;
}

/** The candidates of an answer; nothing where it does not fit. */
export function indices(question: Question, answer: unknown): number[] | undefined {
  try {
    return answer === undefined ? undefined : question.indices(answer);
  } catch {
    return undefined;
  }
}
