// The result of a trial: the phones, the warnings and the excluded phones.

import { h } from "./h.js";
import { notice, table } from "./parts.js";
import { count, counted } from "./format.js";
import { excluded } from "./words.js";
import { what } from "./away.js";

const listOf = (items) => notice("warn", h("ul", items.map((item) => h("li", item))));

/** The warnings and the excluded phones of a trial. */
export function trialFindings(trial) {
  if (!trial) return [];
  const { accepted, progress } = trial;
  const left = Object.entries(progress?.excluded ?? {}).filter(([, number]) => number > 0);
  return [
    accepted?.warnings.length > 0 && listOf(accepted.warnings.map(({ field, message }) => [field && h("code", field), ` ${message}`])),
    progress?.findings?.length > 0 && listOf(progress.findings),
    left.length > 0 && h("details", h("summary", `${counted(left.reduce((sum, [, number]) => sum + number, 0), "phone")} excluded`),
      table("Excluded phones", [
        { title: "Reason", cell: ([reason]) => excluded(reason)[0] },
        { title: "Phones", kind: "number", cell: ([, number]) => count(number) },
      ], left, ([reason]) => reason)),
  ];
}

/** The whole result of a trial, for the page. */
export function trialResult(trial) {
  const { progress, error, isComplete } = trial;
  return [
    error ? notice("warn", what(error))
      : !isComplete ? h("p", { role: "status" }, "Counting …")
        : h("p", { role: "status" }, h("strong", counted(progress.expanded, "phone")), ` would get it, of ${counted(progress.targeted, "targeted phone")}.`),
    progress?.reason === "unknown_group" && notice("warn", "This group is unknown."),
    trialFindings(trial),
  ];
}
