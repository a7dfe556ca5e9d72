// The audit of changes.

import { h } from "./h.js";
import { get, query } from "./api.js";
import { show } from "./patch.js";
import { during, empty, field, head, moment, select, table } from "./parts.js";
import { ask } from "./router.js";
import { Freshness } from "./away.js";

const day = 86_400_000;
const subjects = [["settings", "People and settings"], ["sends", "Sends"]];
const ranges = { "1d": ["The last day", day], "30d": ["The last 30 days", 30 * day], "400d": ["The last 400 days", 400 * day] };

function page(place, { asked }) {
  const freshness = new Freshness();
  let range = ranges[asked.get("range")] ? asked.get("range") : "30d";
  let about = asked.get("of") === "sends" ? "sends" : "settings";
  let entries = null;
  let next;
  let until = 0;
  const body = h("div.stack");
  const changed = () => { ask({ range, of: about }); entries = null; next = undefined; look(); };
  place.append(head("Audit", { sub: "Changes and their authors: keys, types, dead letters and log-ins for 400 days, and sends for 30 days." }),
    h("div.filters", field("About", select(subjects, about, (value) => { about = value; changed(); })),
      field("When", select(Object.entries(ranges).map(([key, [text]]) => [key, text]), range, (value) => { range = value; changed(); }))),
    body);

  async function look() {
    try {
      // A cursor is valid only with the first page's range.
      if (!entries) until = Date.now() + 60_000;
      const page = await get(query("/v1/audit", { of: about, from: until - ranges[range][1], to: until, limit: 100, cursor: next }));
      entries = [...(entries ?? []), ...page.items];
      next = page.next;
      freshness.took(page);
    } catch (error) { freshness.failed(error); }
    draw();
  }

  function draw() {
    const said = freshness.notices();
    show(body, ...said, entries && h("section.card", entries.length
      ? [table("Audit", [
        { title: "At", kind: "time", cell: ({ at }) => moment(at) },
        { title: "Author", kind: "name", cell: ({ by }) => h("code", by) },
        { title: "Action", cell: ({ action }) => action },
        { title: "Subject", kind: "name", cell: ({ subject }) => subject ?? "–" },
        { title: "Address", cell: ({ address }) => address ?? "–" },
        { title: "Request", kind: "name", cell: ({ requestId }) => (requestId ? h("code", requestId) : "–") },
      ], entries), next && h("div.more", h("button", { type: "button", onclick: (event) => during(event.target, look) }, "Show older"))]
      : empty("No changes", "Nothing was changed in this time.")));
  }
  look();
}

export default { title: "Audit", show: page };
