// The classic script: the public names as members of `lopub`.

import {
  Campaign, CampaignError, Client, CollectorError, DomainError, EpsilonTooHigh, IndexedDbStore, LopubError, MemoryStore, Report,
  ReportRejected, StoreError, TryLater, fetchCampaign,
} from "./index";

(globalThis as { lopub?: object }).lopub = {
  Campaign, CampaignError, Client, CollectorError, DomainError, EpsilonTooHigh, IndexedDbStore, LopubError, MemoryStore, Report,
  ReportRejected, StoreError, TryLater, fetchCampaign,
};
