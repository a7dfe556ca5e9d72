// The settings of the app, as its document.

import { h } from "./h.js";
import { call, get } from "./api.js";
import { may, session } from "./session.js";
import { show } from "./patch.js";
import { card, coded, confirm, during, facts, head, notice } from "./parts.js";
import { json } from "./controls.js";
import { what } from "./away.js";
import { refusalNotice } from "./problems.js";

function page(place) {
  const body = h("div.stack");
  place.append(head(session.app, { sub: may("admin") ? "The settings of the app. They take effect at once on every process." : "The settings of the app. Only a key of the role admin may change them." }), body);

  function form(app) {
    const settings = json("Settings", "app", "As JSON, as `flotilla apps create` reads it.");
    settings.write(app);
    const said = h("div");
    const element = h("form.stack", { onsubmit: async (event) => {
      event.preventDefault();
      show(said);
      try {
        const changed = settings.read();
        if (!await confirm("Change the settings of the app?", [h("p", "A wrong bundle id, team or key id pauses all pushes of the app until it is corrected.")], "Change")) return;
        await during(event.submitter, () => call("PUT", "/v1/app", { body: changed }));
        show(said, notice("good", "The settings are changed."));
      } catch (error) { show(said, refusalNotice(element, error)); }
    } }, card("Change", null, h("div.in", settings.element, said, h("div", h("button.main", "Save …")))));
    return element;
  }

  get("/v1/app").then((app) => {
    const plain = Object.entries(app).filter(([, value]) => typeof value !== "object").map(([name, value]) => [name, String(value)]);
    body.replaceChildren(card("As it is", null, h("div.in", facts(plain))), ...(may("admin") ? [form(app)] : []));
  }, (error) => show(body, notice("bad", coded(what(error)))));
}

export default { title: "App", show: page };
