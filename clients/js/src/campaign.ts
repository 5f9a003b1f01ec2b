// Campaign: what is asked, how it is randomized, on which terms. Named by the SHA-256 of its bytes;
// every claim in it is checked.

import { decimalUp, type Loss } from "./budget";
import { hex } from "./bytes";
import { ANY, membersOf, need, parsed } from "./canonical";
import type { Channel } from "./channels";
import { finished, type Block } from "./codes";
import { Domain } from "./domain";
import { ensure } from "./errors";
import { Most } from "./limits";
import { Mechanism, type Noise } from "./mechanism";
import { bigSum, descending, largest, product, sum } from "./numbers";
import type { Repeat } from "./schedule";
import { sha256 } from "./sha256";
import { Terms } from "./terms";
import { viewOf, type Amounts, type View, type ViewRule } from "./views";

/** Milliseconds of work before a page gets its turn. */
const SLICE = 8;

/** Where the parts of a report's header begin (section 11), and how long it is. */
export const enum Header {
  campaign = 1,
  id = 9,
  slot = 25,
  length = 29,
}

const SIGNATURE_BYTES = 256;

export interface LoadOptions {
  /** The id that the person, or the app, was given. */
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
}

export class Campaign {
  readonly id: string;
  readonly domain: Domain;
  readonly mechanism: Mechanism;
  readonly view: ViewRule;
  readonly jointly: boolean;
  readonly terms: Terms;
  readonly maskBytes: number;
  /** Bytes of a report's signature: none where everybody may take part. */
  readonly signatureBytes: number;
  /** Bytes of the longest report that a client may make. */
  readonly longestReport: number;
  /** Epsilon of a whole report for any two records. */
  readonly loss: Loss;
  /** Epsilon of everything that a device ever sends, for any two histories of answers. */
  readonly lifetimeLoss: Loss;
  /** Every block whose epsilon is its own, where blocks differ. */
  readonly #differing: readonly View[];
  readonly #channels = new Map<string, readonly Channel[]>();

  private constructor(parts: Parts, differing: readonly View[]) {
    const { domain, terms, view } = parts;
    this.id = parts.id;
    this.domain = domain;
    this.mechanism = parts.mechanism;
    this.view = view;
    this.jointly = parts.jointly;
    this.terms = terms;
    this.#differing = differing;
    this.maskBytes = view.isWhole ? 0 : (domain.sizes.length + 7) >> 3;
    this.signatureBytes = terms.invitingKeys ? SIGNATURE_BYTES : 0;
    const payload = (mostBits(parts) + 7) >> 3;
    this.longestReport = Header.length + this.maskBytes + payload + this.signatureBytes;
    need(this.longestReport <= Most.reportBytes);
    this.loss = this.#lossAmong();
    this.lifetimeLoss = this.repeat?.isPermanent
      ? this.#lossAmong(undefined, true)
      : this.loss * BigInt(this.repeat?.takePart ?? 1);
  }

  /** The campaign that these bytes stand for. */
  static fromBytes(bytes: Uint8Array, options?: LoadOptions): Campaign {
    return finished(Campaign.#loading(bytes, options));
  }

  /** The same in slices of a few milliseconds, so that a page stays alive meanwhile. */
  static async load(bytes: Uint8Array, options?: LoadOptions): Promise<Campaign> {
    const work = Campaign.#loading(bytes, options);
    let since = 0;
    for (;;) {
      const { done, value } = work.next();
      if (done) return value;
      if (Date.now() - since < SLICE) continue;
      await new Promise((go) => setTimeout(go));
      since = Date.now();
    }
  }

  /** Reads and checks all parts; yields now and then. */
  static *#loading(bytes: Uint8Array, options: LoadOptions = {}): Generator<void, Campaign> {
    ensure(ArrayBuffer.isView(bytes), TypeError, "a campaign is a Uint8Array");
    const { expectedId } = options;
    const id = hex(sha256(bytes), 8);
    need(expectedId === undefined || id === expectedId.toLowerCase(), "id");
    need(bytes.length <= Most.fileBytes && bracketsIn(bytes) <= Most.brackets);
    const value = parsed(bytes);
    const terms = new Terms(value);
    const repeats = !!terms.schedule?.repeat;
    const domain = new Domain(value.schema);
    const { randomize, view, ...claims } = membersOf(value.privacy, {
      randomize: "",
      view: ANY,
      epsilon: "",
      ...(repeats && { lifetime_epsilon: "" }),
    });
    need(/^(joint|separate)ly$/.test(randomize));
    const jointly = randomize === "jointly";
    const mechanism = new Mechanism(value.mechanism);
    const parts = { id, domain, mechanism, view: viewOf(view, domain), jointly, terms };
    checkTogether(parts);
    const differing = differingBlocks(parts);
    for (const each of differing) {
      yield* mechanism.derived(blockOf(domain, each));
      yield;
    }
    const campaign = new Campaign(parts, differing);
    need(claims.epsilon === campaign.epsilon, "claim");
    need(!repeats || claims.lifetime_epsilon === campaign.lifetimeEpsilon, "claim");
    return campaign;
  }

