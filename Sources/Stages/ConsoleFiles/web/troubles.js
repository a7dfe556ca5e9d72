// The problems that the page Now lists, each with a link.

import { ago, counted, span } from "./format.js";
import { to } from "./router.js";
import { remedy } from "./words.js";
import { serverNow } from "./clock.js";

export const lateAfter = 30_000;
const shareOfAll = 0.95;

/** Since when each group has phones behind its newest state. A new send does not reset the time. Insight knows it since the
 * minute in which it began, and the page since its next poll. */
export class BehindSince {
  #since = new Map();

  took(groups, known = [], now = serverNow()) {
    const earlier = new Map((known ?? []).map(({ groupId, since }) => [groupId, since]));
    const behind = groups.filter((group) => group.newest && (group.running ?? 0) > 0 && (group.share ?? 1) < shareOfAll);
    this.#since = new Map(behind.map(({ groupId }) => [groupId, Math.min(earlier.get(groupId) ?? now, this.#since.get(groupId) ?? now)]));
  }

  since(groupId) { return this.#since.get(groupId); }
}

function behindGroups(groups, behind) {
  return groups.filter(({ groupId }) => serverNow() - (behind.since(groupId) ?? Infinity) > lateAfter).map((group) => {
    const number = group.running - group.onNewest;
    return [`${counted(number, "phone")} of ${group.groupId} ${number === 1 ? "is" : "are"} behind its newest state, for ${span(serverNow() - behind.since(group.groupId))}.`,
      to("groups", group.groupId)];
  });
}

/** @param byReason the failed pushes of the last hour. */
function failed(byReason = {}) {
  return Object.entries(byReason).filter(([reason]) => reason !== "Unregistered").map(([reason, number]) =>
    [`${counted(number, "push", "pushes")} of the last hour failed with ${reason}. ${remedy(reason)}`, "#/sends?result=failed"]);
}

function fleetTroubles({ members = [], openBreakers = [], lag = [] }) {
  return [
    ...members.filter(({ isAway }) => isAway).map(({ process, stage, heardAt }) =>
      [`${process} of ${stage} does not answer; its last sign of life was ${ago(heardAt)}.`, "#/fleet"]),
    ...openBreakers.map(({ environment }) =>
      [`Pushes in ${environment} are paused: APNs refuses the app's key, team or topic. Correct the setting; no token is lost.`, "#/fleet"]),
    ...lag.filter(({ oldestAt }) => oldestAt && serverNow() - oldestAt > lateAfter).map(({ stage, topic, records, oldestAt }) =>
      [`${stage} is behind on ${topic}: the oldest of ${counted(records, "record")} has waited ${span(serverNow() - oldestAt)}.`, "#/fleet"]),
  ];
}

/** All problems as `[text, link]`. */
export const troubles = ({ groups, behind, failures, fleet }) =>
  [...behindGroups(groups, behind), ...failed(failures), ...fleetTroubles(fleet ?? {})];
