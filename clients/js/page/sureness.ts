// How sure somebody can become who sees a report: over the combinations that can be, since which
// questions apply is public. Whoever knew nothing before holds all answers to a question that
// applies
// for equally likely.

import { appliesTo } from "./applying";
import type { Attribute, Campaign, Question } from "./client";
import type { Block } from "./reading";

const MOST_STATES = 50_000;
const MOST_TICKS = 10;

type Codes = Map<string, number>;

/** How likely the person's own answer is, before the report is read and after. */
export interface Belief {
  readonly question: Question;
  readonly attribute: Attribute;
  before: number;
  now: number;
}

/** Blocks that reveal something about the same questions. */
interface Group {
  readonly blocks: readonly Block[];
  readonly questions: ReadonlySet<Question>;
}

export class Sureness {
  /** Question -> itself, and those that decide whether it applies. */
  readonly #deciding = new Map<Question, Set<Question>>();
  readonly #covered = new Set<Question>();

  constructor(
    readonly campaign: Campaign,
    readonly blocks: readonly Block[],
  ) {
    const { questions } = campaign.domain;
    const byName = new Map(questions.map((question) => [question.name, question]));
    for (const question of questions) {
      const asked = question.onlyIf?.comparisons.map(({ field }) => byName.get(field)!) ?? [];
      const earlier = asked.flatMap((each) => [...this.#deciding.get(each)!]);
      this.#deciding.set(question, new Set([question, ...earlier]));
    }
    for (const block of blocks) for (const each of this.#within(block)) this.#covered.add(each);
  }

  #within({ attributes }: Block): Question[] {
    return this.campaign.domain.questions.filter((question) =>
      question.attributes.some((each) => attributes.includes(each)),
    );
  }

  isCovered(question: Question): boolean {
    return this.#covered.has(question);
  }

  /** The questions in the report through which it reveals something about one that is not in it. */
  through(question: Question): Question[] {
    if (this.isCovered(question)) return [];
    const own = this.#deciding.get(question)!;
    return [...this.#covered].filter((each) =>
      [...this.#deciding.get(each)!].some((other) => own.has(other)),
    );
  }

  #groups(): Group[] {
    let groups: Group[] = [];
    for (const block of this.blocks) {
      const deciding = this.#within(block).flatMap((each) => [...this.#deciding.get(each)!]);
      const isAlike = ({ questions }: Group): boolean =>
        deciding.some((each) => questions.has(each));
      const alike = groups.filter(isAlike);
      const merged = {
        blocks: [...alike.flatMap(({ blocks }) => blocks), block],
        questions: new Set([...alike.flatMap(({ questions }) => [...questions]), ...deciding]),
      };
      groups = [...groups.filter((group) => !alike.includes(group)), merged];
    }
    return groups;
  }

  /**
   * What is believed of the person's own answers; nothing of those for which that takes too long.
   */
  beliefs(own: ReadonlyMap<string, number>): Belief[] {
    const readable = this.#groups().filter(({ blocks }) => blocks.every(({ named }) => named));
    return readable.flatMap((group) => this.#among(group, own));
  }

  #among({ blocks, questions }: Group, own: ReadonlyMap<string, number>): Belief[] {
    const order = this.campaign.domain.questions.filter((question) => questions.has(question));
    if (order.some(({ list, attributes }) => list && attributes.length > MOST_TICKS)) return [];
    const watched = this.#watched(order, blocks);
    const count = new Count(this.campaign, blocks, watched, own);
    return count.visit(order) ? watched : [];
  }

  /** What is looked at: the attributes of the blocks, and of questions that follow from them. */
  #watched(order: readonly Question[], blocks: readonly Block[]): Belief[] {
    const isDecided = (question: Question): boolean =>
      !!question.onlyIf &&
      !order.includes(question) &&
      [...this.#deciding.get(question)!].every((each) => each === question || order.includes(each));
    const following = this.campaign.domain.questions.filter(isDecided);
    const isLooked = ({ question, attribute }: Belief): boolean =>
      !this.isCovered(question) || blocks.some((block) => block.attributes.includes(attribute));
    return [...order, ...following]
      .flatMap((question) =>
        question.attributes.map((attribute) => ({ question, attribute, before: 0, now: 0 })),
      )
      .filter(isLooked);
  }
}

/** Adds up over all combinations of answers how likely each is, before and after. */
class Count {
  readonly #named: readonly ReadonlySet<string>[];
  #nStates = 0;
  #total = 0;

  constructor(
    readonly campaign: Campaign,
    readonly blocks: readonly Block[],
    readonly watched: readonly Belief[],
    readonly own: ReadonlyMap<string, number>,
  ) {
    this.#named = blocks.map(({ named }) => new Set(named!.map(String)));
  }

  /** Whether there were few enough combinations. */
  visit(order: readonly Question[]): boolean {
    this.#visit(order, new Map(), 1);
    for (const each of this.watched) each.now /= this.#total;
    return this.#nStates <= MOST_STATES;
  }

  #visit([question, ...rest]: readonly Question[], codes: Codes, weight: number): void {
    if (this.#nStates > MOST_STATES) return;
    if (!question) return this.#add(codes, weight);
    const possible = answersTo(this.campaign, question, codes);
    for (const answer of possible) {
      const own = question.attributes.map(({ name }, i) => [name, answer[i]] as const);
      this.#visit(rest, new Map([...codes, ...own]), weight / possible.length);
    }
  }

  #add(codes: Codes, weight: number): void {
    this.#nStates++;
    let factor = 1;
    this.blocks.forEach((block, i) => {
      const cell = String(block.attributes.map(({ name }) => codes.get(name)));
      if (this.#named[i].has(cell)) factor *= block.factor;
    });
    this.#total += weight * factor;
    for (const each of this.watched) {
      const share = weight * this.#chanceOf(each, codes);
      each.before += share;
      each.now += share * factor;
    }
  }

  /**
   * How likely the own answer is where these are known; of an unknown question, all answers alike.
   */
  #chanceOf({ question, attribute: { name, size } }: Belief, codes: Codes): number {
    const known = codes.get(name);
    const own = this.own.get(name)!;
    if (known !== undefined) return +(known === own);
    if (!appliesTo(this.campaign, question, codes)) return +(own === size - 1);
    return own === size - 1 ? 0 : 1 / (size - 1);
  }
}

/** Every answer that can be given to a question, as the candidates of its attributes. */
function answersTo(campaign: Campaign, question: Question, codes: Codes): number[][] {
  const { attributes, list, onlyIf, labels } = question;
  const [{ size, kind }] = attributes;
  if (!appliesTo(campaign, question, codes)) return [attributes.map(() => size - 1)];
  const nCandidates = onlyIf ? size - 1 : size;
  if (!list) return [...Array(nCandidates).keys()].map((candidate) => [candidate]);
  const none = list.none ? [...labels.keys()].indexOf(list.none) : -1;
  const isPossible = (ticks: readonly number[]): boolean => {
    const ticked = ticks.filter(Boolean).length;
    const isAlone = none < 0 || (ticked > 0 && (ticked < 2 || !ticks[none]));
    return isAlone && (!list.most || ticked <= list.most);
  };
  const patterns = [...Array(2 ** attributes.length).keys()]
    .map((bits) => attributes.map((_, i) => (bits >> i) & 1))
    .filter(isPossible);
  const isMissing = nCandidates > kind.texts.length;
  return isMissing ? [...patterns, attributes.map(() => kind.texts.length)] : patterns;
}
