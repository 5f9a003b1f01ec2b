// When reports are made: once within some days, or again and again in rounds (sections 3.5 and 3.11). A slot is a day since 1970-01-01.

import type { Members } from "./canonical";
import { dayOf } from "./dates";

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

export function scheduleOf(members: Members, repeats: boolean): Schedule {
  const [opens, closes] = ["opens", "closes"].map((key) => dayOf(members.text(key)) ?? members.fail());
  const repeat = repeats ? repeatOf(members.members("repeat")) : undefined;
  members.need(repeat ? closes === opens + repeat.everyDays * repeat.rounds - 1 : members.written("repeat", "once") === "once" && opens <= closes);
  members.need(opens >= 0);
  members.done();
  return { opens, closes, repeat };
}

function repeatOf(members: Members): Repeat {
  const [everyDays, rounds, takePart] = ["every_days", "rounds", "take_part"].map((key) => members.integer(key)), mode = members.text("mode");
  members.need(everyDays > 0 && everyDays <= 366 && rounds > 1 && rounds <= 4096 && takePart > 0 && takePart <= rounds);
  members.need(mode === "sampled" || mode === "permanent");
  members.done();
  return { everyDays, rounds, takePart, isPermanent: mode === "permanent" };
}

/** What a report carries that is made on this day: the day, or the first day of its round; nothing outside the schedule. */
export function slotOn({ opens, closes, repeat }: Schedule, day: number): number | undefined {
  return day >= opens && day <= closes ? day - ((day - opens) % (repeat?.everyDays ?? 1)) : undefined;
}