  /** The rounds, where there are any. */
  get repeat(): Repeat | undefined {
    return this.terms.schedule?.repeat;
  }

  /** Epsilon of a whole report: six decimals, rounded up. */
  get epsilon(): string {
    return decimalUp(this.loss);
  }

  /** Epsilon of everything that a device ever sends: six decimals, rounded up. */
  get lifetimeEpsilon(): string {
    return decimalUp(this.lifetimeLoss);
  }

  /** Epsilon of one attribute and what follows from it: six decimals, rounded up. */
  epsilonOf(name: string): string {
    const { domain } = this;
    return decimalUp(this.#lossAmong(domain.following(domain.position(name)!)));
  }

  /**
   * The blocks of a report that covers this view, in the order of its payload; isBelow: of a
   * permanent answer.
   */
  channels(view: View, isBelow = false): readonly Channel[] {
    const key = `${view}/${isBelow}`;
    let found = this.#channels.get(key);
    if (!found) {
      found = this.jointly
        ? [this.#channel(view, 1, isBelow)]
        : view.map((i) => this.#channel([i], view.length, isBelow));
      if (this.#channels.size > Most.codedViews) this.#channels.clear();
      this.#channels.set(key, found);
    }
    return found;
  }

  #channel(block: View, nBlocks: number, isBelow?: boolean): Channel {
    return this.mechanism.channel(blockOf(this.domain, block), nBlocks, isBelow);
  }

  /**
   * Epsilon between records that differ in these attributes only; isBelow: of the permanent answer.
   */
  #lossAmong(those?: ReadonlySet<number>, isBelow?: boolean): Loss {
    const { view, jointly, mechanism } = this;
    const among = (i: number): boolean => !those || those.has(i);
    if (!jointly) {
      const losses: Amounts = (n) => {
        const lossOf = (i: number): Loss => this.#channel([i], n, isBelow).lossOf();
        const any = lossOf(0);
        return mechanism.differs ? lossOf : () => any;
      };
      return view.mostOf(losses, bigSum, among);
    }
    if (!mechanism.differs) {
      const isSeen = view.mostOf(() => () => 1n, bigSum, among);
      return isSeen && this.#channel([0], 1, isBelow).lossOf();
    }
    const isOne = those?.size === 1;
    const losses = this.#differing
      .filter((block) => block.some(among))
      .map((block) => {
        const place = isOne ? block.findIndex(among) : undefined;
        return this.#channel(block, 1, isBelow).lossOf(place);
      });
    return largest([0n, ...losses]);
  }
}

const bracketsIn = (bytes: Uint8Array): number =>
  bytes.filter((byte) => (byte | 32) === 0x7b).length; // { and [

const blockOf = ({ attributes }: Domain, positions: View): Block =>
  positions.map((i) => attributes[i]);

/** A bound on the cells of a view. */
function mostCellsOf(view: ViewRule, sizes: readonly bigint[]): bigint {
  const most = view.mostOf(
    () => (i) => sizes[i],
    product,
    () => true,
  );
  const [, smaller] = descending([product(sizes), largest([BigInt(view.room), most])]);
  return smaller;
}

/** A bound on the bits of a payload. */
function mostBits({ domain, mechanism, view, jointly }: Parts): number {
  const { attributes, sizes } = domain;
  if (jointly) return mechanism.mostWidth(mostCellsOf(view, sizes.map(BigInt)), attributes);
  const widths = attributes.map((each) => mechanism.mostWidth(BigInt(each.size), [each]));
  return sum(descending(widths).slice(0, Math.max(...view.sizes)));
}

/** Refuse parts that do not go together. */
function checkTogether({ domain, mechanism, view, jointly, terms }: Parts): void {
  const isPermanent = !!terms.schedule?.repeat?.isPermanent;
  const counts = jointly ? [1] : view.sizes;
  const fits = (noise: Noise): boolean =>
    counts.length === noise.size && counts.every((n) => noise.has(n));
  domain.checkQuestionnaire();
  need(view.fits(jointly));
  need(!isPermanent || view.mayBeKept(), "view");
  terms.checkTranslations(domain);
  const mostCells = mostCellsOf(view, domain.sizes.map(BigInt));
  need(!jointly || mostCells <= mechanism.largestBlock);
  need(fits(mechanism.noise) && !!mechanism.lower === isPermanent);
  need(!mechanism.lower || fits(mechanism.lower));
  need(mechanism.fits(domain.attributes, jointly));
}

/** The blocks that can occur, where each has an epsilon of its own; refuses too many. */
function differingBlocks({ domain, mechanism, view, jointly }: Parts): readonly View[] {
  if (!mechanism.differs) return [];
  const found = jointly ? view.few() : domain.sizes.map((_, i) => [i]);
  need(found && found.length && found.length <= Most.codedViews);
  need(mechanism.areFew(found.map((each) => blockOf(domain, each))));
  return found;
}
