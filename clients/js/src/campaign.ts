// Campaign: what is asked, how it is randomized, on which terms. Named by the SHA-256 of its bytes; every claim in it is checked.

import { decimalUp, type Loss } from "./budget";
import { ANY, at, isObject, membersOf, need, parsed } from "./canonical";
import { finished } from "./codes";
import { ensure } from "./errors";
import { domainOf, type Domain } from "./domain";
import { Least, Most } from "./limits";
import { mechanismOf, type Block, type Channel, type Mechanism, type Noise } from "./mechanisms";
import { bigSum, falling, largest, pause, product, sum } from "./numbers";
import type { Repeat } from "./schedule";
import { hex, sha256 } from "./sha256";
import { checkTranslations, termsOf, type Terms } from "./terms";
import { viewOf, type Amounts, type View, type ViewRule } from "./views";

const SLICE = 8;
export const enum Bytes {
  header = 29,
}

export interface LoadOptions {
  /** What the person, or the app, was told. */
  readonly expectedId?: string;
}

/** What a campaign's bytes say, part by part. */
interface Parts {
  readonly id: string;
  readonly domain: Domain;
  readonly mechanism: Mechanism;
  readonly view: ViewRule;
  readonly jointly: boolean;
  readonly terms: Terms;
  /** The rounds, where there are any. */
  readonly repeat?: Repeat;
}

export interface Campaign extends Parts {}
export class Campaign {
  declare readonly maskBytes: number;
  /** Bytes of the longest report that a client may make. */
  declare readonly longestReport: number;
  /** Epsilon of a whole report, and of everything that a device ever sends: six decimals, rounded up. */
  declare readonly epsilon: string;
  declare readonly lifetimeEpsilon: string;
  /** The latter for any two histories of answers, never below the truth, in units of 2^-512. */
  declare readonly lifetimeLoss: Loss;
  /** Epsilon of one attribute and what follows from it: six decimals, rounded up. */
  declare readonly epsilonOf: (name: string) => string;
  /** The blocks of a report that covers this view, in the order of its payload; isBelow: of a permanent answer. */
  declare readonly channels: (view: View, isBelow?: boolean) => readonly Channel[];

  /** Of parts that are checked already. */
  constructor(parts: object) {
    Object.assign(this, parts);
  }

  /** The campaign that these bytes stand for. */
  static fromBytes(bytes: Uint8Array, options?: LoadOptions): Campaign {
    return finished(loading(bytes, options));
  }

  /** The same, in slices of a few milliseconds where codes are derived: the page stays alive meanwhile. */
  static async load(bytes: Uint8Array, options?: LoadOptions): Promise<Campaign> {
    const work = loading(bytes, options);
    let step, since = 0;
    while (!(step = work.next()).done) if (Date.now() - since > SLICE) {
      await pause();
      since = Date.now();
    }
    return step.value;
  }
}

/** The campaign that these bytes stand for; stops now and then, and names each step anew where others may have loaded a campaign meanwhile. */
function* loading(bytes: Uint8Array, { expectedId }: LoadOptions = {}): Generator<void, Campaign> {
  ensure(ArrayBuffer.isView(bytes), TypeError, "a campaign is a Uint8Array");
  at("id");
  const id = hex(sha256(bytes), 8);
  need(expectedId === undefined || id === expectedId.toLowerCase());
  at("size");
  need(bytes.length <= Most.fileBytes && bytes.filter((byte) => (byte | 32) === 0x7b).length <= Most.opened); // { and [
  const value = parsed(bytes), { format, schedule, schema, privacy, mechanism } = Object(value), repeats = isObject(Object(schedule).repeat);
  at("format");
  need(isObject(value) && (format === 1 || format === 2));
  at("schema");
  const domain = domainOf(schema);
  at("format");
  need(format === (repeats ? 2 : domain.format));
  at("view");
  const { randomize, view, epsilon, lifetime_epsilon: lifetimeEpsilon } = membersOf(privacy, { randomize: "", view: ANY, epsilon: "", ...(repeats && { lifetime_epsilon: "" }) });
  need(/^(joint|separate)ly$/.test(randomize));
  const rule = viewOf(view, domain);
  at("mechanism");
  const noise = mechanismOf(mechanism);
  at("member");
  const terms = termsOf(value), campaign = yield* checked({ id, domain, mechanism: noise, view: rule, jointly: randomize === "jointly", terms, repeat: terms.schedule?.repeat });
  at("claim");
  need(epsilon === campaign.epsilon && (!repeats || lifetimeEpsilon === campaign.lifetimeEpsilon));
  return campaign;
}

