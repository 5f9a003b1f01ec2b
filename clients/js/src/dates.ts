// Dates and times of day, each as the period that it lies in (section 3.2).

import { range } from "./numbers";

const MONTHS = "January,February,March,April,May,June,July,August,September,October,November,December".split(",");
const WEEKDAYS = "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday".split(",");
const two = (number: number): string => String(number).padStart(2, "0");
const DAY = 86_400_000;

/** Periods that come again, with all their texts. */
export const CYCLES = new Map<string, readonly string[]>([["monthOfYear", MONTHS], ["weekday", WEEKDAYS], ["hour", range(24).map(two)]]);
/** Periods that come once -> how many of them a year has, what stands before their number. Weeks go on from year to year. */
const SPANS = new Map<string, readonly [number, string]>([["year", [1, ""]], ["quarter", [4, "-Q"]], ["month", [12, "-"]], ["week", [0, "-W"]]]);

/** Whether a date, time or datetime lies in such periods. */
export const hasPeriod = (type: string, period: string): boolean =>
  period === "hour" ? type !== "date" : type !== "time" && (SPANS.has(period) || CYCLES.has(period));

/** The day's number since 1970-01-01; nothing where there is no such day. */
export function dayOf(text: string): number | undefined {
  const day = Date.parse(`${text}T00:00Z`) / DAY;
  return /^\d{4}-\d\d-\d\d$/.test(text) && text >= "0001" && dayText(day) === text ? day : undefined;
}

export const dayText = (day: number): string => (day === day ? new Date(day * DAY).toISOString().slice(0, 10) : "");
const weekOf = (day: number): number => Math.floor((day + 3) / 7);

/** The number of a year's first period; 4 January is in its first week. */
const firstOf = (period: string, year: string): number => SPANS.get(period)![0] * +year || weekOf(dayOf(`${year}-01-04`)!);

/** The text of a period, by its number. */
export function spanText(period: string, number: number): string {
  const [n, sign] = SPANS.get(period)!, year = (n ? String(Math.floor(number / n)) : dayText(7 * number)).slice(0, 4).padStart(4, "0"); // a week is in the year of its Thursday
  const place = String(number - firstOf(period, year) + 1);
  return n === 1 ? year : year + sign + (n === 4 ? place : two(+place));
}

/** The number of a period that is given by its text; nothing where there is no such period. */
export function spanNumber(period: string, text: string): number | undefined {
  const [, year, place = 1] = /^(\d{4})(?:-\D?(\d\d?))?$/.exec(text) ?? [], number = year > "0000" && year < "9999" ? firstOf(period, year) + +place - 1 : NaN;
  return spanText(period, number) === text ? number : undefined;
}

/** The period of an answer as ISO 8601 has it, without a time zone; nothing where it says nothing about that. */
export function periodOf(type: string, period: string, answer: string): string | undefined {
  const [, date, hour] = /^(?:(\d{4}-\d\d-\d\d)(?=T.|$))?(?:T?([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?)?$/.exec(answer) ?? [], day = date ? dayOf(date) : undefined;
  if (answer[0] === "T" || (type === "date") === !!hour || (day === undefined && (date || type !== "time"))) return undefined;
  if (period === "hour") return hour;
  const month = +date.slice(5, 7) - 1, week = weekOf(day!), [n] = SPANS.get(period) ?? [];
  if (n !== undefined) return spanText(period, n ? n * +date.slice(0, 4) + Math.floor((n * month) / 12) : week);
  return period === "weekday" ? WEEKDAYS[day! + 3 - 7 * week] : MONTHS[month];
}
