// From candidates to a report: the draws of one report, in the order of section 11.

import { joined, turnOver } from "./bytes";
import { Header, type Campaign } from "./campaign";
import type { Randomness } from "./randomness";
import { Report, VERSION, blocksIn, widthOf } from "./report";

/** Mask and payload behind a header. */
function headed(campaign: Campaign, id: ArrayLike<number>, slot: number, rest: Uint8Array) {
  const bytes = joined([new Uint8Array(Header.length), rest]);
  const header = new DataView(bytes.buffer);
  bytes[0] = VERSION;
  header.setBigUint64(Header.campaign, BigInt(`0x${campaign.id.slice(0, 16)}`));
  bytes.set(id, Header.id);
  header.setUint32(Header.slot, slot);
  return bytes;
}

/**
 * Mask and payload: the view, then each block, drawn in this order; isBelow: of a permanent answer.
 */
function drawn(
  campaign: Campaign,
  candidates: readonly number[],
  randomness: Randomness,
  isBelow?: boolean,
): Uint8Array {
  const { domain, maskBytes, jointly, view: rule } = campaign;
  const view = rule.draw(randomness);
  const channels = campaign.channels(view, isBelow);
  const bytes = new Uint8Array(maskBytes + ((widthOf(channels) + 7) >> 3));
  if (maskBytes) turnOver(bytes, 0, view);
  // in domain order, the last attribute fastest
  const whole = view.reduce(
    (cell, i) => cell * BigInt(domain.sizes[i]) + BigInt(candidates[i]),
    0n,
  );
  let at = 8 * maskBytes;
  channels.forEach((channel, i) => {
    const cell = jointly ? whole : BigInt(candidates[view[i]]);
    turnOver(bytes, at, channel.draw(cell, randomness));
    at += channel.width;
  });
  return bytes;
}

/** A new report. */
export function randomized(
  campaign: Campaign,
  candidates: readonly number[],
  reportId: ArrayLike<number>,
  slot: number,
  randomness: Randomness,
): Report {
  const rest = drawn(campaign, candidates, randomness);
  return new Report(headed(campaign, reportId, slot, rest), campaign);
}

/** A permanent answer: mask and payload under the noise that is drawn once. */
export const memorized = (
  campaign: Campaign,
  candidates: readonly number[],
  randomness: Randomness,
): Uint8Array => drawn(campaign, candidates, randomness, true);

/** A permanent answer as a report without an id, checked as strictly. */
export const remembered = (campaign: Campaign, permanent: Uint8Array, slot: number): Report =>
  Report.fromBytes(headed(campaign, [], slot, permanent), campaign);

/** A new report over a permanent answer: the fresh noise of each block. */
export function refreshed(
  campaign: Campaign,
  permanent: Uint8Array,
  reportId: ArrayLike<number>,
  slot: number,
  randomness: Randomness,
): Report {
  const bytes = headed(campaign, reportId, slot, permanent);
  for (const { channel, at, ones } of blocksIn(bytes, campaign)) {
    turnOver(bytes, at, channel.refresh(ones, randomness));
  }
  return new Report(bytes, campaign);
}
