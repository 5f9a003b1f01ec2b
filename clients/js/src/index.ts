// The public names: those of the Python client, in camel case.

export { Campaign, type LoadOptions } from "./campaign";
export { Client, type Answers, type ClientOptions } from "./client";
export {
  CampaignError, CollectorError, DomainError, EpsilonTooHigh, LopubError, ReportRejected, StoreError, TryLater,
  type CampaignRefusal, type Reason,
} from "./errors";
export type { Attribute, Question } from "./questions";
export { Report } from "./report";
export type { Repeat, Schedule } from "./schedule";
export type { Terms, Translation } from "./terms";
export { fetchCampaign, type Patience, type SendOptions } from "./sending";
export { IndexedDbStore, MemoryStore, type ClientStore, type Draw, type State } from "./stores";
