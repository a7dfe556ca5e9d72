// A preview of a send on a phone: the lock screen and the Dynamic Island, drawn from the layout of the activity type. It
// shows the content, and not the app's own design.

import { h } from "./h.js";
import { fieldWords, scoreOf, shortText } from "./layout.js";

const linesMax = 4;

/** A value of the state by its field, as text. */
const textOf = (state, name) => {
  const value = name === undefined ? undefined : state?.[name];
  return value === undefined || value === null || value === "" ? undefined : shortText(value);
};

/** The name of a side: the attribute of the same name, if it is a text. */
function sideName({ name, score }, attributes) {
  const found = [score, name, `${name}Team`, `${name}TeamName`, `${name}Name`].map((key) => attributes?.[key]).find((value) => typeof value === "string" && value);
  return found ?? name;
}

/** The values that no side shows, as `[name, text]`. */
function otherLines(layout, state, attributes) {
  const used = new Set(layout.sides.map(({ score }) => score));
  const names = layout.lines.length ? layout.lines : Object.keys(state ?? {});
  const lines = names.filter((name) => !used.has(name)).map((name) => [fieldWords(name), textOf(state, name)]);
  const own = layout.sides.length ? [] : Object.entries(attributes ?? {}).map(([name, value]) => [fieldWords(name), shortText(value)]);
  return [...own, ...lines].filter(([, text]) => text !== undefined);
}

function board(layout, state, attributes) {
  if (!layout.sides.length) return null;
  const [left, right] = layout.sides.map((side) => ({ name: sideName(side, attributes), score: textOf(state, side.score) ?? "–" }));
  return h("div.board", h("span.team", left.name), h("span.score", left.score, h("i", ":"), right.score), h("span.team.right", right.name));
}

function activity({ layout, event, state, attributes, title, isStale }) {
  const lines = otherLines(layout, state, attributes);
  const word = event === "end" ? "ended" : isStale ? "outdated" : { start: "starts", update: "now" }[event] ?? "now";
  return h(event === "end" ? "div.activity.over" : "div.activity",
    h("div.app", h("span", title), h("span", word)),
    board(layout, state, attributes),
    lines.length > 0 && h("dl", lines.slice(0, linesMax).flatMap(([name, text]) => [h("dt", name), h("dd", text)])),
    lines.length > linesMax && h("span.nothing", `and ${lines.length - linesMax} more`),
    !lines.length && !layout.sides.length && h("span.nothing", "No content yet"));
}

/** The Dynamic Island: compact, minimal and expanded. */
function islands({ layout, state, attributes }) {
  const texts = layout.sides.map(({ score }) => textOf(state, score) ?? "–");
  const first = otherLines(layout, state, attributes)[0]?.[1];
  const [leading, trailing] = texts.length === 2 ? texts : [first ?? "●", ""];
  const minimal = scoreOf(layout, state) ?? first ?? "●";
  return h("div.islands",
    h("figure", h("div.island.compact", h("b", leading), h("i"), h("b", trailing)), h("figcaption", "compact")),
    h("figure", h("div.island.minimal", h("b", minimal)), h("figcaption", "minimal")),
    h("figure", h("div.island.expanded", board(layout, state, attributes) ?? h("b", first ?? "●")), h("figcaption", "expanded")));
}

/**
 * Draws a preview.
 *
 * @param what `{layout, event, alert, state, attributes, title, staleDate}`. `staleDate` is in seconds since 1970.
 */
export function preview({ layout, event, alert, state, attributes, title = "", staleDate }) {
  const now = new Date();
  const isStale = staleDate !== undefined && staleDate * 1000 <= now.getTime();
  const said = [alert?.title, alert?.body, scoreOf(layout, state), ...otherLines(layout, state, attributes).map((line) => line.join(" "))];
  return h("div.phone", { role: "img", "aria-label": `Preview of a lock screen: ${said.filter(Boolean).join(", ")}` },
    h("div.clock", `${now.getHours()}:${String(now.getMinutes()).padStart(2, "0")}`),
    alert && (alert.title || alert.body) && h("div.alert", h("strong", alert.title), h("span", alert.body)),
    activity({ layout, event, state, attributes, title, isStale }),
    islands({ layout, state, attributes }));
}
