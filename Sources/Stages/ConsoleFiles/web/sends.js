// The list of sends, and the page of one send.

import { h } from "./h.js";
import { call, get, query, segment } from "./api.js";
import { may } from "./session.js";
import { poll } from "./poll.js";
import { show } from "./patch.js";
import { card, confirm, during, empty, facts, field, head, moment, notice, table } from "./parts.js";
import { bar } from "./charts.js";
import { count, counted } from "./format.js";
import { ask, to, toAsking } from "./router.js";
import { Freshness, what } from "./away.js";
import { environments, failures, leftOut, reportParts, sendBar, sendFigures, sendFunnel, systems, targets, verdictTag } from "./report.js";
import { outcomeOf } from "./outcome.js";

export const sendColumns = (isGroupShown = true) => [
  isGroupShown && { title: "Group", kind: "name", cell: (send) => send.groupId
    ? h("a", { href: toAsking({ user: send.userId }, "groups", send.groupId) }, send.groupId) : "–" },
  { title: "Accepted", kind: "time", cell: (send) => moment(send.acceptedAt) },
  { title: "Send", kind: "name", cell: (send) => h("a", { href: toAsking({ at: send.acceptedAt }, "sends", send.sendId) },
    send.event ?? "send", send.dryRun ? " (dry run)" : "") },
  { title: "State", cell: (send) => verdictTag(send) },
  { title: "Targeted", kind: "number", cell: (send) => count(targets(send).all) },
  { title: "Accepted by APNs", kind: "number", cell: (send) => count(send.report?.accepted) },
  { title: "Rejected", kind: "number", cell: (send) => count(send.report?.rejected) },
  { title: "", kind: "name", cell: (send) => send.report && send.report.pushed + (send.report.superseded ?? 0) > 0
    && bar("Outcomes of the pushes", reportParts(send.report), Math.max(send.expanded ?? 0, send.report.pushed)) },
].filter(Boolean);

function listPage(place, { asked }) {
  const freshness = new Freshness();
  let group = asked.get("group") ?? "";
  let first = null;
  let further = [];
  let next = null;
  // Each confirmation of a send makes a trial, so trials would hide the sends.
  let areTrialsShown = false;
  const body = h("div.stack");
  const input = h("input", { type: "search", value: group, placeholder: "all groups" });
  place.append(
    head("Sends", { sub: "Sends of the last 24 hours, the newest first.",
      actions: may("send") && h("a.button.main", { href: "#/compose" }, "Compose") }),
    h("form.filters", { onsubmit: (event) => {
      event.preventDefault();
      group = input.value.trim();
      ask({ group });
      first = null; further = []; next = null;
      stop.now();
    } }, field("Group", input, { wide: true }), h("button", "Show"),
    h("label.check", h("input", { type: "checkbox", onchange: (event) => { areTrialsShown = event.target.checked; draw(); } }), "Show trials")),
    body);

  function draw() {
    const said = freshness.notices();
    if (!first) return show(body, ...said, said.length ? null : h("p.note", "Looking …"));
    const known = new Set(first.items.map(({ sendId }) => sendId));
    const all = [...first.items, ...further.filter(({ sendId }) => !known.has(sendId))].filter(({ dryRun }) => areTrialsShown || !dryRun);
    show(body, ...said, h("section.card", all.length || next
      ? [table("Sends", sendColumns(), all, (send) => send.sendId), next && h("div.more",
        h("button", { type: "button", onclick: (event) => during(event.target, more) }, "Show older"))]
      : empty("No sends", "Sends of the last 24 hours are listed here with their outcomes.")));
  }

  async function more() {
    try {
      const page = await get(query("/v1/sends", { group, cursor: next }));
      further = [...further, ...page.items];
      next = page.next;
    } catch (error) { freshness.failed(error); }
    draw();
  }

  const stop = poll((signal) => get(query("/v1/sends", { group }), signal), (answer) => {
    freshness.took(answer);
    if (!further.length) next = answer.next;
    first = answer;
    draw();
  }, (error) => { freshness.failed(error); draw(); }, 2000);
  draw();
  return stop;
}

export const sendsPage = { title: "Sends", show: listPage };

/** The parts that exist, side by side. */
function columnsOf(...parts) {
  const there = parts.filter(Boolean);
  return there.length > 0 && h("div.columns", there);
}

async function cancel(id, at) {
  const isMeant = await confirm("Cancel this send?",
    [h("p", "Pushes that are not sent yet are stopped. Pushes that have arrived stay on the phones.")], "Cancel send", "danger");
  if (isMeant) await call("DELETE", query(`/v1/sends/${segment(id)}`, { at }));
}

function onePage(place, { parameters: { id }, asked }) {
  const at = asked.get("at");
  const freshness = new Freshness();
  let send = null;
  const top = h("div");
  const body = h("div.stack");
  place.append(top, body);

  function draw() {
    const said = freshness.notices();
    const [, word, sentence] = send ? outcomeOf(send) : [];
    const isOpen = send && !send.isComplete && !["cancelled", "stopping"].includes(send.verdict);
    show(top, head(send?.dryRun ? "Dry run" : "Send", {
      back: { href: "#/sends", text: "Sends" },
      tag: send && verdictTag(send),
      sub: send ? sentence || word : null,
      actions: [
        send?.groupId && h("a.button", { href: to("groups", send.groupId) }, "Its group"),
        isOpen && may("send") && h("button.danger", { type: "button", onclick: (event) =>
          during(event.target, () => cancel(id, at)).catch((error) => { freshness.failed(error); draw(); }) }, "Cancel send"),
      ],
    }));
    if (!send) return show(body, ...said, said.length ? null : h("p.note", "Looking …"));
    show(body, ...said,
      send.reason === "unknown_group" && notice("warn", "This group is unknown: there was no start, and no phone has reported it."),
      send.findings?.length > 0 && notice("warn", h("ul", send.findings.map((finding) => h("li", finding)))),
      card("Progress", null, h("div.in", sendBar(send))),
      sendFigures(send),
      columnsOf(sendFunnel(send), leftOut(send)),
      failures(send.report), columnsOf(environments(send.report), systems(send.report)),
      card("Details", null, h("div.in", facts([
        ["Id", h("code", id)], ["Group", send.groupId && h("a", { href: to("groups", send.groupId) }, send.groupId)],
        ["Version", send.version], ["Generation", send.generation], ["Accepted", moment(send.acceptedAt)],
        ["Due", send.dueAt && moment(send.dueAt)],
        ["Lanes done", send.lanesExpected ? `${count(send.lanesDone)} of ${count(send.lanesExpected)}` : undefined],
        ["Not visited", send.lanesPartlyVisited ? `phones in ${counted(send.lanesPartlyVisited, "lane")}, because the group ended` : undefined],
      ]))));
  }

  const stop = poll((signal) => get(query(`/v1/sends/${segment(id)}`, { at }), signal), (answer) => {
    freshness.took({ ...answer.report, insightAway: answer.insightAway });
    send = { ...answer, report: answer.report ?? send?.report };
    draw();
  }, (error) => {
    if (error.status === 404 && !send) {
      return show(body, card("Send", null, empty("There is no such send", what(error))));
    }
    freshness.failed(error);
    draw();
  });
  draw();
  return stop;
}

export const sendPage = { title: "Send", show: onePage };
