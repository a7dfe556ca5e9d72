// The list of sends, and the page of one send.

import { h } from "./h.js";
import { call, get, query, segment } from "./api.js";
import { may } from "./session.js";
import { poll } from "./poll.js";
import { show } from "./patch.js";
import { card, confirm, during, empty, facts, field, head, moment, notice, select, table } from "./parts.js";
import { count, counted } from "./format.js";
import { ask, to } from "./router.js";
import { Freshness, what } from "./away.js";
import { environments, failures, leftOut, sendBar, sendFigures, sendFunnel, systems, verdictTag } from "./report.js";
import { sendColumns } from "./sendcolumns.js";
import { storedAudience } from "./audiencewords.js";
import { FailedPhones } from "./failedphones.js";
import { outcomeOf } from "./outcome.js";

const events = [["", "all events"], ["start", "Start"], ["update", "Update"], ["end", "End"]];
const results = [["", "all results"], ["failed", "Failures"], ["nobody", "Reached no phone"], ["open", "Not finished"], ["done", "Done"]];
const filterNames = ["group", "event", "result", "author", "text"];

function listPage(place, { asked }) {
  const freshness = new Freshness();
  const filter = Object.fromEntries(filterNames.map((name) => [name, asked.get(name) ?? ""]));
  let first = null;
  let further = [];
  let next = null;
  const body = h("div.stack");
  const input = (name, placeholder) => h("input", { type: "search", name, value: filter[name], placeholder, spellcheck: "false" });
  const texts = { text: input("text", "group, id, content, user"), group: input("group", "all groups"), author: input("author", "key id") };
  const changed = () => {
    for (const [name, { value }] of Object.entries(texts)) filter[name] = value.trim();
    ask(filter);
    first = null; further = []; next = null;
    draw();
    stop.now();
  };
  const choose = (name) => (value) => { filter[name] = value; changed(); };
  place.append(
    head("Sends", { sub: "Sends of the last 24 hours, the newest first.",
      actions: may("send") && h("a.button.main", { href: "#/compose" }, "Compose") }),
    h("form.filters", { onsubmit: (event) => { event.preventDefault(); changed(); } },
      field("Search", texts.text, { wide: true }), field("Group", texts.group),
      field("Event", select(events, filter.event, choose("event"))), field("Result", select(results, filter.result, choose("result"))),
      field("Author", texts.author), h("button", "Show")),
    body);

  function draw() {
    const said = freshness.notices();
    if (!first) return show(body, ...said, said.length ? null : h("p.note", "Looking …"));
    const known = new Set(first.items.map(({ sendId }) => sendId));
    const all = [...first.items, ...further.filter(({ sendId }) => !known.has(sendId))];
    const isFiltered = filterNames.some((name) => filter[name]);
    show(body, ...said, h("section.card", all.length
      ? table("Sends", sendColumns(), all, (send) => send.sendId)
      : empty("No sends", isFiltered ? "No send that was read matches the filter." : "Sends of the last 24 hours are listed here with their outcomes."),
    next && h("div.more", h("button", { type: "button", onclick: (event) => during(event.target, more) }, "Show older"))));
  }

  async function more() {
    try {
      const page = await get(query("/v1/sends", { ...filter, cursor: next }));
      further = [...further, ...page.items];
      next = page.next;
    } catch (error) { freshness.failed(error); }
    draw();
  }

  const stop = poll((signal) => get(query("/v1/sends", filter), signal), (answer) => {
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
  const failed = new FailedPhones(id);
  const details = h("div.stack");
  place.append(top, body, failed.element, details);

  function draw() {
    const said = freshness.notices();
    const [, word, sentence] = send ? outcomeOf(send) : [];
    const isOpen = send && !send.isComplete && !["cancelled", "stopping"].includes(send.verdict);
    show(top, head(send?.dryRun ? "Dry run" : send?.event ? `Send: ${send.event}` : "Send", {
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
      failures(send.report));
    failed.took(send.report);
    show(details, columnsOf(environments(send), systems(send)),
      send.contentState && card("Content", null, h("div.in", h("pre.state", JSON.stringify(send.contentState, null, 1)))),
      card("Details", null, h("div.in", facts([
        ["Id", h("code", id)], ["Group", send.groupId && h("a", { href: to("groups", send.groupId) }, send.groupId)],
        ["Audience", storedAudience(send)], ["Author", send.author && h("code", send.author)], ["Request", send.requestId && h("code", send.requestId)],
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
