// The log-in page.

import { h } from "./h.js";
import { coded, during, field, notice } from "./parts.js";
import { logIn } from "./session.js";
import { what } from "./away.js";
import { show } from "./patch.js";

/** @param said the reason why the session ended, if there was one. */
export function loginPage(root, said, then) {
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
        then();
      } catch (error) {
        show(told, notice("bad", error.code === "key_forbidden"
          ? "This key may only report. Use a key with the role read, send or admin."
          : coded(what(error))));
        key.setAttribute("aria-invalid", "true");
        key.select();
      }
    },
  },
    h("span.brand", h("img", { src: "/console/icon.svg", alt: "" }), "Flotilla"),
    told,
    field("API key", key, { hint: "Create a key with `flotilla keys create APP --role read`. The key's role decides what you may do here." }),
    button);
  root.replaceChildren(h("main.door", form));
  document.title = "Log in – Flotilla";
  key.focus();
}
