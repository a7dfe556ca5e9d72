// The log-in page.

import { h } from "./h.js";
import { coded, during, field, notice } from "./parts.js";
import { logIn, otherSessions } from "./session.js";
import { what } from "./away.js";
import { show } from "./patch.js";

/**
 * @param said the reason why the session ended, if there was one.
 * @param on `{entered, continued}`: the reader has logged in, or goes on with the session of an app.
 * @param current the app of the session that is still valid, if the reader logs in to another app.
 */
export function loginPage(root, said, { entered, continued }, current) {
  const key = h("input", {
    type: "password", name: "key", autocomplete: "current-password", required: true, spellcheck: "false",
    placeholder: "flotilla_…", autocapitalize: "none",
  });
  const told = h("div", said && notice("warn", said));
  const button = h("button.main", { type: "submit" }, "Log in");
  const form = h("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      try {
        await during(button, () => logIn(key.value.trim()));
        key.value = "";
        entered();
      } catch (error) {
        show(told, notice("bad", error.code === "key_forbidden"
          ? "This key may only report. Use a key with the role read, send or admin."
          : coded(what(error))));
        key.setAttribute("aria-invalid", "true");
        key.select();
      }
    },
  },
    h("h1.brand", h("img", { src: "/console/icon.svg", alt: "" }), "Flotilla"),
    told,
    field("API key", key, { hint: "Create a key with `flotilla keys create APP --role read`. The key's role decides what you may do here." }),
    button,
    [current, ...otherSessions.map(({ app }) => app)].filter(Boolean).map((app) =>
      h("button", { type: "button", onclick: () => continued(app) }, `Continue with ${app}`)));
  root.replaceChildren(h("main.door", form));
  document.title = "Log in – Flotilla";
  key.focus();
}
