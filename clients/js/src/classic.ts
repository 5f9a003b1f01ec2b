// The classic script: the public names as members of `lopub`.

import {
  Campaign,
  CampaignError,
  Client,
  CollectorError,
  DomainError,
  EpsilonTooHigh,
  IndexedDbStore,
  LopubError,
  MemoryStore,
  Report,
  ReportRejected,
  StoreError,
  TryLater,
  fetchCampaign,
} from "./index";

const names = {
  Campaign,
  CampaignError,
  Client,
  CollectorError,
  DomainError,
  EpsilonTooHigh,
  IndexedDbStore,
  LopubError,
  MemoryStore,
  Report,
  ReportRejected,
  StoreError,
  TryLater,
  fetchCampaign,
};

Object.assign(globalThis, { lopub: names });
