// A form for a value of an activity type's schema. It matches the Swift decoder on the phone.

import { h } from "./h.js";
import { choice, field, select } from "./parts.js";

/** A value that cannot be sent, with the path of its field. */
export class FieldError extends Error {
  constructor(path, message) {
    super(message);
    this.path = path;
  }
}

const secondsUntil2001 = 978_307_200;

/** A date in the format of a browser's field, in the reader's time zone. */
const localText = (date) => new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);

const dates = {
  "date.reference2001": [(date) => date.getTime() / 1000 - secondsUntil2001, (value) => new Date((value + secondsUntil2001) * 1000)],
  "date.unixSeconds": [(date) => date.getTime() / 1000, (value) => new Date(value * 1000)],
  "date.unixMilliseconds": [(date) => date.getTime(), (value) => new Date(value)],
  "date.iso8601": [(date) => date.toISOString().replace(/\.\d+Z$/, "Z"), (value) => new Date(value)],
};

const isWhole = (word) => /^u?int\d*$/.test(word);

/** A part of a form: `element`, `read()` (undefined for no value) and `write(value)`. */
function text(name, path, hint, { parse = (value) => value, print = String, ...attributes } = {}) {
  const input = h("input", { type: "text", spellcheck: "false", ...attributes });
  return {
    element: field(name, input, { hint, path }),
    read: () => (input.value === "" ? undefined : parse(input.value, path)),
    write: (value) => { input.value = value === undefined || value === null ? "" : print(value); },
  };
}

function number(word, name, path, hint) {
  const parse = (value) => {
    const parsed = Number(value);
    if (Number.isNaN(parsed)) throw new FieldError(path, "must be a number");
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

function bool(name, path, isOptional) {
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

function names(values, name, path, isOptional) {
  const list = select([["", isOptional ? "–" : "choose"], ...values.map((value, index) => [String(index), String(value)])], "");
  return {
    element: field(name, list, { path }),
    read: () => (list.value === "" ? undefined : values[Number(list.value)]),
    write: (value) => { list.value = values.includes(value) ? String(values.indexOf(value)) : ""; },
  };
}

/** The raw JSON, for a value without a form. */
export function json(name, path, hint, fallback) {
  const area = h("textarea.code", { spellcheck: "false", rows: 5, placeholder: "{}" });
  return {
    element: field(name, area, { hint, path, wide: true }),
    read: () => {
      if (area.value.trim() === "") return fallback;
      try { return JSON.parse(area.value); } catch (error) { throw new FieldError(path, `is not valid JSON: ${error.message}`); }
    },
    write: (value) => { area.value = value === undefined ? "" : JSON.stringify(value, null, 2); },
  };
}

function object(members, name, path, isTop) {
  const parts = Object.entries(members).map(([member, type]) => [member, part(type, member, path ? `${path}.${member}` : member)]);
  const inside = parts.map(([, { element }]) => element);
  return {
    element: isTop ? h("div.members", inside) : h("fieldset.field", h("legend.label", name), h("div.nest", h("div.members", inside))),
    read: () => {
      const value = {};
      for (const [member, { read }] of parts) {
        const found = read();
        if (found !== undefined) value[member] = found;
      }
      return value;
    },
    write: (value) => { for (const [member, { write }] of parts) write(value?.[member]); },
  };
}

function array(type, name, path) {
  const place = h("div.nest");
  let parts = [];
  const said = () => parts.map(({ read }) => read());
  const draw = (values) => {
    parts = values.map((value, index) => {
      const made = part(type, `${name} ${index + 1}`, `${path}[${index}]`);
      made.write(value);
      return made;
    });
    place.replaceChildren(...parts.map(({ element }, index) => h("div.stack", element,
      h("div", h("button.small", { type: "button", onclick: () => draw(said().toSpliced(index, 1)) }, `Remove ${name} ${index + 1}`)))));
  };
  draw([]);
  return {
    element: h("fieldset.field", h("legend.label", name), place,
      h("div", h("button.small", { type: "button", onclick: () => draw([...said(), undefined]) }, "Add"))),
    read: () => parts.map(({ read }) => read() ?? null),
    write: (value) => draw(Array.isArray(value) ? value : []),
  };
}

function cases(kinds, name, path, isOptional) {
  const place = h("div.nest");
  let chosen = "";
  let inner = null;
  const list = select([["", isOptional ? "–" : "choose"], ...Object.keys(kinds).map((kind) => [kind, kind])], "", (kind) => pick(kind));
  function pick(kind, value) {
    chosen = kind;
    inner = kind ? object(kinds[kind], kind, `${path}.${kind}`, true) : null;
    inner?.write(value);
    place.replaceChildren(...(inner ? [inner.element] : []));
    place.hidden = !inner || Object.keys(kinds[kind]).length === 0;
  }
  pick("");
  return {
    element: h("div.field", field(name, list, { path }), place),
    read: () => (chosen ? { [chosen]: inner.read() } : undefined),
    write: (value) => {
      const kind = value && Object.keys(value).find((key) => key in kinds);
      list.value = kind ?? "";
      pick(kind ?? "", kind && value[kind]);
    },
  };
}

function scalar(word, name, path, isOptional) {
  const hint = isOptional ? "optional" : undefined;
  if (isWhole(word) || word === "double" || word === "float") return number(word, name, path, hint);
  if (word in dates) return date(word, name, path, hint);
  if (word === "bool") return bool(name, path, isOptional);
  if (word === "any") return json(name, path, hint);
  return text(name, path, word === "string" ? hint : [word, hint].filter(Boolean).join("; "));
}

/** The part of a form for a type, in the notation of the book's page about schemas. */
function part(type, name, path, isOptional = false, isTop = false) {
  if (typeof type === "string") {
    return scalar(type.replace(/\?$/, ""), name, path, isOptional || type.endsWith("?"));
  }
  if (Array.isArray(type)) return array(type[0], name, path);
  if ("$optional" in type) return part(type.$optional, name, path, true);
  if ("$object" in type) return object(type.$object, name, path, isTop);
  if ("$enum" in type) return names(type.$enum, name, path, isOptional);
  if ("$cases" in type) return cases(type.$cases, name, path, isOptional);
  if ("$dictionary" in type) return json(name, path, "an object, as JSON", isOptional ? undefined : {});
  if ("$range" in type) return json(name, path, "[lower, upper], as JSON");
  return object(type, name, path, isTop);
}

/** A form for a whole value with a switch to JSON. Without a schema it is JSON only. */
export function valueForm(title, path, schema, hint) {
  const raw = json(title, path, hint);
  if (!schema) return { ...raw, isRaw: () => true };
  const form = part(schema, title, path, false, true);
  let isRaw = false;
  const place = h("div", form.element);
  const turn = (value) => {
    const wanted = value === "json";
    if (wanted === isRaw) return;
    let said;
    try { said = (isRaw ? raw : form).read(); } catch { said = undefined; }
    isRaw = wanted;
    (isRaw ? raw : form).write(said);
    place.replaceChildren((isRaw ? raw : form).element);
  };
  return {
    element: h("div.value", choice(title, `how-${path}`, [["form", "Form"], ["json", "JSON"]], "form", turn), place),
    read: () => (isRaw ? raw : form).read(),
    write: (value) => (isRaw ? raw : form).write(value),
    isRaw: () => isRaw,
  };
}
