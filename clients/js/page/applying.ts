// Which questions apply, while they are being answered. What counts in the end is the client's own
// check of the whole record.

import type { Campaign, Question } from "./client";

/** Candidates by the name of their attribute; undefined where they are not known. */
export type Codes = ReadonlyMap<string, number | undefined>;

/** Whether a question applies, where the candidates of all that it depends on are known. */
export function appliesTo({ domain }: Campaign, question: Question, codes: Codes): boolean {
  return domain.applies(question, (place) => codes.get(domain.attributes[place].name)!);
}

/** The questions that are to be seen. answerOf: undefined where a question is not answered yet. */
export function applying(
  campaign: Campaign,
  answerOf: (question: Question) => unknown,
): Set<Question> {
  const seen = new Set<Question>();
  const codes = new Map<string, number | undefined>();
  for (const question of campaign.domain.questions) {
    const asked = question.onlyIf?.comparisons ?? [];
    const isKnown = asked.every(({ attribute }) => codes.get(attribute) !== undefined);
    const applies = isKnown && appliesTo(campaign, question, codes);
    if (applies) seen.add(question);
    const found = applies ? indices(question, answerOf(question)) : undefined;
    const absent = (size: number): number | undefined => (isKnown ? size - 1 : undefined);
    question.attributes.forEach(({ name, size }, i) => {
      codes.set(name, applies ? found?.[i] : absent(size));
    });
  }
  return seen;
}

/** The candidates of an answer; undefined where it does not fit. */
export function indices(question: Question, answer: unknown): number[] | undefined {
  try {
    return answer === undefined ? undefined : question.indices(answer);
  } catch {
    return undefined;
  }
}
