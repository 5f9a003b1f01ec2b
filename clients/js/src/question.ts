// Questions: what is asked at once, with the attributes of its answer (sections 3.2 and 3.9).

import {
  Attribute,
  composed,
  isName,
  READERS,
  refuseUnless,
  type Field,
  type Kind,
} from "./attribute";
import { ANY, maybe, membersOf, named, need, type Json } from "./canonical";
import { Condition } from "./condition";
import { sum } from "./numbers";

const TEXTS = { title: "", question: "", description: "" };

/** One attribute, or a list with one attribute for each option. */
export class Question {
  readonly name: string;
  readonly type: string;
  readonly title: string;
  readonly question: string;
  readonly description: string;
  readonly isRequired: boolean;
  /** What the answer is reduced to, of dates and times. */
  readonly period: string;
  readonly onlyIf?: Condition;
  readonly attributes: readonly Attribute[];
  /** The label of each category. */
  readonly labels: ReadonlyMap<string, string>;
  /**
   * How many options of a list may be ticked, 0 for any number, and the option that stands alone.
   */
  readonly list?: Kind["list"];
  /** The texts that translations may label. */
  readonly texts: readonly string[];

  constructor(value: Json) {
    const field = fieldOf(value);
    const kind = READERS[field.type].read(field);
    const { name } = field;
    need(isName(name));
    this.name = name;
    this.type = field.type;
    this.title = field.title;
    this.question = field.question;
    this.description = field.description;
    this.isRequired = field.isRequired;
    this.period = field.period;
    this.onlyIf = field.onlyIf;
    this.labels = kind.labels ?? new Map();
    this.list = kind.list;
    const options = [...this.labels.keys()];
    const names = this.list ? options.map((option) => `${name}/${option}`) : [name];
    this.attributes = names.map((each) => new Attribute(each, kind, field));
    const { texts } = this.attributes[0];
    this.texts = this.list ? [...options, ...texts.slice(2)] : texts;
  }

  /** The candidates of an answer. */
  indices(answer: unknown): number[] {
    const { list, attributes } = this;
    if (!list || answer === null) return attributes.map((each) => each.index(answer));
    const options = [...this.labels.keys()];
    const place = (value: unknown): number => options.indexOf(value as string);
    const placeOf = (value: unknown): number =>
      place(value) < 0 ? place(composed(value)) : place(value);
    const places = Array.isArray(answer) ? answer.map(placeOf) : [-1];
    const ticks = options.map((_, i) => +places.includes(i));
    const n = sum(ticks);
    const isAlone = n === 1 || !ticks[options.indexOf(list.none)];
    refuseUnless(n === places.length, this.name);
    refuseUnless(!list.none || (n && isAlone), this.name);
    refuseUnless(!list.most || n <= list.most, this.name);
    return ticks;
  }
}

/** The members of a field, checked one by one. */
function fieldOf(value: Json): Field {
  const reader = named(READERS, Object(value).type);
  const { constraints, onlyIf, ...members } = membersOf(
    value,
    { name: "", type: "", constraints: ANY, ...reader.must },
    { ...TEXTS, onlyIf: ANY, ...reader.may },
  );
  const { required: isRequired, ...limits } = membersOf(
    constraints,
    { required: false, ...reader.constraints },
    { ...reader.mayConstrain },
  );
  const condition = maybe(onlyIf, (each) => new Condition(each));
  return { ...members, ...limits, isRequired, onlyIf: condition } as unknown as Field;
}
