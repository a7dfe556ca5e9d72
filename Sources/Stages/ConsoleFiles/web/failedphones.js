// The phones on which a send failed: a list by reason, and a file.

import { h } from "./h.js";
import { download, get, query, segment } from "./api.js";
import { show } from "./patch.js";
import { card, coded, during, empty, field, moment, notice, select, table } from "./parts.js";
import { count } from "./format.js";
import { to } from "./router.js";
import { what } from "./away.js";

const columns = [
  { title: "At", kind: "time", cell: ({ at }) => moment(at) },
  { title: "User", kind: "name", cell: ({ userId }) => (userId ? h("a", { href: to("people", "user", userId) }, userId) : "–") },
  { title: "Installation", kind: "name", cell: ({ installationId }) => h("a", { href: to("people", "installation", installationId) }, installationId) },
  { title: "Outcome", cell: ({ outcome }) => outcome },
  { title: "Reason", kind: "name", cell: ({ reason, status }) => [h("code", reason ?? "–"), status && ` (${status})`] },
];

/** The card of a send's failures. It reads the list only when a reader asks for it. */
export class FailedPhones {
  element = h("div");
  #path; #reason = ""; #items = null; #next; #said = null; #report = null;

  constructor(sendId) { this.#path = `/v1/sends/${segment(sendId)}/failures`; }

  /** Shows the reasons of a new report. */
  took(report) {
    this.#report = report;
    this.#draw();
  }

  async #look(button, isFurther = false) {
    try {
      const page = await during(button, () => get(query(this.#path, { reason: this.#reason, limit: 100, cursor: isFurther ? this.#next : undefined })));
      this.#items = [...(isFurther ? this.#items : []), ...page.items];
      this.#next = page.next;
      this.#said = page.partial ? notice("warn", `A part is missing: no process answers for lanes ${page.partial.lanes.join(", ")}.`) : null;
    } catch (error) { this.#said = notice("bad", coded(what(error))); }
    this.#draw();
  }

  async #keep(button) {
    try {
      const next = await during(button, () => download(query(this.#path, { reason: this.#reason, format: "csv", limit: 5000 }), "failures.csv"));
      this.#said = next ? notice("", "The file has the first 5,000 failures. `GET /v1/sends/{id}/failures` with `cursor` returns the rest.") : null;
    } catch (error) { this.#said = notice("bad", coded(what(error))); }
    this.#draw();
  }

  #draw() {
    const { rejected = 0, expired = 0, unknown = 0, rejectedBy = {} } = this.#report ?? {};
    if (rejected + expired + unknown === 0) return show(this.element);
    const reasons = [["", "all reasons"], ...Object.entries(rejectedBy).map(([reason, number]) => [reason, `${reason} (${count(number)})`])];
    show(this.element, card("Phones that failed", `${count(rejected + expired + unknown)} pushes`, h("div.in",
      h("div.filters",
        field("Reason", select(reasons, this.#reason, (value) => { this.#reason = value; this.#items = null; this.#next = undefined; this.#draw(); })),
        h("button", { type: "button", onclick: (event) => this.#look(event.currentTarget) }, "List them"),
        h("button", { type: "button", onclick: (event) => this.#keep(event.currentTarget) }, "Download CSV")),
      this.#said,
      this.#items && (this.#items.length
        ? table("Phones that failed", columns, this.#items)
        : empty("No failures listed", "The receipts of this reason are older than insight keeps, or not read yet.")),
      this.#next && h("div.more", h("button", { type: "button", onclick: (event) => this.#look(event.currentTarget, true) }, "Show more")))));
  }
}
