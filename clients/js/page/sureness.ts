// How sure somebody can become who sees a report: over the combinations that can be, since which questions apply is public. Whoever knew
// nothing before holds all answers to a question that applies for equally likely.

import { appliesTo } from "./applying";
import type { Campaign, Question } from "./client";
import type { Block } from "./reading";

const MOST_STATES = 50_000;
const MOST_TICKS = 10;

type Codes = Map<string, number>;

/** How likely the person's own answer is, before the report is read and after. */
export interface Belief {
  readonly question: Question;
  readonly attribute: Question["attributes"][number];
  readonly before: number;
  readonly now: number;
}

/** Blocks that tell something of the same questions. */
interface Group {
  readonly blocks: Block[];
  readonly questions: Set<Question>;
}

export class Sureness {
  /** Question -> itself, and those that decide whether it applies. */
  private readonly deciding = new Map<Question, Set<Question>>();
  private readonly covered = new Set<Question>();

  constructor(private readonly campaign: Campaign, private readonly blocks: readonly Block[]) {
    const { questions } = campaign.domain, byName = new Map(questions.map((question) => [question.name, question]));
    for (const question of questions) {
      const asked = question.common.onlyIf?.comparisons.map(({ field }) => byName.get(field)!) ?? [];
      this.deciding.set(question, new Set([question, ...asked.flatMap((each) => [...this.deciding.get(each)!])]));
    }
    for (const block of blocks) for (const question of this.within(block)) this.covered.add(question);
  }

  private within({ attributes }: Block): Question[] {
    return this.campaign.domain.questions.filter((question) => question.attributes.some((each) => attributes.includes(each)));
  }

  /** The questions in the report through which it tells something of one that is not in it. */
  through(question: Question): Question[] {
    const own = this.deciding.get(question)!;
    return this.covered.has(question) ? [] : [...this.covered].filter((each) => [...this.deciding.get(each)!].some((other) => own.has(other)));
  }

  private groups(): Group[] {
    let groups: Group[] = [];
    for (const block of this.blocks) {
      const questions = new Set(this.within(block).flatMap((each) => [...this.deciding.get(each)!]));
      const alike = groups.filter((group) => [...group.questions].some((each) => questions.has(each)));
      groups = [...groups.filter((group) => !alike.includes(group)), { blocks: [...alike.flatMap((group) => group.blocks), block], questions: new Set([...alike.flatMap((group) => [...group.questions]), ...questions]) }];
    }
    return groups;
  }

  /** What is believed of the person's own answers; nothing of those for which it cannot be said in a moment. */
  beliefs(own: ReadonlyMap<string, number>): Belief[] {
    return this.groups().flatMap((group) => (group.blocks.every(({ named, factor }) => named && factor) ? this.among(group, own) : []));
  }

  private among({ blocks, questions }: Group, own: ReadonlyMap<string, number>): Belief[] {
    const all = this.campaign.domain.questions, order = all.filter((question) => questions.has(question));
    const following = all.filter((question) => !questions.has(question) && question.common.onlyIf && [...this.deciding.get(question)!].every((each) => each === question || questions.has(each)));
    const named = blocks.map((block) => new Set(block.named!.map(String)));
    const watched = [...order, ...following].flatMap((question) => question.attributes.map((attribute) => ({ question, attribute, before: 0, now: 0 })))
      .filter(({ question, attribute }) => !this.covered.has(question) || blocks.some(({ attributes }) => attributes.includes(attribute)));
    let nStates = 0, total = 0;
    const count = (codes: Codes, weight: number): void => {
      const factor = blocks.reduce((product, { attributes, factor }, i) => (named[i].has(String(attributes.map(({ name }) => codes.get(name)))) ? product * factor! : product), 1);
      total += weight * factor;
      for (const each of watched) {
        const share = weight * chanceOf(this.campaign, each.question, each.attribute, own.get(each.attribute.name)!, codes);
        each.before += share;
        each.now += share * factor;
      }
    };
    const visit = (at: number, codes: Codes, weight: number): void => {
      if (at === order.length) return ++nStates > MOST_STATES ? undefined : count(codes, weight);
      const { attributes } = order[at], possible = nStates > MOST_STATES ? [] : answersTo(this.campaign, order[at], codes);
      for (const answer of possible) visit(at + 1, new Map([...codes, ...attributes.map(({ name }, i) => [name, answer[i]] as const)]), weight / possible.length);
    };
    if (order.some(({ list, attributes }) => list && attributes.length > MOST_TICKS)) return [];
    visit(0, new Map(), 1);
    return nStates > MOST_STATES ? [] : watched.map((each) => ({ ...each, now: each.now / total }));
  }
}

/** How likely an answer is where these are known; of a question that is not among them, all answers alike, where it applies. */
function chanceOf(campaign: Campaign, question: Question, { name, size }: Belief["attribute"], own: number, codes: Codes): number {
  const known = codes.get(name);
  if (known !== undefined) return +(known === own);
  return !appliesTo(campaign, question, codes) ? +(own === size - 1) : own === size - 1 ? 0 : 1 / (size - 1);
}

/** Every answer that can be given to a question, as the candidates of its attributes. */
function answersTo(campaign: Campaign, question: Question, codes: Codes): number[][] {
  const { attributes, list, common, labels } = question, [{ size, kind }] = attributes, n = attributes.length;
  if (!appliesTo(campaign, question, codes)) return [attributes.map(() => size - 1)];
  const nCandidates = common.onlyIf ? size - 1 : size, none = list?.none ? [...labels.keys()].indexOf(list.none) : -1;
  if (!list) return [...Array(nCandidates).keys()].map((candidate) => [candidate]);
  const patterns = [...Array(2 ** n).keys()].map((bits) => attributes.map((_, i) => (bits >> i) & 1)).filter((ticks) => {
    const ticked = ticks.filter(Boolean).length;
    return (!list.most || ticked <= list.most) && (none < 0 || (ticked > 0 && (ticked < 2 || !ticks[none])));
  });
  return nCandidates > kind.texts.length ? [...patterns, attributes.map(() => kind.texts.length)] : patterns;
}
