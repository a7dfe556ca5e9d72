// The outcomes of a send's pushes, for the pages of sends and groups.

import { h } from "./h.js";
import { card, coded, figures, table, tag } from "./parts.js";
import { bar, funnel, legend } from "./charts.js";
import { count, counted, share, span } from "./format.js";
import { excluded, remedy } from "./words.js";
import { outcomeNames, outcomeOf, outcomeSeries } from "./outcome.js";
import { serverNow } from "./clock.js";

export function verdictTag(send) {
  const [kind, word] = outcomeOf(send);
  return tag(kind, word);
}

/** Whether all lanes have counted their phones. Before that, every count is too low. */
const isCounted = (send) => send.isComplete || !send.lanesExpected || (send.lanesDone ?? 0) >= send.lanesExpected;

/** The outcomes of a report as parts of a bar. */
export function reportParts(report) {
  return outcomeNames.map((name) => ({ name, value: report[name] ?? 0, series: outcomeSeries[name] }));
}

/** The number of targeted phones. Phones that came after the expansion count too, while the send was the newest. */
export function targets(send) {
  const { targeted, expanded, report } = send;
  if (!isCounted(send)) return { all: undefined, said: `counting: ${count(send.lanesDone)} of ${count(send.lanesExpected)} lanes` };
  const ended = report ? reportParts(report).reduce((sum, { value }) => sum + value, 0) : 0;
  const late = Math.max(0, ended - (expanded ?? ended));
  return { all: targeted === undefined ? undefined : targeted + late, said: late > 0 ? `${count(late)} of these came later` : undefined };
}

/** The bar of a send: the share of its pushes that have a final outcome. */
export function sendBar(send) {
  const { report } = send;
  if (send.verdict === "scheduled") {
    return h("p", "It waits for its time. Its phones are counted when it goes out", send.dueAt ? `, in ${span(Math.max(0, send.dueAt - serverNow()))}.` : ".");
  }
  if (!report || !isCounted(send)) {
    return bar("Lanes done", [{ name: "done", value: send.lanesDone ?? 0, series: 0 }], send.lanesExpected ?? 1,
      [h("span", `${count(send.lanesDone)} of ${counted(send.lanesExpected, "lane")} have expanded the send`)]);
  }
  const parts = reportParts(report);
  const ended = parts.reduce((sum, { value }) => sum + value, 0);
  const whole = Math.max(ended + (report.toGo ?? 0), send.expanded ?? 0);
  if (whole === 0) return h("p.note", send.dryRun ? "A dry run pushes nothing." : "No push was made.");
  return h("div.stack",
    bar("Outcomes of the pushes", parts, whole,
      [h("span", h("b", count(report.accepted)), ` of ${counted(whole, "push", "pushes")} accepted by APNs`),
        h("b", share((report.accepted ?? 0) / whole))]),
    legend([...parts.filter(({ value }) => value > 0), ...(report.toGo ? [{ name: "pending", value: report.toGo }] : [])]));
}

export function sendFunnel(send) {
  const { report } = send;
  if (!report || !isCounted(send) || send.verdict === "scheduled" || send.dryRun) return null;
  const { all, said } = targets(send);
  return card("From targeted to opened", null, h("div.in", funnel([
    { name: "Targeted", value: all, note: said ?? "all phones of the audience" },
    { name: "Pushed", value: report.pushed },
    { name: "Accepted", value: report.accepted },
    report.opened !== undefined && { name: "Opened", value: report.opened },
  ].filter(Boolean))));
}

export function sendFigures(send) {
  const { report } = send;
  const latency = report?.latencyMilliseconds;
  const { all, said } = targets(send);
  if (send.verdict === "scheduled") return null;
  const soFar = isCounted(send) ? undefined : "so far";
  return figures([
    ["Targeted", count(all), said],
    report && ["Pushed", count(report.pushed), soFar],
    report && ["Accepted", count(report.accepted), soFar],
    report && isCounted(send) && ["Pending", count(report.toGo)],
    report && ["Rejected", count(report.rejected), soFar],
    report?.superseded > 0 && ["Superseded", count(report.superseded), soFar],
    latency && ["APNs latency", span(latency.p50), `p90 ${span(latency.p90)} · p99 ${span(latency.p99)}`],
    report?.opened !== undefined && ["Opened", count(report.opened)],
  ]);
}

export function failures(report) {
  const rows = Object.entries(report?.rejectedBy ?? {}).sort((a, b) => b[1] - a[1]);
  if (!rows.length) return null;
  return card("Failures and remedies", null, table("Failures by reason", [
    { title: "APNs reason", cell: ([reason]) => h("code", reason) },
    { title: "Pushes", kind: "number", cell: ([, number]) => count(number) },
    { title: "Remedy", cell: ([reason]) => coded(remedy(reason)) },
  ], rows, ([reason]) => reason));
}

export function leftOut(send) {
  if (!isCounted(send)) return null;
  const rows = Object.entries(send.excluded ?? {}).filter(([, number]) => number > 0).sort((a, b) => b[1] - a[1]);
  if (!rows.length) return null;
  return card("Excluded phones", null, table("Excluded phones by reason", [
    { title: "Reason", cell: ([reason]) => excluded(reason)[0] },
    { title: "Phones", kind: "number", cell: ([, number]) => count(number) },
    { title: "Meaning", cell: ([reason]) => excluded(reason)[1] },
  ], rows, ([reason]) => reason));
}

export function environments(send) {
  const { report } = send;
  if (!isCounted(send)) return null;
  const rows = Object.entries(report?.environments ?? {}).filter(([, part]) => part.pushed > 0 || part.superseded > 0);
  if (rows.length < 2) return null;
  return card("By environment", null, table("By environment", [
    { title: "Environment", cell: ([name]) => name },
    { title: "Pushed", kind: "number", cell: ([, part]) => count(part.pushed) },
    { title: "Accepted", kind: "number", cell: ([, part]) => count(part.accepted) },
    { title: "Rejected", kind: "number", cell: ([, part]) => count(part.rejected) },
    { title: "Median", kind: "number", cell: ([, part]) => span(part.latencyMilliseconds?.p50) },
  ], rows, ([name]) => name));
}

export function systems(send) {
  const { report } = send;
  if (!isCounted(send)) return null;
  const ends = report?.bySystem ?? {};
  const jobs = { ...Object.fromEntries(Object.keys(ends).map((name) => [name, 0])), ...report?.systems };
  // Phones that have not reported their system come last.
  const order = (name) => (name === "unknown" ? -1 : Number(name));
  const rows = Object.entries(jobs).sort((a, b) => order(b[0]) - order(a[0]));
  if (!rows.length) return null;
  const whole = rows.reduce((sum, [, number]) => sum + number, 0);
  const of = (name, outcome) => ends[name]?.[outcome] ?? 0;
  return card("By system", "phones that got a push", table("By system", [
    { title: "System", cell: ([name]) => (name === "unknown" ? "unknown" : `iOS ${name}`) },
    { title: "Pushes", kind: "number", cell: ([, number]) => count(number) },
    { title: "Share", kind: "number", cell: ([, number]) => (whole ? share(number / whole) : "–") },
    { title: "Accepted", kind: "number", cell: ([name]) => count(of(name, "accepted")) },
    { title: "Rejected", kind: "number", cell: ([name]) => count(of(name, "rejected")) },
    { title: "Superseded", kind: "number", cell: ([name]) => count(of(name, "superseded")) },
    { title: "Other", kind: "number", cell: ([name]) => count(of(name, "expired") + of(name, "unknown")) },
  ], rows, ([name]) => name));
}
