// Which attributes one report covers, drawn without a look at the answers (sections 3.3 and 9).

import { asText, membersOf, named, need, type Json } from "./canonical";
import type { Domain } from "./domain";
import { Most } from "./limits";
import { ascending, descending, largest, range, sum } from "./numbers";
import type { Randomness } from "./randomness";

/** Positions of attributes, ascending. */
export type View = readonly number[];
/** Number of attributes in a view -> attribute -> its amount where so many share the budget. */
export type Amounts = (nAttributes: number) => (position: number) => bigint;
/** A sum, or a product. */
export type Fold = (values: readonly bigint[]) => bigint;

export abstract class ViewRule {
  /** Whether every report covers all attributes, so that it has no mask. */
  readonly isWhole: boolean = false;
  /** The cells to which a view may always grow, where it grows by its cells. */
  readonly room: number = 0;
  /** How many attributes a view may have, where it is randomized separately. */
  abstract readonly sizes: readonly number[];
  /** Whether these attributes allow the rule. */
  abstract fits(jointly: boolean): boolean;
  /** Whether many devices share each view, so that a device may keep its own over rounds. */
  abstract mayBeKept(): boolean;
  abstract draw(randomness: Randomness): View;
  abstract canDraw(view: View): boolean;
  /** Every view that can be drawn, each once; undefined where finding them takes too long. */
  abstract few(): readonly View[] | undefined;
  /**
   * The largest fold of its attributes' amounts that a view can have; among: of these attributes
   * only.
   */
  abstract mostOf(amounts: Amounts, fold: Fold, among: (position: number) => boolean): bigint;
}

/**
 * Attributes in a random order, each taken as long as there are fewer than k, or their cells stay
 * few.
 */
class Growing extends ViewRule {
  readonly sizes: readonly number[];
  override readonly room: number;

  /** cells: left out where only the number of attributes counts. */
  constructor(
    readonly domain: Domain,
    readonly k: number,
    readonly cells?: number,
  ) {
    super();
    this.sizes = [k];
    this.room = cells ?? 0;
  }

  get #n(): number {
    return this.domain.sizes.length;
  }

  #fitsIn(view: View, i: number): boolean {
    const { sizes } = this.domain;
    return (
      view.length < this.k ||
      view.reduce((total, each) => total * sizes[each], sizes[i]) <= this.room
    );
  }

  fits(jointly: boolean): boolean {
    if (this.cells === undefined) return this.k > 0 && this.k <= this.#n;
    return jointly && this.cells > 3 && this.#n > 1;
  }

  mayBeKept(): boolean {
    return false;
  }

  draw(randomness: Randomness): View {
    const view: number[] = [];
    for (const i of this.#walk(this.cells ? this.#n : this.k, randomness)) {
      if (this.#fitsIn(view, i)) view.push(i);
    }
    return ascending(view);
  }

  /** The first n attributes of a random order in which a list counts as one question. */
  #walk(n: number, randomness: Randomness): number[] {
    const { questions } = this.domain;
    if (!questions.some(({ list }) => list)) return randomness.prefix(this.#n, n);
    let at = 0;
    const left = questions.map(({ attributes }) => attributes.map(() => at++));
    return range(n).map(() => {
      const i = randomness.below(left.length);
      const [taken] = left[i].splice(randomness.below(left[i].length), 1);
      if (!left[i].length) left.splice(i, 1);
      return taken;
    });
  }

  canDraw(view: View): boolean {
    const isFull = range(this.#n).every((i) => view.includes(i) || !this.#fitsIn(view, i));
    return isFull && this.#fitsIn(view.slice(1), view[0]);
  }

  few(): readonly View[] | undefined {
    const found: View[] = [[]]; // each grows by later attributes, of `sample` by enough of them
    const most = this.cells ? Most.tried : Most.prefixes;
    for (const view of found) {
      for (let i = (view.at(-1) ?? -1) + 1; i < this.#n; i++) {
        const isEnough = this.cells || this.#n - i >= this.k - view.length;
        if (!isEnough || !this.#fitsIn(view, i)) continue;
        if (found.push([...view, i]) > most + 1) return undefined;
      }
    }
    return found.filter((view) => this.canDraw(view));
  }

  mostOf(amounts: Amounts, fold: Fold, among: (position: number) => boolean): bigint {
    const each = range(this.#n).filter(among).map(amounts(this.k));
    return fold(descending(each).slice(0, this.k));
  }
}

/** Sets of attributes, each as often as its weight has it. */
class Listed extends ViewRule {
  readonly sizes: readonly number[];
  readonly #known: ReadonlySet<string>;
  readonly #total: number;

  constructor(
    readonly sets: readonly View[],
    readonly weights: readonly number[],
    override readonly isWhole = false,
  ) {
    super();
    this.sizes = [...new Set(sets.map(({ length }) => length))];
    this.#known = new Set(sets.map(String));
    this.#total = sum(weights);
    need(this.#known.size === sets.length && sets.length && this.#total <= Most.weight);
  }

  fits(): boolean {
    return true;
  }

  mayBeKept(): boolean {
    const { sets, weights } = this;
    const isCommon = weights.every((weight) => weight * Most.keptShares >= this.#total);
    return sets.length <= Most.keptSets && isCommon;
  }

  draw(randomness: Randomness): View {
    let left = randomness.below(this.#total);
    let i = 0;
    while (left >= this.weights[i]) left -= this.weights[i++];
    return this.sets[i];
  }

  canDraw(view: View): boolean {
    return this.#known.has(String(view));
  }

  few(): readonly View[] {
    return this.sets;
  }

  mostOf(amounts: Amounts, fold: Fold, among: (position: number) => boolean): bigint {
    return largest(this.sets.map((view) => fold(view.filter(among).map(amounts(view.length)))));
  }
}

/** The members of all kinds, beside the kind. */
interface Members {
  readonly attributes: number;
  readonly cells: number;
  readonly sets: readonly Json[];
}

type Kind = {
  /** Samples of the members. */
  readonly members: object;
  readonly rule: (domain: Domain, members: Members) => ViewRule;
};

const KINDS: Readonly<Record<string, Kind>> = {
  all: { members: {}, rule: ({ sizes }) => new Listed([range(sizes.length)], [1], true) },
  sample: {
    members: { attributes: 0 },
    rule: (domain, { attributes }) => new Growing(domain, attributes),
  },
  fill: { members: { cells: 0 }, rule: (domain, { cells }) => new Growing(domain, 2, cells) },
  listed: { members: { sets: [] }, rule: listed },
};

function listed(domain: Domain, { sets }: Members): ViewRule {
  const each = sets.map((item) => membersOf(item, { attributes: [], weight: 0 }));
  const weights = each.map(({ weight }) => weight);
  const views = each.map(({ attributes }) =>
    attributes.map((name) => domain.position(asText(name))!),
  );
  need(weights.every((weight) => weight > 0));
  for (const view of views) {
    need(view.length && view.every((place, i) => place > (view[i - 1] ?? -1)));
  }
  need(sum(views.map(({ length }) => length)) <= Most.listed);
  return new Listed(views, weights);
}

export function viewOf(value: Json, domain: Domain): ViewRule {
  const { members, rule } = named(KINDS, Object(value).kind);
  return rule(domain, membersOf(value, { kind: "", ...members }) as unknown as Members);
}
