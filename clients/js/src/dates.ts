// Dates and times of day, each as the period that it lies in (section 3.2).

import { range } from "./numbers";

const MONTHS = "January,February,March,April,May,June,July,August,September,October,November,December".split(",");
const WEEKDAYS = "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday".split(",");
const two = (number: number): string => String(number).padStart(2, "0");
const DAY = 86_400_000;

/** Periods that come again, with all their texts. */
export const CYCLES = new Map<string, readonly string[]>([["monthOfYear", MONTHS], ["weekday", WEEKDAYS], ["hour", range(24).map(two)]]);
/** Periods that come once -> how many days later the next one has begun, how many months they have, how they are written. */
const SPANS = new Map<string, readonly [number, number, RegExp]>([
  ["year", [366, 12, /^(\d{4})()$/]],
  ["quarter", [92, 3, /^(\d{4})-Q([1-4])$/]],
  ["month", [31, 1, /^(\d{4})-(\d\d)$/]],
  ["week", [7, 0, /^(\d{4})-W(\d\d)$/]],
]);

/** Whether a date, time or datetime lies in such periods. */
export const hasPeriod = (type: string, period: string): boolean =>
  period === "hour" ? type !== "date" : type !== "time" && (SPANS.has(period) || CYCLES.has(period));

/** The day's number since 1970-01-01; nothing where there is no such day. */
export function dayOf(text: string): number | undefined {
  const day = Date.parse(`${text}T00:00Z`) / DAY;
  return /^\d{4}-\d\d-\d\d$/.test(text) && text >= "0001" && dayText(day) === text ? day : undefined;
}

export const dayText = (day: number): string => (day === day ? new Date(day * DAY).toISOString().slice(0, 10) : "");
const weekdayOf = (day: number): number => (((day + 3) % 7) + 7) % 7;

function spanText(period: string, day: number): string {
  const text = dayText(day), year = text.slice(0, 4);
  if (period === "year") return year;
  if (period === "quarter") return `${year}-Q${Math.ceil(+text.slice(5, 7) / 3)}`;
  if (period === "month") return text.slice(0, 7);
  const thursday = day - weekdayOf(day) + 3, itsYear = dayText(thursday).slice(0, 4); // the week is in the year of its Thursday
  return `${itsYear}-W${two(Math.floor((thursday - dayOf(`${itsYear}-01-01`)!) / 7) + 1)}`;
}

/** The first day of a period that is given by its text. */
export function firstDay(period: string, text: string): number | undefined {
  const [, months, shape] = SPANS.get(period)!, [, year, number] = shape.exec(text) ?? [];
  if (!year || year > "9998") return undefined;
  const fourth = dayOf(`${year}-01-04`), monday = fourth! - weekdayOf(fourth!) + 7 * +number - 7; // 4 January is in the first week
  const day = months ? dayOf(`${year}-${two(1 + (months % 12) * (+number - 1))}-01`) : monday;
  return day === day && day !== undefined && spanText(period, day) === text ? day : undefined;
}

/** How many periods there are from one first day to another: counted, not listed. */
export function periodsBetween(period: string, start: number, end: number): number {
  const [days, each] = SPANS.get(period)!, months = (day: number): number => 12 * +dayText(day).slice(0, 4) + +dayText(day).slice(5, 7);
  return Math.floor(each ? (months(end) - months(start)) / each : (end - start) / days) + 1;
}

/** The texts of so many periods from a first day on. */
export function periodTexts(period: string, start: number, n: number): string[] {
  return range(n).map(() => {
    const text = spanText(period, start), later = start + SPANS.get(period)![0];
    start = firstDay(period, spanText(period, later))!;
    return text;
  });
}

/** The period of an answer as ISO 8601 has it, without a time zone; nothing where it says nothing about that. */
export function periodOf(type: string, period: string, answer: string): string | undefined {
  const [, date, hour] = /^(?:(\d{4}-\d\d-\d\d)(?=T.|$))?(?:T?([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?)?$/.exec(answer) ?? [], day = date ? dayOf(date) : undefined;
  if (answer[0] === "T" || (type === "date") === !!hour || (day === undefined && (date || type !== "time"))) return undefined;
  if (period === "hour") return hour;
  if (period === "monthOfYear") return MONTHS[+date.slice(5, 7) - 1];
  return period === "weekday" ? WEEKDAYS[weekdayOf(day!)] : spanText(period, day!);
}
