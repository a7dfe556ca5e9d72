// The list of groups, and the page of one group.

import { h } from "./h.js";
import { get, query, segment } from "./api.js";
import { may } from "./session.js";
import { poll } from "./poll.js";
import { show } from "./patch.js";
import { card, choice, during, empty, facts, figures, head, moment, table, tag } from "./parts.js";
import { columns, legend } from "./charts.js";
import { count, share } from "./format.js";
import { ask, to, toAsking } from "./router.js";
import { Freshness, what } from "./away.js";
import { sendColumns } from "./sendcolumns.js";
import { freshnessBar, isReal } from "./groupstate.js";
import { outcomeNames, outcomeSeries } from "./outcome.js";

/** The state of a group. A mistyped group is not live: it has no start, and no phone has reported it. */
export function stateTag(group) {
  if (group.state !== "live") return tag("", "ended");
  return isReal(group) ? tag("live", "live") : tag("warn", "no phones");
}

const listColumns = [
  { title: "Group", kind: "name", cell: (group) => h("a", { href: toAsking({ user: group.userId }, "groups", group.groupId) }, group.groupId) },
  { title: "State", cell: stateTag },
  { title: "Type", kind: "name", cell: (group) => group.attributesType ?? "–" },
  { title: "Updates", kind: "number", cell: (group) => count(group.updates) },
  { title: "Phones", kind: "number", cell: (group) => count(group.running) },
  { title: "On the newest", kind: "number", cell: (group) => share(group.share) },
  { title: "", spoken: "Chart of the phones", kind: "name", cell: (group) => freshnessBar(group, { isShort: true }) },
  { title: "Last send", kind: "time", cell: (group) => moment(group.lastAt) },
];

function listPage(place, { asked }) {
  const freshness = new Freshness();
  let state = asked.get("state") ?? "live";
  let answer = null;
  let further = [];
  let next;
  const body = h("div.stack");
  place.append(head("Groups", { sub: "The same activity on many phones: its state, and the phones that show it." }),
    choice("Which", "state", [["live", "Live"], ["ended", "Ended"], ["all", "All"]], state, (value) => {
      state = value;
      answer = null; further = []; next = undefined;
      ask({ state });
      stop.now();
    }), body);

  async function more() {
    try {
      const page = await get(query("/v1/groups", { state, cursor: next }));
      further = [...further, ...page.items];
      next = page.next;
    } catch (error) { freshness.failed(error); }
    draw();
  }

  function draw() {
    const said = freshness.notices();
    if (!answer) return show(body, ...said, said.length ? null : h("p.note", "Looking …"));
    const all = [...answer.items, ...further];
    show(body, ...said, h("section.card", all.length
      ? [table("Groups", listColumns, all, (group) => `${group.groupId} ${group.userId ?? ""}`),
        next && h("div.more", h("button", { type: "button", onclick: (event) => during(event.target, more) }, "Show older"))]
      : empty("No groups", state === "live" ? "No group is live now." : "No group of the last days has this state.")));
  }

  const stop = poll((signal) => get(query("/v1/groups", { state }), signal), (got) => {
    freshness.took(got);
    if (!further.length) next = got.next;
    answer = got;
    draw();
  }, (error) => { freshness.failed(error); draw(); }, 2000);
  draw();
  return stop;
}

export const groupsPage = { title: "Groups", show: listPage };

function history(versions) {
  if (versions.length < 2) return null;
  const kinds = outcomeNames.map((name) => ({ name, series: outcomeSeries[name] }));
  const buckets = versions.toReversed().slice(-40).map(({ acceptedAt, report = {} }) => (
    { at: acceptedAt, parts: kinds.map(({ name }) => report[name] ?? 0) }));
  return card("Versions", "pushes of each version, the newest at the right", h("div.in",
    columns("Pushes by version", buckets, kinds),
    legend(kinds)));
}

function onePage(place, { parameters: { id }, asked }) {
  const user = asked.get("user");
  const freshness = new Freshness();
  let group = null;
  const top = h("div");
  const body = h("div.stack");
  place.append(top, body);

  function draw() {
    const said = freshness.notices();
    const fields = { group: id, user, type: group?.attributesType };
    show(top, head(id, {
      back: { href: "#/groups", text: "Groups" },
      tag: group && stateTag(group),
      sub: group?.attributesType,
      actions: may("send") && group?.state !== "ended" && [
        h("a.button.main", { href: toAsking({ ...fields, event: "update" }, "compose") }, "Update"),
        h("a.button", { href: toAsking({ ...fields, event: "end" }, "compose") }, "End"),
      ],
    }));
    if (!group) return show(body, ...said, said.length ? null : h("p.note", "Looking …"));
    const { newest } = group;
    const versions = (group.versions ?? []).filter(({ dryRun }) => !dryRun);
    show(body, ...said,
      card("On the newest version", null, h("div.in", freshnessBar(group))),
      figures([["Activities running", count(group.running)], ["Updates", count(group.updates)],
        ["Started", moment(group.startedAt)],
        group.endedAt && ["Ended", moment(group.endedAt)], group.endDate && ["Ends", moment(group.endDate)]]),
      newest && card("Newest state", newest.event, h("div.in",
        newest.contentState !== undefined && h("pre.state", JSON.stringify(newest.contentState, null, 1)),
        facts([["Send", h("a", { href: toAsking({ at: newest.acceptedAt }, "sends", newest.sendId) }, newest.sendId)],
          ["Version", newest.version], ["Priority", newest.priority], ["Accepted", moment(newest.acceptedAt)],
          ["Waiting", group.waitingSendId && h("a", { href: to("sends", group.waitingSendId) }, group.waitingSendId)]]))),
      history(versions),
      card("Sends", null, versions.length
        ? table("Sends of this group", sendColumns(false), versions, (send) => send.sendId)
        : empty("No sends", "Nothing was sent to this group in the last seven days.")));
  }

  const stop = poll((signal) => get(query(`/v1/groups/${segment(id)}`, { user }), signal), (answer) => {
    freshness.took(answer);
    group = answer;
    draw();
  }, (error) => {
    if (error.status === 404 && !group) {
      return show(body, card("Group", null, empty("This group is unknown", what(error))));
    }
    freshness.failed(error);
    draw();
  });
  draw();
  return stop;
}

export const groupPage = { title: "Group", show: onePage };
