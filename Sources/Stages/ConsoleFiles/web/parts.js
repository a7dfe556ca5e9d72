// Elements that several pages use.

import { h } from "./h.js";
import { exact, time } from "./format.js";

/** The console's own text. Words between backticks become code. */
export const coded = (text) =>
  (typeof text === "string" ? text.split("`").map((part, index) => (index % 2 ? h("code", part) : part)) : text);

/** Text with server timestamps replaced by local times. */
export const dated = (text) =>
  (typeof text === "string" ? text.split(/(\d{4}-\d\d-\d\dT[\d:.]+Z)/).map((part, index) => (index % 2 ? moment(Date.parse(part)) : part)) : text);

/** The header of a page. */
export const head = (title, { sub, back, actions, tag } = {}) =>
  h("div.head",
    h("div",
      back && h("a.back", { href: back.href }, `← ${back.text}`),
      h("h1", title, tag && " ", tag),
      sub && h("p.sub", sub)),
    actions && h("div.actions", actions));

export const card = (title, aside, ...inside) =>
  h("section.card", h("div.top", h("h2", title), aside && h("span.note", aside)), ...inside);

export const notice = (kind, ...inside) =>
  h(kind ? `div.notice.${kind}` : "div.notice", { role: kind === "bad" ? "alert" : "status" }, h("div", ...inside));

/** A placeholder for an empty list, with a hint. */
export const empty = (title, text, action) =>
  h("div.empty", h("h2", title), text && h("p", text), action);

export const tag = (kind, text) => h(kind ? `span.tag.${kind}` : "span.tag", text);

/** Large figures side by side: `[name, value, aside]`. */
export const figures = (rows) =>
  h("dl.figures", rows.filter(Boolean).map(([name, value, aside]) =>
    h("div", h("dt", name), h("dd", value, aside && h("div.aside", aside)))));

export const facts = (rows) =>
  h("dl.facts", rows.filter((row) => row && row[1] !== undefined && row[1] !== null && row[1] !== "")
    .map(([name, value]) => h("div", h("dt", name), h("dd", value))));

export const moment = (at) =>
  at === undefined || at === null ? "–" : h("time", { datetime: exact(at), title: exact(at) }, time(at));

/**
 * A table. A column is `{title, cell, kind}`. The kinds are number, time and name. A column without a title has `spoken`, the
 * title for screen readers.
 *
 * @param key identifies a row between updates.
 */
export const table = (caption, columns, rows, key) =>
  h("div.scroll", { tabindex: "0", role: "region", "aria-label": caption },
    // A narrow screen shows each row as a list. The roles keep the table for screen readers.
    h("table", { role: "table" },
      h("caption.for-readers", caption),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map(({ title, kind, spoken }) =>
        h(kind === "number" ? "th.number" : "th", { scope: "col", role: "columnheader" }, title || h("span.for-readers", spoken))))),
      h("tbody", { role: "rowgroup" }, rows.map((row) =>
        h("tr", { role: "row", "data-key": key ? key(row) : null }, columns.map(({ title, cell, kind }) =>
          h(kind ? `td.${kind}` : "td", { role: "cell", "data-title": title }, h("div", cell(row)))))))));

let fieldsMade = 0;

/** A field with its label and a place for its problems. */
export function field(label, control, { hint, path, wide } = {}) {
  fieldsMade += 1;
  const id = control.id || `field-${fieldsMade}`;
  control.id = id;
  if (path) control.dataset.path = path;
  const hintText = hint && h("p.hint", { id: `${id}-hint` }, coded(hint));
  if (hintText) control.setAttribute("aria-describedby", `${id}-hint`);
  return h(wide ? "div.field.wide" : "div.field", h("label", { for: id }, label), control, hintText);
}

/** A choice of one option. `options` are `[value, text]`. */
export function choice(label, name, options, value, onchange) {
  return h("fieldset.field",
    h("legend.label", label),
    h("div.choice", options.map(([key, text]) =>
      h("label", h("input", { type: "radio", name, value: key, checked: key === value,
        onchange: () => onchange(key) }), text))));
}

export const select = (options, value, onchange) =>
  h("select", { onchange: (event) => onchange?.(event.target.value) }, options.map(([key, text]) =>
    h("option", { value: key, selected: key === value }, text)));

/** Keeps Enter from pressing the button that confirms. A second Enter in a hurry must not send anything. */
export function withoutEnter(event) {
  if (event.key === "Enter" && event.target.closest("button")?.value === "yes") event.preventDefault();
}

/** The time for which a new dialog cannot be confirmed. The second tap of a double tap must not confirm it. */
export const tapPauseMilliseconds = 700;

/** Asks for confirmation. Resolves to true if the reader confirms. Enter confirms nothing. */
export function confirm(title, inside, word, kind = "main") {
  return new Promise((resolve) => {
    const yes = h(`button.${kind}`, { value: "yes", disabled: true }, word);
    setTimeout(() => { yes.disabled = false; }, tapPauseMilliseconds);
    const dialog = h("dialog", { "aria-labelledby": "dialog-title" },
      h("form", { method: "dialog" },
        h("h2", { id: "dialog-title" }, title),
        ...inside,
        h("div.actions",
          h("button", { value: "no", autofocus: true }, "Not now"),
          yes)));
    dialog.addEventListener("keydown", withoutEnter);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Disables a button while its work runs. */
export async function during(button, work) {
  button.disabled = true;
  try { return await work(); } finally { button.disabled = false; }
}
