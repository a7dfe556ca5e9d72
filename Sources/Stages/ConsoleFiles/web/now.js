// The live groups, the share of phones with the newest state, and the current problems.

import { h } from "./h.js";
import { get } from "./api.js";
import { may } from "./session.js";
import { poll } from "./poll.js";
import { show } from "./patch.js";
import { card, coded, empty, figures, head, moment, notice } from "./parts.js";
import { line } from "./charts.js";
import { count, counted, share } from "./format.js";
import { to, toAsking } from "./router.js";
import { Freshness, what } from "./away.js";
import { freshnessBar, isReal } from "./groupstate.js";
import { scoreOf, sideNames, stateWords } from "./layout.js";
import { attributesOf } from "./groupattributes.js";
import { stateTag } from "./groups.js";
import { BehindSince, troubles } from "./troubles.js";
import { pushRate, recentCounts } from "./series.js";
import { SeriesCard } from "./seriescard.js";
import { layoutOfGroup, Match } from "./match.js";

/** The pauses between two polls of each part, in milliseconds. The groups are small and change most. */
const pauses = { fleet: 5000, series: 5000 };

/** A message covers the bottom of a small screen, so one about a success goes away. */
const successMilliseconds = 20_000;

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

/** The state of a card: the score between the names of its sides, or its first values. */
function scoreLine(group) {
  const state = group.newest.contentState;
  const layout = layoutOfGroup(group);
  const score = scoreOf(layout, state);
  if (score === undefined) return h("p.score", stateWords(layout, state));
  const [left, right] = sideNames(layout, attributesOf(group));
  return h("p.score", h("span.team-name", left), h("strong", score), h("span.team-name", right));
}

function groupCard(group, match) {
  const { newest } = group;
  const mayAct = may("send") && group.state === "live";
  const address = (event) => toAsking({ event, group: group.groupId, user: group.userId, type: group.attributesType }, "compose");
  return h("article.card.group", { "data-key": group.key },
    h("header",
      h("h2", h("a", { href: toAsking({ user: group.userId }, "groups", group.groupId) }, group.groupId)),
      stateTag(group)),
    newest?.contentState !== undefined && scoreLine(group),
    mayAct && isReal(group) && match.steps(group),
    freshnessBar(group),
    h("p.note",
      group.attributesType ? `${group.attributesType} · ` : "",
      newest ? `${newest.event} ` : "", "sent ", moment(group.lastAt),
      group.waitingSendId ? " · another send is waiting" : ""),
    mayAct && h("div.acts",
      h("a.button", { href: address("update") }, "Update"),
      h("a.button", { href: address("end") }, "End"),
      isReal(group) && match.putBack(group)),
    newest?.contentState !== undefined && h("details", h("summary", "Whole state"), h("pre.state", JSON.stringify(newest.contentState, null, 1))));
}

/** Returns the earlier answer if an optional part of this page fails. */
const orBefore = (promise, before) => promise.catch((error) => {
  if (error.status === 401 || error.name === "AbortError") throw error;
  return before;
});

/** Reads the parts of the page, each after its own pause. */
class Reader {
  #readAt = {};
  #parts = { fleet: null, series: null };

  async #part(name, read) {
    if (Date.now() - (this.#readAt[name] ?? 0) < pauses[name]) return;
    this.#readAt[name] = Date.now();
    this.#parts[name] = await orBefore(read(), this.#parts[name]);
  }

  async read(signal) {
    const [groups] = await Promise.all([
      get("/v1/groups?state=live&limit=100", signal),
      this.#part("fleet", () => get("/v1/fleet", signal)),
      this.#part("series", () => get("/v1/series?range=15m", signal)),
    ]);
    return { groups, ...this.#parts };
  }
}

function figuresOf(groups, isPartial, series, problems) {
  const phones = groups.reduce((sum, group) => sum + (group.running ?? 0), 0);
  const on = groups.reduce((sum, group) => sum + Math.min(group.onNewest ?? 0, group.running ?? 0), 0);
  const rate = pushRate(series);
  const atLeast = (text, is) => (is ? `≥ ${text}` : text);
  return figures([
    ["Problems", problems ? h("button.small", { type: "button", onclick: () => document.getElementById("problems").scrollIntoView() }, `${problems}, show`) : "none"],
    ["Live groups", atLeast(count(groups.length), isPartial)],
    ["Phones in live groups", atLeast(count(phones), isPartial)],
    ["On the newest version", phones ? share(on / phones) : "–", counted(on, "phone")],
    ["Pushes per second", rate === undefined ? "–" : rate > 0 && rate < 10 ? rate.toFixed(1) : count(rate),
      ["in the last minute", line("Pushes of the last five minutes", recentCounts(series))]],
  ]);
}

function page(place) {
  const freshness = new Freshness();
  const reader = new Reader();
  const order = new CardOrder();
  const behind = new BehindSince();
  const charts = new SeriesCard();
  const end = new AbortController();
  let last = null;
  let said = null;
  const match = new Match({
    signal: end.signal,
    changed: () => stop.now(),
    say: (kind, text, sendId) => {
      const told = said = notice(kind, coded(text), sendId && " ", sendId && h("a", { href: to("sends", sendId) }, "Show"));
      if (kind === "good") setTimeout(() => { if (said === told) { said = null; draw(); } }, successMilliseconds);
      draw();
    },
  });
  const body = h("div.stack");
  // Messages and outdated figures must not move the cards, because a reader may be about to press a button of one.
  const toast = h("div.toast", { "aria-live": "polite" });
  place.append(
    head("Now", { sub: "The live groups, and the share of phones with the newest state.",
      actions: may("send") && h("a.button.main", { href: "#/compose" }, "Compose") }),
    body, charts.element, toast);

  function draw() {
    const notices = freshness.notices();
    if (!last) return show(body, ...notices, notices.length ? null : h("p.note", "Looking …"));
    show(toast, ...notices, said?.cloneNode(true));
    const { groups, isPartial, series, fleet } = last;
    const list = troubles({ groups, behind, failures: series?.failuresOfLastHour, fleet });
    const cards = order.cards(groups);
    show(body,
      figuresOf(groups.filter(isReal), isPartial, series, list.length),
      cards.length
        ? h("div.groups", cards.map((group) => groupCard(group, match)))
        : card("Live groups", null, empty("No group is live",
          "A group is live from its start to its end. This page then shows its state, its phones and its speed.",
          may("send") && h("a.button.main", { href: "#/compose?event=start" }, "Start an activity"))),
      list.length
        ? notice("warn", h("ul", { id: "problems" }, list.map(([text, href]) => h("li", coded(text), " ", h("a", { href }, "Show")))))
        : !notices.length && notice("good", "No problems are known."));
  }

  const stop = poll((signal) => reader.read(signal), ({ groups, fleet, series }) => {
    freshness.took(groups);
    behind.took(groups.items, series?.behind);
    last = { groups: groups.items, isPartial: groups.next !== undefined, fleet, series };
    charts.took(series);
    draw();
  }, (error) => { freshness.failed(error); draw(); });
  draw();
  match.lookUpPending().catch((error) => { if (!end.signal.aborted) { said = notice("bad", coded(what(error))); draw(); } });
  return () => { end.abort(); charts.stop(); stop(); };
}

export default { title: "Now", show: page };
