// The segments of the app: their rules, and the number of phones that a start to each would reach.

import { h } from "./h.js";
import { call, get, segment } from "./api.js";
import { may } from "./session.js";
import { show } from "./patch.js";
import { card, coded, confirm, during, empty, field, head, notice, select } from "./parts.js";
import { count, counted } from "./format.js";
import { json } from "./controls.js";
import { what } from "./away.js";
import { refusalNotice } from "./problems.js";
import { smallestValue } from "./schemaexample.js";
import { Trial } from "./trial.js";

/** A list has names only. The page reads this many segments in whole. */
const detailsMax = 50;

/** A start that is never sent: its trial counts the phones of a segment. */
const countingStart = (type, name) => ({
  event: "start", groupId: `count of ${name}`.slice(0, 100), attributesType: type.name, audience: { segments: [name] }, alert: { title: "count" },
  contentState: smallestValue(type.contentStateSchema),
  attributes: { ...Object.fromEntries((type.requiredAttributes ?? []).map((one) => [one, ""])), ...smallestValue(type.attributesSchema) },
});

class SegmentCard {
  element = h("section.card"); #segment; #types; #trial = null; #said = null; #removed;

  constructor(one, types, removed) {
    this.#segment = one;
    this.#types = types;
    this.#removed = removed;
    this.draw();
  }

  #countWords() {
    const { progress, error, isComplete } = this.#trial ?? {};
    if (error) return notice("warn", what(error));
    if (!this.#trial) return null;
    if (!isComplete) return h("p", { role: "status" }, "Counting …");
    return h("p", { role: "status" }, h("strong", counted(progress.expanded, "phone")), ` can get a start now, of ${count(progress.targeted)} in the segment.`);
  }

  draw() {
    const { name, rule } = this.#segment;
    const type = select(this.#types.map((one) => [one.name, one.name]), this.#types[0]?.name);
    type.setAttribute("aria-label", `Activity type of the count of ${name}`);
    show(this.element, h("div.top", h("h2", name)), h("div.in",
      rule && h("pre.state", JSON.stringify(rule, null, 1)), this.#countWords(), this.#said,
      h("div.buttons",
        may("send") && this.#types.length > 0 && [type, h("button", { type: "button", onclick: (event) => this.#count(event.currentTarget) }, "Count its phones")],
        may("admin") && h("button.danger.small", { type: "button", onclick: () => this.#remove() }, "Delete"))));
  }

  async #count(button) {
    const chosen = this.element.querySelector("select").value;
    this.stop();
    this.#said = null;
    try {
      const type = await during(button, () => get(`/v1/activity-types/${segment(chosen)}`));
      const trial = this.#trial = new Trial(countingStart(type, this.#segment.name), () => { if (trial === this.#trial) this.draw(); });
      this.draw();
      await during(button, () => trial.start());
    } catch (error) { this.#trial = null; this.#said = notice("bad", coded(what(error))); }
    this.draw();
  }

  async #remove() {
    const { name } = this.#segment;
    if (!await confirm(`Delete ${name}?`, [h("p", "Sends to this segment will be refused.")], "Delete", "danger")) return;
    try {
      await call("DELETE", `/v1/segments/${segment(name)}`);
      this.#removed();
    } catch (error) { this.#said = notice("bad", coded(what(error))); this.draw(); }
  }

  stop() { this.#trial?.stop(); }
}

function newSegment(saved) {
  const name = h("input", { required: true, spellcheck: "false", placeholder: "home-fans" });
  const rule = json("Rule", "rule", 'A test of tags, attributes and facts, such as `{"tag": "vip"}`. See the page about segments in the book.');
  const said = h("div");
  const form = h("form.stack", { onsubmit: async (event) => {
    event.preventDefault();
    show(said);
    try {
      await during(event.submitter, () => call("PUT", `/v1/segments/${segment(name.value.trim())}`, { body: { rule: rule.read() } }));
      saved();
    } catch (error) { show(said, refusalNotice(form, error)); }
  } }, card("New segment, or a new rule of one", null, h("div.in", field("Name", name, { path: "name" }), rule.element, said, h("div", h("button.main", "Save")))));
  return form;
}

function page(place) {
  const body = h("div.stack");
  let cards = [];
  place.append(head("Segments", { sub: "Rules over tags, attributes and facts of phones. They are evaluated when a send goes out." }), body);
  async function look() {
    for (const one of cards) one.stop();
    try {
      const [{ items }, types] = await Promise.all([get("/v1/segments"), get("/v1/activity-types")]);
      const whole = await Promise.all(items.slice(0, detailsMax).map(({ name }) => get(`/v1/segments/${segment(name)}`)));
      cards = [...whole, ...items.slice(detailsMax)].map((one) => new SegmentCard(one, types.items, look));
      body.replaceChildren(...cards.map(({ element }) => element), ...(items.length ? [] : [empty("No segments", "A segment names phones by a rule, for sends to them.")]),
        ...(may("admin") ? [newSegment(look)] : []));
    } catch (error) { show(body, notice("bad", coded(what(error)))); }
  }
  look();
  return () => { for (const one of cards) one.stop(); };
}

export default { title: "Segments", show: page };
