// The controls of a form for single values: texts, numbers, dates, choices and JSON. A control is
// `{element, read, write}`. `read` returns undefined for no value and throws a `FieldError` for a wrong one.

import { h } from "./h.js";
import { field, select } from "./parts.js";
import { FieldError, isHalfFilled, localText } from "./dates.js";

const secondsUntil2001 = 978_307_200;

const dates = {
  "date.reference2001": [(date) => date.getTime() / 1000 - secondsUntil2001, (value) => new Date((value + secondsUntil2001) * 1000)],
  "date.unixSeconds": [(date) => date.getTime() / 1000, (value) => new Date(value * 1000)],
  "date.unixMilliseconds": [(date) => date.getTime(), (value) => new Date(value)],
  "date.iso8601": [(date) => date.toISOString().replace(/\.\d+Z$/, "Z"), (value) => new Date(value)],
};

const isWhole = (word) => /^u?int\d*$/.test(word);

function text(name, path, hint, { parse = (value) => value, print = String, ...attributes } = {}) {
  const input = h("input", { type: "text", spellcheck: "false", ...attributes });
  return {
    element: field(name, input, { hint, path }),
    read: () => {
      if (isHalfFilled(input)) throw new FieldError(path, "needs a day and a time");
      return input.value === "" ? undefined : parse(input.value, path);
    },
    write: (value) => { input.value = value === undefined || value === null ? "" : print(value); },
  };
}

function number(word, name, path, hint) {
  const parse = (value) => {
    const parsed = Number(value);
    // Blanks would count as 0.
    if (value.trim() === "" || !Number.isFinite(parsed)) throw new FieldError(path, "must be a number");
    return parsed;
  };
  return text(name, path, hint, { parse, inputmode: isWhole(word) ? "numeric" : "decimal" });
}

function date(word, name, path, hint) {
  const [encode, decode] = dates[word];
  return text(name, path, hint, {
    type: "datetime-local", step: 1,
    parse: (value) => encode(new Date(value)),
    print: (value) => localText(decode(value)),
  });
}

export function bool(name, path, isOptional) {
  if (isOptional) {
    const list = select([["", "–"], ["true", "yes"], ["false", "no"]], "");
    return {
      element: field(name, list, { path }),
      read: () => (list.value === "" ? undefined : list.value === "true"),
      write: (value) => { list.value = value === undefined || value === null ? "" : String(value); },
    };
  }
  const input = h("input", { type: "checkbox", "data-path": path });
  return {
    element: h("div.field", h("span.label", name), h("label.check", input, "yes")),
    read: () => input.checked,
    write: (value) => { input.checked = value === true; },
  };
}

export function names(values, name, path, isOptional) {
  const list = select([["", isOptional ? "–" : "choose"], ...values.map((value, index) => [String(index), String(value)])], "");
  return {
    element: field(name, list, { path }),
    read: () => (list.value === "" ? undefined : values[Number(list.value)]),
    write: (value) => { list.value = values.includes(value) ? String(values.indexOf(value)) : ""; },
  };
}

const [rowsMin, rowsMax] = [5, 16];

/** The raw JSON, for a value without a form. */
export function json(name, path, hint, fallback) {
  const area = h("textarea.code", { spellcheck: "false", rows: rowsMin, placeholder: "{}" });
  return {
    element: field(name, area, { hint, path, wide: true }),
    read: () => {
      if (area.value.trim() === "") return fallback;
      try { return JSON.parse(area.value); } catch (error) { throw new FieldError(path, `is not valid JSON: ${error.message}`); }
    },
    write: (value) => {
      area.value = value === undefined ? "" : JSON.stringify(value, null, 2);
      area.rows = Math.max(rowsMin, Math.min(rowsMax, area.value.split("\n").length));
    },
  };
}

/** The control of a value without members. */
export function scalar(word, name, path, isOptional) {
  const hint = isOptional ? "optional" : undefined;
  if (isWhole(word) || word === "double" || word === "float") return number(word, name, path, hint);
  if (word in dates) return date(word, name, path, hint);
  if (word === "bool") return bool(name, path, isOptional);
  if (word === "any") return json(name, path, hint);
  return text(name, path, word === "string" ? hint : [word, hint].filter(Boolean).join("; "));
}
