// The webhook endpoints of the app: programs that Flotilla calls about outcomes.

import { h } from "./h.js";
import { call, get, segment } from "./api.js";
import { show } from "./patch.js";
import { card, coded, confirm, during, empty, field, head, moment, notice, table, tag } from "./parts.js";
import { what } from "./away.js";
import { refusalNotice } from "./problems.js";

const eventTypes = ["token.reported", "token.dead", "activity.ended", "activity.dismissed", "activity.tapped", "send.completed", "send.failed",
  "breaker.opened", "breaker.closed", "dead_letters.added"];

function page(place) {
  const list = h("div.stack");
  const said = h("div.stack");
  const name = h("input", { required: true, spellcheck: "false", placeholder: "backend" });
  const url = h("input", { required: true, type: "url", spellcheck: "false" });
  const boxes = eventTypes.map((value) => h("input", { type: "checkbox", value, checked: true }));

  async function look() {
    try {
      const { items } = await get("/v1/webhooks");
      show(list, h("section.card", items.length ? table("Webhooks", [
        { title: "Name", kind: "name", cell: (one) => one.name },
        { title: "URL", kind: "name", cell: (one) => h("code", one.url) },
        { title: "State", cell: (one) => (one.disabledAt ? [tag("bad", "disabled"), h("div.note", one.disabledBecause)] : tag("good", "on")) },
        { title: "Events", cell: (one) => (one.events.length === eventTypes.length ? "all" : one.events.join(", ")) },
        { title: "Since", kind: "time", cell: (one) => moment(one.createdAt) },
        { title: "", spoken: "Actions", cell: (one) => h("div.buttons",
          one.disabledAt && h("button.small", { type: "button", "aria-label": `Enable ${one.name}`, onclick: () => put(one.name, { url: one.url, events: one.events }) }, "Enable"),
          h("button.small.danger", { type: "button", "aria-label": `Delete ${one.name}`, onclick: () => remove(one) }, "Delete")) },
      ], items, (one) => one.name) : empty("No webhooks", "A webhook tells your backend about tokens, ends, taps and finished sends.")));
    } catch (error) { show(list, notice("bad", coded(what(error)))); }
  }

  async function put(id, body) {
    try {
      const made = await call("PUT", `/v1/webhooks/${segment(id)}`, { body });
      show(said, made.secret
        ? notice("good", "The endpoint is created. This secret signs its calls. It is shown only now.", h("p.secret", made.secret))
        : notice("good", `${id} is changed and enabled. Its secret stays.`));
      look();
    } catch (error) { show(said, refusalNotice(form, error)); }
  }

  async function remove(one) {
    if (!await confirm(`Delete ${one.name}?`, [h("p", `${one.url} is no longer called. Events that it has not received are lost to it.`)], "Delete", "danger")) return;
    try {
      await call("DELETE", `/v1/webhooks/${segment(one.name)}`);
      look();
    } catch (error) { show(said, notice("bad", coded(what(error)))); }
  }

  const form = h("form", { onsubmit: (event) => {
    event.preventDefault();
    const events = boxes.filter(({ checked }) => checked).map(({ value }) => value);
    during(event.submitter, () => put(name.value.trim(), { url: url.value.trim(), events: events.length === eventTypes.length ? undefined : events }));
  } }, card("New endpoint, or a new URL of one", null, h("div.in",
    h("div.pair", field("Name", name, { path: "name" }), field("URL", url, { path: "url", hint: "HTTPS, with a public address." })),
    h("fieldset.field", { "data-path": "events" }, h("legend.label", "Events"), h("div.checks", boxes.map((box) => h("label.check", box, box.value)))),
    h("div", h("button.main", "Save")))));
  place.append(head("Webhooks", { sub: coded("Endpoints by the Standard Webhooks specification. `deploy/book/webhooks.md` describes the calls.") }), said, list, form);
  look();
}

export default { title: "Webhooks", role: "admin", show: page };
