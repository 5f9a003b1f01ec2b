// Campaign: what is asked, how it is randomized, on which terms. Named by the SHA-256 of its bytes; every claim in it is checked.

import { decimalUp, type Loss } from "./budget";
import { Members, parsed, refuse, type Json } from "./canonical";
import { Domain } from "./domain";
import { mechanismOf, type BloomChannel, type Channel, type Mechanism, type Noise } from "./mechanisms";
import { falling, largest, sum } from "./numbers";
import { scheduleOf, type Repeat, type Schedule } from "./schedule";
import { hex, sha256 } from "./sha256";
import { viewOf, type View, type ViewRule } from "./views";

const LONGEST_FILE = 4 * 2 ** 20;
const MOST_OPENED = 2 ** 18;
const MOST_CODED_VIEWS = 4096;
const MOST_TRIED = 2 ** 14;
const LONGEST_REPORT = 65535;
const FEWEST_ALIKE = 100;
export const HEADER_BYTES = 29;

/** The texts of a campaign in one more language. */
export interface Translation {
  readonly title: string;
  readonly description: string;
  readonly consent: string;
  readonly titles: ReadonlyMap<string, string>;
  readonly questions: ReadonlyMap<string, string>;
  readonly labels: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

export interface Terms {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly language: string;
  readonly consent: string;
  readonly licence: string;
  readonly minReports: number;
  readonly retentionDays: number;
  readonly schedule?: Schedule;
  readonly translations: ReadonlyMap<string, Translation>;
}

export class Campaign {
  readonly id: string;
  readonly domain: Domain;
  readonly mechanism: Mechanism;
  readonly view: ViewRule;
  readonly jointly: boolean;
  readonly terms: Terms;
  /** Epsilon of a whole report, never below the truth, in units of 2^-512. */
  readonly loss: Loss;
  /** The same of everything that a device ever sends, for any two histories of answers. */
  readonly lifetimeLoss: Loss;
  private readonly _blocks = new Map<string, Channel>();
  private _coded: readonly View[] = [];

  /** The campaign that these bytes stand for. expectedId: what the person, or the app, was told. */
  static fromBytes(bytes: Uint8Array, { expectedId }: { readonly expectedId?: string } = {}): Campaign {
    return new Campaign(bytes, expectedId);
  }

  private constructor(bytes: Uint8Array, expectedId?: string) {
    this.id = hex(sha256(bytes));
    if (expectedId !== undefined && this.id !== expectedId.toLowerCase()) refuse("id");
    const value = valueOf(bytes), members = new Members(value, "format"), format = members.integer("format");
    members.need(format === 1 || format === 2);
    members.reason = "schema";
    this.domain = new Domain(members.members("schema"));
    const { repeat: asked } = (value as { readonly schedule?: { readonly repeat?: Json } }).schedule ?? {}, repeats = typeof asked === "object" && !Array.isArray(asked);
    if (format !== (repeats ? 2 : this.domain.format)) refuse("format");
    members.reason = "view";
    const privacy = members.members("privacy"), claim = privacy.text("epsilon"), randomize = privacy.text("randomize");
    const lifetimeClaim = repeats && privacy.text("lifetime_epsilon");
    this.jointly = randomize === "jointly";
    members.need(this.jointly || randomize === "separately");
    this.view = viewOf(privacy.members("view"), this.domain);
    privacy.done();
    members.reason = "mechanism";
    this.mechanism = mechanismOf(members.members("mechanism"));
    members.reason = "terms";
    this.terms = termsOf(members, repeats);
    members.reason = "member";
    members.done();
    this._check();
    this.loss = this._lossAmong();
    const { repeat } = this, own = repeat?.isPermanent ? this._lossAmong(undefined, true) : this.loss;
    this.lifetimeLoss = repeat && !repeat.isPermanent ? own * BigInt(repeat.takePart) : own;
    if (claim !== this.epsilon || (repeats && lifetimeClaim !== this.lifetimeEpsilon)) refuse("claim");
    if (!members.isSpeltRight) refuse("canonical");
  }

  /** That its parts go together, in the order of section 3.10. */
  private _check(): void {
    const { domain, view, mechanism, jointly } = this, { bloom, noise, permanent } = mechanism, counts = jointly ? [1] : view.sizes;
    const isPermanent = !!this.repeat?.isPermanent, fits = (each: Noise): boolean => counts.length === each.size && counts.every((n) => each.has(n));
    domain.checkQuestionnaire();
    if (!view.fits(jointly) || (isPermanent && !this._mayKeepViews())) refuse("view");
    checkTranslations(this.terms, domain);
    if (jointly && view.mostCells() > mechanism.largestBlock) refuse("limit");
    if (!fits(noise) || !!permanent !== isPermanent || (permanent && !fits(permanent)) || (bloom && !bloom.fits(domain.attributes, jointly))) refuse("mechanism");
    if (mechanism.differs) this._coded = (jointly ? view.few(MOST_CODED_VIEWS, MOST_TRIED) : domain.sizes.map((_, i) => [i])) ?? refuse("limit");
    if (bloom) {
      bloom.checkCodes(this._coded.map((each) => each.map((i) => domain.attributes[i])));
      if (!this._coded.every((each) => this._coder(each).codes.isDistinct)) refuse("codes");
    }
    if (this.longestReport > LONGEST_REPORT) refuse("limit");
  }