/** A bound on the cells of a view. */
const mostCellsOf = (view: ViewRule, sizes: readonly bigint[]): bigint => falling([product(sizes), largest([BigInt(view.room ?? 0), view.mostOf(() => (i) => sizes[i], product, () => true)])])[1];

/** A campaign of parts that go together, in the order of section 3.10. */
function* checked(parts: Parts): Generator<void, Campaign> {
  const { domain, view, mechanism, jointly, terms, repeat } = parts, { attributes, sizes } = domain, { noise, lower, differs } = mechanism, { weights } = view, isPermanent = !!repeat?.isPermanent;
  const counts = jointly ? [1] : view.sizes, fits = (each: Noise): boolean => counts.length === each.size && counts.every((n) => each.has(n));
  at("questionnaire");
  domain.checkQuestionnaire();
  at("view"); // one that a device keeps with its permanent answer must not single it out
  need(view.fits(jointly) && (!isPermanent || weights?.every((weight) => terms.minReports * weight >= Least.alike * sum(weights))));
  at("terms");
  checkTranslations(terms, domain);
  at("limit");
  const mostCells = mostCellsOf(view, sizes.map(BigInt));
  need(!jointly || mostCells <= mechanism.largestBlock);
  at("mechanism");
  need(fits(noise) && !!lower === isPermanent && fits(lower ?? noise) && mechanism.fits(attributes, jointly));
  at("limit");
  const differing = (differs && (jointly ? view.few() : sizes.map((_, i) => [i]))) || [], blockOf = (each: View): Block => each.map((i) => attributes[i]), blocks = differing.map(blockOf);
  need(!differs || (blocks.length && blocks.length <= Most.codedViews && mechanism.areFew(blocks)));
  for (const block of blocks) {
    yield* mechanism.derived(block);
    yield;
  }
  at("limit");
  const maskBytes = view.isWhole ? 0 : (sizes.length + 7) >> 3;
  const longestReport = Bytes.header + maskBytes + (((jointly ? mechanism.mostWidth(mostCells) : sum(falling(attributes.map((each) => mechanism.mostWidth(BigInt(each.size), [each]))).slice(0, Math.max(...view.sizes)))) + 7) >> 3);
  need(longestReport <= Most.reportBytes);
  const channel = (block: View, nBlocks: number, isBelow?: boolean): Channel => mechanism.channel(blockOf(block), nBlocks, isBelow), known = new Map<string, readonly Channel[]>();

  /** Epsilon between records that differ in these attributes only; isBelow: of the permanent answer. */
  function lossAmong(those?: ReadonlySet<number>, isBelow?: boolean): Loss {
    const among = (i: number): boolean => !those || those.has(i), losses: Amounts = (n) => {
      const loss = (i: number): Loss => channel([i], n, isBelow).lossOf(), any = loss(0);
      return differs ? loss : () => any;
    };
    if (!jointly) return view.mostOf(losses, bigSum, among);
    if (!differs) return view.mostOf(() => () => 1n, bigSum, among) && losses(1)(0);
    const isOne = those?.size === 1;
    return largest([0n, ...differing.filter((each) => each.some(among)).map((each) => channel(each, 1, isBelow).lossOf(isOne ? each.findIndex(among) : undefined))]);
  }

  const loss = lossAmong(), lifetimeLoss = isPermanent ? lossAmong(undefined, true) : loss * BigInt(repeat?.takePart ?? 1);
  return new Campaign({
    ...parts,
    maskBytes,
    longestReport,
    lifetimeLoss,
    epsilon: decimalUp(loss),
    lifetimeEpsilon: decimalUp(lifetimeLoss),
    epsilonOf: (name: string) => decimalUp(lossAmong(domain.following(domain.position(name)!))),
    channels(view: View, isBelow?: boolean) {
      const key = `${view}/${isBelow}`;
      if (known.size > Most.codedViews) known.clear();
      if (!known.has(key)) known.set(key, jointly ? [channel(view, 1, isBelow)] : view.map((i) => channel([i], view.length, isBelow)));
      return known.get(key)!;
    },
  });
}
