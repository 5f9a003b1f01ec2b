// The public names: those of the Python client, in camel case.

export { Campaign, type LoadOptions } from "./campaign";
export { Client, type Answers, type ClientOptions, type Outcome } from "./client";
export {
  CampaignError,
  CollectorError,
  DomainError,
  EpsilonTooHigh,
  LopubError,
  ReportRejected,
  StoreError,
  TryLater,
  type CampaignRefusal,
  type Reason,
} from "./errors";
export type { Attribute } from "./attribute";
export type { Comparison } from "./condition";
export type { Domain } from "./domain";
export type { Question } from "./question";
export { Report } from "./report";
export type { Kept, Fate, Round } from "./rounds";
export type { Repeat, Schedule } from "./schedule";
export { fetchCampaign, type SendOptions } from "./sending";
export { IndexedDbStore, MemoryStore, type ClientStore, type Draw, type State } from "./store";
export type { Terms, Translation } from "./terms";
