// The newest state of a group. A form keeps the state that it is based on. If the group has moved on since, the form
// must not be sent, because it would put an older state over a newer one. The planner decides that.

import { h } from "./h.js";
import { get, query, segment } from "./api.js";
import { bar } from "./charts.js";
import { count, counted, share } from "./format.js";

/**
 * A group as a form sees it. `isKnown` is false if nothing was sent to the group and no phone has reported it.
 *
 * @param of `{signal, userId}`. A private group is the one of a user.
 */
export async function groupState(id, { signal, userId } = {}) {
  try {
    const group = await get(query(`/v1/groups/${segment(id)}`, { user: userId }), signal);
    const { newest } = group;
    return {
      id, userId, isKnown: isReal(group), isEnded: group.state === "ended", type: group.attributesType, startedAt: group.startedAt,
      sendId: newest?.sendId, version: newest?.version, state: newest?.contentState, acceptedAt: newest?.acceptedAt,
    };
  } catch (error) {
    if (error.status === 404) return { id, userId, isKnown: false };
    throw error;
  }
}

/**
 * The share of phones with the newest state. The phones are those that report a running activity. What APNs accepted says
 * nothing about them.
 */
export function freshnessBar(group, { isShort = false } = {}) {
  const { running = 0, onNewest = 0 } = group;
  const on = Math.min(onNewest, running);
  if (running > 0) {
    return bar("Phones on the newest version", [{ name: "on the newest version", value: on, series: 0 }], running,
      !isShort && [h("span", h("b", count(on)), ` of ${counted(running, "phone")} on the newest version`), h("b", share(group.share ?? on / running))]);
  }
  if (isShort) return null;
  if (onNewest > 0) {
    return h("p.note", `APNs accepted the newest state for ${counted(onNewest, "phone")}, and no phone reports a running activity: people have not allowed it yet, have dismissed it, or the app does not report it.`);
  }
  return h("p.note", isReal(group) ? "No phone has reported a running activity yet." : "This group has no start and no phones. Its name may be mistyped.");
}

/** Whether a group has a start or a phone. A mistyped name has neither. */
export const isReal = (group) => group.startedAt !== undefined || (group.running ?? 0) > 0;

/** A body with the version that its form is based on. The planner refuses it if the group has moved on since. */
export function ifUnmoved(body, basis) {
  // A start joins the newest state. A send for later is meant for the group as it is then.
  const isCompared = body.event !== "start" && body.when === undefined && basis?.id === body.groupId && basis?.version !== undefined;
  return isCompared ? { ...body, ifVersion: basis.version } : body;
}

/** Whether the planner refused a send, or its trial, because the group has a newer state than the form. */
export const isNewerState = (error) => error?.code === "newer_state";

/** Whether the group has a newer state than the form, for a notice beside the form. */
export const hasMoved = (basis, newest) => basis?.sendId !== undefined && newest.sendId !== undefined
  && (basis.sendId !== newest.sendId || (basis.version !== undefined && basis.version !== newest.version));
