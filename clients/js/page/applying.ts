// Which questions apply, while they are being answered. What counts in the end is the client's own check of the whole record.

import type { Campaign, Question } from "./client";

type Comparison = { readonly field: string; readonly operator: string; readonly values: readonly unknown[] };

/** The name of the attribute that a comparison looks at: of a list, the option that is to be ticked. */
const lookedAt = ({ field, operator, values }: Comparison): string => (operator === "includes" ? `${field}/${values[0]}` : field);

/** Whether a question applies, where the candidates of all that it depends on are known. */
export function appliesTo({ domain: { attributes } }: Campaign, { common: { onlyIf } }: Question, codes: ReadonlyMap<string, number | undefined>): boolean {
  return !onlyIf || onlyIf.evaluate((each) => {
    const holds = attributes.find(({ name }) => name === lookedAt(each))!.accepted(each);
    return !!holds && holds(codes.get(lookedAt(each))!);
  });
}

/** The questions that are to be seen. answerOf: nothing where a question is not answered yet, or not rightly. */
export function applying(campaign: Campaign, answerOf: (question: Question) => unknown): Set<Question> {
  const seen = new Set<Question>(), codes = new Map<string, number | undefined>();
  for (const question of campaign.domain.questions) {
    const { onlyIf } = question.common;
    const isKnown = onlyIf?.comparisons.every((each) => codes.get(lookedAt(each)) !== undefined) ?? true;
    const applies = isKnown && appliesTo(campaign, question, codes);
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
