// The settings of the app.

import { h } from "./h.js";
import { call, get } from "./api.js";
import { may, session } from "./session.js";
import { show } from "./patch.js";
import { card, coded, confirm, during, facts, field, head, notice } from "./parts.js";
import { FieldError } from "./dates.js";
import { what } from "./away.js";
import { refusalNotice } from "./problems.js";

const names = [["bundleId", "Bundle id", "com.example.app"], ["teamId", "Team id", "ABCDE12345"], ["keyId", "Key id", "KEY1234567"]];
const environments = ["production", "sandbox"];

/** The settings that a reader knows by name. The others stay as they are. */
class AppForm {
  element; #app; #texts; #boxes; #unproven; #said = h("div");

  constructor(app, changed) {
    this.#app = app;
    this.#texts = Object.fromEntries(names.map(([name, , placeholder]) => [name, h("input", { value: app[name] ?? "", placeholder, spellcheck: "false", autocapitalize: "none" })]));
    this.#boxes = environments.map((value) => h("input", { type: "checkbox", value, checked: app.environments?.includes(value) }));
    this.#unproven = h("input", { type: "checkbox", checked: app.unprovenSchedules === true });
    this.element = h("form.stack", { novalidate: true, onsubmit: async (event) => {
      event.preventDefault();
      show(this.#said);
      try { await this.#save(event.submitter, changed); } catch (error) { show(this.#said, refusalNotice(this.element, error)); }
    } }, card("Change", null, h("div.in",
      h("div.pair", names.map(([name, label]) => field(label, this.#texts[name], { path: name }))),
      h("fieldset.field", { "data-path": "environments" }, h("legend.label", "Environments of APNs"),
        h("div.checks", this.#boxes.map((box) => h("label.check", box, box.value)))),
      h("label.check", this.#unproven, "Phones may schedule for their user without a proof"),
      this.#said, h("div", h("button.main", "Save …")))));
  }

  #read() {
    const texts = Object.entries(this.#texts).map(([name, { value }]) => [name, value.trim()]);
    const missing = texts.find(([, value]) => !value);
    if (missing) throw new FieldError(missing[0], "is required");
    const chosen = this.#boxes.filter(({ checked }) => checked).map(({ value }) => value);
    if (!chosen.length) throw new FieldError("environments", "needs at least one");
    return { ...this.#app, ...Object.fromEntries(texts), environments: chosen, unprovenSchedules: this.#unproven.checked || undefined };
  }

  async #save(button, changed) {
    const app = this.#read();
    const differing = [...names.map(([name, label]) => [name, label]), ["environments", "Environments"], ["unprovenSchedules", "Schedules without a proof"]]
      .filter(([name]) => JSON.stringify(app[name]) !== JSON.stringify(this.#app[name] || undefined));
    if (!differing.length) return show(this.#said, notice("", "Nothing has changed."));
    const isMeant = await confirm("Change the settings of the app?", [
      facts(differing.map(([name, label]) => [label, `${this.#app[name] ?? "–"} → ${app[name] ?? "–"}`])),
      h("p", "A wrong bundle id, team or key id pauses all pushes of the app until it is corrected.")], "Change");
    if (!isMeant) return;
    await during(button, () => call("PUT", "/v1/app", { body: app }));
    changed();
  }
}

function page(place) {
  const body = h("div.stack");
  const said = h("div");
  place.append(head(session.app, { sub: may("admin") ? "The settings of the app. They take effect at once on every process." : "The settings of the app. Only a key of the role admin may change them." }), said, body);

  async function look() {
    try {
      const app = await get("/v1/app");
      body.replaceChildren(
        card("As it is", null, h("div.in", facts([...names.map(([name, label]) => [label, app[name]]), ["Environments", app.environments?.join(", ")],
          ["Activity types", h("a", { href: "#/types" }, "on their own page")]]))),
        ...(may("admin") ? [new AppForm(app, () => { show(said, notice("good", "The settings are changed.")); look(); }).element] : []));
    } catch (error) { show(body, notice("bad", coded(what(error)))); }
  }
  look();
}

export default { title: "App", show: page };
