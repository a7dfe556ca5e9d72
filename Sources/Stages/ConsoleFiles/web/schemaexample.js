// Schemas and examples of them: a schema from an example, the smallest value of a schema, and a value for a preview.

import { fieldWords, plainType, schemaOfState } from "./layout.js";
import { serverNow } from "./clock.js";

/** A schema that fits an example. A list has the type of its first element. */
export const schemaOfExample = (value) => withLists(value, schemaOfState(value));

function withLists(value, schema) {
  if (Array.isArray(value)) return [value.length ? withLists(value[0], schemaOfValue(value[0])) : "any"];
  if (value === null || typeof value !== "object") return schema;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withLists(one, schema?.[name] ?? "any")]));
}

function schemaOfValue(value) {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return schemaOfState(value) ?? {};
  return schemaOfState({ value })?.value ?? "any";
}

const scalars = {
  string: "", bool: false, url: "x", uuid: "00000000-0000-0000-0000-000000000000", data: "", any: {},
  double: 0, float: 0, "date.reference2001": 0, "date.unixSeconds": 0, "date.unixMilliseconds": 0, "date.iso8601": "2026-01-01T00:00:00Z",
};

/** The smallest value that a schema accepts, for a trial. Optional members are left out. */
export function smallestValue(schema) {
  if (schema === undefined) return {};
  if (typeof schema === "string") return schema.endsWith("?") ? undefined : scalars[schema] ?? 0;
  if (Array.isArray(schema)) return [];
  if (schema.$optional !== undefined) return undefined;
  if (schema.$enum) return schema.$enum[0];
  if (schema.$dictionary !== undefined) return ["string", "int"].includes(schema.$keys ?? "string") ? {} : [];
  if (schema.$range !== undefined) return [smallestValue(schema.$range), smallestValue(schema.$range)];
  if (schema.$cases) {
    const [name, members] = Object.entries(schema.$cases)[0];
    return { [name]: smallestValue(members) };
  }
  const members = Object.entries(schema.$object ?? schema).map(([name, type]) => [name, smallestValue(type)]);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

const minutesAhead = 45;

/** A value of a schema for the preview of a layout: scores, a bar that is half full, and texts with the names of their fields. */
export function sampleValue(schema, layout) {
  let score = 3;
  const sampleOf = (name, type) => {
    const plain = plainType(type);
    if (name === layout?.progress?.field) return Math.round(layout.progress.end / 2);
    if (plain?.$enum) return plain.$enum[0];
    if (typeof plain !== "string") return undefined;
    if (plain.startsWith("string")) return fieldWords(name);
    if (plain.startsWith("date.")) return new Date(serverNow() + minutesAhead * 60_000).toISOString();
    return /^u?int|^double|^float/.test(plain) ? (score = Math.max(0, score - 1)) : undefined;
  };
  const members = Object.entries(schema?.$object ?? schema ?? {}).map(([name, type]) => [name, sampleOf(name, type)]);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}
