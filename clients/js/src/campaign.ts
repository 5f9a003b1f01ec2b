// Campaign: what is asked, how it is randomized, on which terms. Named by the SHA-256 of its bytes; every claim in it is checked.

import { decimalUp, type Loss } from "./budget";
import { at, done, isObject, isSpelling, membersOf, need, parsed, take, type Json } from "./canonical";
import { finished } from "./codes";
import { Domain } from "./domain";
import { Least, Most } from "./limits";
import { mechanismOf, type Channel, type Mechanism, type Noise } from "./mechanisms";
import { falling, largest, sum } from "./numbers";
import type { Repeat } from "./schedule";
import { hex, sha256 } from "./sha256";
import { checkTranslations, termsOf, type Terms } from "./terms";
import { viewOf, type View, type ViewRule } from "./views";

const SLICE = 8;
export const HEADER_BYTES = 29;

export interface LoadOptions {
  /** What the person, or the app, was told. */
  readonly expectedId?: string;
}

export class Campaign {
  readonly id: string;
  readonly domain: Domain;
  readonly mechanism: Mechanism;
  readonly view: ViewRule;
  readonly jointly: boolean;
  readonly terms: Terms;
  /** Epsilon of a whole report, never below the truth, in units of 2^-512. */
  loss = 0n;
  /** The same of everything that a device ever sends, for any two histories of answers. */
  lifetimeLoss = 0n;
  private readonly _channels = new Map<string, Channel>();
  /** The blocks whose epsilons differ: every view, or every attribute. */
  private _differing: readonly View[] = [];

  private readonly _claims: readonly string[];
  private readonly _isSpeltRight: boolean;

  /** The campaign that these bytes stand for. */
  static fromBytes(bytes: Uint8Array, options?: LoadOptions): Campaign {
    const campaign = new Campaign(bytes, options);
    finished(campaign._checked());
    return campaign;
  }

  /** The same, in slices of a few milliseconds where codes are derived: the page stays alive meanwhile. */
  static async load(bytes: Uint8Array, options?: LoadOptions): Promise<Campaign> {
    const campaign = new Campaign(bytes, options), work = campaign._checked();
    for (let since = performance.now(); !work.next().done; ) {
      if (performance.now() - since < SLICE) continue;
      await new Promise((done) => setTimeout(done));
      since = performance.now();
    }
    return campaign;
  }

  private constructor(bytes: Uint8Array, { expectedId }: LoadOptions = {}) {
    if (!ArrayBuffer.isView(bytes)) throw new TypeError("a campaign is a Uint8Array");
    at("id");
    this.id = hex(sha256(bytes), 8);
    need(expectedId === undefined || this.id === expectedId.toLowerCase());
    const value = valueOf(bytes);
    at("format");
    const members = membersOf(value), format = take(members, "format", 0), { schedule } = value as { readonly schedule?: { readonly repeat?: Json } }, repeats = isObject(schedule?.repeat);
    need(format === 1 || format === 2);
    at("schema");
    this.domain = new Domain(membersOf(take(members, "schema")));
    at("format");
    need(format === (repeats ? 2 : this.domain.format));
    at("view");
    const privacy = membersOf(take(members, "privacy")), [randomize, ...claims] = ["randomize", "epsilon", ...(repeats ? ["lifetime_epsilon"] : [])].map((key) => take(privacy, key, ""));
    this.jointly = randomize === "jointly";
    need(this.jointly || randomize === "separately");
    this.view = viewOf(membersOf(take(privacy, "view")), this.domain);
    done(privacy);
    at("mechanism");
    this.mechanism = mechanismOf(membersOf(take(members, "mechanism")));
    at("terms");
    this.terms = termsOf(members);
    at("member");
    done(members);
    this._claims = claims;
    this._isSpeltRight = isSpelling();
  }

