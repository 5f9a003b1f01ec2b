// What is asked, by whom, why, until when it is kept, and what epsilon means for the person.

import { h, type Child } from "./dom";
import { scaleOf } from "./pictures";
import { collectorUrl } from "./place";
import { mostSure } from "./reading";
import { lifetimeOf } from "./rounds";
import type { Wording } from "./wording";

const WEAK = 8;

/** folded: once there is a report, which is what people look at then. isOver: it takes no more answers, so it is not told as open. */
export function introduction(wording: Wording, ownRounds: string, folded: boolean, isOver: boolean): Node[] {
  const { words } = wording, { terms } = wording.campaign, { schedule } = terms, repeat = schedule?.repeat;
  const facts: [string, Child][] = [
    [words.byWhom, collectorUrl && new URL(collectorUrl).host],
    [words.questions, wording.number(wording.campaign.domain.questions.length)],
    [words.until, !isOver && (schedule ? words.days(wording.date(schedule.opens), wording.date(schedule.closes)) : words.anytime)],
    [words.rounds, repeat && `${words.roundsTold(repeat.rounds, repeat.everyDays, repeat.takePart)} ${ownRounds}`],
    [words.kept, terms.retentionDays ? words.keptFor(terms.retentionDays) : words.keptForever],
    [words.needed, terms.minReports > 1 && words.shownFrom(wording.number(terms.minReports))],
    [words.published, terms.licence],
  ];
  const lead = wording.description ? h("p", { class: "lead", ...wording.theirs }, wording.description) : null, title = h("h1", wording.theirs, wording.title);
  const rest = [h("dl", { class: "facts" }, ...facts.filter(([, fact]) => fact).flatMap(([name, fact]) => [h("dt", {}, name), h("dd", {}, fact)])), meaning(wording)];
  return folded ? [h("header", {}, title), h("details", { class: "about" }, h("summary", {}, words.about), lead, ...rest)] : [h("header", {}, title, lead), ...rest];
}

function meaning(wording: Wording): HTMLElement {
  const { words, campaign } = wording, epsilon = lifetimeOf(campaign), sure = mostSure(epsilon), isRepeated = !!campaign.repeat;
  return h("section", { class: "meaning" }, h("h2", {}, words.meaningTitle), h("p", {}, (isRepeated ? words.meaningAll : words.meaning)(wording.percent(sure))), scaleOf(wording, sure),
    h("p", { class: "hint" }, isRepeated ? words.lifetime(short(campaign.epsilon), short(campaign.lifetimeEpsilon)) : words.epsilon(short(campaign.epsilon))),
    epsilon > WEAK ? h("p", { class: "warn" }, words.weak) : null);
}

/** Three decimals, rounded up, without zeros that say nothing. */
const short = (epsilon: string): string => String(Math.ceil(Number(epsilon) * 1000 - 1e-9) / 1000);

export function trust(wording: Wording): HTMLElement {
  const { words } = wording, hash = document.querySelector<HTMLScriptElement>('script[src$="lopub.js"]')?.integrity ?? "";
  return h("details", { class: "other" }, h("summary", {}, words.trustTitle), h("p", {}, words.trust), hash && h("p", { class: "code", dir: "ltr" }, words.trustHash(hash)));
}
