// What stands around every page: where one can go, and who is there.

import { h } from "./h.js";
import { logOut, may, session } from "./session.js";
import { roles } from "./words.js";
import { time } from "./format.js";

const menu = [
  ["Match night", [
    ["#/", "Now", "read"], ["#/compose", "Compose", "send"], ["#/groups", "Groups", "read"], ["#/sends", "Sends", "read"],
    ["#/schedules", "Schedules", "read"], ["#/definitions", "Definitions", "read"],
  ]],
  ["Whom", [["#/people", "People", "read"], ["#/events", "Events", "read"]]],
  ["House", [["#/dead-letters", "Dead letters", "read"], ["#/fleet", "Fleet", "read"], ["#/audit", "Audit", "read"]]],
];

const themes = ["auto", "light", "dark"];
const stored = () => { try { return localStorage.getItem("theme") ?? "auto"; } catch { return "auto"; } };

export function applyTheme(theme = stored()) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function themeButton() {
  const button = h("button.small", { type: "button", title: "Colours: light, dark, or as the machine has them", onclick: () => {
    const next = themes[(themes.indexOf(stored()) + 1) % themes.length];
    try { localStorage.setItem("theme", next); } catch { /* A browser that keeps nothing. */ }
    applyTheme(next);
    button.firstChild.data = label(next);
  } }, label(stored()));
  return button;
}
const label = (theme) => ({ auto: "Auto", light: "Light", dark: "Dark" })[theme];

/** Makes the frame; returns the place for pages, and what marks where one is. */
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
        h("div.note", `logged in until ${time(session.endsAt)}`)),
      h("div.row", themeButton(),
        h("button.small", { type: "button", onclick: async () => { try { await logOut(); } finally { left(); } } }, "Log out"))));
  const place = h("main", { id: "main", tabindex: "-1" });
  root.replaceChildren(
    h("a.skip", { href: "#main", onclick: (event) => { event.preventDefault(); place.focus(); } }, "To the page"),
    h("div.frame", side, place));
  const mark = (path) => {
    for (const link of links) {
      const target = link.getAttribute("href").slice(1);
      const isHere = target === "/" ? path === "/" : path === target || path.startsWith(target + "/");
      if (isHere) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
      // Its own row only: the page itself stays where it is.
      if (isHere && link.parentElement.scrollWidth > link.parentElement.clientWidth) {
        link.parentElement.scrollLeft = link.offsetLeft - 40;
      }
    }
  };
  return { place, mark };
}
