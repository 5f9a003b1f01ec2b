// Every error of the client. Names and meanings are those of the Python client; no message ever
// contains an answer.

/** Why a campaign is refused; the words are part of the format. */
export type CampaignRefusal = "id" | "format" | "view" | "claim" | "invalid";

/** Why a report is refused. */
export type Reason =
  | "json"
  | "version"
  | "campaign"
  | "length"
  | "slot"
  | "view"
  | "padding"
  | "range"
  | "weight"
  | "withdrawn"
  | "conflict";

/**
 * Anything that LoPub throws on purpose; `reason` where a whole campaign, or a report, was refused.
 */
export class LopubError extends Error {
  override name = "LopubError"; // a minifier shortens the names of classes
  constructor(
    message: string,
    readonly reason?: CampaignRefusal | Reason,
  ) {
    super(message);
  }
}

/** A campaign, or a request for one, that cannot be. */
export class CampaignError extends LopubError {
  override name = "CampaignError";
}

/** A campaign that reveals more than the app, or the person, allows. */
export class EpsilonTooHigh extends CampaignError {
  override name = "EpsilonTooHigh";
}

/** A record that does not fit; names the question, never the answer. */
export class DomainError extends LopubError {
  override name = "DomainError";
}

/** A report to refuse. */
export class ReportRejected extends LopubError {
  override name = "ReportRejected";
}

/** The browser's storage is blocked, full or damaged. */
export class StoreError extends LopubError {
  override name = "StoreError";
}

/** A collector that refuses a request, or answers otherwise than agreed. */
export class CollectorError extends LopubError {
  override name = "CollectorError";
}

/** No answer in time: the same bytes may be sent again. */
export class TryLater extends CollectorError {
  override name = "TryLater";
}

type Kind = new (message: string, reason?: never) => Error;

/** Throw an error unless something is so. */
export function ensure(isSo: unknown, kind: Kind, message: string, reason?: Reason): asserts isSo {
  if (!isSo) throw new kind(message, reason as never);
}

/** Refuse a report unless something is right. */
export function accept(isRight: unknown, reason: Reason): asserts isRight {
  ensure(isRight, ReportRejected, `the report is refused (${reason})`, reason);
}

/** Refuse options that do not exist. */
export function expectNone(options: object): void {
  for (const name in options) throw new TypeError(`unknown option '${name}'`);
}