  /** That its parts go together, in the order of section 3.10; each step is named anew where others may have loaded a campaign meanwhile. */
  private *_checked(): Generator<void> {
    const { domain, view, mechanism, jointly, terms } = this, { noise, permanent, derived } = mechanism, counts = jointly ? [1] : view.sizes, isPermanent = !!this.repeat?.isPermanent;
    const fits = (each: Noise): boolean => counts.length === each.size && counts.every((n) => each.has(n)), blockOf = (each: View): Domain["attributes"] => each.map((i) => domain.attributes[i]);
    at("questionnaire");
    domain.checkQuestionnaire();
    at("view"); // one that a device keeps with its permanent answer must not single it out
    need(view.fits(jointly) && (!isPermanent || view.weights?.every((weight) => terms.minReports * weight >= Least.alike * sum(view.weights!))));
    at("terms");
    checkTranslations(terms, domain);
    at("limit");
    need(!jointly || view.mostCells() <= mechanism.largestBlock);
    at("mechanism");
    need(fits(noise) && !!permanent === isPermanent && fits(permanent ?? noise) && (mechanism.fits?.(domain.attributes, jointly) ?? true));
    at("limit");
    if (mechanism.differs) this._differing = (jointly ? view.few(Most.codedViews, Most.tried) : domain.sizes.map((_, i) => [i])) ?? [];
    const blocks = this._differing.map(blockOf);
    need((!mechanism.differs || blocks.length) && (mechanism.areFew?.(blocks) ?? true));
    for (const block of derived ? blocks : []) {
      const { isDistinct } = yield* derived!(block);
      at("codes");
      need(isDistinct);
      yield;
    }
    at("limit");
    need(this.longestReport <= Most.reportBytes);
    const { repeat, _claims: claims } = this;
    this.loss = this._lossAmong();
    this.lifetimeLoss = isPermanent ? this._lossAmong(undefined, true) : this.loss * BigInt(repeat?.takePart ?? 1);
    at("claim");
    need(claims[0] === this.epsilon && (claims[1] ?? this.lifetimeEpsilon) === this.lifetimeEpsilon);
    at("canonical");
    need(this._isSpeltRight);
  }

  private _channel(block: View, nBlocks: number, isBelow = false): Channel {
    const key = `${block}/${nBlocks}${isBelow}`, kept = this._channels.get(key) ?? this.mechanism.channel(block.map((i) => this.domain.attributes[i]), nBlocks, isBelow);
    if (this._channels.size >= 2 * Most.codedViews) this._channels.clear();
    this._channels.set(key, kept);
    return kept;
  }

  /** The blocks of a report that covers this view, in the order of its payload; isBelow: of a permanent answer. */
  channels(view: View, isBelow = false): readonly Channel[] {
    return this.jointly ? [this._channel(view, 1, isBelow)] : view.map((i) => this._channel([i], view.length, isBelow));
  }

  /** The rounds, where there are any. */
  get repeat(): Repeat | undefined {
    return this.terms.schedule?.repeat;
  }

  get maskBytes(): number {
    return this.view.isWhole ? 0 : (this.domain.sizes.length + 7) >> 3;
  }

  /** Bytes of the longest report that a client may make. */
  get longestReport(): number {
    const { view, mechanism } = this, widths = (): number[] => falling(this.domain.attributes.map((each) => mechanism.mostWidth(BigInt(each.size), [each])));
    const width = this.jointly ? mechanism.mostWidth(view.mostCells()) : sum(widths().slice(0, Math.max(...view.sizes)));
    return HEADER_BYTES + this.maskBytes + Math.ceil(width / 8);
  }

  // ---- what it reveals

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
    return decimalUp(this._lossAmong(this.domain.following(this.domain.position(name)!)));
  }

  /** Epsilon between records that differ in these attributes only; isBelow: of the permanent answer. */
  private _lossAmong(those?: ReadonlySet<number>, isBelow?: boolean): Loss {
    const { view, mechanism, domain } = this, among = (i: number): boolean => !those || those.has(i);
    const losses = (n: number): ((i: number) => Loss) => {
      const loss = (i: number): Loss => mechanism.channel([domain.attributes[i]], n, isBelow).lossOf(), any = loss(0);
      return mechanism.differs ? loss : () => any;
    };
    if (!this.jointly) return view.worst(losses, among);
    if (!mechanism.differs) return domain.sizes.some((_, i) => among(i) && view.covers(i)) ? this._channel([0], 1, isBelow).lossOf() : 0n;
    const place = (each: View): number | undefined => (those?.size === 1 ? each.findIndex(among) : undefined);
    return largest([0n, ...this._differing.filter((each) => each.some(among)).map((each) => this._channel(each, 1, isBelow).lossOf(place(each)))]);
  }

}

/** The bytes as JSON, spelt as they must be. */
function valueOf(bytes: Uint8Array): Json {
  at("size");
  let opened = 0;
  for (const byte of bytes) if (byte === 0x7b || byte === 0x5b) opened++;
  need(bytes.length <= Most.fileBytes && opened <= Most.opened);
  at("json");
  let text: string | undefined;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {}
  need(text !== undefined);
  return parsed(text);
}
