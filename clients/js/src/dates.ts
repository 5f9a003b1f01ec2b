// Dates and times of day, each as the period in which it lies (section 3.2).

import { Most } from "./limits";
import { range } from "./numbers";

const MONTHS =
  "January,February,March,April,May,June,July,August,September,October,November,December".split(
    ",",
  );
const WEEKDAYS = "Mon,Tues,Wednes,Thurs,Fri,Satur,Sun".split(",").map((name) => `${name}day`);
const DAY = 86_400_000;
const two = (number: number): string => String(number).padStart(2, "0");

/** This day in UTC. */
export const today = (): number => Math.floor(Date.now() / DAY);

/** Such as 2026-05-31; empty where there is no such day. */
export const dayText = (day: number): string => new Date(day * DAY).toJSON()?.slice(0, 10) ?? "";

/** The day's number since 1970-01-01; NaN where there is no such day. */
export function dayOf(text: string): number {
  const day = Date.parse(`${text}T00:00Z`) / DAY;
  return text >= "0001" && dayText(day) === text ? day : NaN;
}

/** Periods that come again, with all their texts. */
const CYCLES: Readonly<Record<string, readonly string[]>> = {
  monthOfYear: MONTHS,
  weekday: WEEKDAYS,
  hour: range(24).map(two),
};

/**
 * The period of a day, or of an hour of it; undefined where there is no such period, or no such
 * day.
 */
function spanAt(period: string, day: number, hour?: string): string | undefined {
  const date = dayText(day);
  const year = date.slice(0, 4);
  const month = +date.slice(5, 7);
  const thursday = 7 * Math.floor((day + 3) / 7); // a week is in the year of its Thursday
  const weekYear = dayText(thursday).slice(0, 4);
  const week = ((thursday - dayOf(`${weekYear}-01-01`)) / 7) | 0;
  const spans = {
    hour,
    year,
    quarter: `${year}-Q${Math.ceil(month / 3)}`,
    month: date.slice(0, 7),
    week: `${weekYear}-W${two(week + 1)}`,
    monthOfYear: MONTHS[month - 1],
    weekday: WEEKDAYS[day - thursday + 3],
  };
  return date && spans[period as keyof typeof spans];
}

/**
 * The texts of such periods, from the first to the last; undefined where there are none, or too
 * many.
 */
export function textsOf(
  type: string,
  period: string,
  first: string,
  last: string,
): readonly string[] | undefined {
  const cycle = Object.hasOwn(CYCLES, period) ? CYCLES[period] : undefined;
  const isWrong = period === "hour" ? type === "date" : type === "time";
  if (isWrong || cycle) return first + last ? undefined : cycle;
  let day = beginning(period, first);
  if (!first || spanAt(period, day) !== first || last >= "9999") return undefined;
  const texts: string[] = [];
  do {
    const text = spanAt(period, day)!;
    if (text !== texts.at(-1)) texts.push(text);
    day += period === "week" ? 7 : 28;
  } while (texts.at(-1)! < last && texts.length <= Most.candidates);
  return texts.at(-1) === last ? texts : undefined;
}

/** A day of the period with this text. */
function beginning(period: string, text: string): number {
  const year = text.slice(0, 4);
  const place = +text.slice(4).replace(/\D/g, "") || 1;
  if (period === "week") return dayOf(`${year}-01-04`) + 7 * place - 7;
  return dayOf(`${year}-${two(period === "quarter" ? 3 * place - 2 : place)}-01`);
}

/** The period of an answer in ISO 8601, without a time zone; undefined where it names none. */
export function periodOf(type: string, period: string, answer: string): string | undefined {
  const whole =
    type === "date" ? `${answer}T00:00` : type === "time" ? `2000-01-01T${answer}` : answer;
  const found = /^(.{10})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/.exec(whole);
  return found ? spanAt(period, dayOf(found[1]), found[2]) : undefined;
}
