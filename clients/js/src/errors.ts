// Every error of the client. Names and meanings are those of the Python client; no message ever contains an answer.

/** Why a campaign is refused. The words are part of the format, in the order of the checks. */
export type CampaignRefusal =
  | "id" | "size" | "json" | "canonical" | "format" | "schema" | "view" | "mechanism"
  | "terms" | "member" | "questionnaire" | "limit" | "codes" | "claim";

/** Why a report is refused. */
export type Reason =
  | "json" | "version" | "campaign" | "length" | "slot" | "view" | "padding" | "range" | "weight" | "withdrawn" | "conflict";

/** Anything that LoPub throws on purpose; `reason` where a whole campaign, or a report, was refused. */
export class LopubError extends Error {
  constructor(message: string, readonly reason?: CampaignRefusal | Reason) {
    super(message);
  }
}

/** A campaign, or a request for one, that cannot be. */
export class CampaignError extends LopubError {}

/** A campaign that reveals more than the app, or its user, allows. */
export class EpsilonTooHigh extends CampaignError {}

/** A record that does not fit; names the question, never the answer. */
export class DomainError extends LopubError {}

/** A report to refuse. */
export class ReportRejected extends LopubError {}

/** The browser's storage is blocked, full or damaged. */
export class StoreError extends LopubError {}

/** A collector that refuses a request, or answers otherwise than agreed. */
export class CollectorError extends LopubError {}

/** No answer in time: the same bytes may be sent again. */
export class TryLater extends CollectorError {}

// minifying takes the classes' own names
Object.entries({ LopubError, CampaignError, EpsilonTooHigh, DomainError, ReportRejected, StoreError, CollectorError, TryLater }).forEach(
  ([name, kind]) => (kind.prototype.name = name),
);

/** Refuse a report. */
export function reject(reason: Reason): never {
  throw new ReportRejected(`the report is refused (${reason})`, reason);
}
