// When reports are made: once within some days, or again and again in rounds (sections 3.5 and
// 3.11). A slot is a day since 1970-01-01.

import { ANY, isObject, membersOf, need, type Json } from "./canonical";
import { dayOf } from "./dates";
import { Most } from "./limits";

/** Days after a round's last one in which a collector still takes its reports, at most. */
export const GRACE_DAYS = 14;

/** Rounds of so many days, one behind the other; a device takes part in some of them. */
export class Repeat {
  readonly everyDays: number;
  readonly rounds: number;
  readonly takePart: number;
  /** Whether one noisy answer is kept and goes on being used. */
  readonly isPermanent: boolean;

  constructor(value: Json) {
    const members = membersOf(value, { every_days: 0, rounds: 0, take_part: 0, mode: "" });
    this.everyDays = members.every_days;
    this.rounds = members.rounds;
    this.takePart = members.take_part;
    this.isPermanent = members.mode === "permanent";
    need(this.everyDays > 0 && this.everyDays <= Most.roundDays);
    need(this.rounds > 1 && this.rounds <= Most.rounds);
    need(this.takePart > 0 && this.takePart <= this.rounds);
    need(this.isPermanent || members.mode === "sampled");
  }
}

export class Schedule {
  /** The first and the last day on which a report may be made. */
  readonly opens: number;
  readonly closes: number;
  readonly repeat?: Repeat;

  constructor(value: Json) {
    const members = membersOf(value, { opens: "", closes: "", repeat: ANY });
    this.opens = dayOf(members.opens);
    this.closes = dayOf(members.closes);
    need(this.opens >= 0);
    if (isObject(members.repeat)) {
      this.repeat = new Repeat(members.repeat);
      need(this.closes === this.firstDay(this.repeat.rounds) - 1);
    } else need(members.repeat === "once" && this.opens <= this.closes);
  }

  /** The first day of a round. */
  firstDay(round: number): number {
    return this.opens + round * this.repeat!.everyDays;
  }

  /**
   * What a report of this day carries: the day, or the first day of its round; undefined outside
   * the schedule.
   */
  slotOn(day: number): number | undefined {
    const isInside = day >= this.opens && day <= this.closes;
    return isInside ? day - ((day - this.opens) % (this.repeat?.everyDays ?? 1)) : undefined;
  }
}
