// Which attributes one report covers, drawn without a look at the answers (sections 3.3 and 9).

import type { Loss } from "./budget";
import { asText, done, membersOf, need, note, take, type Members } from "./canonical";
import type { Domain } from "./domain";
import { Most } from "./limits";
import { bigSum, falling, largest, product, range, sum } from "./numbers";
import type { Randomness } from "./randomness";

export type View = readonly number[];
/** Number of attributes in a view -> attribute -> its loss where so many share the budget. */
export type Losses = (nAttributes: number) => (position: number) => Loss;

export interface ViewRule {
  readonly isWhole?: boolean;
  /** How often each view is drawn, where a device may keep its view over rounds. */
  readonly weights?: readonly number[];
  /** Whether these attributes allow the rule. */
  fits(jointly: boolean): boolean;
  draw(randomness: Randomness): View;
  canDraw(view: View): boolean;
  /** Every view that can be drawn, each once; nothing where they are too many, or too many sets are looked at to find them. */
  few(most: number, mostTried: number): readonly View[] | undefined;
  /** How many attributes a view may have, where it is randomized separately. */
  readonly sizes: readonly number[];
  mostCells(): bigint;
  /** The largest sum of its attributes' losses that a view can have; among: of these attributes only. */
  worst(losses: Losses, among: (position: number) => boolean): Loss;
  /** Whether some view holds the attribute. */
  covers(position: number): boolean;
}

const ascending = (view: View): View => [...view].sort((a, b) => a - b);

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

/** Sets of attributes, each with a later one for as long as it may grow; nothing where there are more than so many. */
function grown(d: number, most: number, mayGrow: (view: View, i: number) => boolean): View[] | undefined {
  const found: View[] = [[]];
  for (let at = 0; at < found.length; at++) {
    const view = found[at];
    for (let i = (view[view.length - 1] ?? -1) + 1; i < d; i++) if (mayGrow(view, i) && found.push([...view, i]) > most + 1) return undefined;
  }
  return found;
}

function sampled(domain: Domain, k: number): ViewRule {
  const { sizes } = domain, d = sizes.length;
  return {
    fits: () => k > 0 && k <= d,
    draw: (randomness) => ascending(walk(domain, k, randomness)),
    canDraw: (view) => view.length === k,
    few(most) {
      let n = 1; // sets of k attributes, counted before they are listed
      for (let i = 0; i < k; i++) n = (n * (d - i)) / (i + 1);
      return n > most ? undefined : grown(d, Infinity, (view, i) => view.length < k && d - i >= k - view.length)!.filter(this.canDraw);
    },
    sizes: [k],
    mostCells: () => product(falling(sizes).slice(0, k)),
    worst: (losses, among) => bigSum(falling(range(d).filter(among).map(losses(k))).slice(0, k)),
    covers: () => true,
  };
}

function everything(domain: Domain): ViewRule {
  const d = domain.sizes.length;
  return { ...sampled(domain, d), isWhole: true, weights: [1], draw: () => range(d) };
}

function filled(domain: Domain, cells: number): ViewRule {
  const { sizes } = domain, d = sizes.length, times = (view: View): number => view.reduce((total, i) => total * sizes[i], 1);
  const fitsIn = (view: View, i: number): boolean => view.length < 2 || times(view) * sizes[i] <= cells;
  return {
    ...sampled(domain, 2),
    fits: (jointly) => jointly && cells > 3 && d > 1,
    draw: (randomness) => ascending(walk(domain, d, randomness).reduce((view: number[], i) => (fitsIn(view, i) ? [...view, i] : view), [])),
    canDraw: (view) => view.length > 1 && (view.length < 3 || times(view) <= cells) && sizes.every((_, i) => view.includes(i) || !fitsIn(view, i)),
    few(most, mostTried) {
      const found = grown(d, mostTried, fitsIn)?.filter(this.canDraw);
      return found && found.length <= most ? found : undefined;
    },
    mostCells: () => -largest([-product(sizes), -largest([BigInt(cells), product(falling(sizes).slice(0, 2))])]),
  };
}

function listed(domain: Domain, sets: readonly View[], weights: readonly number[]): ViewRule {
  const known = new Set(sets.map(String));
  return {
    weights,
    fits: () => true,
    draw(randomness) {
      let left = randomness.below(sum(weights)), i = 0;
      while (left >= weights[i]) left -= weights[i++];
      return sets[i];
    },
    canDraw: (view) => known.has(String(view)),
    few: (most) => (sets.length > most ? undefined : sets),
    sizes: ascending([...new Set(sets.map(({ length }) => length))]),
    mostCells: () => largest(sets.map((view) => product(view.map((i) => domain.sizes[i])))),
    worst: (losses, among) => largest(sets.map((view) => bigSum(view.filter(among).map(losses(view.length))))),
    covers: (position) => sets.some((view) => view.includes(position)),
  };
}


const RULES: Readonly<Record<string, (domain: Domain, members: Members) => ViewRule>> = {
  all: everything,
  sample: (domain, members) => sampled(domain, take(members, "attributes", 0)),
  fill: (domain, members) => filled(domain, take(members, "cells", 0)),
  listed(domain, members) {
    const weights: number[] = [], sets = take(members, "sets", []).map((item) => {
      const set = membersOf(item), places = take(set, "attributes", []).map((name) => domain.position(asText(name))!), view = ascending(places);
      weights.push(take(set, "weight", 0));
      done(set);
      need(view.length && !places.includes(undefined!) && new Set(view).size === view.length);
      note(String(view) === String(places));
      return view;
    });
    need(sets.length && sum(sets.map(({ length }) => length)) <= Most.listed && new Set(sets.map(String)).size === sets.length);
    need(weights.every((weight) => weight > 0) && sum(weights) <= Most.weight);
    return listed(domain, sets, weights);
  },
};

export function viewOf(members: Members, domain: Domain): ViewRule {
  const kind = take(members, "kind", "");
  need(Object.hasOwn(RULES, kind));
  const rule = RULES[kind](domain, members);
  done(members);
  return rule;
}
