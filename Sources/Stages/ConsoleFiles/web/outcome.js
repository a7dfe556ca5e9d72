// The outcome of a send, in one word and one sentence. A color has one meaning in tags, bars and charts.

import { counted } from "./format.js";
import { verdicts } from "./words.js";
import { serverNow } from "./clock.js";

/** The series, and so the color, of each outcome of a push in bars and charts. */
export const outcomeSeries = { accepted: 1, rejected: 2, expired: 3, unknown: 4, superseded: 5 };
export const outcomeNames = Object.keys(outcomeSeries);

/** A send to phones that came later is counted only when their pushes are answered. */
const settleMilliseconds = 10_000;

const pushes = (number) => counted(number, "push", "pushes");

/** The outcome of a send whose pushes all have an answer. */
function endOf({ accepted = 0, rejected = 0, superseded = 0, expired = 0, unknown = 0, waitingForAllow = 0 }) {
  const lost = rejected + expired + unknown;
  if (accepted + superseded + lost === 0) return ["warn", "reached no phone", "No phone was reached. Check the group and the audience."];
  if (accepted === 0 && superseded > 0 && lost === 0) return ["", "replaced", "A newer send replaced it on every phone."];
  if (accepted === 0 && rejected > 0) return ["bad", "failed", `APNs rejected ${pushes(rejected)} and accepted none.`];
  if (accepted === 0) return ["bad", "failed", `APNs accepted none of ${pushes(lost)}.`];
  if (lost > 0) return ["warn", `done, ${lost} failed`, `APNs accepted ${pushes(accepted)}; ${pushes(lost)} failed.`];
  if (accepted > 0 && waitingForAllow >= accepted) {
    return ["live", "waiting for Allow", `APNs accepted ${pushes(accepted)}, and no phone reports the activity yet. People must allow it, and the app must report it.`];
  }
  const waiting = waitingForAllow > 0 ? ` ${counted(waitingForAllow, "phone")} report no running activity: people have not allowed it yet, or have dismissed it.` : "";
  return ["good", "done", `APNs accepted all its pushes.${waiting}`];
}

/** The outcome of a send: mark, word and sentence. */
export function outcomeOf(send, now = serverNow()) {
  const { verdict, report } = send;
  const [kind, word, sentence] = verdicts[verdict] ?? ["", verdict, ""];
  if (verdict !== "planned" || !send.isComplete) return [kind, word, sentence];
  if (send.dryRun) return ["", "tried out", "A dry run counts the phones and pushes nothing."];
  if (!report) return ["live", "on its way", "Insight does not answer, so its outcome is unknown."];
  if (report.toGo > 0) return ["live", "waiting", `${pushes(report.toGo)} have no answer of APNs yet.`];
  const end = endOf(report);
  if (end[1] === "reached no phone" && now - (send.acceptedAt ?? 0) < settleMilliseconds) {
    return ["live", "waiting", "It has reached no phone yet."];
  }
  return end;
}
