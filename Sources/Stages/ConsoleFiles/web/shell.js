// The frame around every page: the menu and the session.

import { h } from "./h.js";
import { logOut, may, otherSessions, session } from "./session.js";
import { select } from "./parts.js";
import { roles } from "./words.js";
import { time } from "./format.js";

const menu = [
  ["Live Activities", [
    ["#/", "Now", "read"], ["#/compose", "Compose", "send"], ["#/groups", "Groups", "read"], ["#/sends", "Sends", "read"],
    ["#/schedules", "Schedules", "read"], ["#/definitions", "Definitions", "read"],
  ]],
  ["Recipients", [["#/people", "People", "read"], ["#/events", "Events", "read"]]],
  ["Set-up", [["#/types", "Activity types", "read"], ["#/segments", "Segments", "read"], ["#/keys", "Keys", "admin"], ["#/webhooks", "Webhooks", "admin"],
    ["#/app", "App", "read"]]],
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

/** The app of this tab. With sessions of several apps it is a choice. */
function appChoice({ switched }) {
  if (!otherSessions.length) return null;
  const apps = [session, ...otherSessions].map(({ app }) => app).sort();
  const list = select(apps.map((app) => [app, app]), session.app, switched);
  list.setAttribute("aria-label", "App");
  return list;
}

/**
 * Builds the frame. Returns the container of pages and a function that marks the current page.
 *
 * @param on `{left, switched, added}`: the reader has logged out, has chosen another app, or wants to log in to another app.
 */
export function frame(root, on) {
  const links = [];
  const side = h("header.side",
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
      h("div.row", appChoice(on), themeButton(),
        h("button.small", { type: "button", onclick: on.added }, "Another app"),
        h("button.small", { type: "button", onclick: async () => { try { await logOut(); } finally { on.left(); } } }, "Log out"))));
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
