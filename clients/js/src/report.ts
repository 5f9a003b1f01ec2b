// Report: one person's noisy answer; bytes in and out (sections 11 and 12).

import { Bytes, type Campaign } from "./campaign";
import { accept, type Reason } from "./errors";
import type { Channel } from "./mechanisms";
import { joined, onesIn, range, sum, turnOver } from "./numbers";
import type { Randomness } from "./randomness";
import { slotOn } from "./schedule";
import { hex } from "./sha256";
import type { View } from "./views";

const enum Format {
  version = 1,
}

export class Report {
  /** 16 random bytes; a retry carries the same. */
  declare readonly id: Uint8Array;
  /** Days since 1970-01-01. */
  declare readonly slot: number;
  declare readonly payload: Uint8Array;
  /** The bytes that are sent and kept. */
  declare readonly toBytes: () => Uint8Array;
  /** The positions of the attributes that this report covers. */
  declare readonly view: (campaign: Campaign) => View;
  /** The JSON twin. */
  declare readonly toJson: () => string;

  /** Of bytes that are checked already. */
  constructor(bytes: Uint8Array, campaign: Campaign) {
    const start = Bytes.header + campaign.maskBytes, parts = [[9, 25], [Bytes.header, start], [start]].map(([from, to]) => bytes.slice(from, to)), [id, , payload] = parts, slot = slotIn(bytes);
    Object.assign(this, {
      id,
      slot,
      payload,
      toBytes: () => bytes.slice(),
      view: () => viewIn(bytes, campaign),
      toJson() {
        const [id, view, payload] = parts.map(base64url);
        return JSON.stringify({ version: Format.version, campaign: campaign.id.slice(0, 16), id, slot, view: view || undefined, payload });
      },
    });
  }

  /** The report, or ReportRejected with the reason; the checks in the order of the format. */
  static fromBytes(given: Uint8Array, campaign: Campaign): Report {
    const { schedule } = campaign.terms, bytes = given.slice(), start = Bytes.header + campaign.maskBytes;
    accept(bytes.length >= start, "length");
    accept(bytes[0] === Format.version, "version");
    accept(hex(bytes.slice(1, 9)) === campaign.id.slice(0, 16), "campaign");
    accept(!schedule || slotOn(schedule, slotIn(bytes)) === slotIn(bytes), "slot");
    const view = viewIn(bytes, campaign);
    accept(campaign.view.canDraw(view) && view.at(-1)! < campaign.domain.sizes.length, "view");
    const channels = campaign.channels(view), width = widthOf(channels);
    accept(bytes.length === start + ((width + 7) >> 3), "length");
    accept(!(width & 7 && bytes.at(-1)! >> (width & 7)), "padding");
    each(bytes, campaign, channels, (channel, ones) => {
      const reason = channel.refusal?.(ones);
      accept(!reason, reason as Reason);
      return [];
    });
    return new Report(bytes, campaign);
  }
}

const slotIn = (bytes: Uint8Array): number => new DataView(bytes.buffer).getUint32(25);
const viewIn = (bytes: Uint8Array, { maskBytes, domain }: Campaign): View => (maskBytes ? onesIn(bytes, 8 * Bytes.header, 8 * maskBytes) : range(domain.sizes.length));
const widthOf = (channels: readonly Channel[]): number => sum(channels.map(({ width }) => width));

/** Turn over in each block what comes of its ones. */
function each(bytes: Uint8Array, { maskBytes }: Campaign, channels: readonly Channel[], work: (channel: Channel, ones: readonly number[], i: number) => readonly number[]): void {
  let at = 8 * (Bytes.header + maskBytes);
  channels.forEach((channel, i) => {
    turnOver(bytes, at, work(channel, onesIn(bytes, at, channel.width), i));
    at += channel.width;
  });
}

/** Mask and payload behind a header. */
function headed(campaign: Campaign, slot: number, id: ArrayLike<number>, rest: Uint8Array): Uint8Array {
  const bytes = joined([new Uint8Array(Bytes.header), rest]), header = new DataView(bytes.buffer);
  bytes[0] = Format.version;
  header.setBigUint64(1, BigInt(`0x${campaign.id.slice(0, 16)}`));
  bytes.set(id, 9);
  header.setUint32(25, slot);
  return bytes;
}

/** The bytes of a new report: its id, then the view, then each block, drawn in this order from one stream; isBelow: a permanent answer, which has no id, and no header. */
export function drawn(campaign: Campaign, candidates: readonly number[], slot: number, randomness: Randomness, isBelow?: boolean): Uint8Array {
  const id = isBelow ? [] : randomness.take(16), view = campaign.view.draw(randomness), channels = campaign.channels(view, isBelow), { domain: { sizes }, maskBytes, jointly } = campaign;
  const bytes = headed(campaign, slot, id, new Uint8Array(maskBytes + ((widthOf(channels) + 7) >> 3)));
  if (maskBytes) turnOver(bytes, 8 * Bytes.header, view);
  const whole = view.reduce((cell, i) => cell * BigInt(sizes[i]) + BigInt(candidates[i]), 0n); // domain order, the last attribute fastest
  each(bytes, campaign, channels, (channel, _, i) => channel.draw(jointly ? whole : BigInt(candidates[view[i]]), randomness));
  return bytes.slice(isBelow ? Bytes.header : 0);
}

/** A permanent answer as a report without an id, and checked as strictly. */
export const remembered = (campaign: Campaign, kept: Uint8Array, slot: number): Report => Report.fromBytes(headed(campaign, slot, [], kept), campaign);

/** The bytes of a report over a permanent answer: its id, then the fresh noise of each block, drawn in this order from one stream. */
export function refreshed(campaign: Campaign, kept: Uint8Array, slot: number, randomness: Randomness): Uint8Array {
  const bytes = remembered(campaign, kept, slot).toBytes();
  bytes.set(randomness.take(16), 9);
  each(bytes, campaign, campaign.channels(viewIn(bytes, campaign)), (channel, ones) => channel.refresh!(ones, randomness));
  return bytes;
}

export const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");

/** Parts one behind the other, each after its length in two bytes: as reports are sent, and everything is kept. */
export const framed = (parts: readonly ArrayLike<number>[]): Uint8Array<ArrayBuffer> => joined(parts.flatMap((part) => [[part.length >> 8, part.length], part]));

/** The parts; refuses bytes that end within one. */
export function unframed(bytes: Uint8Array): Uint8Array[] {
  const end = 2 + bytes[0] * 256 + bytes[1];
  accept(end <= bytes.length, "length");
  return [bytes.slice(2, end), ...(end < bytes.length ? unframed(bytes.slice(end)) : [])];
}
