// Dates and times of day, each as the period that it lies in (section 3.2).

import { Most } from "./limits";
import { range } from "./numbers";

const MONTHS = "January,February,March,April,May,June,July,August,September,October,November,December".split(",");
const WEEKDAYS = "Mon,Tues,Wednes,Thurs,Fri,Satur,Sun".split(",").map((name) => `${name}day`);
const DAY = 86_400_000;
const two = (number: number): string => String(number).padStart(2, "0");

/** This day in UTC. */
export const today = (): number => (Date.now() / DAY) | 0;

/** Such as 2026-05-31; empty where there is no such day. */
export const dayText = (day: number): string => new Date(day * DAY).toJSON()?.slice(0, 10) ?? "";

/** The day's number since 1970-01-01; NaN where there is no such day. */
export function dayOf(text: string): number {
  const day = Date.parse(`${text}T00:00Z`) / DAY;
  return text >= "0001" && dayText(day) === text ? day : NaN;
}

/** Periods that come again, with all their texts. */
const CYCLES = new Map<string, readonly string[]>([["monthOfYear", MONTHS], ["weekday", WEEKDAYS], ["hour", range(24).map(two)]]);

/** The period that a day is in, or an hour of it; nothing where there are no such periods, or no such day. */
function spanAt(period: string, day: number, hour?: string): string | undefined {
  const date = dayText(day), year = date.slice(0, 4), month = +date.slice(5, 7);
  const thursday = 7 * Math.floor((day + 3) / 7), own = dayText(thursday).slice(0, 4); // a week is in the year of its Thursday
  const spans = {
    hour,
    year,
    quarter: `${year}-Q${Math.ceil(month / 3)}`,
    month: date.slice(0, 7),
    week: `${own}-W${two((((thursday - dayOf(`${own}-01-01`)) / 7) | 0) + 1)}`,
    monthOfYear: MONTHS[month - 1],
    weekday: WEEKDAYS[day - thursday + 3],
  };
  return date && spans[period as keyof typeof spans];
}

/** The texts of such periods, from the first to the last; nothing where there are none, or too many. */
export function textsOf(type: string, period: string, first: string, last: string): readonly string[] | undefined {
  const cycle = CYCLES.get(period), year = first.slice(0, 4), place = +first.slice(4).replace(/\D/g, "") || 1, texts: string[] = [];
  if ((period === "hour" ? type === "date" : type === "time") || cycle) return first + last ? undefined : cycle;
  let day = period === "week" ? dayOf(`${year}-01-04`) + 7 * place - 7 : dayOf(`${year}-${two(period === "quarter" ? 3 * place - 2 : place)}-01`);
  if (!first || spanAt(period, day) !== first || last >= "9999") return undefined;
  do {
    const text = spanAt(period, day)!;
    if (text !== texts.at(-1)) texts.push(text);
    day += period === "week" ? 7 : 28;
  } while (texts.at(-1)! < last && texts.length <= Most.candidates);
  return texts.at(-1) === last ? texts : undefined;
}

/** The period of an answer as ISO 8601 has it, without a time zone; nothing where it says nothing about that. */
export function periodOf(type: string, period: string, answer: string): string | undefined {
  const whole = type === "date" ? `${answer}T00:00` : type === "time" ? `2000-01-01T${answer}` : answer;
  const [, date = "", hour] = /^(.{10})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/.exec(whole) ?? [], day = dayOf(date);
  return spanAt(period, day, hour);
}
