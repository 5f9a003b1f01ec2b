// The client, which a script of its own has brought: its hash can be compared without this page.

import type * as Client from "../src/index";

declare global {
  var lopub: typeof Client;
}

export type { Answers, Campaign, Question, Report } from "../src/index";
export type LopubClient = InstanceType<typeof Client.Client>;

/** What the page reads of a campaign's own bytes, beside what the client says of it. */
export interface Raw {
  readonly schema: { readonly fields: readonly { readonly name: string; readonly period?: string }[] };
  readonly mechanism: { readonly name: string; readonly odds?: Noise<string>; readonly change_units?: Noise<number>; readonly permanent?: unknown };
}

/** Noise by the number of blocks that a report has. */
type Noise<T> = Readonly<Record<string, T>>;
