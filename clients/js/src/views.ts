// Which attributes one report covers, drawn without a look at the answers (sections 3.3 and 9).

import { asText, membersOf, named, need, type Json } from "./canonical";
import type { Domain } from "./domain";
import { Most } from "./limits";
import { ascending, falling, largest, range, sum } from "./numbers";
import type { Randomness } from "./randomness";

export type View = readonly number[];
/** Number of attributes in a view -> attribute -> a number of it where so many share the budget. */
export type Amounts = (nAttributes: number) => (position: number) => bigint;

export interface ViewRule {
  readonly isWhole?: boolean;
  /** How often each view is drawn, where a device may keep its view over rounds. */
  readonly weights?: readonly number[];
  /** To which a view may always grow, where it grows by its cells. */
  readonly room?: number;
  /** How many attributes a view may have, where it is randomized separately. */
  readonly sizes: readonly number[];
  /** Whether these attributes allow the rule. */
  fits(jointly: boolean): boolean;
  draw(randomness: Randomness): View;
  canDraw(view: View): boolean;
  /** Every view that can be drawn, each once; nothing where too many sets are looked at to find them. */
  few(): readonly View[] | undefined;
  /** The largest sum, or product, of its attributes' amounts that a view can have; among: of these attributes only. */
  mostOf(amounts: Amounts, fold: (values: readonly bigint[]) => bigint, among: (position: number) => boolean): bigint;
}

/** The first attributes, so many, of a random order in which a list counts as one question. */
function walk({ questions, sizes }: Domain, n: number, randomness: Randomness): number[] {
  if (!questions.some(({ list }) => list)) return randomness.prefix(sizes.length, n);
  let at = 0;
  const left = questions.map(({ attributes }) => attributes.map(() => at++));
  return range(n).map(() => {
    const i = randomness.below(left.length), [taken] = left[i].splice(randomness.below(left[i].length), 1);
    if (!left[i].length) left.splice(i, 1);
    return taken;
  });
}

/** Attributes in a random order, each taken for as long as there are fewer than k, or their cells stay few. */
function growing(domain: Domain, k: number, cells?: number): ViewRule {
  const { sizes } = domain, d = sizes.length, fitsIn = (view: View, i: number): boolean => view.length < k || view.reduce((total, each) => total * sizes[each], sizes[i]) <= cells!;
  const canDraw = (view: View): boolean => fitsIn(view.slice(1), view[0]) && sizes.every((_, i) => view.includes(i) || !fitsIn(view, i));
  return {
    room: cells,
    sizes: [k],
    fits: (jointly) => (cells === undefined ? k > 0 && k <= d : jointly && cells > 3 && d > 1),
    draw(randomness) {
      const view: number[] = [];
      for (const i of walk(domain, cells ? d : k, randomness)) if (fitsIn(view, i)) view.push(i);
      return ascending(view);
    },
    canDraw,
    few() {
      const found: View[] = [[]]; // each grows by later attributes, of `sample` by enough of them
      for (const view of found) for (let i = (view.at(-1) ?? -1) + 1; i < d; i++) {
        if (fitsIn(view, i) && (cells || d - i >= k - view.length) && found.push([...view, i]) > (cells ? Most.tried : Most.prefixes) + 1) return undefined;
      }
      return found.filter(canDraw);
    },
    mostOf: (amounts, fold, among) => fold(falling(range(d).filter(among).map(amounts(k))).slice(0, k)),
  };
}

/** Sets of attributes, each as often as its weight has it. */
function listed(sets: readonly View[], weights: readonly number[]): ViewRule {
  const known = new Set(sets.map(String)), total = sum(weights);
  need(known.size === sets.length && sets.length && total <= Most.weight);
  return {
    weights,
    sizes: [...new Set(sets.map(({ length }) => length))],
    fits: () => true,
    draw(randomness) {
      let left = randomness.below(total), i = 0;
      while (left >= weights[i]) left -= weights[i++];
      return sets[i];
    },
    canDraw: (view) => known.has(String(view)),
    few: () => sets,
    mostOf: (amounts, fold, among) => largest(sets.map((view) => fold(view.filter(among).map(amounts(view.length))))),
  };
}

/** The members of all kinds, beside the kind. */
interface Members {
  readonly attributes: number;
  readonly cells: number;
  readonly sets: readonly Json[];
}

/** By kind: the samples of its members, and the rule that they describe. */
const RULES: Readonly<Record<string, readonly [object, (domain: Domain, members: Members) => ViewRule]>> = {
  all: [{}, (domain) => ({ ...listed([range(domain.sizes.length)], [1]), isWhole: true })],
  sample: [{ attributes: 0 }, (domain, { attributes }) => growing(domain, attributes)],
  fill: [{ cells: 0 }, (domain, { cells }) => growing(domain, 2, cells)],
  listed: [
    { sets: [] },
    (domain, { sets }) => {
      const each = sets.map((item) => membersOf(item, { attributes: [], weight: 0 }));
      const views = each.map(({ attributes }) => attributes.map((name) => domain.position(asText(name))!)), weights = each.map(({ weight }) => weight);
      need(weights.every((weight) => weight > 0) && views.every((view) => view.length && view.every((place, i) => place > (view[i - 1] ?? -1))) && sum(views.map(({ length }) => length)) <= Most.listed);
      return listed(views, weights);
    },
  ],
};

export function viewOf(value: Json, domain: Domain): ViewRule {
  const [own, make] = named(RULES, Object(value).kind);
  return make(domain, membersOf(value, { kind: "", ...own }) as unknown as Members);
}
