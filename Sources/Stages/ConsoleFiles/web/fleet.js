// The processes of the fleet, and the lag of each stage.

import { h } from "./h.js";
import { get } from "./api.js";
import { poll } from "./poll.js";
import { show } from "./patch.js";
import { card, empty, figures, head, moment, notice, table, tag } from "./parts.js";
import { ago, count, counted, span } from "./format.js";
import { Freshness } from "./away.js";
import { serverNow } from "./clock.js";

const lateAfter = 30_000;

function stateOf(lag) {
  if (!lag.records) return tag("good", "at the end");
  return lag.oldestAt && serverNow() - lag.oldestAt > lateAfter ? tag("warn", "behind") : tag("live", "reading");
}

function page(place) {
  const freshness = new Freshness();
  let fleet = null;
  const body = h("div.stack");
  place.append(head("Fleet", { sub: "The lag of each stage, the processes, and their problems." }), body);

  function draw() {
    const said = freshness.notices();
    if (!fleet) return show(body, ...said, said.length ? null : h("p.note", "Looking …"));
    const { lag = [], members = [], processes = [], openBreakers = [], differences = [], lanes = {} } = fleet;
    const versions = new Set(processes.map(({ version }) => version));
    const suspects = processes.map(({ suspectTokens }) => suspectTokens).filter((number) => number !== undefined);
    const away = members.filter(({ isAway }) => isAway);
    const oldest = Math.min(...lag.map(({ oldestAt }) => oldestAt ?? Infinity));
    show(body, ...said,
      versions.size > 1 && notice("warn", `${versions.size} versions are running: ${[...versions].join(", ")}.`),
      openBreakers.length > 0 && notice("bad", "Pushes of this app are paused, because APNs refuses its key, team or topic. Correct the setting; no token is lost.",
        h("ul", openBreakers.map(({ process, environment }) => h("li", process ? `${environment}, at ${process}` : environment)))),
      away.length > 0 && notice("bad", `Insight processes that do not answer (${count(away.length)}): ${away.map(({ process }) => process).join(", ")}.`),
      fleet.lagUnknown && notice("warn", "The cluster does not report the positions of its consumer groups."),
      figures([
        ["Records waiting", count(lag.reduce((sum, one) => sum + one.records, 0))],
        Number.isFinite(oldest) && ["Oldest waiting record", span(serverNow() - oldest)],
        ["Processes", count(processes.length)],
        suspects.length > 0 && ["Suspect tokens", count(suspects.reduce((sum, one) => sum + one, 0)), "last push failed"],
        ["Lanes read", lanes.count ? `${count(lanes.read)} of ${count(lanes.count)}` : "–"],
      ].filter(Boolean)),
      card("Lag", "records of each topic that a stage has not read yet", lag.length
        ? table("Lag", [
          { title: "Stage", cell: ({ stage }) => stage },
          { title: "Topic", kind: "name", cell: ({ topic }) => topic },
          { title: "State", cell: stateOf },
          { title: "Records", kind: "number", cell: ({ records }) => count(records) },
          { title: "Partitions", kind: "number", cell: ({ partitions }) => count(partitions) },
          Number.isFinite(oldest) && { title: "Oldest waiting record", kind: "number", cell: ({ oldestAt }) => (oldestAt ? span(serverNow() - oldestAt) : "–") },
        ].filter(Boolean), lag, ({ stage, topic }) => `${stage} ${topic}`)
        : empty("No figures", "Figures come from consumer groups. There are no groups yet.")),
      card("Processes", null, processes.length
        ? table("Processes", [
          { title: "Process", kind: "name", cell: ({ process }) => process },
          { title: "Stages", cell: ({ stages }) => stages.join(", ") },
          { title: "Version", cell: ({ version }) => version },
          { title: "Since", kind: "time", cell: ({ startedAt }) => moment(startedAt) },
          { title: "Last heard", kind: "time", cell: ({ heardAt }) => ago(heardAt) },
        ], processes, ({ process }) => process)
        : empty("No processes", "Processes appear here within seconds of their start.")),
      differences.length > 0 && card("Settings that differ", "the same setting with different values", table("Settings that differ", [
        { title: "Setting", kind: "name", cell: ({ key }) => h("code", key) },
        { title: "Values and their processes", cell: ({ values }) => h("ul", values.map(({ value, processes: who }) =>
          h("li", h("code", value === "" ? "(empty)" : value), ` ${who.join(", ")}`))) },
      ], differences, ({ key }) => key)),
      members.length > 0 && card("Lanes by process", null, table("Lanes by process", [
          { title: "Stage", cell: ({ stage }) => stage },
          { title: "Process", kind: "name", cell: ({ process }) => process },
          { title: "State", cell: ({ isAway }) => (isAway ? tag("bad", "away") : tag("good", "present")) },
          { title: "Address", kind: "name", cell: ({ address }) => address ?? "–" },
          { title: "Lanes", kind: "number", cell: (member) => h("span", { title: member.lanes?.join(", ") }, counted(member.lanes?.length ?? 0, "lane")) },
          { title: "Since", kind: "time", cell: ({ startedAt }) => moment(startedAt) },
          { title: "Last heard", kind: "time", cell: ({ heardAt }) => (heardAt ? ago(heardAt) : "–") },
        ], members, ({ stage, process }) => `${stage} ${process}`)));
  }

  const stop = poll((signal) => get("/v1/fleet", signal), (answer) => { freshness.took(answer); fleet = answer; draw(); },
    (error) => { freshness.failed(error); draw(); }, 2000);
  draw();
  return stop;
}

export default { title: "Fleet", show: page };
