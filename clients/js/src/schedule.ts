// When reports are made: once within some days, or again and again in rounds (sections 3.5 and 3.11). A slot is a day since 1970-01-01.

import { ANY, isObject, membersOf, need, type Json } from "./canonical";
import { dayOf } from "./dates";
import { Most } from "./limits";

/** Rounds of so many days, one behind the other; a device takes part in some of them. */
export interface Repeat {
  readonly everyDays: number;
  readonly rounds: number;
  readonly takePart: number;
  /** Whether one noisy answer is kept and goes on being used. */
  readonly isPermanent: boolean;
}

/** The first and the last day, as slots, on which a report may be made. */
export interface Schedule {
  readonly opens: number;
  readonly closes: number;
  readonly repeat?: Repeat;
}

/** Days after a round's last one in which a collector still takes its reports, at most. */
export const GRACE_DAYS = 14;

export function scheduleOf(value: Json): Schedule {
  const members = membersOf(value, { opens: "", closes: "", repeat: ANY }), opens = dayOf(members.opens), closes = dayOf(members.closes);
  const repeat = isObject(members.repeat) ? repeatOf(members.repeat) : undefined;
  need(opens >= 0 && (repeat ? closes === opens + repeat.everyDays * repeat.rounds - 1 : members.repeat === "once" && opens <= closes));
  return { opens, closes, repeat };
}

function repeatOf(value: Json): Repeat {
  const { every_days: everyDays, rounds, take_part: takePart, mode } = membersOf(value, { every_days: 0, rounds: 0, take_part: 0, mode: "" }), isPermanent = mode === "permanent";
  need(everyDays > 0 && everyDays <= Most.roundDays && rounds > 1 && rounds <= Most.rounds && takePart > 0 && takePart <= rounds && (isPermanent || mode === "sampled"));
  return { everyDays, rounds, takePart, isPermanent };
}

/** What a report carries that is made on this day: the day, or the first day of its round; nothing outside the schedule. */
export function slotOn({ opens, closes, repeat }: Schedule, day: number): number | undefined {
  return day >= opens && day <= closes ? day - ((day - opens) % (repeat?.everyDays ?? 1)) : undefined;
}
