// A sketch of a phone's lock screen. It shows the content, not the app's own design.

import { h } from "./h.js";

const linesMax = 10;

function lines(value, prefix = "") {
  if (value === null || typeof value !== "object") return [[prefix, String(value)]];
  return Object.entries(value).flatMap(([key, inner]) => {
    const name = prefix ? `${prefix} ${key}` : key;
    return inner !== null && typeof inner === "object" ? lines(inner, name) : [[name, String(inner)]];
  });
}

export function lockScreen({ app, type, event, alert, contentState, attributes }) {
  const rows = [...lines(attributes ?? {}), ...lines(contentState ?? {})];
  const now = new Date();
  return h("div.phone", { role: "img", "aria-label": `Sketch of a lock screen: ${[alert?.title, alert?.body, ...rows.map((row) => row.join(" "))].filter(Boolean).join(", ")}` },
    h("div.clock", `${now.getHours()}:${String(now.getMinutes()).padStart(2, "0")}`),
    alert && (alert.title || alert.body) && h("div.alert", h("strong", alert.title), h("span", alert.body)),
    h("div.activity",
      h("div.app", h("span", type || app), h("span", { start: "starts", update: "now", end: "ends" }[event])),
      rows.length
        ? h("dl", rows.slice(0, linesMax).flatMap(([name, value]) => [h("dt", name), h("dd", value)]))
        : h("span.nothing", "No content yet"),
      rows.length > linesMax && h("span.nothing", `and ${rows.length - linesMax} more`)));
}
