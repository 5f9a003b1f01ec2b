// Report: one person's noisy answer; bytes in and out (sections 11 and 12).

import { HEADER_BYTES, type Campaign } from "./campaign";
import { ReportRejected, type Reason } from "./errors";
import { bitAt, flipBit, range, sum } from "./numbers";
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
      if (!isRight) throw new ReportRejected(reason);
    };
    need(bytes.length >= start, "length");
    need(bytes[0] === VERSION, "version");
    need(hex(bytes.slice(1, 9)) === campaign.id.slice(0, 16), "campaign");
    need(!schedule || (report.slot >= schedule.opens && report.slot <= schedule.closes), "slot");
    const view = report.view(campaign);
    need(campaign.view.canDraw(view) && view[view.length - 1] < campaign.domain.sizes.length, "view");
    const channels = campaign.channels(view), width = sum(channels.map((channel) => channel.width));
    need(payload.length === Math.ceil(width / 8), "length");
    need(!(width & 7 && payload[payload.length - 1] >> (width & 7)), "padding");
    channels.reduce((at, channel) => {
      channel.check?.(payload, at);
      return at + channel.width;
    }, 0);
    return report;
  }

  /** A new report: its id, then the view, then each block, drawn in this order from one stream. */
  static randomized(campaign: Campaign, candidates: readonly number[], slot: number, randomness: Randomness): Report {
    const id = randomness.take(16).slice(), view = campaign.view.draw(randomness), channels = campaign.channels(view), { sizes } = campaign.domain;
    const start = HEADER_BYTES + campaign.maskBytes, bytes = new Uint8Array(start + Math.ceil(sum(channels.map(({ width }) => width)) / 8)), header = new DataView(bytes.buffer);
    bytes[0] = VERSION;
    header.setBigUint64(1, BigInt(`0x${campaign.id.slice(0, 16)}`));
    bytes.set(id, 9);
    header.setUint32(25, slot);
    if (campaign.maskBytes) for (const i of view) flipBit(bytes, 8 * HEADER_BYTES + i);
    const whole = view.reduce((cell, i) => cell * BigInt(sizes[i]) + BigInt(candidates[i]), 0n); // domain order, the last attribute fastest
    channels.reduce((at, channel, i) => {
      channel.randomize(campaign.jointly ? whole : BigInt(candidates[view[i]]), randomness, bytes.subarray(start), at);
      return at + channel.width;
    }, 0);
    return new Report(bytes, start);
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
