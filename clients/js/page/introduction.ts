// What is asked, by whom, why, until when it is kept, and what epsilon means for the person.

import { h, paragraph, type Child } from "./dom";
import { scaleOf } from "./pictures";
import { collectorUrl, timeOf } from "./place";
import { mostSure } from "./reading";
import { lifetimeOf } from "./rounds";
import type { Wording } from "./wording";

const WEAK = 8;

export interface IntroductionOptions {
  /** The rounds of this device, in words. */
  readonly ownRounds: string;
  /** Once the questions are answered, people look at other things. */
  readonly isFolded: boolean;
  /** Whether no answers are taken any more. */
  readonly isOver: boolean;
}

export function introduction(wording: Wording, options: IntroductionOptions): Node[] {
  const { words } = wording;
  const title = h("h1", wording.theirs, wording.title);
  const lead =
    wording.description && h("p", { class: "lead", ...wording.theirs }, wording.description);
  const rest = [facts(wording, options), meaning(wording)];
  if (!options.isFolded) return [h("header", {}, title, lead), ...rest];
  const about = h("summary", {}, words.about);
  return [h("header", {}, title), h("details", { class: "about" }, about, lead, ...rest)];
}

function facts(wording: Wording, { ownRounds, isOver }: IntroductionOptions): HTMLElement {
  const { words, campaign } = wording;
  const { terms, domain, id } = campaign;
  const { schedule, sendWithinMinutes: minutes } = terms;
  const open = schedule
    ? words.days(wording.date(schedule.opens), wording.date(schedule.closes))
    : words.anytime;
  const rows: [string, Child][] = [
    [words.byWhom, collectorUrl && new URL(collectorUrl).host],
    [words.questions, wording.number(domain.questions.length)],
    [words.until, !isOver && open],
    [words.rounds, roundsIn(wording, ownRounds)],
    [words.sending, minutes && words.sendWithin(minutes)],
    [words.kept, terms.retentionDays ? words.keptFor(terms.retentionDays) : words.keptForever],
    [words.needed, terms.minReports > 1 && words.shownFrom(wording.number(terms.minReports))],
    [words.published, terms.licence],
    [words.id, identity(words.idNote, id)],
  ];
  const shown = rows.filter(([, fact]) => fact);
  const pairs = shown.flatMap(([name, fact]) => [h("dt", {}, name), h("dd", {}, fact)]);
  return h("dl", { class: "facts" }, ...pairs);
}

const identity = (note: string, id: string): HTMLElement =>
  h("span", {}, h("code", { class: "code id", dir: "ltr" }, id), " ", h("small", {}, note));

function roundsIn({ words, campaign }: Wording, ownRounds: string): Child {
  const { repeat } = campaign;
  if (!repeat) return null;
  return `${words.roundsDrawn(repeat.rounds, repeat.everyDays, repeat.takePart)} ${ownRounds}`;
}

function meaning(wording: Wording): HTMLElement {
  const { words, campaign } = wording;
  const epsilon = lifetimeOf(campaign);
  const sure = mostSure(epsilon);
  const sentence = campaign.repeat ? words.meaningAll : words.meaning;
  const [once, all] = [campaign.epsilon, campaign.lifetimeEpsilon].map((e) => wording.epsilon(e));
  return h(
    "section",
    { class: "meaning" },
    h("h2", {}, words.meaningTitle),
    paragraph(sentence(wording.percent(sure))),
    scaleOf(wording, sure),
    paragraph(campaign.repeat ? words.lifetime(once, all) : words.epsilon(once), "hint"),
    epsilon > WEAK && paragraph(words.weak, "warn"),
  );
}

/** Why nothing is asked; empty where there is no reason. */
export function whyNothing(wording: Wording, isClosed: boolean): string {
  const { words, campaign } = wording;
  const { schedule, invitingKeys } = campaign.terms;
  const time = timeOf(campaign);
  if (isClosed) return words.closed;
  if (time < 0) return words.early(wording.date(schedule!.opens));
  if (time > 0) return words.over(wording.date(schedule!.closes));
  return invitingKeys ? words.invited : "";
}

export function trust({ words }: Wording): HTMLElement {
  const script = document.querySelector<HTMLScriptElement>('script[src$="lopub.js"]');
  const hash = script?.integrity;
  return h(
    "details",
    { class: "other" },
    h("summary", {}, words.trustTitle),
    paragraph(words.trust),
    hash && h("p", { class: "code", dir: "ltr" }, words.trustHash(hash)),
  );
}
