// Dead letters: records that stages could not use, and their redrive. Every action first shows its count.

import { h } from "./h.js";
import { get, post, query } from "./api.js";
import { may } from "./session.js";
import { show } from "./patch.js";
import { card, coded, confirm, during, empty, facts, field, head, moment, notice, select, table, tag } from "./parts.js";
import { count, counted } from "./format.js";
import { ask, toAsking } from "./router.js";
import { what } from "./away.js";
import { letterRemedy, plain } from "./words.js";
import { serverNow } from "./clock.js";

const day = 86_400_000;
const ranges = { "": ["The last 30 days", null], "1h": ["The last hour", 3_600_000], "24h": ["The last 24 hours", day], "7d": ["The last 7 days", 7 * day] };
const states = { open: ["bad", "open"], in_doubt: ["warn", "in doubt"], redriven: ["good", "sent again"], discarded: ["", "discarded"] };
/** The count of letters. The pushes appear only if a letter has several. */
const amount = ({ letters, jobs }) => counted(letters, "letter") + (jobs > letters ? ` with ${counted(jobs, "push", "pushes")}` : "");
const pushes = ({ stage, jobs }) => (stage === "sender" ? count(jobs) : "–");
const stateTag = (state) => tag(...(states[state] ?? ["", state]));

function page(place, { asked }) {
  const wanted = { stage: asked.get("stage") ?? "", reason: asked.get("reason") ?? "", range: asked.get("range") ?? "", settled: asked.get("settled") ?? "" };
  let sums = null;
  let letters = null;
  let opened = null;
  const chosen = new Set();
  const said = h("div");
  const body = h("div.stack");
  const settled = h("input", { type: "checkbox", checked: wanted.settled === "true", onchange: (event) => { wanted.settled = event.target.checked ? "true" : ""; look(); } });
  const button = h("button", { type: "button", onclick: () => look() }, "Refresh");
  place.append(
    head("Dead letters", { sub: "Records that a stage could not use. They are kept unchanged for 30 days.", actions: button }),
    said,
    h("div.filters",
      field("Since", select(Object.entries(ranges).map(([key, [text]]) => [key, text]), wanted.range, (value) => { wanted.range = value; look(); })),
      h("label.check", settled, "Include letters that were sent again or discarded")),
    body);

  const filter = () => ({ stage: wanted.stage, reason: wanted.reason, since: ranges[wanted.range]?.[1] ? serverNow() - ranges[wanted.range][1] : undefined });

  async function look() {
    ask(wanted);
    chosen.clear();
    opened = null;
    try {
      await during(button, async () => {
        const { since } = filter();
        sums = await get(query("/v1/dead-letters", { since, settled: wanted.settled }));
        letters = await get(query("/v1/dead-letters/each", { ...filter(), settled: wanted.settled, limit: 200 }));
      });
      draw();
    } catch (error) { show(said, notice(error.isAway ? "warn" : "bad", coded(what(error)))); }
  }

  async function open(letter) {
    try { opened = await get(`/v1/dead-letters/${letter}`); } catch (error) { show(said, notice("bad", coded(what(error)))); }
    draw();
  }

  /** Counts first, and acts when the reader has confirmed the count. */
  async function act(word, which, target) {
    show(said);
    try {
      const plan = await during(target, () => post(`/v1/dead-letters/${word}`, { ...which, dryRun: true }));
      const isRedrive = word === "redrive";
      const stay = (plan.stay ?? []).map((one) => h("li", `${count(one.count)} cannot be sent again: ${one.message}.`));
      if (plan.inDoubt) stay.push(h("li", `${counted(plan.inDoubt, "letter")} in doubt cannot be discarded: a redrive has begun.`));
      if (!plan.letters && !plan.settled) {
        return show(said, notice("warn", isRedrive ? "None of these letters can be sent again." : "There is nothing to discard.", stay.length ? h("ul", stay) : null));
      }
      const isMeant = await confirm(isRedrive ? "Send these letters again?" : "Discard these letters?", [
        h("p", isRedrive ? `${amount(plan)} will be sent again. Phones with a newer state keep it.`
          : `${counted(plan.letters, "letter")} will be marked as discarded and not sent.`),
        stay.length > 0 && h("ul", stay)], isRedrive ? "Send again" : "Discard", isRedrive ? "main" : "danger");
      if (!isMeant) return;
      const done = await during(target, () => post(`/v1/dead-letters/${word}`, which));
      await look();
      show(said, notice("good", isRedrive ? `Redrive done: ${amount(done)}.` : `Discarded: ${counted(done.letters, "letter")}.`,
        done.stay?.length > 0 && h("ul", done.stay.map((one) => h("li", `${count(one.count)} were not sent again: ${one.message}.`)))));
    } catch (error) {
      show(said, notice("bad", error.code === "answer_too_slow" ? "The call takes longer than the time limit and continues. Refresh in a few minutes." : what(error)));
    }
  }

  const buttons = (which) => may("admin") && h("div",
    h("button.small", { type: "button", onclick: (event) => act("redrive", which(), event.target) }, "Send again …"), " ",
    h("button.small.danger", { type: "button", onclick: (event) => act("discard", which(), event.target) }, "Discard …"));

  const sumColumns = [
    { title: "Stage", cell: ({ stage }) => stage },
    { title: "Reason", kind: "name", cell: ({ stage, reason }) => [h("a", { href: toAsking({ stage, reason }, "dead-letters"), onclick: (event) => {
      event.preventDefault();
      Object.assign(wanted, { stage, reason });
      look();
    } }, plain(reason)), h("div.note", coded(letterRemedy(stage, reason)))] },
    { title: "State", cell: ({ state }) => stateTag(state) },
    { title: "Letters", kind: "number", cell: (row) => count(row.letters) },
    { title: "Pushes", kind: "number", cell: pushes },
    { title: "Last", kind: "time", cell: (row) => moment(row.last) },
    may("admin") && { title: "", spoken: "Actions", cell: ({ stage, reason, state }) => (state === "open" || state === "in_doubt") && buttons(() => ({ stage, reason, since: filter().since })) },
  ].filter(Boolean);

  const letterColumns = [
    may("admin") && { title: "", spoken: "Chosen", cell: ({ letter, state }) => state === "open" && h("input", { type: "checkbox", checked: chosen.has(letter), "aria-label": `Choose ${letter}`,
      onchange: (event) => { if (event.target.checked) chosen.add(letter); else chosen.delete(letter); draw(); } }) },
    { title: "Letter", cell: ({ letter }) => h("button.small", { type: "button", onclick: () => open(letter) }, letter) },
    { title: "Written", kind: "time", cell: ({ at }) => moment(at) },
    { title: "Stage", cell: ({ stage }) => stage },
    { title: "Reason", kind: "name", cell: ({ message }) => message },
    { title: "Pushes", kind: "number", cell: pushes },
    { title: "State", cell: ({ state }) => stateTag(state) },
  ].filter(Boolean);

  function whole(letter) {
    return card(`Letter ${letter.letter}`, plain(letter.reason), h("div.in",
      h("p", letter.message, " ", coded(letterRemedy(letter.stage, letter.reason))),
      facts([["State", stateTag(letter.state)], ["Written", moment(letter.at)], ["Original record written", moment(letter.writtenAt)],
        ["Original place", h("code", `${letter.topic}/${letter.partition} at ${letter.offset}`)], ["Bytes", count(letter.bytes)],
        ["Sent again from", letter.sentAgainFrom?.join(", ")], ["Send", letter.send && h("a", { href: toAsking({}, "sends", letter.send) }, letter.send)],
        ["Group", letter.groupId && h("a", { href: toAsking({}, "groups", letter.groupId) }, letter.groupId)], ["Event", letter.event], ["Version", letter.version]]),
      letter.pushes && table("Pushes of this letter", [
        { title: "Installation", kind: "name", cell: ({ installationId }) => h("a", { href: toAsking({}, "people", "installation", installationId) }, installationId) },
        { title: "Entry", kind: "name", cell: ({ entry }) => entry }, { title: "Recipient", kind: "name", cell: ({ recipient }) => recipient },
        { title: "Token as stored", cell: ({ token }) => h("code", token) },
      ], letter.pushes.slice(0, 200)),
      letter.state === "open" && buttons(() => ({ letters: [letter.letter] })),
      h("div", h("button.small", { type: "button", onclick: () => { opened = null; draw(); } }, "Close"))));
  }

  function draw() {
    if (!sums) return show(body, h("p.note", "Reading the topic …"));
    const isFiltered = wanted.stage || wanted.reason;
    show(body,
      sums.sums.length
        ? card("By reason", null, table("Dead letters by reason", sumColumns, sums.sums, (row) => `${row.stage} ${row.reason} ${row.state}`))
        : card("Dead letters", null, empty("There are no dead letters", "Every record of the app could be used.")),
      opened && whole(opened),
      letters.items.length > 0 && card(isFiltered ? `${wanted.stage}: ${plain(wanted.reason)}` : "One by one", "the newest first",
        isFiltered && h("div.in", h("div", h("button.small", { type: "button", onclick: () => { Object.assign(wanted, { stage: "", reason: "" }); look(); } }, "Show all reasons"))),
        chosen.size > 0 && h("div.in", h("div.filters", h("strong", `${counted(chosen.size, "letter")} chosen`), buttons(() => ({ letters: [...chosen] })))),
        table("Dead letters", letterColumns, letters.items, ({ letter }) => letter),
        letters.more > 0 && h("div.more", h("span.note", `and ${count(letters.more)} more; choose a reason or a time to list them`))));
  }
  draw();
  look();
}

export default { title: "Dead letters", show: page };
