// Sends that wait for their time.

import { h } from "./h.js";
import { call, get, query } from "./api.js";
import { may } from "./session.js";
import { show } from "./patch.js";
import { choice, coded, confirm, during, empty, field, head, moment, notice, table } from "./parts.js";
import { ask, toAsking } from "./router.js";
import { span } from "./format.js";
import { what } from "./away.js";
import { serverNow } from "./clock.js";

function page(place, { asked }) {
  let kind = asked.has("group") ? "group" : "user";
  const input = h("input", { type: "search", value: asked.get(kind) ?? "", spellcheck: "false" });
  const body = h("div.stack");
  const fields = h("div.filters", choice("Owner", "whose", [["user", "A user"], ["group", "A group"]], kind, (value) => { kind = value; }),
    field("User or group", input, { wide: true }), h("button.main", "Show"));
  place.append(head("Schedules", { sub: "Sends for later: the next hundred of a user or a group.",
    actions: may("send") && h("a.button", { href: "#/compose" }, "Compose") }),
  h("form", { onsubmit: (event) => { event.preventDefault(); ask({ [kind]: input.value.trim() }); look(event.submitter); } }, fields), body);

  async function look(button) {
    const name = input.value.trim();
    if (!name) return show(body, h("section.card", empty("Choose an owner", "Enter a user or a group above.")));
    try {
      draw(await (button ? during(button, () => get(query("/v1/schedules", { [kind]: name }))) : get(query("/v1/schedules", { [kind]: name }))));
    } catch (error) { show(body, notice("bad", coded(what(error)))); }
  }

  async function cancel(schedule) {
    const isMeant = await confirm("Cancel this schedule?", [h("p", `${schedule.scheduleName ?? schedule.scheduleId} will not be sent.`)], "Cancel schedule", "danger");
    if (!isMeant) return;
    try {
      await call("DELETE", query("/v1/schedules", { [kind]: input.value.trim(), id: schedule.scheduleId }));
    } catch (error) { return show(body, notice("bad", coded(what(error)))); }
    look();
  }

  function draw(answer) {
    if (answer.underWay || !answer.items) return show(body, notice("warn", "The scheduler does not answer. Waiting sends are stored and go out when it is back."));
    show(body, h("section.card", answer.items.length
      ? table("Schedules", [
        { title: "Due", kind: "time", cell: ({ dueAt }) => [moment(dueAt), h("div.note", dueAt > serverNow() ? `in ${span(dueAt - serverNow())}` : "now")] },
        { title: "Schedule", kind: "name", cell: ({ scheduleName, scheduleId }) => [scheduleName, h("div", h("code", scheduleId))] },
        { title: "Event", cell: ({ event }) => event },
        { title: "Activity", kind: "name", cell: ({ activity }) => activity ?? "–" },
        { title: "Send", cell: ({ sendId }) => h("a", { href: toAsking({}, "sends", sendId) }, "progress") },
        may("send") && { title: "", spoken: "Actions", cell: (schedule) => h("button.small.danger", { type: "button", onclick: () => cancel(schedule) }, "Cancel") },
      ].filter(Boolean), answer.items, ({ sendId }) => sendId)
      : empty("No schedules", "Sends for later and schedules of phones are listed here until they are sent.")),
    answer.next !== undefined && h("p.note", "There are more; the list shows the earliest."));
  }
  look();
}

export default { title: "Schedules", show: page };
