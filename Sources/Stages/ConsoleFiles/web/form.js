// A form for a value of an activity type's schema. It matches the Swift decoder on the phone.

import { h } from "./h.js";
import { choice, field, select } from "./parts.js";
import { json, names, scalar } from "./controls.js";

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
  if (!schema) return raw;
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
  };
}