  /** A device with a permanent answer keeps its view, which must not single it out. */
  private _mayKeepViews(): boolean {
    const { weights } = this.view;
    return !!weights && weights.every((weight) => this.terms.minReports * weight >= FEWEST_ALIKE * sum(weights));
  }

  private _channel(block: View, nBlocks: number, isBelow = false): Channel {
    const key = `${block}/${nBlocks}${isBelow}`, kept = this._blocks.get(key) ?? this.mechanism.channel(block.map((i) => this.domain.attributes[i]), nBlocks, isBelow);
    if (this._blocks.size >= 2 * MOST_CODED_VIEWS) this._blocks.clear();
    this._blocks.set(key, kept);
    return kept;
  }

  /** Of bloom: the block of a view, or of one attribute, with the codes that decide epsilon. */
  private _coder(block: View): BloomChannel {
    return this._channel(block, this.jointly ? 1 : this.view.sizes[0]) as BloomChannel;
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
  private _lossAmong(those?: ReadonlySet<number>, isBelow = false): Loss {
    const { view, mechanism } = this, among = (i: number): boolean => !those || those.has(i);
    if (!this.jointly) return view.worst((n) => this._losses(n, isBelow), among);
    if (!mechanism.differs) return this.domain.sizes.some((_, i) => among(i) && view.covers(i)) ? this._channel([0], 1, isBelow).lossOf() : 0n;
    const place = (each: View): number | undefined => (those?.size === 1 ? each.findIndex(among) : undefined);
    return largest([0n, ...this._coded.filter((each) => each.some(among)).map((each) => this._channel(each, 1, isBelow).lossOf(place(each)))]);
  }

  /** Of every attribute, randomized separately where so many share the budget. */
  private _losses(nBlocks: number, isBelow: boolean): readonly Loss[] {
    const key = `${nBlocks}${isBelow}`, losses = this._lossesAt.get(key) ?? this._eachLoss(nBlocks, isBelow);
    this._lossesAt.set(key, losses);
    return losses;
  }
  private readonly _lossesAt = new Map<string, readonly Loss[]>();

  private _eachLoss(nBlocks: number, isBelow: boolean): readonly Loss[] {
    const { bloom, differs } = this.mechanism, { sizes } = this.domain, any = this._channel([0], nBlocks, isBelow);
    if (!bloom) return sizes.map((_, i) => (differs ? this._channel([i], nBlocks, isBelow) : any).lossOf());
    const { bitLoss } = any as BloomChannel, distances = (this._distances ??= this._coded.map((each) => BigInt(this._coder(each).codes.distance())));
    return distances.map((distance) => bitLoss * distance);
  }
  private _distances?: readonly bigint[];
}

/** The bytes as JSON, spelt as they must be. */
function valueOf(bytes: Uint8Array): Json {
  if (bytes.length > LONGEST_FILE || bytes.filter((byte) => byte === 0x7b || byte === 0x5b).length > MOST_OPENED) refuse("size");
  let text = "";
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    refuse("json");
  }
  return parsed(text);
}

// ---- terms

const LANGUAGE = /^(?=.{0,100}$)[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/;
const MOST_TRANSLATIONS = 4096;

function termsOf(members: Members, repeats: boolean): Terms {
  const optional = (key: string): string => members.optional(key, "");
  const terms = {
    name: members.text("name"), title: optional("title"), description: optional("description"), consent: optional("consent"), licence: optional("licence"),
    language: members.written("language", "en"), minReports: members.written("min_reports", 1), retentionDays: members.optional("retention_days", 0),
    translations: mapped(members, "translations", (value) => translationOf(members.inner(value)), MOST_TRANSLATIONS),
    schedule: members.has("schedule") ? scheduleOf(members.members("schedule"), repeats) : undefined,
  };
  members.need(/^[a-z0-9][a-z0-9._-]{0,99}$/.test(terms.name) && terms.minReports > 0 && terms.retentionDays >= 0);
  members.need([terms.language, ...terms.translations.keys()].every((tag) => LANGUAGE.test(tag)));
  return terms;
}

/** An object that is left out where it is empty. */
function mapped<T>(members: Members, key: string, read: (value: Json) => T, most = Infinity): Map<string, T> {
  if (!members.has(key)) return new Map();
  const inner = members.members(key);
  members.need(inner.size <= most); // before any is read
  members.note(inner.size > 0);
  return inner.every(read);
}

function translationOf(members: Members): Translation {
  const asText = (value: Json): string => (typeof value === "string" ? value : members.fail()), optional = (key: string): string => members.optional(key, "");
  const translation = {
    title: optional("title"), description: optional("description"), consent: optional("consent"),
    titles: mapped(members, "titles", asText), questions: mapped(members, "questions", asText),
    labels: mapped(members, "labels", (value) => members.inner(value).every(asText)),
  };
  members.done();
  return translation;
}

/** Every question and every candidate that is translated must be there. */
function checkTranslations({ translations }: Terms, { questions }: Domain): void {
  const texts = new Map<string, Set<string>>(), asked = new Map(questions.map((question) => [question.name, question]));
  const known = (name: string): Set<string> => texts.get(name) ?? texts.set(name, new Set(asked.get(name)!.texts())).get(name)!;
  for (const { titles, questions, labels } of translations.values()) {
    const isThere = [...titles.keys(), ...questions.keys(), ...labels.keys()].every((name) => asked.has(name));
    if (!isThere || ![...labels].every(([name, each]) => [...each.keys()].every((text) => known(name).has(text)))) refuse("terms");
  }
}
