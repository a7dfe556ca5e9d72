// The frame around every page: the menu and the session.

import { h } from "./h.js";
import { logOut, may, session } from "./session.js";
import { roles } from "./words.js";
import { time } from "./format.js";

const menu = [
  ["Live Activities", [
    ["#/", "Now", "read"], ["#/compose", "Compose", "send"], ["#/groups", "Groups", "read"], ["#/sends", "Sends", "read"],
    ["#/schedules", "Schedules", "read"], ["#/definitions", "Definitions", "read"],
  ]],
  ["Recipients", [["#/people", "People", "read"], ["#/events", "Events", "read"]]],
  ["Operations", [["#/dead-letters", "Dead letters", "read"], ["#/fleet", "Fleet", "admin"], ["#/audit", "Audit", "read"]]],
];

const themes = ["auto", "light", "dark"];
const stored = () => { try { return localStorage.getItem("theme") ?? "auto"; } catch { return "auto"; } };

export function applyTheme(theme = stored()) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function themeButton() {
  const button = h("button.small", { type: "button", title: "Colors: light, dark, or the system's setting", onclick: () => {
    const next = themes[(themes.indexOf(stored()) + 1) % themes.length];
    try { localStorage.setItem("theme", next); } catch { /* The browser stores nothing. */ }
    applyTheme(next);
    button.firstChild.data = label(next);
  } }, label(stored()));
  return button;
}
const label = (theme) => ({ auto: "Auto", light: "Light", dark: "Dark" })[theme];

/** Builds the frame. Returns the container of pages and a function that marks the current page. */
export function frame(root, left) {
  const links = [];
  const side = h("div.side",
    h("a.brand", { href: "#/" }, h("img", { src: "/console/icon.svg", alt: "" }), "Flotilla"),
    h("nav.menu", { "aria-label": "Pages" }, menu.flatMap(([title, items]) => [
      h("h2", title),
      ...items.filter(([, , role]) => may(role)).map(([href, text]) => {
        const link = h("a", { href }, text);
        links.push(link);
        return link;
      }),
    ])),
    h("div.who",
      h("div.key", h("strong", session.app), `${session.keyName ?? `key ${session.keyId}`}: ${roles[session.role]}`,
        h("div.note", `session ends at ${time(session.endsAt)}`)),
      h("div.row", themeButton(),
        h("button.small", { type: "button", onclick: async () => { try { await logOut(); } finally { left(); } } }, "Log out"))));
  const place = h("main", { id: "main", tabindex: "-1" });
  root.replaceChildren(
    h("a.skip", { href: "#main", onclick: (event) => { event.preventDefault(); place.focus(); } }, "Skip to the page"),
    h("div.frame", side, place));
  const mark = (path) => {
    for (const link of links) {
      const target = link.getAttribute("href").slice(1);
      const isHere = target === "/" ? path === "/" : path === target || path.startsWith(target + "/");
      if (isHere) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
      // Scroll only the menu row. The page keeps its position.
      if (isHere && link.parentElement.scrollWidth > link.parentElement.clientWidth) {
        link.parentElement.scrollLeft = link.offsetLeft - 40;
      }
    }
  };
  return { place, mark };
}
