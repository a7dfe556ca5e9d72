// The difference between two states, for the confirmation of a send.

import { h } from "./h.js";
import { notice, table } from "./parts.js";
import { fieldWords, scoreOf, shortText, stateWords } from "./layout.js";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** The fields that differ, as `{path, before, after}`. */
export function differences(before, after, path = "") {
  if (same(before, after)) return [];
  if (!isObject(before) || !isObject(after)) return [{ path, before, after }];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => differences(before[name], after[name], path ? `${path}.${name}` : name));
}

/** The change in one line: `1:0 → 2:0`, or the fields that change. */
export function changeWords(layout, before, after) {
  if (before === undefined || before === null) return stateWords(layout, after);
  const [from, to] = [scoreOf(layout, before), scoreOf(layout, after)];
  if (from !== undefined && to !== undefined && from !== to) return `${from} → ${to}`;
  const changed = differences(before, after);
  if (!changed.length) return `${stateWords(layout, after)}, unchanged`;
  return changed.slice(0, 2).map((one) => `${fieldWords(one.path)} ${shortText(one.before)} → ${shortText(one.after)}`).join(", ")
    + (changed.length > 2 ? ` and ${changed.length - 2} more` : "");
}

/** A table of what changes. */
export function changeTable(before, after) {
  const changed = differences(before ?? {}, after ?? {});
  if (!changed.length) return h("p.note", "The content is the same as the newest state.");
  return table("Changes", [
    { title: "Field", cell: ({ path }) => h("code", path) },
    { title: "Now", cell: (one) => shortText(one.before) },
    { title: "After", cell: (one) => h("strong", shortText(one.after)) },
  ], changed, ({ path }) => path);
}

/** A table of both states: as the reader has seen the group, as it is now, and what the reader wants to send. */
export function movedTable(opened, newest, form) {
  const names = new Set([opened, newest, form].flatMap((state) => Object.keys(state ?? {})));
  return table("Both states", [
    { title: "Field", cell: (name) => h("code", name) },
    { title: "You saw", cell: (name) => shortText(opened?.[name]) },
    { title: "The group now", cell: (name) => h("strong", shortText(newest?.[name])) },
    { title: "Your send", cell: (name) => shortText(form?.[name]) },
  ], [...names], (name) => name);
}

/** The notice of a form that has become older than its group. */
export const movedNotice = ({ form, newest, take }) => [
  notice("warn", `${newest.id} has a newer state than this form.`),
  movedTable(form.basis.state, newest.state, form.state),
  h("div.buttons", h("button.small", { type: "button", onclick: take }, "Take the newest state into the form")),
];
