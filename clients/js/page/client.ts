// The client, which a script of its own has brought: its hash can be compared without this page.

import type * as Client from "../src/index";

declare global {
  var lopub: typeof Client;
}

export type { Answers, Attribute, Campaign, Fate, Question, Report } from "../src/index";
export type LopubClient = InstanceType<typeof Client.Client>;
