// The layout of an activity type: which fields of its state are scores, texts and times. The preview, the buttons of a
// live match and the sentence of a send use it. A type without a layout gets one from its schema or its state.

const wholeNumber = /^u?int\d*\??$/;

/** The type of a member without the mark for an optional one. */
export const plainType = (type) => (type?.$optional !== undefined ? plainType(type.$optional) : type);

/** The kind of a member: number, text, choice, time or other. */
function kindOf(type) {
  const plain = plainType(type);
  if (plain?.$enum) return "text";
  if (typeof plain !== "string") return "other";
  if (wholeNumber.test(plain)) return "number";
  if (plain.startsWith("date.")) return "time";
  return plain.startsWith("string") ? "text" : "other";
}

/** A schema for a state that has none. */
export function schemaOfState(state) {
  if (state === null || typeof state !== "object" || Array.isArray(state)) return undefined;
  const entries = Object.entries(state).map(([name, value]) => [name, schemaOfValue(value)]);
  return entries.length ? Object.fromEntries(entries) : undefined;
}

function schemaOfValue(value) {
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "double";
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  return schemaOfState(value) ?? "any";
}

/** A field's name in words: `homeTeamScore` becomes `home team`. */
export function fieldWords(name) {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").toLowerCase();
  return words.replace(/ (score|goals|points)$/, "") || words;
}

/** The layout that a schema suggests: the first two whole numbers are the scores of two sides. */
function suggestedLayout(schema) {
  const members = Object.entries(schema?.$object ?? schema ?? {}).filter(([name]) => !name.startsWith("$"));
  const named = (kind) => members.filter(([, type]) => kindOf(type) === kind).map(([name]) => name);
  const numbers = named("number");
  const sides = numbers.length >= 2 ? numbers.slice(0, 2).map((score) => ({ score })) : [];
  const steps = sides.map(({ score }) => ({ label: `${fieldWords(score)} +1`, field: score, add: 1 }));
  return { sides, steps, countdown: named("time")[0], lines: [...named("text"), ...(sides.length ? numbers.slice(2) : numbers)] };
}

// The form of a type draws a layout while a reader writes it.
const listOf = (value) => (Array.isArray(value) ? value : []);
const sidesOf = ({ sides }) => (listOf(sides).length === 2 && sides.every((side) => typeof side?.score === "string") ? sides : []);

/**
 * The layout of a type: its own, or the one that its schema suggests.
 *
 * @param own the type's `layout`, as in the book's page about schemas.
 */
export function layoutOf(schema, own) {
  const layout = own ? { ...own, sides: sidesOf(own), steps: listOf(own.steps), lines: listOf(own.lines) } : suggestedLayout(schema);
  return { ...layout, timeKind: plainType((schema?.$object ?? schema)?.[layout.countdown]) };
}

/** The score of a state, such as `1:0`. Undefined if the state has no two sides. */
export function scoreOf(layout, state) {
  const scores = layout.sides.map(({ score }) => state?.[score]);
  return scores.length === 2 && scores.every((value) => value !== undefined && value !== null) ? scores.join(":") : undefined;
}

/** The name of a side: the attribute of the layout or of a similar name, if it is a text. */
function sideName({ name, score }, attributes) {
  const words = score.replace(/(Score|Goals|Points)$/, "");
  const found = [name, score, `${words}Name`, words].map((key) => attributes?.[key]).find((value) => typeof value === "string" && value);
  return found ?? fieldWords(score);
}

/** The names of the sides, from the attributes of a start. */
export const sideNames = (layout, attributes) => layout.sides.map((side) => sideName(side, attributes));

/** A state in one line: its score, otherwise its first values. */
export function stateWords(layout, state) {
  if (state === undefined || state === null) return "nothing";
  return scoreOf(layout, state) ?? Object.entries(state).slice(0, 3).map(([name, value]) => `${fieldWords(name)} ${shortText(value)}`).join(", ");
}

/** A value in a few characters. */
export function shortText(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "nothing";
  return text.length > 40 ? text.slice(0, 39) + "…" : text;
}

/** The buttons of a live card. `change` returns the state after the step. */
export const steps = (layout, state) => layout.steps
  .filter(({ field, add }) => typeof state?.[field] === "number" && state[field] + add >= 0)
  .map(({ label, field, add }) => ({ label, change: () => ({ ...state, [field]: state[field] + add }) }));
