// Report: one person's noisy answer; bytes in and out (sections 11 and 12).

import { base64url, hex, onesIn } from "./bytes";
import { Header, type Campaign } from "./campaign";
import type { Channel, Places } from "./channels";
import { accept } from "./errors";
import { range, sum } from "./numbers";
import type { View } from "./views";

export const VERSION = 1;

export class Report {
  readonly #bytes: Uint8Array;
  readonly #campaign: Campaign;

  /** Of bytes that are checked already. */
  constructor(bytes: Uint8Array, campaign: Campaign) {
    this.#bytes = bytes;
    this.#campaign = campaign;
  }

  /** The report, or ReportRejected with the reason; the checks in the order of the format. */
  static fromBytes(given: Uint8Array, campaign: Campaign): Report {
    const bytes = given.slice();
    const { maskBytes, view: rule, domain, terms } = campaign;
    const start = Header.length + maskBytes + campaign.signatureBytes;
    accept(bytes.length >= start, "length");
    accept(bytes[0] === VERSION, "version");
    accept(hex(bytes.slice(Header.campaign, Header.id)) === campaign.id.slice(0, 16), "campaign");
    const slot = slotIn(bytes);
    accept(!terms.schedule || terms.schedule.slotOn(slot) === slot, "slot");
    const view = viewIn(bytes, campaign);
    accept(rule.canDraw(view) && view.at(-1)! < domain.sizes.length, "view");
    const channels = campaign.channels(view);
    const width = widthOf(channels);
    accept(bytes.length === start + ((width + 7) >> 3), "length");
    const last = bytes.at(-1 - campaign.signatureBytes)!;
    accept(!(width & 7 && last >> (width & 7)), "padding");
    for (const { channel, ones } of blocksIn(bytes, campaign)) {
      const reason = channel.refusal(ones);
      if (reason) accept(false, reason);
    }
    return new Report(bytes, campaign);
  }

  /** 16 random bytes; a retry carries the same. */
  get id(): Uint8Array {
    return this.#bytes.slice(Header.id, Header.slot);
  }

  /** Days since 1970-01-01. */
  get slot(): number {
    return slotIn(this.#bytes);
  }

  get payload(): Uint8Array {
    return this.#bytes.slice(Header.length + this.#campaign.maskBytes, this.#end);
  }

  /**
   * Shows that its sender was invited; empty where everybody may take part. Only its length is
   * checked.
   */
  get signature(): Uint8Array {
    return this.#bytes.slice(this.#end);
  }

  get #end(): number {
    return this.#bytes.length - this.#campaign.signatureBytes;
  }

  /** The bytes that are sent and kept. */
  toBytes(): Uint8Array {
    return this.#bytes.slice();
  }

  /** The JSON twin. */
  toJson(): string {
    const { id, maskBytes } = this.#campaign;
    const mask = this.#bytes.slice(Header.length, Header.length + maskBytes);
    return JSON.stringify({
      version: VERSION,
      campaign: id.slice(0, 16),
      id: base64url(this.id),
      slot: this.slot,
      payload: base64url(this.payload),
      view: base64url(mask) || undefined,
      signature: base64url(this.signature) || undefined,
    });
  }

  /** The positions of the attributes that this report covers. */
  view(campaign: Campaign): View {
    return viewIn(this.#bytes, campaign);
  }

  /** Each block with the places of its ones. */
  blocks(campaign: Campaign): OneBlock[] {
    return blocksIn(this.#bytes, campaign);
  }
}

/** A block as it lies in a report. */
export interface OneBlock {
  readonly channel: Channel;
  /** The bit of the report at which it begins. */
  readonly at: number;
  readonly ones: Places;
}

const slotIn = (bytes: Uint8Array): number =>
  new DataView(bytes.buffer, bytes.byteOffset).getUint32(Header.slot);

const viewIn = (bytes: Uint8Array, { maskBytes, domain }: Campaign): View =>
  maskBytes ? onesIn(bytes, 8 * Header.length, 8 * maskBytes) : range(domain.sizes.length);

export const widthOf = (channels: readonly Channel[]): number =>
  sum(channels.map(({ width }) => width));

export function blocksIn(bytes: Uint8Array, campaign: Campaign): OneBlock[] {
  let next = 8 * (Header.length + campaign.maskBytes);
  return campaign.channels(viewIn(bytes, campaign)).map((channel) => {
    const at = next;
    next += channel.width;
    return { channel, at, ones: onesIn(bytes, at, channel.width) };
  });
}
