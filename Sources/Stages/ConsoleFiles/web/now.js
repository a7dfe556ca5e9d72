// The live groups, the share of phones with the newest state, and the current problems.

import { h } from "./h.js";
import { get } from "./api.js";
import { may } from "./session.js";
import { poll } from "./poll.js";
import { show } from "./patch.js";
import { card, coded, empty, figures, head, moment, notice } from "./parts.js";
import { bar, line } from "./charts.js";
import { count, counted, share } from "./format.js";
import { to, toAsking } from "./router.js";
import { Freshness, what } from "./away.js";
import { isReal } from "./groupstate.js";
import { stateWords } from "./layout.js";
import { stateTag } from "./groups.js";
import { BehindSince, troubles } from "./troubles.js";
import { failuresOfTheHour, PushRate } from "./rates.js";
import { layoutOfGroup, Match } from "./match.js";

/** The pauses between two polls of each part, in milliseconds. The groups are small and change most. */
const pauses = { sends: 5000, fleet: 5000, failures: 60_000 };
const sendsRead = 200;

/** Keeps the cards in their places: by the start of the group, and an ended group stays until the page is left. */
class CardOrder {
  #places = new Map();

  cards(groups) {
    const keyOf = ({ groupId, userId }) => `${groupId} ${userId ?? ""}`;
    const live = new Set(groups.map(keyOf));
    const fresh = groups.filter((group) => !this.#places.has(keyOf(group)))
      .sort((a, b) => (a.startedAt ?? Infinity) - (b.startedAt ?? Infinity) || (keyOf(a) < keyOf(b) ? -1 : 1));
    for (const group of [...groups.filter((one) => this.#places.has(keyOf(one))), ...fresh]) this.#places.set(keyOf(group), group);
    return [...this.#places].map(([key, group]) => ({ ...group, key, state: live.has(key) ? group.state : "ended" }));
  }
}

function groupCard(group, match) {
  const { newest } = group;
  const whole = Math.max(group.running ?? 0, group.onNewest ?? 0);
  const on = Math.min(group.onNewest ?? 0, whole);
  const mayAct = may("send") && group.state === "live";
  const address = (event) => toAsking({ event, group: group.groupId, type: group.attributesType }, "compose");
  return h("article.card.group", { "data-key": group.key },
    h("header",
      h("h2", h("a", { href: toAsking({ user: group.userId }, "groups", group.groupId) }, group.groupId)),
      stateTag(group)),
    newest?.contentState !== undefined && h("p.score", stateWords(layoutOfGroup(group), newest.contentState)),
    newest?.contentState !== undefined && h("details", h("summary", "Whole state"), h("pre.state", JSON.stringify(newest.contentState, null, 1))),
    whole > 0
      ? bar("Phones on the newest version",
        [{ name: "on the newest version", value: on, series: 0 }], whole,
        [h("span", h("b", count(on)), ` of ${counted(whole, "phone")} on the newest version`), h("b", share(group.share ?? on / whole))])
      : h("p.note", isReal(group) ? "No phone has reported a running activity yet."
        : "This group has no start and no phones. Its name may be mistyped."),
    h("p.note",
      group.attributesType ? `${group.attributesType} · ` : "",
      newest ? `${newest.event} ` : "", "sent ", moment(group.lastAt),
      group.waitingSendId ? " · another send is waiting" : ""),
    mayAct && isReal(group) && match.buttons(group),
    mayAct && h("div",
      h("a.button.small", { href: address("update") }, "Update"), " ",
      h("a.button.small", { href: address("end") }, "End")));
}

/** Returns the earlier answer if an optional part of this page fails. */
const orBefore = (promise, before) => promise.catch((error) => {
  if (error.status === 401 || error.name === "AbortError") throw error;
  return before;
});

/** Reads the parts of the page, each after its own pause. */
class Reader {
  #readAt = {};
  #parts = { sends: { sends: [] }, fleet: null, failures: undefined };
  rate = new PushRate();

  async #part(name, read) {
    if (Date.now() - (this.#readAt[name] ?? 0) < pauses[name]) return;
    this.#readAt[name] = Date.now();
    this.#parts[name] = await orBefore(read(), this.#parts[name]);
    if (name === "sends") this.rate.add(Date.now(), this.#parts.sends.items);
  }

  async read(signal) {
    const [groups] = await Promise.all([
      get("/v1/groups?state=live&limit=100", signal),
      this.#part("sends", () => get(`/v1/sends?limit=${sendsRead}`, signal)),
      this.#part("fleet", () => get("/v1/fleet", signal)),
      this.#part("failures", () => failuresOfTheHour(signal)),
    ]);
    return { groups, fleet: this.#parts.fleet, failures: this.#parts.failures };
  }
}

function figuresOf(groups, isPartial, rate, problems) {
  const phones = groups.reduce((sum, group) => sum + (group.running ?? 0), 0);
  const on = groups.reduce((sum, group) => sum + Math.min(group.onNewest ?? 0, group.running ?? 0), 0);
  const atLeast = (text, is) => (is ? `≥ ${text}` : text);
  return figures([
    ["Problems", problems ? h("button.small", { type: "button", onclick: () => document.getElementById("problems").scrollIntoView() }, `${problems}, show`) : "none"],
    ["Live groups", atLeast(count(groups.length), isPartial)],
    ["Phones in live groups", atLeast(count(phones), isPartial)],
    ["On the newest version", phones ? share(on / phones) : "–", phones ? `${count(on)} phones` : ""],
    ["Pushes per second", rate.newest === undefined ? "–" : atLeast(count(Math.round(rate.newest)), rate.isLowerBound),
      rate.values.length > 1 && line("Pushes per second over the last polls", rate.values)],
  ]);
}

function page(place) {
  const freshness = new Freshness();
  const reader = new Reader();
  const order = new CardOrder();
  const behind = new BehindSince();
  const end = new AbortController();
  let last = null;
  let said = null;
  const match = new Match({
    signal: end.signal,
    changed: () => stop.now(),
    say: (kind, text, sendId) => { said = notice(kind, coded(text), sendId && " ", sendId && h("a", { href: to("sends", sendId) }, "Show")); draw(); },
  });
  const body = h("div.stack");
  // A message must not move the cards, because a reader may be about to press a button of one.
  const toast = h("div.toast", { "aria-live": "polite" });
  place.append(
    head("Now", { sub: "The live groups, and the share of phones with the newest state.",
      actions: may("send") && h("a.button.main", { href: "#/compose" }, "Compose") }),
    body, toast);

  function draw() {
    const notices = freshness.notices();
    show(toast, said?.cloneNode(true));
    if (!last) return show(body, ...notices, notices.length ? null : h("p.note", "Looking …"));
    const { groups, isPartial, failures, fleet } = last;
    const list = troubles({ groups, behind, failures, fleet });
    const cards = order.cards(groups);
    show(body,
      ...notices,
      figuresOf(groups.filter(isReal), isPartial, reader.rate, list.length),
      cards.length
        ? h("div.groups", cards.map((group) => groupCard(group, match)))
        : card("Live groups", null, empty("No group is live",
          "A group is live from its start to its end. This page then shows its state, its phones and its speed.",
          may("send") && h("a.button.main", { href: "#/compose?event=start" }, "Start an activity"))),
      list.length
        ? notice("warn", h("ul", { id: "problems" }, list.map(([text, href]) => h("li", coded(text), " ", h("a", { href }, "Show")))))
        : !notices.length && notice("good", "No problems are known."));
  }

  const stop = poll((signal) => reader.read(signal), ({ groups, fleet, failures }) => {
    freshness.took(groups);
    behind.took(groups.items);
    last = { groups: groups.items, isPartial: groups.next !== undefined, fleet, failures };
    draw();
  }, (error) => { freshness.failed(error); draw(); });
  draw();
  match.lookUpPending().catch((error) => { if (!end.signal.aborted) { said = notice("bad", coded(what(error))); draw(); } });
  return () => { end.abort(); stop(); };
}

export default { title: "Now", show: page };
