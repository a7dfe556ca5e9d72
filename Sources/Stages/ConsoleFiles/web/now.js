// The live groups, the share of phones with the newest state, and the current problems.

import { h } from "./h.js";
import { get } from "./api.js";
import { may } from "./session.js";
import { poll } from "./poll.js";
import { show } from "./patch.js";
import { card, coded, empty, figures, head, moment, notice, tag } from "./parts.js";
import { bar, line } from "./charts.js";
import { ago, count, counted, share, span } from "./format.js";
import { to, toAsking } from "./router.js";
import { Freshness } from "./away.js";
import { remedy } from "./words.js";

const looksKept = 40;
const lateAfter = 30_000;

/** The pushes per second over the last polls, from the total at each poll. */
class Rate {
  #looks = [];

  add(at, pushes) {
    const last = this.#looks.at(-1);
    if (last && at <= last.at) return;
    this.#looks.push({ at, pushes });
    if (this.#looks.length > looksKept) this.#looks.shift();
  }

  get values() {
    return this.#looks.slice(1).map(({ at, pushes }, index) => {
      const before = this.#looks[index];
      return Math.max(0, ((pushes - before.pushes) * 1000) / (at - before.at));
    });
  }
}

function troubles(groups, sends, fleet) {
  const list = [];
  for (const group of groups) {
    const behind = (group.running ?? 0) - (group.onNewest ?? 0);
    if (group.newest && behind > 0 && group.share < 0.95 && Date.now() - group.lastAt > lateAfter) {
      list.push([`${counted(behind, "phone")} of ${group.groupId} ${behind === 1 ? "is" : "are"} behind its newest state, sent ${ago(group.lastAt)}.`, to("groups", group.groupId)]);
    }
  }
  const failed = {};
  for (const send of sends) {
    if (Date.now() - send.acceptedAt > 3_600_000) continue;
    for (const [reason, number] of Object.entries(send.report?.rejectedBy ?? {})) failed[reason] = (failed[reason] ?? 0) + number;
  }
  for (const [reason, number] of Object.entries(failed)) {
    if (reason === "Unregistered") continue;
    list.push([`${counted(number, "push", "pushes")} of the last hour failed with ${reason}. ${remedy(reason)}`, "#/sends"]);
  }
  for (const member of fleet?.members ?? []) {
    if (member.isAway) list.push([`${member.process} of ${member.stage} does not answer; its last sign of life was ${ago(member.heardAt)}.`, "#/fleet"]);
  }
  for (const { environment } of fleet?.openBreakers ?? []) {
    list.push([`Pushes in ${environment} are paused: APNs refuses the app's key, team or topic. Correct the setting; no token is lost.`, "#/fleet"]);
  }
  for (const lag of fleet?.lag ?? []) {
    if (lag.oldestAt && Date.now() - lag.oldestAt > lateAfter) {
      list.push([`${lag.stage} is behind on ${lag.topic}: the oldest of ${counted(lag.records, "record")} has waited ${span(Date.now() - lag.oldestAt)}.`, "#/fleet"]);
    }
  }
  return list;
}

function groupCard(group) {
  const { newest } = group;
  const whole = Math.max(group.running ?? 0, group.onNewest ?? 0);
  const on = Math.min(group.onNewest ?? 0, whole);
  return h("article.card.group", { "data-key": group.groupId + (group.userId ?? "") },
    h("header",
      h("h2", h("a", { href: toAsking({ user: group.userId }, "groups", group.groupId) }, group.groupId)),
      tag("live", "live")),
    newest?.contentState !== undefined && h("pre.state", JSON.stringify(newest.contentState)),
    whole > 0
      ? bar("Phones on the newest version",
        [{ name: "on the newest version", value: on, series: 0 }], whole,
        [h("span", h("b", count(on)), ` of ${counted(whole, "phone")} on the newest version`), h("b", share(group.share ?? on / whole))])
      : h("p.note", "No phone has reported a running activity yet."),
    h("p.note",
      group.attributesType ? `${group.attributesType} · ` : "",
      newest ? `${newest.event} ` : "", "sent ", moment(group.lastAt),
      group.waitingSendId ? " · another send is waiting" : ""),
    may("send") && h("div",
      h("a.button.small", { href: toAsking({ event: "update", group: group.groupId, type: group.attributesType }, "compose") }, "Update"), " ",
      h("a.button.small", { href: toAsking({ event: "end", group: group.groupId, type: group.attributesType }, "compose") }, "End")));
}

/** Returns a fallback if an optional part of this page fails. */
const orNothing = (promise, nothing) => promise.catch((error) => {
  if (error.status === 401 || error.name === "AbortError") throw error;
  return nothing;
});

function page(place) {
  const freshness = new Freshness();
  const rate = new Rate();
  let last = null;
  const body = h("div.stack");
  place.append(
    head("Now", { sub: "The live groups, and the share of phones with the newest state.",
      actions: may("send") && h("a.button.main", { href: "#/compose" }, "Compose") }),
    body);

  function draw() {
    const said = freshness.notices();
    if (!last) return show(body, ...said, said.length ? null : h("p.note", "Looking …"));
    const { groups, sends, fleet } = last;
    const list = troubles(groups, sends, fleet);
    const values = rate.values;
    const speed = values.slice(-5).reduce((sum, value) => sum + value, 0) / Math.max(1, Math.min(5, values.length));
    const phones = groups.reduce((sum, group) => sum + (group.running ?? 0), 0);
    const on = groups.reduce((sum, group) => sum + Math.min(group.onNewest ?? 0, group.running ?? 0), 0);
    show(body,
      ...said,
      list.length
        ? notice("warn", h("ul", list.map(([text, href]) => h("li", coded(text), " ", h("a", { href }, "Show")))))
        : !said.length && notice("good", "No problems are known."),
      figures([
        ["Live groups", count(groups.length)],
        ["Phones in live groups", count(phones)],
        ["On the newest version", phones ? share(on / phones) : "–", phones ? `${count(on)} phones` : ""],
        ["Pushes per second", count(Math.round(speed)), values.length > 1 && line("Pushes per second over the last polls", values)],
      ]),
      groups.length
        ? h("div.groups", groups.map(groupCard))
        : card("Live groups", null, empty("No group is live",
          "A group is live from its start to its end. This page then shows its state, its phones and its speed.",
          may("send") && h("a.button.main", { href: "#/compose?event=start" }, "Start an activity"))));
  }

  const stop = poll(async (signal) => {
    const [groups, sends, fleet] = await Promise.all([
      get("/v1/groups?state=live&limit=100", signal),
      orNothing(get("/v1/sends?limit=50", signal), { sends: [] }),
      orNothing(get("/v1/fleet", signal), null),
    ]);
    return { groups, sends, fleet };
  }, ({ groups, sends, fleet }) => {
    freshness.took(groups);
    rate.add(Date.now(), sends.sends.reduce((sum, send) => sum + (send.report?.pushed ?? 0), 0));
    last = { groups: groups.groups, sends: sends.sends, fleet };
    draw();
  }, (error) => { freshness.failed(error); draw(); });
  draw();
  return stop;
}

export default { title: "Now", show: page };
