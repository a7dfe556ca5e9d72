// The house itself: who runs, and how far each has read.

import { h } from "./h.js";
import { get } from "./api.js";
import { poll } from "./poll.js";
import { show } from "./patch.js";
import { card, empty, figures, head, moment, notice, table, tag } from "./parts.js";
import { ago, count, counted, span } from "./format.js";
import { Freshness } from "./away.js";

const lateAfter = 30_000;

/** The ends of transactions lie in topics and are read by nobody: one a partition is nothing. */
const waiting = ({ records, partitions }) => (records > partitions ? records : 0);

function stateOf(lag) {
  if (!waiting(lag)) return tag("good", "at the end");
  return lag.oldestAt && Date.now() - lag.oldestAt > lateAfter ? tag("warn", "behind") : tag("live", "reading");
}

function page(place) {
  const freshness = new Freshness();
  let fleet = null;
  const body = h("div.stack");
  place.append(head("Fleet", { sub: "How far each stage has read, who runs, and what is in the way." }), body);

  function draw() {
    const said = freshness.notices();
    if (!fleet) return show(body, ...said, said.length ? null : h("p.note", "Looking …"));
    const { lag = [], members = [], lanes = {} } = fleet;
    const versions = new Set(members.map(({ version }) => version).filter(Boolean));
    const oldest = Math.min(...lag.map(({ oldestAt }) => oldestAt ?? Infinity));
    show(body, ...said,
      versions.size > 1 && notice("warn", `Processes of ${versions.size} versions run side by side: ${[...versions].join(", ")}.`),
      lanes.blocked?.length > 0 && notice("bad", h("ul", lanes.blocked.map(({ lane, reason }) => h("li", `Lane ${lane} is blocked: ${reason}.`)))),
      fleet.lagUnknown && notice("warn", "The cluster does not tell how far its readers are."),
      figures([
        ["Records waiting", count(lag.reduce((sum, one) => sum + waiting(one), 0))],
        Number.isFinite(oldest) && ["The oldest waits", span(Date.now() - oldest)],
        ["Processes", count(members.length)],
        ["Lanes read", lanes.count ? `${count(lanes.read)} of ${count(lanes.count)}` : "–"],
      ]),
      card("Lag", "records of each topic that a stage has not read yet", lag.length
        ? table("Lag", [
          { title: "Stage", cell: ({ stage }) => stage },
          { title: "Topic", kind: "name", cell: ({ topic }) => topic },
          { title: "State", cell: stateOf },
          { title: "Records", kind: "number", cell: (one) => count(waiting(one)) },
          { title: "Partitions", kind: "number", cell: ({ partitions }) => count(partitions) },
          Number.isFinite(oldest) && { title: "The oldest waits", kind: "number", cell: ({ oldestAt }) => (oldestAt ? span(Date.now() - oldestAt) : "–") },
        ].filter(Boolean), lag, ({ stage, topic }) => `${stage} ${topic}`)
        : empty("Nothing is known", "Figures come from consumer groups; there are none yet.")),
      card("Processes", null, members.length
        ? table("Processes", [
          { title: "Stage", cell: ({ stage }) => stage },
          { title: "Process", kind: "name", cell: ({ process }) => process },
          { title: "State", cell: ({ isAway }) => (isAway ? tag("bad", "away") : tag("good", "there")) },
          { title: "Address", kind: "name", cell: ({ address }) => address ?? "–" },
          versions.size > 0 && { title: "Version", cell: ({ version }) => version ?? "–" },
          { title: "Lanes", kind: "number", cell: (member) => h("span", { title: member.lanes?.join(", ") }, counted(member.lanes?.length ?? 0, "lane")) },
          { title: "Since", kind: "time", cell: ({ startedAt }) => moment(startedAt) },
          { title: "Heard", kind: "time", cell: ({ heardAt }) => (heardAt ? ago(heardAt) : "–") },
        ].filter(Boolean), members, ({ stage, process }) => `${stage} ${process}`)
        : empty("Nobody has said so", "Processes of insight announce themselves here.")));
  }

  const stop = poll((signal) => get("/v1/fleet", signal), (answer) => { freshness.took(answer); fleet = answer; draw(); },
    (error) => { freshness.failed(error); draw(); }, 2000);
  draw();
  return stop;
}

export default { title: "Fleet", show: page };
