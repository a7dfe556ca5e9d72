// A preview of a send on a phone: the lock screen and the Dynamic Island, drawn from the layout of the activity type. It
// shows the content, and not the app's own design.

import { h } from "./h.js";
import { fieldWords, scoreOf, shortText, sideNames } from "./layout.js";
import { serverNow } from "./clock.js";

const linesMax = 4;
const today = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long" });

/** A value of the state by its field, as text. */
const textOf = (state, name) => {
  const value = name === undefined ? undefined : state?.[name];
  return value === undefined || value === null || value === "" ? undefined : shortText(value);
};

/** The time of a field, from the kind in the schema. Without a kind, from the size of the number. */
function timeOf(value, kind) {
  if (typeof value === "string") return Date.parse(value);
  if (typeof value !== "number") return NaN;
  if (kind === "date.reference2001" || (!kind && value < 978_307_200)) return (value + 978_307_200) * 1000;
  return kind === "date.unixMilliseconds" || (!kind && value > 1e11) ? value : value * 1000;
}

/** The time that is left until the countdown's end, as a phone counts it down. */
function countdownText(layout, state) {
  const left = Math.floor((timeOf(state?.[layout.countdown], layout.timeKind) - serverNow()) / 1000);
  if (Number.isNaN(left)) return undefined;
  const [hours, minutes, seconds] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60].map((part) => Math.max(0, part));
  const two = (part) => String(part).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
}

function progressBar({ progress }, state) {
  const value = progress && state?.[progress.field];
  if (typeof value !== "number") return null;
  return h("progress", { value: String(Math.max(0, Math.min(value, progress.end))), max: String(progress.end), "aria-label": fieldWords(progress.field) });
}

/** The values that no side shows, as `[name, text]`. */
function otherLines(layout, state, attributes) {
  const used = new Set(layout.sides.map(({ score }) => score));
  const names = layout.lines.length ? layout.lines : Object.keys(state ?? {});
  const lines = names.filter((name) => !used.has(name) && name !== layout.countdown).map((name) => [fieldWords(name), textOf(state, name)]);
  const own = layout.sides.length ? [] : Object.entries(attributes ?? {}).map(([name, value]) => [fieldWords(name), shortText(value)]);
  return [...own, ...lines].filter(([, text]) => text !== undefined);
}

/** A side with its first letter as a badge. The badge is drawn by the style, because it says nothing new. */
const side = (kind, name) => h(`span.team.${kind}`, { "data-initial": [...name][0]?.toUpperCase() ?? "" }, name);

function board(layout, state, attributes) {
  if (!layout.sides.length) return null;
  const [left, right] = sideNames(layout, attributes);
  const [home, away] = layout.sides.map(({ score }) => textOf(state, score) ?? "–");
  return h("div.board", side("left", left), h("span.score", home, h("i", ":"), away), side("right", right));
}

function activity({ layout, event, state, attributes, title, isStale }) {
  const lines = otherLines(layout, state, attributes);
  const word = event === "end" ? "ended" : isStale ? "outdated" : { start: "starts", update: "now" }[event] ?? "now";
  return h(event === "end" || isStale ? "div.activity.over" : "div.activity",
    h("div.app", h("span", textOf(attributes, layout.title) ?? title), h("span", word)),
    board(layout, state, attributes),
    progressBar(layout, state),
    layout.countdown && h("div.countdown", countdownText(layout, state)),
    lines.length > 0 && h("dl", lines.slice(0, linesMax).flatMap(([name, text]) => [h("dt", name), h("dd", text)])),
    lines.length > linesMax && h("span.nothing", `and ${lines.length - linesMax} more`),
    !lines.length && !layout.sides.length && h("span.nothing", "No content yet"));
}

/** The Dynamic Island: compact, minimal and expanded. */
function islands({ layout, state, attributes }) {
  const texts = layout.sides.map(({ score }) => textOf(state, score) ?? "–");
  const first = (layout.countdown && countdownText(layout, state)) ?? otherLines(layout, state, attributes)[0]?.[1];
  const [leading, trailing] = texts.length === 2 ? texts : [first ?? "●", ""];
  const minimal = scoreOf(layout, state) ?? first ?? "●";
  return h("div.islands",
    h("figure", h("div.island.compact", h("strong", leading), h("i"), h("strong", trailing)), h("figcaption", "compact")),
    h("figure", h("div.island.minimal", h("strong", minimal)), h("figcaption", "minimal")),
    h("figure", h("div.island.expanded", board(layout, state, attributes) ?? h("strong", first ?? "●")), h("figcaption", "expanded")));
}

/**
 * Draws a preview.
 *
 * @param what `{layout, event, alert, state, attributes, title, staleDate}`. `staleDate` is in seconds since 1970.
 */
export function preview({ layout, event, alert, state, attributes, title = "", staleDate }) {
  const now = new Date();
  const isStale = staleDate !== undefined && staleDate * 1000 <= now.getTime();
  const said = [alert?.title, alert?.body, layout.sides.length ? sideNames(layout, attributes).join(" – ") : "", scoreOf(layout, state),
    ...otherLines(layout, state, attributes).map((line) => line.join(" "))];
  return h("div.phone", { role: "img", "aria-label": `Preview of a lock screen: ${said.filter(Boolean).join(", ")}` },
    h("div.clock", h("small", today.format(now)), `${now.getHours()}:${String(now.getMinutes()).padStart(2, "0")}`),
    alert && (alert.title || alert.body) && h("div.alert", h("strong", alert.title), h("span", alert.body)),
    activity({ layout, event, state, attributes, title, isStale }),
    islands({ layout, state, attributes }));
}
