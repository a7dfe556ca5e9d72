// Events that phones reported: counts over time, a list, and downloads.

import { h } from "./h.js";
import { download, get, query } from "./api.js";
import { poll } from "./poll.js";
import { show } from "./patch.js";
import { card, coded, during, empty, field, figures, head, moment, notice, select, table } from "./parts.js";
import { columns, legend } from "./charts.js";
import { count } from "./format.js";
import { ask, to } from "./router.js";
import { Freshness, what } from "./away.js";
import { events as words } from "./words.js";
import { serverNow } from "./clock.js";

const day = 86_400_000;
const ranges = { "24h": ["The last 24 hours", day, "hour"], "7d": ["The last 7 days", 7 * day, "hour"], "31d": ["The last 31 days", 31 * day, "day"] };

const eventColumns = [
  { title: "At", kind: "time", cell: ({ at }) => moment(at) },
  { title: "Event", kind: "name", cell: ({ code, cause }) => [words[code] ?? code, cause && h("div.note", cause)] },
  { title: "User", kind: "name", cell: ({ userId }) => (userId ? h("a", { href: to("people", "user", userId) }, userId) : "–") },
  { title: "Installation", kind: "name", cell: ({ installationId }) => (installationId ? h("a", { href: to("people", "installation", installationId) }, installationId) : "–") },
  { title: "Group", kind: "name", cell: ({ groupId }) => (groupId ? h("a", { href: to("groups", groupId) }, groupId) : "–") },
  { title: "Type", kind: "name", cell: ({ attributesType }) => attributesType ?? "–" },
];

/** Fills every hour or day of the range, with zeros where there was no event. */
function series({ buckets, from, to: until, by }, names) {
  const step = by === "day" ? day : 3_600_000;
  const start = Math.floor(from / step) * step;
  const all = [];
  for (let at = start; at < until && all.length < 800; at += step) all.push({ at, parts: names.map(() => 0) });
  for (const bucket of buckets) {
    const slot = all[Math.floor((bucket.at - start) / step)];
    const name = names.indexOf(bucket.code);
    if (slot && name >= 0) slot.parts[name] += bucket.count;
  }
  return all;
}

function page(place, { asked }) {
  const freshness = new Freshness();
  const wanted = { range: asked.get("range") ?? "24h", code: asked.get("code") ?? "", user: asked.get("user") ?? "", group: asked.get("group") ?? "" };
  if (!ranges[wanted.range]) wanted.range = "24h";
  let answer = null;
  const body = h("div.stack");
  const said = h("div");
  const user = h("input", { type: "search", value: wanted.user, placeholder: "all users", spellcheck: "false" });
  const group = h("input", { type: "search", value: wanted.group, placeholder: "all groups", spellcheck: "false" });
  const changed = () => {
    answer = null;
    Object.assign(wanted, { user: user.value.trim(), group: user.value.trim() ? "" : group.value.trim() });
    ask(wanted);
    stop.now();
  };
  place.append(
    head("Events", { sub: "Events that phones reported: tokens, ends, taps.", actions: ["csv", "jsonl"].map((format) =>
      h("button", { type: "button", onclick: (event) => during(event.target, () => keep(format)) }, format === "csv" ? "Download CSV" : "Download JSON lines")) }),
    said,
    h("form.filters", { onsubmit: (event) => { event.preventDefault(); changed(); } },
      field("When", select(Object.entries(ranges).map(([key, [text]]) => [key, text]), wanted.range, (value) => { wanted.range = value; changed(); })),
      field("Event", select([["", "all events"], ...Object.entries(words)], wanted.code, (value) => { wanted.code = value; changed(); })),
      field("User", user), field("Group", group), h("button", "Show")),
    body);

  const fields = () => {
    const to = serverNow();
    return { from: to - ranges[wanted.range][1], to, code: wanted.code, ...(wanted.user ? { user: wanted.user } : { group: wanted.group }) };
  };

  async function keep(format) {
    try {
      const next = await download(query("/v1/events", { ...fields(), format, limit: 5000 }), `events.${format}`);
      show(said, next && notice("", "The file has the newest 5,000 events. `GET /v1/events` with `cursor` returns the rest."));
    } catch (error) { show(said, notice("bad", coded(what(error)))); }
  }

  function draw() {
    const notices = freshness.notices();
    if (!answer) return show(body, ...notices, notices.length ? null : h("p.note", "Looking …"));
    const { counts, list } = answer;
    const totals = counts?.totals ?? {};
    const names = Object.keys(totals).sort((a, b) => totals[b] - totals[a]);
    show(body, ...notices,
      counts?.next && notice("warn", "The counts end early, because there are too many to read at once. Choose a shorter time."),
      counts && figures(names.map((name) => [words[name] ?? name, count(totals[name]), name])),
      counts && names.length > 0 && card("By time", counts.by === "day" ? "one column per day, in UTC" : "one column per hour", h("div.in",
        columns("Events by time", series(counts, names), names.map((name, index) => ({ name, series: index })), counts.by === "day"),
        legend(names.map((name, index) => ({ name: words[name] ?? name, series: index, value: totals[name] }))))),
      card("One by one", "the newest first", list.items.length
        ? table("Events", eventColumns, list.items)
        : empty("No events", "Phones reported no event of this kind in this time.")));
  }

  const stop = poll(async (signal) => {
    const { user: who, ...countable } = fields();
    const [list, counts] = await Promise.all([
      get(query("/v1/events", { ...fields(), limit: 100 }), signal),
      who ? null : get(query("/v1/events/counts", { ...countable, by: ranges[wanted.range][2] }), signal),
    ]);
    return { list, counts };
  }, (got) => { freshness.took(got.list); answer = got; draw(); }, (error) => { freshness.failed(error); draw(); }, 5000);
  draw();
  return stop;
}

export default { title: "Events", show: page };
