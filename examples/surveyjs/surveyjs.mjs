// SurveyJS and LoPub: its JSON becomes a draft (`draftOf`), its result becomes a record for `client.encode` (`recordOf`).
// SurveyJS itself is not part of this; README.md has the recipe.

const ONE = ["radiogroup", "dropdown", "buttongroup", "imagepicker"];
const MANY = ["checkbox", "tagbox"];
const BINS = 8;

/** A text, or one for each language: SurveyJS calls its own "default". */
function texts(text, language) {
  if (typeof text !== "object" || text === null) return text;
  return Object.fromEntries(Object.entries(text).map(([tag, each]) => [tag === "default" ? language : tag, each]));
}

/** All questions, out of pages and panels. */
function questionsOf(survey) {
  const walk = (elements) => elements.flatMap((each) => (each.elements || each.templateElements ? (each.type === "paneldynamic" ? [each] : walk(each.elements)) : [each]));
  return walk([...(survey.elements ?? []), ...(survey.pages ?? []).flatMap((page) => page.elements ?? [])]);
}

/** The draft of a survey, and what a person has to decide, or what cannot be asked. */
export function draftOf(survey, name) {
  const language = survey.locale || "en", notes = [], fields = [];
  for (const question of questionsOf(survey)) {
    const kind = kindOf(question, language);
    if (typeof kind === "string") {
      notes.push(`${question.name}: ${kind}`);
      continue;
    }
    const { note, constraints = {}, ...rest } = kind, field = { name: question.name, question: texts(question.title, language) ?? question.name, ...rest };
    let isRequired = !!question.isRequired;
    if (note) notes.push(`${question.name}: ${note}`);
    if (question.visibleIf) {
      const onlyIf = conditionOf(question.visibleIf, new Map(fields.map((each) => [each.name, each])));
      if (onlyIf) field.onlyIf = onlyIf;
      else {
        notes.push(`${question.name}: its visibleIf is not carried over, so it may be left out; write an onlyIf`);
        isRequired = false;
      }
    }
    fields.push({ ...field, constraints: { ...constraints, ...(isRequired ? {} : { required: false }) } });
  }
  const { title, description } = survey;
  return { draft: { name, language, ...(title && { title: texts(title, language) }), ...(description && { description: texts(description, language) }), schema: { fields } }, notes };
}

/** The members of a field that depend on its kind, or why it cannot be asked. */
function kindOf(question, language) {
  const { type, inputType, min, max } = question;
  if (ONE.includes(type) || MANY.includes(type)) return choices(question, language);
  if (type === "boolean") return { type: "boolean" };
  if (type === "rating") return { type: "integer", constraints: { minimum: question.rateMin ?? 1, maximum: question.rateMax ?? question.rateCount ?? 5 } };
  if (type === "text" && (inputType === "number" || inputType === "range")) {
    if (min === undefined || max === undefined) return "a number needs min and max, or bins of your own";
    return { type: "number", bins: { count: BINS, from: min, to: max }, note: `its numbers are put into ${BINS} equal bins; choose edges that suit` };
  }
  if (type === "text" && (inputType === "date" || inputType === "month")) {
    if (!min || !max) return "a date needs min and max";
    return { type: "date", period: "month", constraints: { minimum: min.slice(0, 7), maximum: max.slice(0, 7) }, note: "only the month is kept" };
  }
  return "free texts, files and the like cannot be asked: few people write the same";
}

function choices(question, language) {
  const categories = (question.choices ?? []).map((choice) => {
    const { value, text } = typeof choice === "object" ? choice : { value: choice };
    return text === undefined ? String(value) : { value: String(value), label: texts(text, language) };
  });
  const other = (question.showOtherItem ?? question.hasOther) && (texts(question.otherText, language) ?? true);
  if (ONE.includes(question.type)) return { type: "string", categories, ...(other && { other }) };
  const label = (text, plain) => texts(text, language) ?? plain, none = question.showNoneItem ?? question.hasNone;
  const more = [...(other ? [{ value: "other", label: label(question.otherText, "Other") }] : []), ...(none ? [{ value: "none", label: label(question.noneText, "None") }] : [])];
  return { type: "list", categories: [...categories, ...more], ...(none && { none: "none" }), ...(question.maxSelectedChoices && { atMost: question.maxSelectedChoices }) };
}

const OPERATORS = { "=": "equals", "==": "equals", contains: "includes", ">": "above", ">=": "atLeast", "<": "below", "<=": "atMost", anyof: "oneOf" };

/** A visibleIf as an onlyIf, where it is made of comparisons, all joined by "and" or all by "or"; nothing where it is more. */
function conditionOf(text, before) {
  const joined = [" and ", " or "].filter((word) => text.includes(word));
  if (joined.length > 1 || /[()]/.test(text)) return undefined;
  const parts = text.split(joined[0] ?? "\n").map((part) => comparison(part.trim(), before));
  if (parts.includes(undefined)) return undefined;
  return parts.length > 1 ? { [joined[0].trim()]: parts } : parts[0];
}

function comparison(text, before) {
  const [, field, operator, right] = /^\{([^{}]+)\}\s*(==?|>=?|<=?|<>|!=|contains|anyof)\s*(.+)$/.exec(text) ?? [], known = before.get(field);
  if (!known) return undefined;
  const value = (word) => {
    const plain = word.trim().replace(/^(['"])(.*)\1$/, "$2");
    return known.type === "boolean" ? plain === "true" : known.type === "integer" || known.type === "number" ? Number(plain) : plain;
  };
  if (operator === "anyof") return { field, oneOf: right.replace(/^\[|\]$/g, "").split(",").map(value) };
  if (operator === "<>" || operator === "!=") return { not: { field, equals: value(right) } };
  return { field, [OPERATORS[operator]]: value(right) };
}

/** The record of a result. isVisible: whether a question was shown, such as (name) => model.getQuestionByName(name).isVisible. */
export function recordOf(draft, result, isVisible) {
  const shown = draft.schema.fields.filter(({ name }) => isVisible(name));
  return Object.fromEntries(shown.map(({ name, type }) => [name, answerOf(type, result[name])]));
}

function answerOf(type, value) {
  if (value === undefined || value === null || value === "") return null;
  if (type === "list") return [value].flat().map(String);
  if (type === "date") return value.length === 7 ? value : value.slice(0, 10);
  return type === "string" ? String(value) : type === "boolean" ? value === true : Number(value);
}
