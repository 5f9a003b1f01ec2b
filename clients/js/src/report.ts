// Report: one person's noisy answer; bytes in and out (sections 11 and 12).

import { HEADER_BYTES, type Campaign } from "./campaign";
import { reject, type Reason } from "./errors";
import type { Channel } from "./mechanisms";
import { slotOn } from "./schedule";
import { bitAt, flipBit, joined, range, sum } from "./numbers";
import type { Randomness } from "./randomness";
import { hex } from "./sha256";
import type { View } from "./views";

const VERSION = 1;

export class Report {
  private constructor(private readonly _bytes: Uint8Array, private readonly _start: number) {}

  /** The report, or ReportRejected with the reason; the checks in the order of the format. */
  static fromBytes(bytes: Uint8Array, campaign: Campaign): Report {
    const { schedule } = campaign.terms, start = HEADER_BYTES + campaign.maskBytes, report = new Report(bytes.slice(), start), { payload } = report;
    const need = (isRight: boolean, reason: Reason): void => {
      if (!isRight) reject(reason);
    };
    need(bytes.length >= start, "length");
    need(bytes[0] === VERSION, "version");
    need(hex(bytes.slice(1, 9)) === campaign.id.slice(0, 16), "campaign");
    need(!schedule || slotOn(schedule, report.slot) === report.slot, "slot");
    const view = report.view(campaign);
    need(campaign.view.canDraw(view) && view[view.length - 1] < campaign.domain.sizes.length, "view");
    const channels = campaign.channels(view), width = sum(channels.map((channel) => channel.width));
    need(payload.length === Math.ceil(width / 8), "length");
    need(!(width & 7 && payload[payload.length - 1] >> (width & 7)), "padding");
    report._each(channels, (channel, _, at) => channel.check?.(payload, at));
    return report;
  }

  /** A new report: its id, then the view, then each block, drawn in this order from one stream; isBelow: a permanent answer, which has no id. */
  static randomized(campaign: Campaign, candidates: readonly number[], slot: number, randomness: Randomness, isBelow = false): Report {
    const id = isBelow ? [] : randomness.take(16).slice(), view = campaign.view.draw(randomness), channels = campaign.channels(view, isBelow), { sizes } = campaign.domain;
    const report = Report._blank(campaign, slot, campaign.maskBytes + Math.ceil(sum(channels.map(({ width }) => width)) / 8)), { _bytes: bytes } = report;
    bytes.set(id, 9);
    if (campaign.maskBytes) for (const i of view) flipBit(bytes, 8 * HEADER_BYTES + i);
    const whole = view.reduce((cell, i) => cell * BigInt(sizes[i]) + BigInt(candidates[i]), 0n); // domain order, the last attribute fastest
    report._each(channels, (channel, payload, at, i) => channel.randomize(campaign.jointly ? whole : BigInt(candidates[view[i]]), randomness, payload, at));
    return report;
  }

  /** A permanent answer: the view and its blocks' permanent outputs, drawn in this order from one stream. */
  static memorized(campaign: Campaign, candidates: readonly number[], randomness: Randomness): Uint8Array {
    return Report.randomized(campaign, candidates, 0, randomness, true)._bytes.slice(HEADER_BYTES);
  }

  /** A permanent answer as a report without an id, and checked as strictly. */
  static remembered(campaign: Campaign, kept: Uint8Array, slot: number): Report {
    const known = Report._blank(campaign, slot, kept.length);
    known._bytes.set(kept, HEADER_BYTES);
    return Report.fromBytes(known._bytes, campaign);
  }

  /** A report over a permanent answer: its id, then the fresh noise of each block, drawn in this order from one stream. */
  static refreshed(campaign: Campaign, kept: Uint8Array, slot: number, randomness: Randomness): Report {
    const report = Report.remembered(campaign, kept, slot);
    report._bytes.set(randomness.take(16), 9);
    report._each(campaign.channels(report.view(campaign)), (channel, payload, at) => channel.refresh!(randomness, payload, at));
    return report;
  }

  /** Version, campaign and slot, before so many bytes. */
  private static _blank(campaign: Campaign, slot: number, length: number): Report {
    const bytes = new Uint8Array(HEADER_BYTES + length), header = new DataView(bytes.buffer);
    bytes[0] = VERSION;
    header.setBigUint64(1, BigInt(`0x${campaign.id.slice(0, 16)}`));
    header.setUint32(25, slot);
    return new Report(bytes, HEADER_BYTES + campaign.maskBytes);
  }

  /** Do something with each block, where it lies in the payload. */
  private _each(channels: readonly Channel[], work: (channel: Channel, payload: Uint8Array, at: number, i: number) => void): void {
    channels.reduce((at, channel, i) => {
      work(channel, this._bytes.subarray(this._start), at, i);
      return at + channel.width;
    }, 0);
  }

  /** The bytes that are sent and kept. */
  toBytes(): Uint8Array {
    return this._bytes.slice();
  }

  /** 16 random bytes; a retry carries the same. */
  get id(): Uint8Array {
    return this._bytes.slice(9, 25);
  }

  /** Days since 1970-01-01. */
  get slot(): number {
    return new DataView(this._bytes.buffer).getUint32(25);
  }

  get mask(): Uint8Array {
    return this._bytes.slice(HEADER_BYTES, this._start);
  }

  get payload(): Uint8Array {
    return this._bytes.slice(this._start);
  }

  /** The positions of the attributes that this report covers. */
  view(campaign: Campaign): View {
    const { mask } = this;
    return campaign.maskBytes ? range(8 * mask.length).filter((i) => bitAt(mask, i)) : range(campaign.domain.sizes.length);
  }

  /** The JSON twin. */
  toJson(): string {
    const [id, view, payload] = [this.id, this.mask, this.payload].map(base64url);
    return JSON.stringify({ version: VERSION, campaign: hex(this._bytes.slice(1, 9)), id, slot: this.slot, view: view || undefined, payload });
  }
}

export const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (sign) => ({ "+": "-", "/": "_" })[sign] ?? "");

/** Parts one behind the other, each after its length in two bytes: as reports are sent, and everything is kept. */
export const framed = (parts: readonly ArrayLike<number>[]): Uint8Array<ArrayBuffer> => joined(parts.flatMap((part) => [[part.length >> 8, part.length], part]));

/** The parts; refuses bytes that end within one. */
export function unframed(bytes: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let at = 0;
  do {
    const end = at + 2 + bytes[at] * 256 + bytes[at + 1];
    if (!(end <= bytes.length)) reject("length");
    parts.push(bytes.slice(at + 2, end));
    at = end;
  } while (at < bytes.length);
  return parts;
}
